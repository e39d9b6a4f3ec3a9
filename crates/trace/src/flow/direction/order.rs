//! Whether a segment that passes late was overtaken on its way, was captured late, or was sent again.
//!
//! A sender's clock and its IP identifications count up. So a segment that carries older ones than the segments before
//! it was sent before them. If it has neither, the time since the hole appeared decides, as in Wireshark.

use crate::flow::events::Seen;
use crate::packet::Packet;

/// A segment that fills a hole sooner than this was reordered, and was not sent again.
const REORDERED_NS: u64 = 3_000_000;
/// Data that passes so soon after its first ACK was captured late: GRO holds back the segments that it merges.
const CAPTURED_LATE_NS: u64 = 1_000_000;
/// Identifications that differ by more are not those of neighbours: some systems draw them at random.
const NEIGHBOURS: i16 = 1000;

/// The newest segment, and the one that left a hole behind it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Order {
    /// when a hole last appeared, and the timestamp of the segment behind it
    hole_ns: u64,
    hole_stamp: Option<u32>,
    /// the newest identification; 0 if there is none, as in IPv6
    identification: u16,
    /// positions of data that was acknowledged and not seen before, and when it was
    early: (u64, u64),
    early_ns: u64,
}

impl Order {
    /// A segment passes that leaves a hole before it.
    pub(super) fn note_hole(&mut self, seen: &Seen<'_>) {
        self.hole_ns = seen.time_ns;
        self.hole_stamp = seen.packet.stamp();
    }

    /// An ACK passes for data between these positions, which was not seen.
    pub(super) fn note_early(&mut self, from: u64, to: u64, now_ns: u64) {
        let (first, last) = self.early;
        self.early = (if last == from { first } else { from }, to);
        self.early_ns = now_ns;
    }

    /// Whether data between these positions was acknowledged a short time ago, before it passed.
    pub(super) fn is_captured_late(&self, start: u64, end: u64, now_ns: u64) -> bool {
        let is_early = self.early.0 <= start && end <= self.early.1;
        is_early && now_ns.saturating_sub(self.early_ns) < CAPTURED_LATE_NS
    }

    /// Any segment passes.
    #[inline]
    pub(super) fn note(&mut self, segment: &Packet) {
        let ahead = ahead(segment.identification, self.identification);
        if !(-NEIGHBOURS..=0).contains(&ahead) {
            self.identification = segment.identification;
        }
    }

    /// Whether a segment with old data was sent before others that have passed. None if it does not show that.
    pub(super) fn is_overtaken(&self, segment: &Packet, newest_stamp: Option<u32>) -> Option<bool> {
        let later = |one: Option<u32>, other: Option<u32>| {
            Some(one?.wrapping_sub(other?).cast_signed() > 0)
        };
        if later(newest_stamp, segment.stamp()) == Some(true) {
            return Some(true);
        }
        if later(segment.stamp(), self.hole_stamp) == Some(true) {
            return Some(false);
        }
        let ahead = ahead(segment.identification, self.identification);
        let is_known = segment.identification > 0 && self.identification > 0;
        let is_neighbour = (-NEIGHBOURS..=NEIGHBOURS).contains(&ahead) && ahead != 0;
        (is_known && is_neighbour).then_some(ahead < 0)
    }

    /// Whether a hole appeared a short time ago.
    pub(super) fn is_soon(&self, now_ns: u64, srtt_ns: f64) -> bool {
        let reordering_ns = match srtt_ns {
            0.0 => REORDERED_NS,
            srtt => REORDERED_NS.min((srtt / 2.0) as u64),
        };
        now_ns.saturating_sub(self.hole_ns) < reordering_ns
    }
}

#[inline]
fn ahead(one: u16, other: u16) -> i16 {
    one.wrapping_sub(other).cast_signed()
}
