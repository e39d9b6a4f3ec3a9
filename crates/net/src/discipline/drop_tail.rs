//! Drop-tail: a packet that does not fit into the buffer is dropped.

use serde::{Deserialize, Serialize};

use super::{Admission, Backlog, PacketView, QueueDiscipline, QueueView, Reason};
use crate::BuildError;
use crate::context::PortContext;
use crate::limit::Limit;

/// A drop-tail queue, in the plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// the buffer's limit
    pub limit: Limit,
    /// whether the packet in service counts against the limit
    pub count_in_service: bool,
}

impl Config {
    pub(crate) fn build(&self, port: &PortContext<'_>) -> Result<DropTail, BuildError> {
        port.buffer(self.limit)
    }
}

impl PortContext<'_> {
    /// A buffer with this limit, or with the limit that the port's link overrides it with.
    ///
    /// # Errors
    /// If the buffer has no room for a packet of the MTU.
    pub fn buffer(&self, limit: Limit) -> Result<DropTail, BuildError> {
        self.limit_of_buffer(limit).map(DropTail::new)
    }
}

/// A buffer limited in bytes or in packets. A packet that arrives when it is full is dropped.
///
/// With a limit in bytes, a packet is admitted if the sum stays within the limit. A short packet may therefore still
/// fit when a full-sized one does not (as in ns-3's `DropTailQueue` and Linux's `bfifo`).
#[derive(Clone, Debug)]
pub struct DropTail {
    limit_bytes: u32,
    limit_packets: u32,
}

impl DropTail {
    /// A buffer with this limit.
    pub fn new(limit: Limit) -> Self {
        match limit {
            Limit::Bytes(bytes) => Self::bytes(bytes),
            Limit::Packets(packets) => Self::packets(packets),
        }
    }

    /// A buffer of `limit_bytes` bytes.
    pub fn bytes(limit_bytes: u32) -> Self {
        Self {
            limit_bytes,
            limit_packets: u32::MAX,
        }
    }

    /// A buffer of `limit_packets` packets.
    pub fn packets(limit_packets: u32) -> Self {
        Self {
            limit_bytes: u32::MAX,
            limit_packets,
        }
    }

    /// Whether the limit is in packets, not in bytes.
    pub(crate) fn counts_packets(&self) -> bool {
        self.limit_packets < u32::MAX
    }

    /// Whether there is room for a packet of `frame_bytes`.
    #[inline]
    pub fn fits(&self, backlog: Backlog, frame_bytes: u32) -> bool {
        backlog.packets < self.limit_packets
            && u64::from(backlog.bytes) + u64::from(frame_bytes) <= u64::from(self.limit_bytes)
    }

    /// Accepts a packet of `frame_bytes` if there is room for it.
    #[inline]
    pub fn admission(&self, backlog: Backlog, frame_bytes: u32) -> Admission {
        self.admission_or(Reason::Full, backlog, frame_bytes)
    }

    /// [`Self::admission`], but a packet without room is dropped for this `reason`.
    #[inline]
    pub(crate) fn admission_or(
        &self,
        reason: Reason,
        backlog: Backlog,
        frame_bytes: u32,
    ) -> Admission {
        if self.fits(backlog, frame_bytes) {
            Admission::Accepted
        } else {
            Admission::Dropped(reason)
        }
    }
}

impl QueueDiscipline for DropTail {
    #[inline]
    fn admit(&mut self, queue: &QueueView, packet: &PacketView) -> Admission {
        self.admission(queue.backlog, packet.frame_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_counts_packets_or_bytes() {
        assert!(DropTail::packets(10).counts_packets());
        assert!(!DropTail::bytes(10).counts_packets());
    }

    #[test]
    fn sixteen_kib_hold_ten_full_frames_and_then_a_short_one() {
        let queue = DropTail::bytes(16 * 1024);
        let ten = Backlog {
            bytes: 10 * 1518,
            packets: 10,
        };
        let nine = Backlog {
            bytes: 9 * 1518,
            packets: 9,
        };
        assert_eq!(queue.admission(nine, 1518), Admission::Accepted);
        assert_eq!(queue.admission(ten, 1518), Admission::Dropped(Reason::Full));
        assert_eq!(queue.admission(ten, 64), Admission::Accepted);
    }

    #[test]
    fn a_packet_that_fills_the_buffer_to_the_last_byte_fits() {
        let queue = DropTail::bytes(16 * 1024);
        let ten = Backlog {
            bytes: 10 * 1518,
            packets: 10,
        };
        let rest = 16 * 1024 - 10 * 1518;
        assert_eq!(queue.admission(ten, rest), Admission::Accepted);
        let more = queue.admission(ten, rest + 1);
        assert_eq!(more, Admission::Dropped(Reason::Full));
    }

    #[test]
    fn a_limit_in_packets_ignores_their_size() {
        let queue = DropTail::packets(11);
        let eleven = Backlog {
            bytes: 11 * 64,
            packets: 11,
        };
        assert_eq!(
            queue.admission(eleven, 64),
            Admission::Dropped(Reason::Full)
        );
        let ten = Backlog {
            bytes: 10 * 9018,
            packets: 10,
        };
        assert_eq!(queue.admission(ten, 9018), Admission::Accepted);
    }
}
