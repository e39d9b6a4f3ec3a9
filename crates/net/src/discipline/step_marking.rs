//! Step marking: ECN at one threshold of the present queue, as DCTCP wants of its switches
//! (Alizadeh et al., SIGCOMM 2010, 3.1; RFC 8257 3.1).

use super::{Backlog, DropTail, PacketView, Verdict};

/// A queue length in bytes or in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// bytes
    Bytes(u32),
    /// packets
    Packets(u32),
}

impl Threshold {
    /// Whether this much waits, or more.
    #[inline]
    pub fn is_reached(self, backlog: Backlog) -> bool {
        match self {
            Self::Bytes(bytes) => backlog.bytes >= bytes,
            Self::Packets(packets) => backlog.packets >= packets,
        }
    }
}

/// A drop-tail buffer that marks each packet which, with itself, makes the queue longer than K.
///
/// K is compared with the queue of this moment, not with an average: DCTCP's senders do the
/// averaging. Packets that are not ECN-capable are never marked, and never dropped before the
/// buffer is full.
#[derive(Clone, Debug)]
pub struct StepMarking {
    buffer: DropTail,
    threshold: Threshold,
}

impl StepMarking {
    /// Marks when at least K = `threshold` waits before the arriving packet.
    pub fn new(buffer: DropTail, threshold: Threshold) -> Self {
        Self { buffer, threshold }
    }

    pub(super) fn admit(&self, backlog: Backlog, packet: &PacketView) -> Verdict {
        match self.buffer.admit(backlog, packet.frame_bytes) {
            Verdict::Accepted if packet.is_ecn_capable() && self.threshold.is_reached(backlog) => {
                Verdict::Marked
            }
            verdict => verdict,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::Reason;
    use crate::packet::NOT_ECT;

    const ECT_0: u8 = 0b10;

    fn view(ecn_capable: bool) -> PacketView {
        PacketView {
            frame_bytes: 1518,
            flow: 0,
            class: 0,
            ecn: if ecn_capable { ECT_0 } else { NOT_ECT },
        }
    }

    fn full_frames(packets: u32) -> Backlog {
        Backlog {
            bytes: packets * 1518,
            packets,
        }
    }

    #[test]
    fn with_k_20_the_21st_packet_is_the_first_to_be_marked() {
        for threshold in [Threshold::Packets(20), Threshold::Bytes(20 * 1518)] {
            let queue = StepMarking::new(DropTail::packets(100), threshold);
            let verdict = |waiting| queue.admit(full_frames(waiting), &view(true));
            assert_eq!(verdict(19), Verdict::Accepted);
            assert_eq!(verdict(20), Verdict::Marked);
            assert_eq!(verdict(99), Verdict::Marked);
            assert_eq!(verdict(100), Verdict::Dropped(Reason::Full));
        }
    }

    #[test]
    fn a_packet_that_cannot_be_marked_is_not_dropped_early_either() {
        let queue = StepMarking::new(DropTail::packets(100), Threshold::Packets(20));
        let verdict = queue.admit(full_frames(50), &view(false));
        assert_eq!(verdict, Verdict::Accepted);
    }
}
