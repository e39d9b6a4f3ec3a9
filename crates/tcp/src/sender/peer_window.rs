//! The peer's receive window, and which segment announced it.

use crate::segment::Segment;
use crate::seq;

/// Up to this size in bytes, a window may be filled by one segment; a larger one takes at least two (Linux's
/// `tcp_bound_to_half_wnd`), so that ACKs keep coming.
const SMALL_WINDOW: u64 = 536;

/// `SND.WND` and the variables that go with it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PeerWindow {
    /// the first position beyond the window
    end: u64,
    /// size of the window in bytes
    size: u64,
    /// the largest size so far, in bytes
    largest: u64,
    /// position of the segment that announced it (`SND.WL1`)
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

    /// Whether a segment that acknowledges up to `ack` announces a newer window (RFC 9293 3.10.7.4). If the numbers do
    /// not show which is newer, the larger window is; a window of zero is always taken (`tcp_may_update_window`).
    #[inline]
    pub(super) fn is_newer(&self, segment: &Segment, ack: u64, advances: bool) -> bool {
        let size = u64::from(segment.window) << self.scale;
        let said_at = seq::unwrap(self.said_at, segment.seq);
        advances
            || said_at > self.said_at
            || (said_at == self.said_at && (size == 0 || ack + size > self.end))
    }

    /// Takes the window of a segment that acknowledges up to `ack`, unless a newer segment has announced one. Returns
    /// true if it takes the window, even if that has the same size.
    #[inline]
    pub(super) fn update(&mut self, segment: &Segment, ack: u64, advances: bool) -> bool {
        if !self.is_newer(segment, ack, advances) {
            return false;
        }
        let size = u64::from(segment.window) << self.scale;
        let said_at = seq::unwrap(self.said_at, segment.seq);
        self.end = ack + size;
        self.size = size;
        self.said_at = said_at;
        self.largest = self.largest.max(size);
        true
    }

    /// The largest window so far, in bytes.
    pub(super) fn largest(&self) -> u64 {
        self.largest
    }

    /// The window in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Bytes from `nxt` to the end of the window.
    #[inline]
    pub(super) fn room(&self, nxt: u64) -> u64 {
        self.end.saturating_sub(nxt)
    }

    /// A position that the peer accepts: `nxt`, or the end of its window if that has shrunk below `nxt` by more than its
    /// scale can hide (`tcp_acceptable_seq`).
    #[inline]
    pub(super) fn acceptable(&self, nxt: u64) -> u64 {
        if nxt < self.end + (1 << self.scale) {
            nxt
        } else {
            self.end
        }
    }

    /// The largest payload of one segment in such a window, at most `payload`.
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

#[cfg(test)]
mod tests {
    use super::*;

    const UNA: u64 = (1 << 32) + 1000;
    const PEER: u64 = (1 << 32) + 1;

    fn says(position: u64, window: u16) -> Segment {
        Segment {
            seq: seq::wire(position),
            window,
            ..Segment::default()
        }
    }

    /// RFC 9293 3.10.7.4: SND.WL1 and SND.WL2 keep an older segment from changing the window.
    #[test]
    fn an_older_segment_does_not_change_the_window() {
        let mut peer = PeerWindow::open(3, PEER, UNA, 4000);
        assert_eq!(
            (peer.size(), peer.largest(), peer.room(UNA)),
            (4000, 4000, 4000)
        );
        assert_eq!((peer.room(UNA + 3999), peer.room(UNA + 4001)), (1, 0));
        // a segment with later data of the peer is newer, and its window counts in units of 8
        assert!(peer.update(&says(PEER + 10, 200), UNA, false));
        assert_eq!(
            (peer.size(), peer.room(UNA), peer.largest()),
            (1600, 1600, 4000)
        );
        assert!(!peer.update(&says(PEER + 9, 900), UNA, false));
        assert_eq!((peer.size(), peer.room(UNA)), (1600, 1600));
        // at the same position the larger window is the newer, and a window of zero is always taken
        assert!(!peer.update(&says(PEER + 10, 199), UNA, false));
        assert!(!peer.update(&says(PEER + 10, 200), UNA, false));
        assert_eq!(peer.room(UNA), 1600);
        assert!(peer.update(&says(PEER + 10, 201), UNA, false));
        assert_eq!(peer.room(UNA), 1608);
        assert!(peer.update(&says(PEER + 10, 0), UNA, false));
        assert_eq!(peer.room(UNA), 0);
        // a segment that acknowledges more is newer, whatever its position and its window
        assert!(peer.update(&says(PEER + 5, 100), UNA + 8, true));
        assert_eq!(peer.room(UNA + 8), 800);
        assert!(peer.update(&says(PEER + 5, 100), UNA + 16, true));
        assert_eq!((peer.room(UNA + 16), peer.largest()), (800, 4000));
        assert!(peer.update(&says(PEER + 5, 1000), UNA + 17, true));
        assert_eq!((peer.room(UNA + 17), peer.largest()), (8000, 8000));
    }

    /// `tcp_bound_to_half_wnd`: at least two segments fit into a window of more than 536 bytes.
    #[test]
    fn a_small_window_takes_two_segments_and_a_tiny_one_one() {
        let limit = |largest| PeerWindow::open(0, PEER, UNA, largest).segment_limit(1000);
        for (largest, payload) in [
            (4000, 1000),
            (2000, 1000),
            (1999, 999),
            (538, 269),
            (537, 268),
            (536, 536),
            (1, 1),
            (0, 1),
        ] {
            assert_eq!(limit(largest), payload, "{largest}");
        }
    }
}
