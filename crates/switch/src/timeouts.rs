//! Finds timeouts of real senders from the packets that pass: after a silence, a sender sends its first unacknowledged
//! byte again.
//!
//! A fast retransmission follows an ACK at once, and a loss probe repeats the last segment, not the first. So a
//! retransmission of the first unacknowledged byte is a timeout if for a long time nothing was sent and no ACK reached
//! the sender. Exempt is a segment that was sent once and that SACKs have overtaken: RACK sends it again after a quarter
//! of a round trip (RFC 8985 6.2), which may be longer than that time.

use fairport_record::Table;
use fairport_record::tables::{TimeoutRow, Timeouts};
use fairport_units::{Duration, Instant};

use crate::answers::is_before;

/// What is known about the sender of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Sender {
    /// Its first unacknowledged byte, as a sequence number.
    unacknowledged: u32,
    /// The byte after the last one that it sent.
    next: u32,
    /// When it last sent data, or an ACK reached it.
    active_at: Instant,
    /// Consecutive timeouts for the same byte.
    in_a_row: u32,
    /// Minimum silence before a timeout. It is shorter than the sender's minimum RTO.
    silence: Duration,
    is_known: bool,
}

/// Finds the timeouts of all flows.
#[derive(Default)]
pub(crate) struct TimeoutFinder {
    /// by direction; none if its timeouts do not count
    senders: Vec<Option<Sender>>,
    found: Timeouts,
}

impl TimeoutFinder {
    /// Adds the next flow. Its sender has a timeout only after a silence of at least the first of `silences`. The
    /// second is that of its receiver, if that sends requests.
    pub(crate) fn add_flow(&mut self, silences: [Option<Duration>; 2]) {
        let sender = |silence| Sender {
            silence,
            ..Sender::default()
        };
        self.senders.extend(silences.map(|it| it.map(sender)));
    }

    /// `length` bytes of the sequence space of a direction, from `seq` on, were sent. `is_overtaken`: SACKs have reported
    /// data behind the first unacknowledged segment, which was sent once.
    pub(crate) fn sent(
        &mut self,
        now: Instant,
        direction: u32,
        seq: u32,
        length: u32,
        is_overtaken: bool,
    ) {
        let Some(sender) = &mut self.senders[direction as usize] else {
            return;
        };
        let end = seq.wrapping_add(length);
        if !sender.is_known {
            *sender = Sender {
                unacknowledged: seq,
                next: end,
                active_at: now,
                is_known: true,
                ..*sender
            };
            return;
        }
        let silence = now.saturating_sub(sender.active_at);
        let is_retransmission = is_before(seq, sender.next) && !is_overtaken;
        if is_retransmission && seq == sender.unacknowledged && silence >= sender.silence {
            self.found.push(TimeoutRow {
                flow: direction / 2,
                start_s: sender.active_at,
                end_s: now,
                rto_s: silence,
                backoff: sender.in_a_row,
                cause: 0,
                seq,
                is_backward: !direction.is_multiple_of(2),
            });
            sender.in_a_row += 1;
        }
        if is_before(sender.next, end) {
            sender.next = end;
        }
        sender.active_at = now;
    }

    /// An ACK of everything before `ack` reached the sender of a direction.
    pub(crate) fn acknowledged(&mut self, now: Instant, direction: u32, ack: u32) {
        let Some(sender) = self.senders[direction as usize]
            .as_mut()
            .filter(|it| it.is_known)
        else {
            return;
        };
        sender.active_at = sender.active_at.max(now);
        if is_before(sender.unacknowledged, ack) {
            sender.unacknowledged = ack;
            sender.in_a_row = 0;
        }
    }

    /// The table.
    pub(crate) fn into_table(self) -> Table {
        self.found.into_table()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairport_record::column::Column;

    fn ms(ms: u64) -> Instant {
        Instant::from_ms(ms)
    }

    fn rows(finder: TimeoutFinder) -> usize {
        finder.into_table().rows()
    }

    fn sender_of_three_segments() -> TimeoutFinder {
        let mut finder = TimeoutFinder::default();
        finder.add_flow([Some(Duration::from_ms(2)), None]);
        finder.sent(ms(0), 0, u32::MAX, 1, false); // SYN
        finder.acknowledged(ms(1), 0, 0);
        for i in 0..3 {
            finder.sent(ms(1), 0, i * 1000, 1000, false);
        }
        finder
    }

    #[test]
    fn the_first_unacknowledged_segment_again_after_silence_is_a_timeout() {
        let mut finder = sender_of_three_segments();
        finder.acknowledged(ms(2), 0, 1000);
        finder.sent(ms(12), 0, 1000, 1000, false);
        finder.sent(ms(32), 0, 1000, 1000, false);
        assert_eq!(rows(finder), 2);
    }

    #[test]
    fn what_answers_an_ack_is_a_fast_retransmission() {
        let mut finder = sender_of_three_segments();
        finder.acknowledged(ms(20), 0, 1000);
        finder.sent(ms(20), 0, 1000, 1000, false);
        assert_eq!(rows(finder), 0);
    }

    #[test]
    fn the_last_segment_again_is_a_probe() {
        let mut finder = sender_of_three_segments();
        finder.sent(ms(12), 0, 2000, 1000, false);
        assert_eq!(rows(finder), 0);
    }

    #[test]
    fn each_sender_has_a_minimum_rto_of_its_own() {
        let mut finder = sender_of_three_segments();
        finder.add_flow([Some(Duration::from_ms(150)), None]);
        for direction in [0, 2] {
            finder.sent(ms(100), direction, 5000, 1000, false);
            finder.acknowledged(ms(101), direction, 5000);
            finder.sent(ms(121), direction, 5000, 1000, false);
        }
        // 20 ms are a timeout of the first sender only
        assert_eq!(rows(finder), 1);
    }

    #[test]
    fn requests_have_timeouts_of_their_own() {
        let mut finder = TimeoutFinder::default();
        let silence = Some(Duration::from_ms(150));
        finder.add_flow([silence, None]);
        finder.add_flow([silence, silence]);
        // the second of each is the receiver, which answers a SYN or sends a request
        for direction in [1, 3] {
            finder.sent(ms(0), direction, 100, 1, false);
            finder.sent(ms(1000), direction, 100, 1, false);
        }
        assert_eq!(
            finder.into_table().column("flow"),
            Some(&Column::U32(vec![1]))
        );
    }

    #[test]
    fn what_racks_timer_sends_again_is_no_timeout() {
        let mut finder = sender_of_three_segments();
        finder.acknowledged(ms(2), 0, 0);
        finder.sent(ms(12), 0, 0, 1000, true);
        assert_eq!(rows(finder), 0);
    }

    #[test]
    fn new_data_after_silence_is_no_timeout() {
        let mut finder = sender_of_three_segments();
        finder.acknowledged(ms(2), 0, 3000);
        finder.sent(ms(500), 0, 3000, 1000, false);
        assert_eq!(rows(finder), 0);
    }
}
