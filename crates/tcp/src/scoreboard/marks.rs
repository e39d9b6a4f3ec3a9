//! Marks: which segments were SACKed, which are lost, and which are to be sent again.

use super::{DUP_THRESH, LOST, RESENT, RETRANSMITTED, SACKED, Scoreboard};
use crate::ranges::Range;
use crate::segment::SackBlock;
use crate::seq;

impl Scoreboard {
    /// Takes in a SACK block. Returns true if it reports anything new. Blocks outside of the outstanding data are
    /// ignored (SACK is advisory, RFC 2018; duplicate SACKs lie below `SND.UNA`, RFC 2883).
    pub(crate) fn sack(&mut self, block: SackBlock) -> bool {
        let block = Range {
            start: seq::unwrap(self.una, block.start).max(self.una),
            end: seq::unwrap(self.una, block.end),
        };
        if block.start >= block.end || block.end > self.nxt {
            return false;
        }
        let before = self.sacked;
        let mut ranges = std::mem::take(&mut self.sacked_ranges);
        ranges.insert(block, |part, whole| self.mark_sacked(part, whole));
        self.sacked_ranges = ranges;
        self.sacked > before
    }

    /// Whether the segment at `start` is outstanding and was sent again.
    pub(crate) fn was_resent(&self, start: u64) -> bool {
        (self.una..self.nxt).contains(&start) && self.record(self.find(start)).is(RESENT)
    }

    /// How late a segment at `start`, which a duplicate SACK reports, arrived: the segments from it up to the highest
    /// SACKed one, if it was sent again and is SACKed; otherwise 0 (`tcp_sacktag_one`).
    pub(crate) fn repeated_late_by(&self, start: u64) -> u64 {
        if !self.was_resent(start) {
            return 0;
        }
        let ordinal = self.find(start);
        if self.record(ordinal).is(SACKED) {
            self.highest_sacked[0].saturating_sub(ordinal)
        } else {
            0
        }
    }

    /// Outstanding segments up to and including the highest SACKed one; 0 if none is SACKed.
    pub(crate) fn segments_to_highest_sacked(&self) -> u64 {
        if self.sacked > 0 {
            self.highest_sacked[0].saturating_sub(self.head)
        } else {
            0
        }
    }

    /// Marks the segments that `part` touches and that `whole`, the SACKed range around it, covers completely.
    fn mark_sacked(&mut self, part: Range, whole: Range) {
        let mut ordinal = self.find(part.start);
        while ordinal < self.tail {
            let unit = self.unit;
            let record = self.record_mut(ordinal);
            if record.start >= part.end {
                break;
            }
            if record.start >= whole.start && record.end() <= whole.end && !record.is(SACKED) {
                let weight = Self::weight(unit, record);
                let before = record.flags;
                record.flags = (before | SACKED) & !LOST;
                self.sacked += weight;
                if before & LOST != 0 {
                    self.lost -= weight;
                }
                if before & RETRANSMITTED != 0 {
                    self.retransmitted -= weight;
                }
                if self.deliveries.is_some() {
                    self.note_delivery(ordinal);
                }
                self.note_highest(ordinal + 1);
            }
            ordinal += 1;
        }
    }

    /// The ordinal of the segment that contains `position`, which must be outstanding.
    pub(super) fn find(&self, position: u64) -> u64 {
        // mostly it follows the highest SACKed segment
        let next = self.highest_sacked[0];
        if (self.head..self.tail).contains(&next) && self.record(next).start == position {
            return next;
        }
        let (mut low, mut high) = (self.head, self.tail);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.record(middle).start <= position {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    fn note_highest(&mut self, mark: u64) {
        self.disturbed = self.disturbed.max(mark);
        let mut mark = mark;
        for known in &mut self.highest_sacked {
            if mark > *known {
                std::mem::swap(known, &mut mark);
            }
        }
    }

    /// Marks every segment as lost that has three SACKed segments above it. RFC 6675 counts bytes if segments are
    /// contiguous; counting segments, as Linux does, gives the same if they are full.
    pub(crate) fn mark_lost_by_sack(&mut self) {
        let third = self.highest_sacked[DUP_THRESH - 1];
        if third > 0 {
            self.mark_lost_below(third - 1);
        }
    }

    /// Marks every segment as lost that is three or more below the highest SACKed one, whether those in between were
    /// SACKed or not: forward acknowledgement (Mathis and Mahdavi, SIGCOMM 1996; Linux's `tcp_update_scoreboard` up to
    /// 4.14).
    pub(crate) fn mark_lost_by_fack(&mut self) {
        self.mark_lost_below(self.highest_sacked[0].saturating_sub(DUP_THRESH as u64));
    }

    /// Marks the first segment as lost, because of duplicate ACKs or a partial ACK.
    pub(crate) fn mark_head_lost(&mut self) {
        self.mark_lost_below((self.head + 1).min(self.tail));
    }

    fn mark_lost_below(&mut self, limit: u64) {
        for ordinal in self.lost_below.max(self.head)..limit {
            let unit = self.unit;
            let record = self.record_mut(ordinal);
            if !record.is(SACKED | LOST) {
                record.flags |= LOST;
                let weight = Self::weight(unit, record);
                self.lost += weight;
                self.lost_ever += weight;
            }
        }
        self.lost_below = self.lost_below.max(limit);
    }

    /// After a timeout, marks every segment as lost that was not SACKed, and none as retransmitted. If the first
    /// segment was SACKed, the peer has discarded data that it had SACKed, and all SACKs are forgotten (RFC 2018 8).
    pub(crate) fn mark_all_lost(&mut self) {
        let reneged = !self.is_empty() && self.record(self.head).is(SACKED);
        if reneged {
            self.sacked = 0;
            self.sacked_ranges.clear();
            self.highest_sacked = [0; DUP_THRESH];
        }
        let (mut lost, mut newly) = (0, 0);
        for ordinal in self.head..self.tail {
            let unit = self.unit;
            let record = self.record_mut(ordinal);
            if reneged {
                record.flags &= !SACKED;
            }
            if !record.is(SACKED) {
                let weight = Self::weight(unit, record);
                if !record.is(LOST) || record.is(RETRANSMITTED) {
                    newly += weight;
                }
                record.flags = (record.flags | LOST) & !RETRANSMITTED;
                lost += weight;
            }
        }
        self.lost = lost;
        self.lost_ever += newly;
        self.retransmitted = 0;
        self.lost_below = self.tail;
        self.next = self.head;
        self.forget_lost_again();
    }

    /// The first lost segment that was not yet retransmitted (RFC 6675 4, `NextSeg` rule 1).
    #[inline]
    pub(crate) fn next_lost(&mut self) -> Option<u64> {
        let first = self.next_below(self.lost_below);
        if self.deliveries.is_some()
            && let Some(again) = self.next_lost_again()
        {
            return Some(first.map_or(again, |first| first.min(again)));
        }
        first
    }

    /// The first segment below the highest SACKed one that was not yet retransmitted, lost or not (RFC 6675 4,
    /// `NextSeg` rule 3).
    pub(crate) fn next_hole(&mut self) -> Option<u64> {
        self.next_below(self.highest_sacked[0])
    }

    #[inline]
    fn next_below(&mut self, limit: u64) -> Option<u64> {
        let mut ordinal = self.next.max(self.head);
        while ordinal < limit && self.record(ordinal).is_settled() {
            ordinal += 1;
        }
        self.next = ordinal;
        (ordinal < limit).then_some(ordinal)
    }
}
