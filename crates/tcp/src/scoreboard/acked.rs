//! What a cumulative acknowledgement takes off the scoreboard.

use fairport_units::Instant;

use super::{LEAST_RING, LOST, RESENT, RETRANSMITTED, SACKED, Scoreboard};

/// What a cumulative acknowledgement removed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acked {
    pub(crate) segments: u32,
    /// in the window's unit
    pub(crate) amount: u64,
    /// when the oldest of them was sent that was neither retransmitted nor SACKed before
    pub(crate) sent: Option<Instant>,
    /// whether any of them was retransmitted: Karn's rule
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
                } else if acked.sent.is_none() {
                    acked.sent = Some(record.sent);
                }
                if let Some(deliveries) = &mut self.deliveries {
                    // Karn's rule holds for tail probes and for what a timeout gave up, too
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

    /// Whether the next ACK without SACK blocks says nothing but what it acknowledges: all that is outstanding was
    /// sent once, and after all that was sent again or SACKed before, so nothing can be late or lost.
    #[inline]
    pub(crate) fn is_undisturbed(&self) -> bool {
        self.sacked + self.lost + self.retransmitted == 0 && self.head >= self.disturbed
    }

    /// [`Self::ack`] on a board that [`Self::is_undisturbed`]: also when the last of them was sent, if any is acknowledged
    /// whole. It repeats the loop without what marks ask for.
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

    /// So much was taken off, from `first` to the head.
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

    /// Cuts off what the peer has of the first segment, and returns the part's weight: a peer may
    /// acknowledge any byte.
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

    /// Leaves half of the ring out of use where the other has been enough twice over, so that what
    /// is in the cache is what is outstanding and not what once was. Only where the records stay
    /// in their places: when the head has just begun another lap.
    #[cold]
    fn shrink(&mut self) {
        let half = self.mask / 2;
        let head = self.head as usize & self.mask;
        if half + 1 >= LEAST_RING && head + (self.segments() as usize) <= half / 2 {
            self.mask = half;
        }
    }
}
