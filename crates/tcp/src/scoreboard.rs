//! The outstanding data: one small record per segment, in a ring, with running sums of the data that was SACKed, is
//! lost, or was retransmitted (RFC 6675 3, 4; Linux's `sacked_out`, `lost_out`, `retrans_out`).
//!
//! Each record is touched a constant number of times: a SACK block that repeats known ones costs one look-up, and
//! between timeouts the loss mark and the retransmission pointer only move forward. So an ACK costs no more with a
//! window of 100 000 segments than with one of ten.
//!
//! Segments are numbered by ordinals, which count from 0 over the whole connection.

mod acked;
mod deliveries;
mod joined;
mod marks;
mod overdue;
mod overtaken;
mod rate;

use fairport_units::Instant;

pub(crate) use self::acked::Acked;
pub(crate) use self::deliveries::{Arrived, Transmission};
use self::deliveries::{Deliveries, Resent};
pub(crate) use self::overdue::Arrival;
use crate::ranges::Ranges;

/// SACKed segments above a segment that make it lost (RFC 6675 2, `DupThresh`).
const DUP_THRESH: usize = 3;

/// Smallest number of records that a ring uses; a power of two.
const LEAST_RING: usize = 16;

const SACKED: u8 = 1;
const LOST: u8 = 2;
const RETRANSMITTED: u8 = 4;
const FIN: u8 = 8;
/// sent more than once (Linux's `TCPCB_EVER_RETRANS`)
const RESENT: u8 = 16;
/// RACK has found the latest transmission lost, even if an undo has taken the mark `LOST` away
const FOUND_LOST: u8 = 32;

/// One outstanding segment.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    start: u64,
    /// when the latest transmission was sent
    sent: Instant,
    payload: u16,
    flags: u8,
}

impl Record {
    #[inline]
    fn is(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// Whether the segment need not be sent again: it arrived, is being repeated, or its loss was undone.
    #[inline]
    fn is_settled(&self) -> bool {
        self.is(SACKED | RETRANSMITTED) || self.flags & (LOST | FOUND_LOST) == FOUND_LOST
    }

    #[inline]
    fn end(&self) -> u64 {
        self.start + u64::from(self.payload) + u64::from(self.is(FIN))
    }
}

/// A segment's part of the stream, and whether a FIN follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) start: u64,
    pub(crate) payload: u16,
    pub(crate) fin: bool,
}

#[cfg(test)]
impl Chunk {
    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.payload) + u64::from(self.fin)
    }
}

/// The ring of records and its sums, which are in the window's unit: segments or bytes.
// More than 15 fields: each mark of a record changes two or three of the sums and a pointer together.
#[derive(Debug)]
#[repr(C)] // what every segment reads comes first, what only losses change last
pub(crate) struct Scoreboard {
    una: u64,
    nxt: u64,
    head: u64,
    tail: u64,
    /// ordinal n is at n & mask
    ring: Vec<Record>,
    /// size of the used part of the ring minus one; the size is a power of two
    mask: usize,
    /// one full segment in the window's unit: 1, or the largest payload
    unit: u64,
    outstanding: u64,
    sacked: u64,
    lost: u64,
    retransmitted: u64,
    /// every segment below this that is not SACKed is marked lost, unless that was undone
    lost_below: u64,
    /// every segment below this is SACKed or retransmitted
    next: u64,
    /// ACKs below this ordinal are looked at closely: one more than the highest ordinal that was ever SACKed, or
    /// outstanding when a segment was sent again
    disturbed: u64,
    /// present if losses are detected by time
    deliveries: Option<Box<Deliveries>>,
    /// all data ever marked lost, counted again if it was lost again
    lost_ever: u64,
    /// ordinals plus one of the three highest SACKed segments, highest first; 0: none
    highest_sacked: [u64; DUP_THRESH],
    sacked_ranges: Ranges,
}

impl Scoreboard {
    /// An empty scoreboard; `start` is the first position. `unit` is 1 if windows count segments.
    pub(crate) fn new(start: u64, unit: u64) -> Self {
        Self {
            ring: vec![Record::default(); LEAST_RING],
            mask: LEAST_RING - 1,
            head: 0,
            tail: 0,
            una: start,
            nxt: start,
            unit,
            outstanding: 0,
            sacked: 0,
            lost: 0,
            lost_ever: 0,
            retransmitted: 0,
            lost_below: 0,
            next: 0,
            highest_sacked: [0; DUP_THRESH],
            disturbed: 0,
            sacked_ranges: Ranges::default(),
            deliveries: None,
        }
    }

    /// `SND.UNA`.
    #[inline]
    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    /// `SND.NXT`.
    #[inline]
    pub(crate) fn nxt(&self) -> u64 {
        self.nxt
    }

    #[inline]
    pub(crate) fn unit(&self) -> u64 {
        self.unit
    }

    /// Number of outstanding segments.
    #[inline]
    pub(crate) fn segments(&self) -> u64 {
        self.tail - self.head
    }

    /// Number of SACKed segments in a small flight.
    pub(crate) fn sacked_segments(&self) -> u64 {
        let sacked = (self.head..self.tail).filter(|&it| self.record(it).is(SACKED));
        sacked.count() as u64
    }

    /// Number of segments acknowledged since the start or SACKed now.
    pub(crate) fn delivered_segments(&self) -> u64 {
        self.head + self.sacked_segments()
    }

    /// Where the last outstanding segment starts.
    pub(crate) fn last_start(&self) -> u64 {
        self.record(self.tail - 1).start
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Data sent and not acknowledged cumulatively (RFC 5681: `FlightSize`).
    #[inline]
    pub(crate) fn outstanding(&self) -> u64 {
        self.outstanding
    }

    #[inline]
    pub(crate) fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Data marked lost, and neither SACKed nor acknowledged since (Linux: `lost_out`).
    #[inline]
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// All data ever marked lost (Linux: `tp->lost`).
    pub(crate) fn lost_ever(&self) -> u64 {
        self.lost_ever
    }

    /// Data sent again and not acknowledged since (Linux: `retrans_out`).
    #[inline]
    pub(crate) fn retransmitted(&self) -> u64 {
        self.retransmitted
    }

    #[inline]
    pub(crate) fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// Estimate of the data in the network (RFC 6675 4, `pipe`): data that is neither SACKed nor lost, plus
    /// retransmitted data.
    #[inline]
    pub(crate) fn pipe(&self) -> u64 {
        self.outstanding + self.retransmitted - self.sacked - self.lost
    }

    /// Whether the first outstanding segment was retransmitted since the last timeout.
    pub(crate) fn head_retransmitted(&self) -> bool {
        !self.is_empty() && self.record(self.head).is(RETRANSMITTED)
    }

    /// Whether a retransmission is in the network, or the first outstanding segment was ever sent again
    /// (`tcp_any_retrans_done`).
    #[inline]
    pub(crate) fn any_resent(&self) -> bool {
        self.retransmitted > 0 || (!self.is_empty() && self.record(self.head).is(RESENT))
    }

    #[inline]
    fn record(&self, ordinal: u64) -> &Record {
        &self.ring[ordinal as usize & self.mask]
    }

    #[inline]
    fn record_mut(&mut self, ordinal: u64) -> &mut Record {
        &mut self.ring[ordinal as usize & self.mask]
    }

    #[inline]
    fn weight(unit: u64, record: &Record) -> u64 {
        if unit == 1 {
            1
        } else {
            u64::from(record.payload).max(1)
        }
    }

    /// Records a new segment.
    #[inline]
    pub(crate) fn push(&mut self, now: Instant, chunk: Chunk) {
        assert!(chunk.start == self.nxt, "new data follows what was sent");
        if self.segments() > self.mask as u64 {
            self.grow();
        }
        let record = Record {
            start: chunk.start,
            sent: now,
            payload: chunk.payload,
            flags: if chunk.fin { FIN } else { 0 },
        };
        self.outstanding += Self::weight(self.unit, &record);
        self.nxt = record.end();
        let tail = self.tail;
        *self.record_mut(tail) = record;
        self.tail += 1;
    }

    /// Doubles the used part of the ring, which is full.
    #[cold]
    fn grow(&mut self) {
        let mask = 2 * self.mask + 1;
        if self.ring.len() <= mask {
            self.ring.resize(mask + 1, Record::default());
        }
        for ordinal in self.head..self.tail {
            self.ring[ordinal as usize & mask] = *self.record(ordinal);
        }
        self.mask = mask;
    }

    /// The data and FIN of the segment.
    #[inline]
    pub(crate) fn chunk(&self, ordinal: u64) -> Chunk {
        let record = self.record(ordinal);
        Chunk {
            start: record.start,
            payload: record.payload,
            fin: record.is(FIN),
        }
    }

    /// Records that the segment was sent again.
    pub(crate) fn retransmit(&mut self, now: Instant, ordinal: u64) {
        let unit = self.unit;
        let record = self.record_mut(ordinal);
        assert!(!record.is(SACKED | RETRANSMITTED));
        record.sent = now;
        record.flags = (record.flags | RETRANSMITTED | RESENT) & !FOUND_LOST;
        self.retransmitted += Self::weight(unit, record);
        self.disturbed = self.tail;
        self.note_resent(ordinal, now);
        self.note_sent(ordinal, now);
    }

    fn note_resent(&mut self, ordinal: u64, sent: Instant) {
        let (head, nxt) = (self.head, self.nxt);
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.note_resent(head, Resent { ordinal, sent, nxt });
        }
    }
}

#[cfg(test)]
mod against_model;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
