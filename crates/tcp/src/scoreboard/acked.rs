//! What a cumulative acknowledgement removes from the scoreboard.

use fairport_units::Instant;

use super::{LEAST_RING, LOST, RESENT, RETRANSMITTED, SACKED, Scoreboard};

/// The segments that a cumulative acknowledgement removed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acked {
    pub(crate) segments: u32,
    /// their data, in the window's unit
    pub(crate) amount: u64,
    /// when the oldest of them was sent that had been neither retransmitted nor SACKed
    pub(crate) sent: Option<Instant>,
    /// when the newest of them was sent that had been neither retransmitted nor SACKed
    pub(crate) sent_last: Option<Instant>,
    /// whether any of them was retransmitted, for Karn's rule
    pub(crate) retransmitted: bool,
}

impl Scoreboard {
    /// Removes everything below `ack`, which lies above `SND.UNA` and not above `SND.NXT`.
    #[expect(clippy::inline_always, reason = "the hot path of a sender")]
    #[inline(always)]
    pub(crate) fn ack(&mut self, ack: u64) -> Acked {
        assert!(self.una < ack && ack <= self.nxt);
        let mut acked = Acked::default();
        let first = self.head;
        while self.head < self.tail {
            let record = *self.record(self.head);
            let weight = Self::weight(self.unit, &record);
            if record.end() > ack {
                if record.start < ack {
                    acked.amount += self.trim(ack);
                }
                break;
            }
            if record.is(SACKED) {
                self.sacked -= weight;
            } else {
                if record.is(LOST) {
                    self.lost -= weight;
                }
                if record.is(RETRANSMITTED) {
                    self.retransmitted -= weight;
                    acked.retransmitted = true;
                } else {
                    acked.sent.get_or_insert(record.sent);
                    acked.sent_last = Some(record.sent);
                }
                if let Some(deliveries) = &mut self.deliveries {
                    // Karn's rule also applies to tail probes and to segments that a timeout gave up
                    acked.retransmitted |= record.is(RESENT);
                    deliveries.note(self.head, &record, true);
                }
            }
            acked.segments += 1;
            acked.amount += weight;
            self.head += 1;
        }
        self.end_ack(first, acked.amount, ack);
        acked
    }

    /// Whether the next ACK without SACK blocks shows only what it acknowledges. This is so if every outstanding
    /// segment was sent once, and after all segments that were ever retransmitted or SACKed; then nothing can be late
    /// or lost.
    #[inline]
    pub(crate) fn is_undisturbed(&self) -> bool {
        self.sacked + self.lost + self.retransmitted == 0 && self.head >= self.disturbed
    }

    /// [`Self::ack`] for a board that [`Self::is_undisturbed`]. It also returns when the last fully acknowledged
    /// segment was sent. The loop is repeated here without the handling of marks.
    #[inline]
    pub(crate) fn ack_in_order(&mut self, ack: u64) -> (Acked, Option<Instant>) {
        assert!(self.una < ack && ack <= self.nxt);
        let first = self.head;
        let mut amount = 0;
        while self.head < self.tail {
            let record = self.record(self.head);
            if record.end() > ack {
                if record.start < ack {
                    amount += self.trim(ack);
                }
                break;
            }
            amount += Self::weight(self.unit, record);
            self.head += 1;
        }
        let mut acked = Acked {
            segments: (self.head - first) as u32,
            amount,
            sent: None,
            sent_last: None,
            retransmitted: false,
        };
        let mut last = None;
        if self.head > first {
            let latest = self.record(self.head - 1).transmission();
            acked.sent = Some(self.record(first).sent);
            last = Some(latest.sent);
            if let Some(deliveries) = &mut self.deliveries {
                deliveries.latest = latest;
            }
        }
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.unexamined = false;
        }
        self.end_ack(first, amount, ack);
        (acked, last)
    }

    /// Completes an acknowledgement that removed `amount`, from segment `first` up to the head.
    #[inline]
    fn end_ack(&mut self, first: u64, amount: u64, ack: u64) {
        if (first ^ self.head) > self.mask as u64 {
            self.shrink();
        }
        self.outstanding -= amount;
        self.una = ack;
        if !self.sacked_ranges.is_empty() {
            self.sacked_ranges.remove_below(ack);
        }
    }

    /// Removes the acknowledged part of the first segment, since a peer may acknowledge any byte. Returns the part's
    /// weight.
    #[cold]
    fn trim(&mut self, ack: u64) -> u64 {
        let (unit, head) = (self.unit, self.head);
        let record = self.record_mut(head);
        let before = Self::weight(unit, record);
        record.payload -= (ack - record.start) as u16;
        record.start = ack;
        let part = before - Self::weight(unit, record);
        let flags = record.flags;
        if flags & SACKED != 0 {
            self.sacked -= part;
        } else {
            if flags & LOST != 0 {
                self.lost -= part;
            }
            if flags & RETRANSMITTED != 0 {
                self.retransmitted -= part;
            }
        }
        part
    }

    /// Stops using half of the ring if the other half is twice as large as needed, so that the cache holds what is
    /// outstanding and not what once was. It does so only when the head has just begun another lap, since the records
    /// then keep their places.
    #[cold]
    fn shrink(&mut self) {
        let half = self.mask / 2;
        let head = self.head as usize & self.mask;
        if half + 1 >= LEAST_RING && head + (self.segments() as usize) <= half / 2 {
            self.mask = half;
        }
    }
}
