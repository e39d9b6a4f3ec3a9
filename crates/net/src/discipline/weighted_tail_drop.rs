//! Weighted tail-drop: one buffer, and for each traffic class a share of it beyond which the class
//! gets nothing more.
//!
//! As in Cisco's Catalyst 3750-E (its software configuration guide, "Weighted Tail
//! Drop"): a packet is dropped when the whole queue, not its class alone, has passed the
//! threshold of its class.

use super::{DropTail, PacketView, QueueView, Reason, Verdict};

/// Classes with a threshold of their own; the last one's holds for the classes above it.
pub const WTD_CLASSES: usize = 4;

/// A drop-tail buffer with a threshold a class.
#[derive(Clone, Debug)]
pub struct WeightedTailDrop {
    buffer: DropTail,
    thresholds: [DropTail; WTD_CLASSES],
}

impl WeightedTailDrop {
    /// A buffer of which a packet of class `i` may fill up to `thresholds[i]`.
    pub fn new(buffer: DropTail, thresholds: [DropTail; WTD_CLASSES]) -> Self {
        Self { buffer, thresholds }
    }

    #[inline(never)] // so that the dispatcher is a jump
    pub(super) fn admit(&self, queue: &QueueView, packet: &PacketView) -> Verdict {
        let class = usize::from(packet.class).min(WTD_CLASSES - 1);
        let fits = |room: &DropTail| room.fits(queue.backlog, packet.frame_bytes);
        if !fits(&self.buffer) {
            Verdict::Dropped(Reason::Full)
        } else if fits(&self.thresholds[class]) {
            Verdict::Accepted
        } else {
            Verdict::Dropped(Reason::Share)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::fixtures::{frame, full_frames};

    #[test]
    fn the_lower_class_is_dropped_while_the_higher_one_still_gets_in() {
        let thresholds = [40, 60, 100, 100].map(DropTail::packets);
        let queue = WeightedTailDrop::new(DropTail::packets(100), thresholds);
        let verdict = |class, waiting| {
            let packet = PacketView {
                class,
                ..frame(1518)
            };
            queue.admit(&full_frames(waiting), &packet)
        };
        assert_eq!(verdict(0, 39), Verdict::Accepted);
        assert_eq!(verdict(0, 40), Verdict::Dropped(Reason::Share));
        assert_eq!(verdict(1, 40), Verdict::Accepted);
        assert_eq!(verdict(1, 60), Verdict::Dropped(Reason::Share));
        assert_eq!(verdict(7, 99), Verdict::Accepted);
        assert_eq!(verdict(7, 100), Verdict::Dropped(Reason::Full));
    }
}
