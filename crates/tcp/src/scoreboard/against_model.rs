//! Random exchanges on the scoreboard and on the plain list of [`super::model`]. Both must agree after each step.

use fairport_units::{Duration, Instant};
use proptest::prelude::*;

use super::model::{Delivered, Model, Segment};
use super::{Chunk, Scoreboard};
use crate::recovery::rack;
use crate::segment::SackBlock;
use crate::seq;

/// How losses are found.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    /// RFC 6675, without and with times of delivery
    Count { times: bool },
    /// forward acknowledgement
    Distance,
    /// RACK
    Time,
    /// duplicate ACKs
    First,
}

#[derive(Clone, Debug)]
enum Step {
    Push {
        payload: u16,
        segments: u8,
        fin: bool,
    },
    /// acknowledges this many bytes, and SACKs blocks at these distances from `SND.UNA`
    Ack {
        bytes: u64,
        blocks: Vec<(u64, u64)>,
        trust: (u64, u64),
    },
    /// acknowledges this many whole segments
    AckSegments(usize),
    Mark(u64),
    /// sends a lost segment again, with those after it up to this payload and this distance
    Repeat(u64, u64),
    RepeatHole,
    Probe,
    Timeout(u64),
    Unmark,
    Wait(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let blocks = || prop::collection::vec((0_u64..260, 1_u64..60), 0..4);
    prop_oneof![
        5 => (0_u16..13, 1_u8..7, prop::bool::weighted(0.03))
            .prop_map(|(payload, segments, fin)| Step::Push { payload, segments, fin }),
        2 => (0_u64..40, blocks(), (0_u64..30, 0_u64..30))
            .prop_map(|(bytes, blocks, trust)| Step::Ack { bytes, blocks, trust }),
        5 => (blocks(), (0_u64..30, 0_u64..30))
            .prop_map(|(blocks, trust)| Step::Ack { bytes: 0, blocks, trust }),
        2 => (1_usize..6).prop_map(Step::AckSegments),
        6 => (0_u64..40).prop_map(Step::Mark),
        5 => (prop_oneof![Just(0), 0_u64..40], 0_u64..60).prop_map(|(a, b)| Step::Repeat(a, b)),
        2 => Just(Step::RepeatHole),
        1 => Just(Step::Probe),
        1 => (0_u64..60).prop_map(Step::Timeout),
        1 => Just(Step::Unmark),
        3 => (0_u64..15).prop_map(Step::Wait),
    ]
}

struct Both {
    board: Scoreboard,
    model: Model,
    rule: Rule,
    now: Instant,
}

impl Both {
    fn new(rule: Rule, unit: u64) -> Self {
        // sequence numbers wrap soon
        let start = seq::first(u32::MAX - 100);
        let mut board = Scoreboard::new(start, unit);
        if !matches!(rule, Rule::Count { times: false } | Rule::First) {
            board.track_deliveries();
        }
        Self {
            board,
            model: Model::new(start, unit),
            rule,
            now: Instant::from_ms(1),
        }
    }

    fn has_times(&self) -> bool {
        self.board.deliveries.is_some()
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Push {
                payload,
                segments,
                fin,
            } => {
                for _ in 0..segments {
                    self.push(payload.max(1), false);
                }
                if fin {
                    self.push(payload, true);
                }
            }
            Step::Ack {
                bytes,
                blocks,
                trust,
            } => self.ack(bytes, &blocks, trust),
            Step::AckSegments(segments) => {
                let last = self.model.segments.len().min(segments);
                if last > 0 {
                    let bytes = self.model.segments[last - 1].end() - self.model.una;
                    self.ack(bytes, &[], (0, 0));
                }
            }
            Step::Mark(allowed) => self.mark(Duration::from_us(allowed)),
            Step::Repeat(payload, room) => {
                let due = self.board.next_lost();
                assert_eq!(due, self.model.first_to_repeat());
                if let Some(number) = due {
                    self.cut_or_join(number, payload, room);
                }
                self.repeat(due);
            }
            Step::RepeatHole => {
                if matches!(self.rule, Rule::Count { .. }) {
                    let hole = self.board.next_hole();
                    assert_eq!(hole, self.model.first_hole());
                    self.repeat(hole);
                }
            }
            Step::Probe => self.probe(),
            Step::Timeout(span) => {
                let span = (self.rule == Rule::Time).then(|| Duration::from_us(span));
                match span {
                    Some(span) => self.board.mark_timed_out(self.now, span),
                    None => self.board.mark_all_lost(),
                }
                self.model.time_out(self.now, span);
            }
            Step::Unmark => {
                // a segment that was lost twice is not looked at again, as in the kernel
                let twice = |it: &Segment| it.lost && it.ever_again && !it.again;
                if self.has_times() && !self.model.segments.iter().any(twice) {
                    self.board.unmark_lost();
                    self.model.unmark();
                }
            }
            Step::Wait(us) => self.now += Duration::from_us(us),
        }
        self.compare();
    }

    fn push(&mut self, payload: u16, fin: bool) {
        if self.model.has_fin() || self.model.segments.len() > 60 {
            return;
        }
        let chunk = Chunk {
            start: self.model.nxt,
            payload,
            fin,
        };
        self.board.push(self.now, chunk);
        self.model.push(self.now, chunk);
    }

    /// Every retransmission has a time of its own.
    fn repeat(&mut self, number: Option<u64>) {
        let Some(number) = number else { return };
        self.now += Duration::from_us(1);
        self.board.retransmit(self.now, number);
        self.model.repeat(self.now, number);
    }

    fn cut_or_join(&mut self, number: u64, payload: u64, room: u64) {
        if (1..u64::from(self.board.chunk(number).payload)).contains(&room) {
            self.board.split(number, room as u16);
            self.model.split(number, room);
        } else {
            let joined = self.board.join(number, payload, room);
            assert_eq!(joined, self.model.join(number, payload, room));
        }
    }

    fn probe(&mut self) {
        // only if nothing is known to be lost (RFC 8985 7.2)
        let is_calm = |it: &Segment| !it.lost && !it.again;
        if !self.has_times() || !self.model.segments.iter().all(is_calm) {
            return;
        }
        self.now += Duration::from_us(1);
        let sent = self.board.repeat_last(self.now);
        let last = self.model.segments.last().map(|it| it.start);
        let goes = self.model.probe(self.now);
        assert_eq!(sent.map(|it| it.start), last.filter(|_| goes));
    }

    /// The steps that [`Scoreboard::ack_in_order`] leaves out would have reported nothing.
    fn ack_in_order(&mut self, ack: u64) {
        let (held, highest) = (self.model.sum(|_| true), self.model.highest_ever);
        let (acked, last) = self.board.ack_in_order(ack);
        let gone = self.model.acknowledge(ack);
        assert_eq!(acked.segments as usize, gone.len());
        assert_eq!(acked.amount, held - self.model.sum(|_| true));
        assert_eq!(acked.sent, gone.first().map(|it| it.sent));
        assert_eq!(last, gone.iter().map(|it| it.sent).max());
        assert_eq!(last, gone.last().map(|it| it.sent));
        for segment in &gone {
            assert!(!segment.sacked && !segment.ever_again && !acked.retransmitted);
            assert!(segment.number + 1 >= highest, "not late");
            assert!(self.model.note_arrival(segment, Instant::ZERO));
        }
        assert!(self.board.is_in_order() && !self.board.has_unexamined());
    }

    fn ack(&mut self, bytes: u64, blocks: &[(u64, u64)], trust: (u64, u64)) {
        let ack = (self.model.una + bytes).min(self.model.nxt);
        let in_order = self.has_times() && blocks.is_empty() && self.board.is_undisturbed();
        if in_order && ack > self.model.una && trust.0.is_multiple_of(2) {
            self.ack_in_order(ack);
            return;
        }
        let [before, after] =
            [trust.0, trust.1].map(|us| self.now.earlier_by(Duration::from_us(us)));
        let highest = self.board.begin_ack(before);
        assert_eq!(highest, self.model.highest_ever);
        let mut delivered = Delivered::default();
        if ack > self.model.una {
            let lengths = |model: &Model| model.sum(|_| true);
            let held = lengths(&self.model);
            let acked = self.board.ack(ack);
            let gone = self.model.acknowledge(ack);
            assert_eq!(acked.segments as usize, gone.len());
            assert_eq!(acked.amount, held - lengths(&self.model));
            let unheard: Vec<&Segment> = gone.iter().filter(|it| !it.sacked).collect();
            let first = unheard.iter().find(|it| !it.again);
            assert_eq!(acked.sent, first.map(|it| it.sent));
            // Karn's rule
            let times = self.has_times();
            let again = |it: &&&Segment| it.again || (times && it.ever_again);
            assert_eq!(acked.retransmitted, unheard.iter().any(|it| again(&it)));
            delivered.acked = gone.into_iter().filter(|it| !it.sacked).collect();
        }
        self.board.trust(after);
        for (start, length) in blocks {
            let start = self.model.una + start;
            let end = start + length;
            let newly = self.model.sack(start, end);
            let block = SackBlock {
                start: seq::wire(start),
                end: seq::wire(end),
            };
            assert_eq!(self.board.sack(block), !newly.is_empty());
            delivered.sacked.extend(newly);
        }
        if self.has_times() {
            self.compare_arrival(highest, &delivered, (before, after));
        }
    }

    fn compare_arrival(
        &mut self,
        highest: u64,
        delivered: &Delivered,
        trusted: (Instant, Instant),
    ) {
        let known = |model: &mut Model, all: &[Segment], trusted| {
            let known = all.iter().filter(|it| model.note_arrival(it, trusted));
            known.max_by_key(|it| it.number).map(|it| it.sent)
        };
        let acked = known(&mut self.model, &delivered.acked, trusted.0);
        let sacked = known(&mut self.model, &delivered.sacked, trusted.1);
        let arrived = self.board.arrived(highest);
        assert_eq!(arrived.sent, acked.or(sacked));
        assert_eq!(arrived.sent_once, delivered.once().map(|it| it.sent).max());
        let mut newly = delivered.sacked.clone();
        newly.retain(|it| !it.ever_again);
        newly.sort_by_key(|it| it.number);
        let ends = newly.first().zip(newly.last());
        assert_eq!(arrived.sacked, ends.map(|(a, b)| (a.sent, b.sent)));
        let first = delivered.once().min_by_key(|it| it.number);
        assert_eq!(arrived.first_once_end, first.map_or(u64::MAX, Segment::end));
        // a segment that arrived after a higher one was SACKed is late, by all segments up to the highest
        let late = first.filter(|it| it.number + 1 < highest).map(|first| {
            let above = self.model.segments.iter().rfind(|it| it.sacked);
            let end = above.map_or(highest.max(self.model.acknowledged), |it| it.number + 1);
            end - first.number
        });
        assert_eq!(arrived.late_by, late.unwrap_or(0));
    }

    fn mark(&mut self, allowed: Duration) {
        match self.rule {
            Rule::Count { .. } => {
                self.board.mark_lost_by_sack();
                self.model.mark_by_count();
            }
            Rule::Distance => {
                self.board.mark_lost_by_fack();
                self.model.mark_by_distance();
                let again = self.board.mark_overtaken();
                assert_eq!(again, self.model.mark_overtaken());
            }
            Rule::First => {
                self.board.mark_head_lost();
                self.model.mark_first();
            }
            Rule::Time => {
                let now = self.now;
                let detect = |it, latest| rack::detect(it, latest, allowed, now);
                let found = self.board.mark_overdue(detect);
                assert_eq!(found, self.model.mark_by_time(now, allowed));
                assert!(!self.board.has_unexamined());
            }
        }
    }

    fn compare(&mut self) {
        let (board, model) = (&mut self.board, &self.model);
        let segments = model.segments.len() as u64;
        assert_eq!((board.una(), board.nxt()), (model.una, model.nxt));
        assert_eq!(board.segments(), segments);
        assert_eq!(board.is_empty(), segments == 0);
        let outstanding = model.sum(|_| true);
        let sacked = model.sum(|it| it.sacked);
        let lost = model.sum(|it| it.lost);
        let again = model.sum(|it| it.again && !it.sacked);
        assert_eq!(board.outstanding(), outstanding);
        assert_eq!(board.sacked(), sacked);
        assert_eq!(board.lost(), lost);
        assert_eq!(board.has_lost(), lost > 0);
        assert_eq!(board.lost_ever(), model.lost_ever);
        assert_eq!(board.retransmitted(), again);
        assert_eq!(board.pipe(), outstanding - sacked - lost + again);
        let count = model.segments.iter().filter(|it| it.sacked).count() as u64;
        assert_eq!(board.sacked_segments(), count);
        assert_eq!(board.delivered_segments(), model.acknowledged + count);
        let to_highest = model.segments.iter().rposition(|it| it.sacked);
        assert_eq!(
            board.segments_to_highest_sacked(),
            to_highest.map_or(0, |at| at as u64 + 1)
        );
        let first = model.segments.first();
        assert_eq!(board.head_sent(), first.map(|it| it.sent));
        assert_eq!(board.head_retransmitted(), first.is_some_and(|it| it.again));
        for (at, segment) in model.segments.iter().enumerate() {
            let chunk = board.chunk(segment.number);
            assert_eq!(chunk.start, segment.start);
            assert_eq!(u64::from(chunk.payload), segment.payload);
            assert_eq!((chunk.fin, chunk.end()), (segment.fin, segment.end()));
            let late_by = if segment.sacked && segment.ever_again {
                to_highest.map_or(0, |highest| highest - at) as u64 + 1
            } else {
                0
            };
            assert_eq!(board.repeated_late_by(segment.start), late_by);
            assert_eq!(board.repeated_late_by(segment.end() - 1), late_by);
        }
        assert_eq!(board.repeated_late_by(model.una - 1), 0);
        assert_eq!(board.repeated_late_by(model.nxt), 0);
        if self.has_times() {
            let in_order =
                self.model.segments.iter().all(|it| {
                    !it.sacked && !it.lost && !it.again && it.order() >= self.model.latest
                });
            assert_eq!(self.board.is_in_order(), in_order);
            assert!(!in_order || !self.board.has_unexamined());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(400)
    })]

    #[test]
    fn the_scoreboard_is_the_list_that_it_stands_for(
        rule in prop::sample::select(&[
            Rule::Count { times: false }, Rule::Count { times: true }, Rule::Distance, Rule::Time,
            Rule::Time, Rule::First,
        ][..]),
        unit in prop::sample::select(&[1_u64, 12][..]),
        steps in prop::collection::vec(any_step(), 1..100),
    ) {
        let mut both = Both::new(rule, unit);
        for step in steps {
            both.take(step);
        }
    }
}
