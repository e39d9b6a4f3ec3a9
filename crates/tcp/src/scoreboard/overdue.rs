//! Loss marks by time: those of RACK (`detect` in `recovery/rack.rs`), and those of a timeout.
//!
//! First transmissions are in order of time on the ring, so a pointer that only moves forward finds the overdue ones.
//! Retransmissions are in a queue of their own. Each transmission is looked at until it is delivered or lost, and never
//! again after that.

use std::collections::VecDeque;

use fairport_units::{Duration, Instant};

use super::deliveries::{Deliveries, Resent, Transmission};
use super::{Chunk, FOUND_LOST, LOST, RESENT, RETRANSMITTED, Record, SACKED, Scoreboard};

/// Segments that RACK does not look for among the first transmissions. One that was sent again is in the queue of
/// retransmissions. One that RACK found lost stays off its list until it is sent again, even if the loss was undone
/// (`tcp_rack_detect_loss`, `tcp_undo_cwnd_reduction`): if it was lost after all, only a timeout repairs it.
const KNOWN: u8 = SACKED | LOST | RETRANSMITTED | FOUND_LOST;

/// What RACK says about a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// No transmission that was sent later has arrived.
    Open,
    /// The segment may be late; it is lost after this time.
    Late(Duration),
    /// The segment is lost.
    Lost,
}

impl Scoreboard {
    /// Marks the transmissions as lost that `rule` says are lost, given each transmission and the latest one that has
    /// arrived. Returns the newly lost data, in the window's unit, and the time until the last segment that may be late
    /// is overdue, if there is any.
    pub(crate) fn mark_overdue(
        &mut self,
        rule: impl Fn(Transmission, Transmission) -> Arrival,
    ) -> (u64, Option<Duration>) {
        let Some(mut deliveries) = self.deliveries.take() else {
            return (0, None);
        };
        deliveries.unexamined = false;
        let before = self.lost;
        let latest = deliveries.latest;
        let detect = |it: Transmission| rule(it, latest);
        let wait = self.mark_first_transmissions(&mut deliveries, detect);
        let lost = self.lost - before;
        let (again, wait_again) = self.mark_retransmissions(&mut deliveries, detect);
        self.deliveries = Some(deliveries);
        let wait = match (wait, wait_again) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        (lost + again, wait)
    }

    fn mark_first_transmissions(
        &mut self,
        deliveries: &mut Deliveries,
        detect: impl Fn(Transmission) -> Arrival,
    ) -> Option<Duration> {
        let mut ordinal = self.lost_below.max(self.head);
        let mut wait = None;
        while ordinal < self.tail {
            let unit = self.unit;
            let record = self.record_mut(ordinal);
            if !record.is(KNOWN) {
                match detect(record.transmission()) {
                    Arrival::Open => break,
                    Arrival::Late(by) => {
                        let last = self.last_late(ordinal, deliveries, &detect);
                        wait = Some(last.unwrap_or(by));
                        break;
                    }
                    Arrival::Lost => {
                        record.flags |= LOST | FOUND_LOST;
                        let weight = Self::weight(unit, record);
                        self.lost += weight;
                        self.lost_ever += weight;
                    }
                }
            }
            ordinal += 1;
        }
        self.lost_below = self.lost_below.max(ordinal);
        wait
    }

    /// Time until the last first transmission above `ordinal` that may be late is overdue. What was sent after the latest
    /// delivered transmission and what is SACKed may each be a window of segments, so neither is gone through.
    fn last_late(
        &self,
        ordinal: u64,
        deliveries: &mut Deliveries,
        detect: &impl Fn(Transmission) -> Arrival,
    ) -> Option<Duration> {
        let is_earlier =
            |record: &Record| record.is(RESENT) || record.transmission() < deliveries.latest;
        let mut end = deliveries.earlier_end.max(self.head);
        while end < self.tail && is_earlier(self.record(end)) {
            end += 1;
        }
        deliveries.earlier_end = end;
        while end > ordinal + 1 {
            end -= 1;
            let record = self.record(end);
            if record.is(SACKED) {
                let first = self.find(self.sacked_ranges.start_of(record.start));
                // a range may begin within a segment, which is then not SACKed
                end = first + u64::from(!self.record(first).is(SACKED));
            } else if !record.is(KNOWN)
                && let Arrival::Late(by) = detect(record.transmission())
            {
                return Some(by);
            }
        }
        None
    }

    fn mark_retransmissions(
        &mut self,
        deliveries: &mut Deliveries,
        detect: impl Fn(Transmission) -> Arrival,
    ) -> (u64, Option<Duration>) {
        // those sent later than the latest delivered transmission need no look
        while let Some(resent) = deliveries.resent.front().copied()
            && resent.sent <= deliveries.latest.sent
        {
            deliveries.resent.pop_front();
            if self.is_under_way(&resent) {
                deliveries.overtaken.push_back(resent);
            }
        }
        let mut again = 0;
        while let Some(resent) = deliveries.overtaken.front().copied() {
            if self.is_under_way(&resent) {
                match detect(self.record(resent.ordinal).transmission()) {
                    Arrival::Open => return (again, None),
                    Arrival::Late(by) => {
                        let last = self.last_late_again(deliveries, detect);
                        return (again, Some(last.unwrap_or(by)));
                    }
                    Arrival::Lost => {
                        again += self.lose_again(resent.ordinal);
                        self.record_mut(resent.ordinal).flags |= FOUND_LOST;
                        deliveries.note_lost_again(resent.ordinal);
                    }
                }
            }
            deliveries.overtaken.pop_front();
        }
        (again, None)
    }

    /// Time until the last retransmission that may be late is overdue.
    fn last_late_again(
        &self,
        deliveries: &mut Deliveries,
        detect: impl Fn(Transmission) -> Arrival,
    ) -> Option<Duration> {
        let overtaken = &mut deliveries.overtaken;
        while let Some(last) = overtaken.back()
            && !self.is_under_way(last)
        {
            overtaken.pop_back();
        }
        // some at the end may be of the same instant as the latest delivered one, and not be late
        overtaken.iter().rev().find_map(|resent| {
            let transmission = self.record_if_under_way(resent)?.transmission();
            match detect(transmission) {
                Arrival::Late(by) => Some(by),
                Arrival::Open | Arrival::Lost => None,
            }
        })
    }

    /// Whether the retransmission is the segment's latest, and was neither delivered nor found lost.
    pub(super) fn is_under_way(&self, resent: &Resent) -> bool {
        (self.head..self.tail).contains(&resent.ordinal) && {
            let record = self.record(resent.ordinal);
            record.is(RETRANSMITTED) && !record.is(SACKED) && record.sent == resent.sent
        }
    }

    fn record_if_under_way(&self, resent: &Resent) -> Option<&Record> {
        self.is_under_way(resent)
            .then(|| self.record(resent.ordinal))
    }

    /// Marks a segment's retransmission as lost. Returns its weight.
    pub(super) fn lose_again(&mut self, ordinal: u64) -> u64 {
        let unit = self.unit;
        let record = self.record_mut(ordinal);
        let weight = Self::weight(unit, record);
        let was_lost = record.is(LOST);
        record.flags = (record.flags | LOST) & !RETRANSMITTED;
        self.retransmitted -= weight;
        if !was_lost {
            self.lost += weight;
        }
        self.lost_ever += weight;
        weight
    }

    /// The first segment whose retransmission was lost and that was not sent again since.
    #[inline]
    pub(super) fn next_lost_again(&mut self) -> Option<u64> {
        let mut deliveries = self.deliveries.take()?;
        let mut found = None;
        while let Some(&ordinal) = deliveries.again.front() {
            if ordinal >= self.head && !self.record(ordinal).is(SACKED | RETRANSMITTED) {
                found = Some(ordinal);
                break;
            }
            deliveries.again.pop_front();
        }
        self.deliveries = Some(deliveries);
        found
    }

    /// Empties the list of segments whose retransmission was lost, because other marks cover them.
    pub(super) fn forget_lost_again(&mut self) {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.again.clear();
        }
    }

    /// After a timeout, marks the first segment as lost, and every segment that was sent more than `span` ago. Segments
    /// sent since may still arrive (Linux's `tcp_timeout_mark_lost`). If the first segment was SACKed, all SACKs are
    /// forgotten (RFC 2018 8).
    pub(crate) fn mark_timed_out(&mut self, now: Instant, span: Duration) {
        if self.is_empty() || self.record(self.head).is(SACKED) {
            self.mark_all_lost();
            return;
        }
        let mut again = VecDeque::new();
        let (head, unit) = (self.head, self.unit);
        let (mut lost, mut newly, mut retransmitted) = (0, 0, 0);
        let mut prefix = true;
        for ordinal in head..self.tail {
            let record = self.record_mut(ordinal);
            if !record.is(SACKED) {
                let overdue = ordinal == head || record.sent + span <= now;
                let weight = Self::weight(unit, record);
                if overdue {
                    if !record.is(LOST) || record.is(RETRANSMITTED) {
                        newly += weight;
                    }
                    record.flags = (record.flags | LOST) & !RETRANSMITTED;
                }
                let flags = record.flags;
                lost += weight * u64::from(flags & LOST != 0);
                retransmitted += weight * u64::from(flags & RETRANSMITTED != 0);
                prefix &= flags & (LOST | RETRANSMITTED) != 0;
                if overdue && !prefix {
                    again.push_back(ordinal);
                }
            }
            if prefix {
                self.lost_below = self.lost_below.max(ordinal + 1);
            }
        }
        self.lost = lost;
        self.lost_ever += newly;
        self.retransmitted = retransmitted;
        self.next = head;
        if !again.is_empty() {
            // the first segment is always sent first
            again.push_front(head);
        }
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.again = again;
        }
    }

    /// Undoes the loss marks of a needless episode (`tcp_undo_cwnd_reduction`). Segments that were sent again are in
    /// the network twice.
    pub(crate) fn unmark_lost(&mut self) {
        for ordinal in self.head..self.tail {
            let record = self.record_mut(ordinal);
            if !record.is(SACKED) {
                record.flags &= !LOST;
            }
        }
        self.lost = 0;
        self.lost_below = self.head;
        self.next = self.head;
        self.forget_lost_again();
    }

    /// Makes the next ACK look for losses although it delivers nothing new.
    pub(crate) fn look_again(&mut self) {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.unexamined = true;
        }
    }

    /// Records that the last segment is sent again as a probe. It counts as in the network once (Linux's
    /// `tcp_send_loss_probe`). None if it was SACKed.
    pub(crate) fn repeat_last(&mut self, now: Instant) -> Option<Chunk> {
        let last = self.tail.checked_sub(1).filter(|last| *last >= self.head)?;
        let record = self.record_mut(last);
        if record.is(SACKED) {
            return None;
        }
        record.sent = now;
        let undone = record.is(FOUND_LOST) && !record.is(LOST);
        record.flags = (record.flags | RESENT) & !FOUND_LOST;
        let retransmitted = record.is(RETRANSMITTED);
        if undone {
            // RACK looks for it again
            self.lost_below = self.lost_below.min(last);
        }
        self.disturbed = self.tail;
        if retransmitted {
            // after an undo it counts as in the network, like a segment that was sent again
            self.note_resent(last, now);
        }
        self.note_sent(last, now);
        Some(self.chunk(last))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::recovery::rack;
    use crate::segment::SackBlock;
    use crate::seq;

    /// A late segment costs no more in a large window: neither what was sent later nor what is SACKed is gone through.
    fn looks_at_few_others(sent_again: bool) {
        let mut board = Scoreboard::new(seq::first(0), 1);
        board.track_deliveries();
        let sent = |number: u64| Instant::from_us(number);
        for number in 0..1000 {
            let chunk = Chunk {
                start: board.nxt(),
                payload: 100,
                fin: false,
            };
            board.push(sent(number), chunk);
        }
        if sent_again {
            board.mark_all_lost();
            (0..1000).for_each(|number| board.retransmit(sent(number), number));
        }
        // the first and the eleventh are late
        for number in (1..10).chain(11..900) {
            let start = board.chunk(number).start;
            board.begin_ack(Instant::NEVER);
            board.sack(SackBlock {
                start: seq::wire(start),
                end: seq::wire(start + 100),
            });
            let (now, allowed) = (sent(1000 + number), Duration::from_ms(9));
            let asked = Cell::new(0);
            let (lost, wait) = board.mark_overdue(|it, latest| {
                asked.set(asked.get() + 1);
                rack::detect(it, latest, allowed, now)
            });
            let waits_for = if number < 10 { 0 } else { 10 };
            assert_eq!((lost, wait), (0, Some(sent(waits_for) + allowed - now)));
            assert!(asked.get() <= 2, "{} for {number}", asked.get());
        }
    }

    #[test]
    fn while_a_segment_may_be_late_an_ack_looks_at_few_others() {
        looks_at_few_others(false);
        looks_at_few_others(true);
    }
}
