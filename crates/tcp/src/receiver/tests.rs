//! The receiver compared with a plain set of bytes, and some of its own state.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::segment::Timestamps;

mod marks;
mod quick_acks;

const WINDOW: u64 = 200;
/// Segments of this size count as full at first.
const FULL: u16 = 8;

fn settings() -> Settings {
    let mut settings = Settings::preset("rfc").unwrap();
    settings.mss_bytes = FULL;
    settings.window_scale = 0;
    settings.receive_buffer_bytes = WINDOW;
    settings.dsack = true;
    settings
}

fn connected(settings: &Settings, isn: u32) -> Receiver {
    let mut receiver = Receiver::new(settings);
    receiver.synchronise(isn);
    receiver
}

fn data(position: u64, payload: u16, flags: Flags) -> Segment {
    Segment {
        seq: seq::wire(position),
        payload,
        flags: Flags::ACK | flags,
        ..Segment::default()
    }
}

const OWN: OwnRtt = OwnRtt {
    rto: Duration::from_secs(1),
    srtt: None,
};

/// All bytes that arrived, with the FIN as one byte, and what the next ACK reports.
#[derive(Debug, Default)]
struct Model {
    start: u64,
    bytes: BTreeSet<u64>,
    fin: Option<u64>,
    acknowledged: u64,
    due: bool,
    duplicate: Option<(u64, u64)>,
    /// where segments above a gap began, in the order of their arrival
    above: Vec<u64>,
    /// there were more runs above a gap than fit into an ACK, since the time when there was no gap
    forgets: bool,
    full: u64,
}

impl Model {
    fn nxt(&self) -> u64 {
        let mut next = self.start;
        while self.bytes.contains(&next) {
            next += 1;
        }
        next
    }

    fn held(&self) -> Vec<u64> {
        self.bytes.range(self.nxt()..).copied().collect()
    }

    /// Runs of bytes above the first gap. The run that was extended last comes first (RFC 2018 4).
    fn runs(&self) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for byte in self.held() {
            match runs.last_mut().filter(|run| run.1 == byte) {
                Some(run) => run.1 += 1,
                None => runs.push((byte, byte + 1)),
            }
        }
        let latest = |run: &(u64, u64)| {
            let mut latest = self.above.iter().rev();
            latest.position(|at| (run.0..run.1).contains(at))
        };
        runs.sort_by_key(latest);
        runs
    }

    fn take(&mut self, start: u64, payload: u64, fin: bool) {
        let nxt = self.nxt();
        let mut end = start + payload;
        let length = payload + u64::from(fin);
        if start + length < self.acknowledged || start > nxt + WINDOW {
            self.take_duplicate(start, (start + length).min(nxt));
            return;
        }
        if length == 0 {
            return;
        }
        self.duplicate = None;
        if fin {
            let highest = self.bytes.last().map_or(nxt, |byte| nxt.max(byte + 1));
            if self.fin.is_none() && end >= highest && end < nxt + WINDOW {
                self.fin = Some(end);
            }
            end += u64::from(self.fin == Some(end));
        }
        let end = end
            .min(nxt + WINDOW)
            .min(self.fin.map_or(u64::MAX, |fin| fin + 1));
        let new: Vec<u64> = (start.max(nxt)..end).collect();
        if new.is_empty() {
            self.take_duplicate(start, end.min(nxt));
        } else if start > nxt {
            self.due = true;
            self.duplicate = self.known(&new);
            self.bytes.extend(new);
            self.above.push(start);
        } else {
            if start < nxt {
                self.take_duplicate(start, nxt);
            }
            self.duplicate = self.duplicate.or(self.known(&new));
            let gap = !self.held().is_empty();
            self.bytes.extend(new);
            if self.fin.is_some_and(|fin| self.nxt() > fin) {
                self.duplicate = None;
            }
            self.full = self.full.max(payload);
            // RFC 5681 4.2; a FIN is waited for as well
            let second = self.nxt() - self.acknowledged > self.full;
            self.due |= gap || second || self.fin.is_some();
        }
    }

    /// The first run of bytes that have arrived before.
    fn known(&self, new: &[u64]) -> Option<(u64, u64)> {
        let known = |byte: &&u64| self.bytes.contains(byte);
        let first = *new.iter().find(known)?;
        let run = new.iter().skip_while(|byte| **byte < first);
        Some((first, first + run.take_while(known).count() as u64))
    }

    fn take_duplicate(&mut self, start: u64, end: u64) {
        self.due = true;
        if start < end {
            self.duplicate = Some((start, end));
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// a segment at this distance from `RCV.NXT`
    Data {
        from: i64,
        payload: u16,
        fin: bool,
    },
    /// a duplicate above a gap that begins where an earlier segment did
    Again {
        which: usize,
        payload: u16,
    },
    Acknowledge,
}

fn any_step() -> impl Strategy<Value = Step> {
    let payload = || prop_oneof![3 => 1_u16..12, 1 => 0_u16..60];
    prop_oneof![
        3 => (Just(0_i64), payload(), prop::bool::weighted(0.02))
            .prop_map(|(from, payload, fin)| Step::Data { from, payload, fin }),
        8 => (-30_i64..60, payload(), prop::bool::weighted(0.02))
            .prop_map(|(from, payload, fin)| Step::Data { from, payload, fin }),
        1 => (150_i64..210, payload(), prop::bool::weighted(0.05))
            .prop_map(|(from, payload, fin)| Step::Data { from, payload, fin }),
        1 => (any::<usize>(), payload()).prop_map(|(which, payload)| Step::Again { which, payload }),
        3 => Just(Step::Acknowledge),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(400)
    })]

    #[test]
    fn the_receiver_holds_the_set_of_bytes_that_came(
        timestamps in any::<bool>(),
        steps in prop::collection::vec(any_step(), 1..60),
    ) {
        let mut timers = Timers::new(Duration::ZERO);
        // sequence numbers wrap soon
        let mut receiver = connected(&settings(), u32::MAX - 50);
        let room = if timestamps { 3 } else { 4 };
        let start = receiver.nxt();
        let mut model = Model { start, acknowledged: start, full: u64::from(FULL), ..Model::default() };
        for step in steps {
            let segment = match step {
                Step::Data { from, payload, fin } => {
                    let position = model.nxt().saturating_add_signed(from).max(start);
                    data(position, payload, if fin { Flags::FIN } else { Flags::NONE })
                }
                Step::Again { which, payload } => {
                    let above = model.above.len();
                    if above == 0 {
                        continue;
                    }
                    data(model.above[which % above], payload, Flags::NONE)
                }
                Step::Acknowledge => {
                    receiver.on_acknowledged(&mut timers, Instant::ZERO, false);
                    model.acknowledged = model.nxt();
                    model.due = false;
                    model.duplicate = None;
                    continue;
                }
            };
            let position = seq::unwrap(model.nxt(), segment.seq);
            let end = position + u64::from(segment.sequence_length());
            // RFC 9293 3.10.7.4, including data sent before our last ACK arrived
            let accepts = end >= model.acknowledged && position <= model.nxt() + WINDOW;
            prop_assert_eq!(receiver.accepts(&segment), accepts);
            let before = model.above.len();
            model.take(position, u64::from(segment.payload), segment.flags.contains(Flags::FIN));
            if !accepts {
                receiver.on_unacceptable(&segment);
            } else if segment.sequence_length() > 0 {
                receiver.on_data(&mut timers, Instant::ZERO, &segment, OWN);
                receiver.forget_report_before();
            }
            let (nxt, held) = (model.nxt(), model.held());
            let closed = model.fin.is_some_and(|fin| fin < nxt);
            let of_data = model.bytes.iter().filter(|byte| Some(**byte) != model.fin).count();
            prop_assert_eq!(receiver.nxt(), nxt);
            prop_assert_eq!(receiver.is_closed(), closed);
            prop_assert_eq!(receiver.delivered(), nxt - start - u64::from(closed));
            prop_assert_eq!(receiver.arrived(), of_data as u64);
            prop_assert_eq!(receiver.has_gap(), !held.is_empty());
            prop_assert_eq!(receiver.has_report(), !held.is_empty() || model.duplicate.is_some());
            prop_assert_eq!(receiver.acks.is_due(), model.due);

            let runs = model.runs();
            model.forgets = !runs.is_empty() && (model.forgets || runs.len() > Options::MAX_SACKS);
            let mut options = Options::default();
            if timestamps {
                options.set_timestamps(Timestamps { val: 1, ecr: 1 });
            }
            receiver.report(&mut options);
            let reported: Vec<(u64, u64)> = options
                .sacks()
                .map(|it| (seq::unwrap(nxt, it.start), seq::unwrap(nxt, it.end)))
                .collect();
            if model.forgets {
                // a block that was pushed out stays out, so a block may be only a part of a run
                let twice = usize::from(model.duplicate.is_some());
                prop_assert_eq!(reported[..twice].first(), model.duplicate.as_ref());
                let blocks = &reported[twice..];
                let lies_in = |block: &(u64, u64), run: &(u64, u64)| run.0 <= block.0 && block.1 <= run.1;
                prop_assert!(blocks.iter().all(|block| runs.iter().any(|run| lies_in(block, run))));
                if model.above.len() > before {
                    prop_assert!((blocks[0].0..blocks[0].1).contains(&position));
                }
            } else {
                let all: Vec<(u64, u64)> = model.duplicate.into_iter().chain(runs).collect();
                prop_assert_eq!(&reported[..], &all[..all.len().min(room)]);
            }
        }
    }
}

#[test]
fn the_window_on_offer_is_in_whole_units_of_its_scale() {
    let mut settings = settings();
    settings.window_scale = 5;
    settings.receive_buffer_bytes = 100;
    assert_eq!(Receiver::new(&settings).window(), 96);
}

fn stamped(position: u64, val: u32) -> Segment {
    let mut segment = data(position, 1, Flags::NONE);
    segment.options.set_timestamps(Timestamps { val, ecr: 0 });
    segment
}

/// RFC 7323 4.3: only a segment that begins at or before the last acknowledgement sets the value to echo. RFC 7323 5.2:
/// timestamps are compared within half their space.
#[test]
fn the_stamp_to_echo_is_that_of_the_segment_at_the_last_acknowledgement() {
    let mut timers = Timers::new(Duration::ZERO);
    let mut receiver = connected(&settings(), 0);
    let start = receiver.nxt();
    receiver.note_timestamp(&stamped(start, 7));
    assert_eq!(receiver.ts_recent(), 7);
    let segment = stamped(start, 9);
    receiver.note_timestamp(&segment);
    receiver.on_data(&mut timers, Instant::ZERO, &segment, OWN);
    // the first segment is not acknowledged yet, so the delayed ACK echoes the earliest timestamp
    receiver.note_timestamp(&stamped(start + 1, 11));
    assert_eq!(receiver.ts_recent(), 9);
    receiver.on_acknowledged(&mut timers, Instant::ZERO, false);
    receiver.note_timestamp(&stamped(start + 1, 11));
    assert_eq!(receiver.ts_recent(), 11);
    for (val, stale, long) in [
        (12, false, false),
        (11, false, false),
        (10, true, false),
        (9, true, true),
        (11_u32.wrapping_sub(1 << 31).wrapping_add(1), true, true),
        (11 + (1 << 31) - 1, false, false),
    ] {
        let segment = stamped(start, val);
        assert_eq!(receiver.is_stale(&segment), stale, "{val}");
        assert_eq!(receiver.is_long_stale(&segment), long, "{val}");
    }
    let without = data(start, 1, Flags::NONE);
    assert!(!receiver.is_stale(&without) && !receiver.is_long_stale(&without));
}

#[test]
fn without_the_option_what_came_twice_is_not_reported() {
    let mut settings = settings();
    settings.dsack = false;
    let mut timers = Timers::new(Duration::ZERO);
    let mut receiver = connected(&settings, 0);
    let segment = data(receiver.nxt(), 4, Flags::NONE);
    for _ in 0..2 {
        receiver.on_data(&mut timers, Instant::ZERO, &segment, OWN);
    }
    assert!(receiver.acks.is_due() && !receiver.has_report());
}
