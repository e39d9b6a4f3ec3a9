//! What a record needs to know of a packet's content.

use fairport_tcp::Segment;

/// The content of packets: a TCP segment in the simulator, whatever a switch or a capture has.
pub trait Content: Copy {
    /// The sequence number on the wire, for the tables of packets.
    fn seq(&self) -> u32;

    /// What distinguishes this packet from the other packets of its flow, for the fingerprint: it must be
    /// equal wherever the same packet is sent.
    fn identity(&self) -> u64;
}

impl Content for Segment {
    #[inline]
    fn seq(&self) -> u32 {
        self.seq
    }

    #[inline]
    fn identity(&self) -> u64 {
        u64::from(self.seq) << 32 | u64::from(self.ack)
    }
}
