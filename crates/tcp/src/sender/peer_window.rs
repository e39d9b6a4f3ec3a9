//! The peer's receive window: what it allows, and which segment said so.

use crate::segment::Segment;
use crate::seq;

/// Windows up to this many bytes are filled by one segment, larger ones by at least two (Linux's
/// `tcp_bound_to_half_wnd`), so that ACKs keep coming.
const SMALL_WINDOW: u64 = 536;

/// `SND.WND` and what it needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PeerWindow {
    /// the first position beyond it
    end: u64,
    /// in bytes
    size: u64,
    /// the largest so far
    largest: u64,
    /// where the segment stood that said it (`SND.WL1`)
    said_at: u64,
    scale: u8,
}

impl PeerWindow {
    /// The first window, in bytes, from `una`; `peer_nxt` is the next byte that the peer sends.
    pub(super) fn open(scale: u8, peer_nxt: u64, una: u64, size: u64) -> Self {
        Self {
            end: una + size,
            size,
            largest: size,
            said_at: peer_nxt,
            scale,
        }
    }

    /// Takes the window of a segment that acknowledges up to `ack`, unless an older segment says
    /// it (RFC 9293 3.10.7.4). Of two that their numbers do not distinguish, the larger window is
    /// the newer, but a window of zero is taken always (`tcp_may_update_window`). True if the size changed.
    #[inline]
    pub(super) fn update(&mut self, segment: &Segment, ack: u64, advances: bool) -> bool {
        let size = u64::from(segment.window) << self.scale;
        let said_at = seq::unwrap(self.said_at, segment.seq);
        let newer = advances
            || said_at > self.said_at
            || (said_at == self.said_at && (size == 0 || ack + size > self.end));
        if !newer {
            return false;
        }
        let changed = size != self.size;
        self.end = ack + size;
        self.size = size;
        self.said_at = said_at;
        self.largest = self.largest.max(size);
        changed
    }

    /// The largest so far, in bytes.
    pub(super) fn largest(&self) -> u64 {
        self.largest
    }

    /// In bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Bytes from `nxt` to its end.
    #[inline]
    pub(super) fn room(&self, nxt: u64) -> u64 {
        self.end.saturating_sub(nxt)
    }

    /// The largest payload that such a window is sent in one segment, of `payload` at most.
    #[inline]
    pub(super) fn segment_limit(&self, payload: u16) -> u16 {
        if self.largest >= 2 * u64::from(payload) {
            return payload;
        }
        let limit = if self.largest > SMALL_WINDOW {
            self.largest / 2
        } else {
            self.largest
        };
        payload.min(limit.max(1) as u16)
    }
}
