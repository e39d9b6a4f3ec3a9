//! Measures how long hosts take: from the delivery of a segment to the ACK that it causes, and from the delivery of an
//! ACK to the data that it releases.
//!
//! The time starts when the frame's system call begins, and ends at the kernel's timestamp of the answer as it leaves
//! the host. So neither the lag of the switch nor the time to read the answer is included. With veth pairs the
//! receiver's TCP runs inside that system call, on the switch's processor. The time includes, in addition to TCP, the
//! copy of the frame and two passages through the veth pair.
//!
//! An ACK of new data answers the last segment delivered before it that it acknowledges. A duplicate ACK answers the
//! last segment delivered before it. Data answers the last ACK delivered before it. Of the segments that an ACK
//! releases, only the first counts, because the next ones wait for it.

use std::collections::VecDeque;

use fairport_record::Table;
use fairport_record::tables::{Answer, Answers};
use fairport_units::{Duration, Instant};

/// Number of unanswered deliveries kept per flow and end. More than a window of them is never unanswered.
const KEPT: usize = 1024;

/// Kinds of answers: the values of the column `answer`.
const NEW_ACK: u8 = 0;
const DUPLICATE: u8 = 1;
const LATER_DUPLICATE: u8 = 2;
const DATA: u8 = 3;

/// Number of duplicates of an ACK that Linux certainly sends at once. It counts three, the first of which may also
/// acknowledge new data; later ones may be held back and sent as one (`tcp_comp_sack_delay_ns`).
const PROMPT_DUPLICATES: u32 = 2;

/// A frame that has reached its host and is not answered yet.
#[derive(Clone, Copy)]
struct Delivery {
    at: Instant,
    late: Duration,
    idle: Duration,
    /// the byte after its last one
    end: u32,
}

/// The two ends of a flow.
#[derive(Default)]
struct Ends {
    segments: VecDeque<Delivery>,
    acks: VecDeque<Delivery>,
    /// the highest ACK number that the receiver has sent
    acknowledged: Option<u32>,
    /// number of duplicates of that ACK
    duplicates: u32,
}

/// Matches frames with the frames that they cause.
pub(crate) struct AnswerFinder {
    flows: Vec<Ends>,
    /// by host number: when the host last received a frame
    delivered_at: Vec<Option<Instant>>,
    found: Answers,
}

/// A frame's place in a flow.
#[derive(Clone, Copy)]
pub(crate) struct Numbers {
    pub(crate) flow: u32,
    /// whether it travels in the direction of ACKs
    pub(crate) is_backward: bool,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    /// length in the sequence space, in bytes
    pub(crate) length: u32,
}

impl AnswerFinder {
    /// A finder without frames yet, for `hosts` hosts.
    pub(crate) fn new(hosts: usize) -> Self {
        Self {
            flows: Vec::new(),
            delivered_at: vec![None; hosts],
            found: Answers::default(),
        }
    }

    /// Adds the next flow.
    pub(crate) fn add_flow(&mut self) {
        self.flows.push(Ends::default());
    }

    /// A frame that was due at `due` is handed to its host at `at`.
    pub(crate) fn delivered(&mut self, due: Instant, at: Instant, host: u32, numbers: Numbers) {
        let before = self.delivered_at[host as usize].replace(at);
        let idle = before.map_or(Duration::NEVER, |before| at.saturating_sub(before));
        let ends = &mut self.flows[numbers.flow as usize];
        let (waiting, end) = match (numbers.is_backward, numbers.length) {
            (false, 0) => return,
            (false, length) => (&mut ends.segments, numbers.seq.wrapping_add(length)),
            (true, _) => (&mut ends.acks, numbers.ack),
        };
        if waiting.len() == KEPT {
            waiting.pop_front();
        }
        let late = at.saturating_sub(due);
        waiting.push_back(Delivery {
            at,
            late,
            idle,
            end,
        });
    }

    /// A frame left its host at `at`.
    pub(crate) fn answered(&mut self, at: Instant, host: u32, numbers: Numbers) {
        let ends = &mut self.flows[numbers.flow as usize];
        let (kind, frames, cause) = if numbers.is_backward {
            ends.ack(at, numbers.ack)
        } else if numbers.length > 0 {
            ends.data(at)
        } else {
            return;
        };
        if let Some(cause) = cause {
            self.found.push(Answer {
                time_s: cause.at,
                host,
                flow: numbers.flow,
                answer: kind,
                frames,
                delay_s: at - cause.at,
                idle_s: cause.idle,
                late_s: cause.late,
            });
        }
    }

    /// The table.
    pub(crate) fn into_table(self) -> Table {
        self.found.into_table()
    }
}

impl Ends {
    /// The segment that an ACK answers, and the number of segments to which it is the first answer.
    fn ack(&mut self, at: Instant, ack: u32) -> (u8, u32, Option<Delivery>) {
        let mut delivered = self.segments.iter().filter(|one| one.at <= at);
        let (kind, cause) = if self.acknowledged.is_none_or(|last| is_before(last, ack)) {
            self.acknowledged = Some(ack);
            self.duplicates = 0;
            (NEW_ACK, delivered.rfind(|one| !is_before(ack, one.end)))
        } else {
            self.duplicates += 1;
            let is_prompt = self.duplicates <= PROMPT_DUPLICATES;
            let kind = if is_prompt {
                DUPLICATE
            } else {
                LATER_DUPLICATE
            };
            (kind, delivered.next_back())
        };
        let cause = cause.copied();
        let before = self.segments.len();
        if let Some(cause) = cause {
            self.segments.retain(|one| one.at > cause.at);
        }
        (kind, (before - self.segments.len()) as u32, cause)
    }

    /// The ACK that releases data, and the number of ACKs since the last data.
    fn data(&mut self, at: Instant) -> (u8, u32, Option<Delivery>) {
        let cause = self.acks.iter().rev().find(|one| one.at <= at).copied();
        let before = self.acks.len();
        self.acks.retain(|one| one.at > at);
        (DATA, (before - self.acks.len()) as u32, cause)
    }
}

/// Whether a sequence number comes before another (RFC 9293 3.4).
pub(crate) fn is_before(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECEIVER: u32 = 0;
    const SENDER: u32 = 1;

    fn us(us: u64) -> Instant {
        Instant::from_us(us)
    }

    fn finder() -> AnswerFinder {
        let mut finder = AnswerFinder::new(2);
        finder.add_flow();
        finder
    }

    /// A segment of 1000 bytes. Segments are numbered from 0.
    fn segment(number: u32) -> Numbers {
        Numbers {
            flow: 0,
            is_backward: false,
            seq: 1000 * number,
            ack: 0,
            length: 1000,
        }
    }

    /// An ACK of `segments` segments.
    fn ack(segments: u32) -> Numbers {
        Numbers {
            flow: 0,
            is_backward: true,
            seq: 0,
            ack: 1000 * segments,
            length: 0,
        }
    }

    /// Per row: when the answered frame was delivered, kind, frames, and delay in us.
    fn rows(finder: AnswerFinder) -> Vec<(u64, u8, u32, u64)> {
        use fairport_record::column::Column;
        let table = finder.into_table();
        let us = |name| match table.column(name) {
            Some(Column::F64(values)) => values.iter().map(|s| (s * 1e6).round() as u64),
            _ => unreachable!("times are numbers"),
        };
        let Some(Column::U8(kinds)) = table.column("answer") else {
            unreachable!("kinds are numbers")
        };
        let Some(Column::U32(frames)) = table.column("frames") else {
            unreachable!("counts are numbers")
        };
        let times = us("time_s").zip(us("delay_s"));
        let rows = times.zip(kinds.iter().zip(frames));
        rows.map(|((time, delay), (kind, frames))| (time, *kind, *frames, delay))
            .collect()
    }

    #[test]
    fn a_delayed_ack_answers_the_second_segment() {
        let mut finder = finder();
        finder.delivered(us(100), us(100), RECEIVER, segment(0));
        finder.delivered(us(220), us(220), RECEIVER, segment(1));
        finder.answered(us(240), RECEIVER, ack(2));
        assert_eq!(rows(finder), [(220, NEW_ACK, 2, 20)]);
    }

    #[test]
    fn an_ack_that_was_under_way_does_not_answer_what_came_meanwhile() {
        let mut finder = finder();
        for i in 0..3 {
            let at = us(100 + 10 * u64::from(i));
            finder.delivered(at, at, RECEIVER, segment(i));
        }
        // it leaves after the third segment was delivered, and acknowledges two segments
        finder.answered(us(130), RECEIVER, ack(2));
        finder.answered(us(400), RECEIVER, ack(3));
        let expected = [(110, NEW_ACK, 2, 20), (120, NEW_ACK, 1, 280)];
        assert_eq!(rows(finder), expected);
    }

    #[test]
    fn each_segment_behind_a_hole_has_its_duplicate() {
        let mut finder = finder();
        finder.delivered(us(100), us(100), RECEIVER, segment(0));
        finder.answered(us(105), RECEIVER, ack(1));
        for i in 2..6 {
            let at = us(100 * u64::from(i));
            finder.delivered(at, at, RECEIVER, segment(i));
            finder.answered(at + Duration::from_us(6), RECEIVER, ack(1));
        }
        let expected = [
            (100, NEW_ACK, 1, 5),
            (200, DUPLICATE, 1, 6),
            (300, DUPLICATE, 1, 6),
            (400, LATER_DUPLICATE, 1, 6),
            (500, LATER_DUPLICATE, 1, 6),
        ];
        assert_eq!(rows(finder), expected);
    }

    #[test]
    fn of_a_burst_the_first_segment_is_the_answer() {
        let mut finder = finder();
        finder.delivered(us(100), us(100), SENDER, ack(2));
        finder.answered(us(110), SENDER, segment(5));
        finder.answered(us(112), SENDER, segment(6));
        // an ACK that was delivered after the data had left did not release it
        finder.delivered(us(300), us(300), SENDER, ack(3));
        finder.delivered(us(320), us(320), SENDER, ack(4));
        finder.answered(us(310), SENDER, segment(7));
        finder.answered(us(329), SENDER, segment(8));
        let expected = [(100, DATA, 1, 10), (300, DATA, 1, 10), (320, DATA, 1, 9)];
        assert_eq!(rows(finder), expected);
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut finder = finder();
        let last = Numbers {
            seq: u32::MAX - 499,
            ..segment(0)
        };
        finder.delivered(us(100), us(100), RECEIVER, last);
        finder.answered(us(107), RECEIVER, Numbers { ack: 500, ..ack(0) });
        assert_eq!(rows(finder), [(100, NEW_ACK, 1, 7)]);
    }
}
