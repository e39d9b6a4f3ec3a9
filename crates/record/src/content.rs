//! The facts about a packet's content that a record needs.

use fairport_tcp::{Flags, Segment};

/// The content of a packet: a TCP segment in the simulator, or whatever a switch or a capture has.
pub trait Content: Copy {
    /// The sequence number on the wire, for the tables of packets.
    fn seq(&self) -> u32;

    /// Whether it is an ACK that takes no sequence numbers: it has neither data nor SYN nor FIN.
    fn is_pure_ack(&self) -> bool;

    /// Distinguishes this packet from other packets of its flow, for the fingerprint. It must be equal wherever the
    /// same packet is sent.
    fn identity(&self) -> u64;
}

impl Content for Segment {
    #[inline]
    fn seq(&self) -> u32 {
        self.seq
    }

    #[inline]
    fn is_pure_ack(&self) -> bool {
        self.flags.contains(Flags::ACK) && self.sequence_length() == 0
    }

    #[inline]
    fn identity(&self) -> u64 {
        u64::from(self.seq) << 32 | u64::from(self.ack)
    }
}

/// The content of a simulated packet: a segment, and possibly more data that only an observer reads.
pub trait Simulated: Content {
    /// The content of the `number`-th packet of its flow and direction.
    fn new(segment: Segment, number: u64, is_backward: bool) -> Self;

    /// The segment.
    fn segment(&self) -> &Segment;
}

impl Simulated for Segment {
    #[inline]
    fn new(segment: Segment, _: u64, _: bool) -> Self {
        segment
    }

    #[inline]
    fn segment(&self) -> &Segment {
        self
    }
}

/// A segment with a number, so that two copies of it can be distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// the segment
    pub segment: Segment,
    /// number of the packet in its flow and direction, modulo 2^16: the identification field of IP
    pub number: u16,
    /// whether it travels from the receiver of the flow's data to the sender
    pub is_backward: bool,
}

impl Content for Numbered {
    #[inline]
    fn seq(&self) -> u32 {
        self.segment.seq()
    }

    #[inline]
    fn is_pure_ack(&self) -> bool {
        self.segment.is_pure_ack()
    }

    #[inline]
    fn identity(&self) -> u64 {
        self.segment.identity()
    }
}

impl Simulated for Numbered {
    #[inline]
    fn new(segment: Segment, number: u64, is_backward: bool) -> Self {
        Self {
            segment,
            number: number as u16,
            is_backward,
        }
    }

    #[inline]
    fn segment(&self) -> &Segment {
        &self.segment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_changes_neither_what_tables_show_of_a_segment_nor_its_fingerprint() {
        let segment = Segment {
            seq: 1448,
            ack: 77,
            payload: 1448,
            ..Segment::default()
        };
        // the 65,537th packet has the same identification as the first
        for (number, wanted) in [(0, 0), (65_535, 65_535), (65_536, 0)] {
            let numbered = Numbered::new(segment, number, true);
            assert_eq!(numbered.number, wanted);
            assert!(numbered.is_backward);
            assert_eq!(*numbered.segment(), segment);
            assert_eq!(numbered.seq(), 1448);
            assert_eq!(numbered.identity(), segment.identity());
        }
        // packets that differ in either number are different
        let acknowledging = Segment { ack: 78, ..segment };
        assert_ne!(acknowledging.identity(), segment.identity());
        let later = Segment {
            seq: 2896,
            ..segment
        };
        assert_ne!(later.identity(), segment.identity());
    }
    #[test]
    fn an_ack_is_pure_if_it_carries_neither_data_nor_a_syn_or_fin() {
        let is_pure = |flags, payload| {
            let segment = Segment {
                flags,
                payload,
                ..Segment::default()
            };
            segment.is_pure_ack()
        };
        assert!(is_pure(Flags::ACK, 0));
        assert!(!is_pure(Flags::ACK, 1));
        assert!(!is_pure(Flags::ACK | Flags::SYN, 0));
        assert!(!is_pure(Flags::ACK | Flags::FIN, 0));
        assert!(!is_pure(Flags::RST, 0));
    }
}
