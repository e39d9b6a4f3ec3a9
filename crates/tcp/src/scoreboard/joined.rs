//! Segments whose boundaries change when they are sent again: short ones become one (Linux's
//! `tcp_retrans_try_collapse`), and one that the peer's window no longer holds is cut (`__tcp_retransmit_skb`).

use super::{FIN, LOST, RESENT, RETRANSMITTED, Record, SACKED, Scoreboard};

impl Scoreboard {
    /// Joins the segments after `ordinal` to it while none of them is SACKed, all data together has at most `payload`
    /// bytes, and the last of them ends within `room` of where the first starts. The first must not be SACKed or under
    /// way again. Returns how many were joined to it.
    ///
    /// The joined segment keeps the marks of the first. Those of the others are dropped: what they had sent again
    /// counts no longer as in the network (`tcp_collapse_retrans`).
    pub(crate) fn join(&mut self, ordinal: u64, payload: u64, room: u64) -> u64 {
        let first = *self.record(ordinal);
        let mut joined = first;
        let mut end = ordinal + 1;
        while end < self.tail {
            let next = self.record(end);
            let sum = u64::from(joined.payload) + u64::from(next.payload);
            if next.is(SACKED) || sum > payload || next.end() - first.start > room {
                break;
            }
            joined.payload = sum as u16;
            joined.flags |= next.flags & (RESENT | FIN);
            end += 1;
        }
        let count = end - ordinal - 1;
        if count > 0 {
            for gone in ordinal..end {
                self.discount(gone);
            }
            self.count(&joined);
            *self.record_mut(ordinal) = joined;
            self.close_gap(ordinal, count);
        }
        count
    }

    /// Cuts a segment that is not SACKed after `payload` bytes. Both parts keep its marks and its time, and the second
    /// its FIN (`tcp_fragment`).
    pub(crate) fn split(&mut self, ordinal: u64, payload: u16) {
        if self.segments() > self.mask as u64 {
            self.grow();
        }
        self.discount(ordinal);
        for at in (ordinal + 1..self.tail).rev() {
            *self.record_mut(at + 1) = *self.record(at);
        }
        self.tail += 1;
        let whole = *self.record(ordinal);
        let parts = [
            Record {
                payload,
                flags: whole.flags & !FIN,
                ..whole
            },
            Record {
                start: whole.start + u64::from(payload),
                payload: whole.payload - payload,
                ..whole
            },
        ];
        for (at, part) in (ordinal..).zip(parts) {
            *self.record_mut(at) = part;
            self.count(&part);
        }
        let limit = |it: &mut u64| *it += u64::from(*it > ordinal);
        limit(&mut self.lost_below);
        limit(&mut self.next);
        limit(&mut self.disturbed);
        self.highest_sacked.iter_mut().for_each(limit);
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.open_gap(ordinal);
        }
    }

    /// Takes a segment that is not SACKed into the sums.
    fn count(&mut self, record: &Record) {
        let weight = Self::weight(self.unit, record);
        self.outstanding += weight;
        self.lost += weight * u64::from(record.is(LOST));
        self.retransmitted += weight * u64::from(record.is(RETRANSMITTED));
    }

    /// Takes a segment that is not SACKed out of the sums.
    fn discount(&mut self, ordinal: u64) {
        let record: Record = *self.record(ordinal);
        let weight = Self::weight(self.unit, &record);
        self.outstanding -= weight;
        self.lost -= weight * u64::from(record.is(LOST));
        self.retransmitted -= weight * u64::from(record.is(RETRANSMITTED));
    }

    /// Removes the records of the `count` segments after `ordinal`; the ordinals of those above fall.
    fn close_gap(&mut self, ordinal: u64, count: u64) {
        self.tail -= count;
        for at in ordinal + 1..self.tail {
            *self.record_mut(at) = *self.record(at + count);
        }
        // a limit says "below this", so one within the gap is now where the gap was
        let limit = |it: &mut u64| *it = (*it).min((ordinal + 1).max(it.saturating_sub(count)));
        limit(&mut self.lost_below);
        limit(&mut self.next);
        limit(&mut self.disturbed);
        self.highest_sacked.iter_mut().for_each(limit);
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.close_gap(ordinal, count);
        }
    }
}
