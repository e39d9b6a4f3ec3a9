//! Packets and queues for the tests of disciplines.

use fairport_units::Instant;

use super::{Backlog, PacketView, QueueView};

/// The ECN codepoint of a packet that may be marked.
pub(super) const ECT0: u8 = 0b10;

/// A packet of class 0 that is not ECN-capable.
pub(super) fn frame(frame_bytes: u32) -> PacketView {
    PacketView {
        frame_bytes,
        ..PacketView::default()
    }
}

/// A busy link behind a queue of frames of 1518 bytes.
pub(super) fn full_frames(packets: u32) -> QueueView {
    QueueView {
        now: Instant::ZERO,
        backlog: Backlog {
            bytes: packets * 1518,
            packets,
        },
        idle_at: Instant::NEVER,
    }
}
