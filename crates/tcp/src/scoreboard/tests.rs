//! The running sums compared with a recount, under random sequences of events.

use fairport_units::Duration;

use super::*;
use crate::recovery::rack;
use crate::segment::SackBlock;
use crate::seq;
use proptest::prelude::*;

impl Scoreboard {
    /// The expected sums: outstanding, SACKed, lost, retransmitted.
    fn recount(&self) -> [u64; 4] {
        let mut sums = [0; 4];
        for ordinal in self.head..self.tail {
            let record = self.record(ordinal);
            let weight = Self::weight(self.unit, record);
            sums[0] += weight;
            if record.is(SACKED) {
                sums[1] += weight;
                assert!(!record.is(LOST));
            } else {
                sums[2] += weight * u64::from(record.is(LOST));
                sums[3] += weight * u64::from(record.is(RETRANSMITTED));
                if self.deliveries.is_none() {
                    assert_eq!(record.is(LOST), ordinal < self.lost_below);
                } else if ordinal < self.lost_below {
                    assert!(record.is(LOST | RETRANSMITTED | FOUND_LOST));
                }
            }
        }
        sums
    }

    /// The first lost segment that was not sent again since, even if it was lost twice (`tcp_xmit_retransmit_queue`).
    fn first_to_repeat(&self) -> Option<u64> {
        (self.head..self.tail).find(|&ordinal| {
            let record = self.record(ordinal);
            record.is(LOST) && !record.is(SACKED | RETRANSMITTED)
        })
    }

    /// Whether the segment is lost by definition: three SACKed segments above it.
    fn is_lost_by_count(&self, ordinal: u64) -> bool {
        (ordinal + 1..self.tail)
            .filter(|&above| self.record(above).is(SACKED))
            .count()
            >= DUP_THRESH
    }
}

#[derive(Clone, Debug)]
enum Step {
    Push(u16),
    Ack(u64),
    Sack(u64, u64),
    Retransmit,
    RetransmitHole,
    Timeout,
    Wait(u64),
    MarkByTime(u64),
    Overdue(u64),
    Unmark,
    RepeatLast,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_u16..3000).prop_map(Step::Push),
        1 => (0_u64..5000).prop_map(Step::Ack),
        4 => (0_u64..20_000, 1_u64..4000).prop_map(|(start, length)| Step::Sack(start, length)),
        2 => Just(Step::Retransmit),
        1 => Just(Step::RetransmitHole),
        1 => Just(Step::Timeout),
        3 => (0_u64..50).prop_map(Step::Wait),
        3 => (0_u64..50).prop_map(Step::MarkByTime),
        1 => (0_u64..50).prop_map(Step::Overdue),
        1 => Just(Step::Unmark),
        1 => Just(Step::RepeatLast),
    ]
}

proptest! {
    #[test]
    fn sums_and_marks_are_what_a_recount_gives(
        unit in prop::sample::select(&[1_u64, 1448][..]),
        by_time in any::<bool>(),
        fack in any::<bool>(),
        steps in prop::collection::vec(any_step(), 1..120),
    ) {
        let mut board = Scoreboard::new(seq::first(u32::MAX - 4000), unit);
        let mut now = Instant::ZERO;
        if by_time {
            board.track_deliveries();
        }
        for step in steps {
            match step {
                Step::Push(payload) => {
                    let start = board.nxt();
                    board.push(now, Chunk { start, payload, fin: false });
                }
                Step::Ack(bytes) => {
                    let ack = (board.una() + bytes).min(board.nxt());
                    if ack > board.una() {
                        let before = board.outstanding();
                        let acked = board.ack(ack);
                        prop_assert_eq!(board.outstanding() + acked.amount, before);
                    }
                }
                Step::Sack(start, length) => {
                    let start = board.una() + start;
                    let block = SackBlock {
                        start: seq::wire(start),
                        end: seq::wire((start + length).min(board.nxt())),
                    };
                    if board.sack(block) && !by_time {
                        board.mark_lost_by_sack();
                    }
                    if by_time && fack {
                        board.mark_lost_by_fack();
                        let before = board.pipe();
                        let again = board.mark_overtaken();
                        prop_assert!(board.pipe() + again <= before);
                    }
                    for ordinal in board.head..board.tail {
                        let record = board.record(ordinal);
                        if !by_time && !record.is(SACKED) && board.is_lost_by_count(ordinal) {
                            prop_assert!(record.is(LOST));
                        }
                    }
                }
                Step::Retransmit => {
                    let due = board.first_to_repeat();
                    prop_assert_eq!(board.next_lost(), due);
                    if let Some(ordinal) = due {
                        board.retransmit(now, ordinal);
                    }
                }
                Step::RetransmitHole => {
                    if !by_time && let Some(ordinal) = board.next_hole() {
                        board.retransmit(now, ordinal);
                    }
                }
                Step::Timeout => board.mark_all_lost(),
                Step::Wait(ms) => now += Duration::from_ms(ms),
                Step::MarkByTime(ms) if by_time => {
                    let before = board.pipe();
                    let in_order = board.is_in_order();
                    let allowed = Duration::from_ms(ms);
                    let rule = |it, latest| rack::detect(it, latest, allowed, now);
                    let (lost, wait) = board.mark_overdue(rule);
                    prop_assert!(board.pipe() + lost <= before);
                    prop_assert!(!in_order || (lost, wait) == (0, None));
                    prop_assert!(wait.is_none_or(|wait| wait <= Duration::from_ms(ms)));
                }
                Step::Overdue(ms) if by_time => {
                    board.mark_timed_out(now, Duration::from_ms(ms));
                    prop_assert!(board.is_empty() || board.next_lost() == Some(board.head));
                }
                Step::Unmark if by_time => board.unmark_lost(),
                Step::RepeatLast if by_time => {
                    board.repeat_last(now);
                }
                Step::MarkByTime(_) | Step::Overdue(_) | Step::Unmark | Step::RepeatLast => {}
            }
            let sums = [board.outstanding, board.sacked, board.lost, board.retransmitted];
            prop_assert_eq!(sums, board.recount());
            prop_assert_eq!(
                board.pipe(),
                board.outstanding - board.sacked - board.lost + board.retransmitted
            );
        }
    }
}

#[test]
fn a_segment_is_lost_once_three_above_it_are_sacked() {
    let start = seq::first(0);
    let mut board = Scoreboard::new(start, 1);
    for number in 0..6 {
        let chunk = Chunk {
            start: start + number * 100,
            payload: 100,
            fin: false,
        };
        board.push(Instant::ZERO, chunk);
    }
    for (number, lost) in [(1, 0), (3, 0), (4, 1), (5, 2)] {
        let at = seq::wire(start + number * 100);
        assert!(board.sack(SackBlock {
            start: at,
            end: at + 100
        }));
        board.mark_lost_by_sack();
        assert_eq!(board.lost, lost, "with segment {number} SACKed");
    }
    assert_eq!(board.pipe(), 0);
}

#[test]
fn what_was_acknowledged_and_what_is_sacked_has_been_delivered() {
    let start = seq::first(0);
    let mut board = Scoreboard::new(start, 1);
    fill(&mut board, 6);
    board.ack(start + 300);
    let at = seq::wire(start + 400);
    assert!(board.sack(SackBlock {
        start: at,
        end: at + 200
    }));
    assert_eq!(board.delivered_segments(), 3 + 2);
}

#[test]
fn what_is_acknowledged_is_no_longer_kept_as_sacked() {
    let start = seq::first(0);
    let mut board = Scoreboard::new(start, 1);
    fill(&mut board, 6);
    let sacked = |from: u64, to: u64| SackBlock {
        start: seq::wire(start + from),
        end: seq::wire(start + to),
    };
    assert!(board.sack(sacked(100, 200)) && board.sack(sacked(300, 500)));
    board.ack(start + 200);
    assert_eq!(board.sacked_ranges.len(), 200);
    board.ack(start + 500);
    assert!(board.sacked_ranges.is_empty());
}

/// A duplicate SACK of a segment that was sent again and then SACKed shows by how many segments the first transmission
/// was late.
#[test]
fn a_repetition_that_was_needless_says_how_late_the_first_came() {
    let start = seq::first(0);
    let mut board = Scoreboard::new(start, 1);
    board.track_deliveries();
    fill(&mut board, 6);
    let segment = |number: u64| SackBlock {
        start: seq::wire(start + 100 * number),
        end: seq::wire(start + 100 * number + 100),
    };
    assert_eq!(board.repeated_late_by(start + 100), 0);
    board.sack(segment(1));
    board.sack(segment(4));
    assert_eq!(board.repeated_late_by(start + 100), 0, "SACKed, sent once");
    let ordinal = board.head + 1;
    board.record_mut(ordinal).flags |= RESENT;
    // from its start to the end of the highest that is SACKed (`tcp_check_sack_reordering`)
    assert_eq!(board.repeated_late_by(start + 100), 4);
    board.record_mut(ordinal + 1).flags |= RESENT;
    assert_eq!(board.repeated_late_by(start + 200), 0, "not SACKed");
    assert_eq!(board.repeated_late_by(start + 600), 0, "not sent");
    assert_eq!(board.repeated_late_by(start - 1), 0, "acknowledged");
}

/// Sends segments of 100 bytes until `segments` are outstanding.
fn fill(board: &mut Scoreboard, segments: u64) {
    while board.segments() < segments {
        let start = board.nxt();
        board.push(
            Instant::ZERO,
            Chunk {
                start,
                payload: 100,
                fin: false,
            },
        );
    }
}

proptest! {
    #[test]
    fn segments_keep_their_places_while_the_ring_grows_and_shrinks(
        windows in prop::collection::vec((1_u64..300, 1_u64..60), 1..40),
    ) {
        let mut board = Scoreboard::new(seq::first(0), 1);
        for (window, rounds) in windows {
            for _ in 0..rounds {
                fill(&mut board, window);
                for ordinal in board.head..board.tail {
                    let behind = (ordinal - board.head) * 100;
                    prop_assert_eq!(board.chunk(ordinal).start, board.una() + behind);
                }
                board.ack(board.una() + 100 * board.segments().div_ceil(2));
            }
        }
    }
}

#[test]
fn a_small_window_keeps_to_a_small_part_of_the_ring() {
    let mut board = Scoreboard::new(seq::first(0), 1);
    fill(&mut board, 1000);
    board.ack(board.nxt());
    for _ in 0..4000 {
        fill(&mut board, 4);
        board.ack(board.una() + 100);
    }
    assert_eq!(board.mask + 1, LEAST_RING);
    assert_eq!(board.ring.len(), 1024); // need not allocate when the window grows again
}

/// Mathis and Mahdavi 1996: every segment three or more below the highest SACKed one is lost.
#[test]
fn forward_acknowledgement_takes_what_is_three_below_the_highest_for_lost() {
    for (sacked, lost) in [(1, 0), (2, 0), (3, 1), (4, 2)] {
        let mut board = Scoreboard::new(seq::first(0), 1);
        fill(&mut board, 6);
        let start = board.chunk(board.head + sacked).start;
        board.sack(SackBlock {
            start: seq::wire(start),
            end: seq::wire(start + 100),
        });
        board.mark_lost_by_fack();
        assert_eq!(board.lost(), lost, "the segment {sacked} above the first");
    }
}

/// A board of segments of 100 bytes, with the function that pushes more of them.
fn board_of(segments: u64) -> (Scoreboard, impl Fn(&mut Scoreboard, u64)) {
    let push = |board: &mut Scoreboard, segments: u64| {
        for _ in 0..segments {
            let start = board.nxt();
            let chunk = Chunk {
                start,
                payload: 100,
                fin: false,
            };
            board.push(Instant::ZERO, chunk);
        }
    };
    let mut board = Scoreboard::new(seq::first(0), 1);
    push(&mut board, segments);
    (board, push)
}

/// The numbers of the lost segments, each sent again at `now`.
fn repeated(board: &mut Scoreboard, now: Instant) -> Vec<u64> {
    std::iter::from_fn(|| {
        let ordinal = board.next_lost()?;
        board.retransmit(now, ordinal);
        Some(ordinal)
    })
    .collect()
}

#[test]
fn what_was_sent_again_says_nothing_of_the_next_segment_in_its_place() {
    let (mut board, push) = board_of(LEAST_RING as u64);
    board.mark_all_lost();
    assert_eq!(repeated(&mut board, Instant::ZERO).len(), LEAST_RING);
    board.ack(board.nxt());
    push(&mut board, 3);
    board.mark_all_lost();
    assert_eq!(repeated(&mut board, Instant::ZERO), [16, 17, 18]);
    // the first of four is lost
    push(&mut board, 4);
    let nxt = board.nxt();
    assert!(board.sack(SackBlock {
        start: seq::wire(nxt - 300),
        end: seq::wire(nxt)
    }));
    board.mark_lost_by_sack();
    assert_eq!(repeated(&mut board, Instant::ZERO), [19]);
}

/// `tcp_timeout_mark_lost`: the first segment is lost, and all that are older than a round trip. They are sent in
/// order.
#[test]
fn what_is_lost_beyond_something_younger_goes_again_after_a_timeout() {
    let (mut board, _) = board_of(4);
    board.track_deliveries();
    board.mark_all_lost();
    board.retransmit(Instant::from_ms(90), 1);
    // the retransmission was lost as well, and then the timeout proved needless
    board.lose_again(1);
    board.unmark_lost();
    board.mark_timed_out(Instant::from_ms(100), Duration::from_ms(50));
    assert_eq!(repeated(&mut board, Instant::from_ms(100)), [0, 2, 3]);
}
