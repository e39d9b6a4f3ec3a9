//! The bytes that a link adds to an IP packet.

use serde::{Deserialize, Serialize};

/// What a frame adds to an IP packet, in the plan of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Config {
    /// IEEE 802.3
    Ethernet,
    /// nothing
    None,
}

impl Config {
    /// The byte counts of this framing.
    pub fn build(self) -> Framing {
        match self {
            Self::Ethernet => Framing::ETHERNET,
            Self::None => Framing::NONE,
        }
    }
}

/// Bytes that a packet takes in a buffer and on the wire, beyond the IP packet itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// bytes: a shorter IP packet is padded to this length
    min_payload: u32,
    /// bytes of header and checksum: in the buffer and on the wire
    frame: u32,
    /// bytes of preamble, start delimiter and inter-frame gap: on the wire only
    gap: u32,
}

impl Framing {
    /// IEEE 802.3: header 14 and FCS 4 in the buffer; preamble and SFD 8 and gap 12 on the wire.
    pub const ETHERNET: Self = Self {
        min_payload: 46,
        frame: 18,
        gap: 20,
    };
    /// A packet without link-layer headers, as in ns-2.
    pub const NONE: Self = Self {
        min_payload: 0,
        frame: 0,
        gap: 0,
    };

    /// Bytes of a packet in a buffer.
    #[inline]
    pub fn buffered_bytes(self, ip_bytes: u16) -> u32 {
        u32::from(ip_bytes).max(self.min_payload) + self.frame
    }

    /// Bytes on the wire beyond those in the buffer.
    #[inline]
    pub fn gap_bytes(self) -> u32 {
        self.gap
    }

    /// Bytes of a packet on the wire.
    pub fn wire_bytes(self, ip_bytes: u16) -> u32 {
        self.buffered_bytes(ip_bytes) + self.gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ethernet_frame_is_1518_in_the_buffer_and_1538_on_the_wire() {
        assert_eq!(Framing::ETHERNET.buffered_bytes(1500), 1518);
        assert_eq!(Framing::ETHERNET.wire_bytes(1500), 1538);
    }

    #[test]
    fn a_bare_ack_is_padded_to_the_shortest_frame() {
        assert_eq!(Framing::ETHERNET.buffered_bytes(40), 64);
        assert_eq!(Framing::ETHERNET.wire_bytes(40), 84);
    }
}
