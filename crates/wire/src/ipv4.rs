//! IPv4 (RFC 791).

use std::net::Ipv4Addr;

use fairport_tcp::Ecn;

use crate::captured::Captured;
use crate::checksum::{Sum, checksum};
use crate::error::{EmitError, Fault, Layer, ParseError, check_range, room};

/// Length of the header without options, in bytes.
pub const HEADER_BYTES: usize = 20;
/// Length of the longest payload that can follow a header without options, in bytes.
pub const PAYLOAD_MAX: usize = 65_535 - HEADER_BYTES;

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET_MASK: u16 = 0x1fff;

/// A packet's bytes, read as IPv4.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4Packet<'a> {
    header: &'a [u8; HEADER_BYTES],
    options: &'a [u8],
    payload: Captured<'a>,
}

impl<'a> Ipv4Packet<'a> {
    /// Reads the header. Bytes beyond the total length are padding of the link and are left out. A total length of zero
    /// means all bytes: captures on a host show it in segments of more than 64 KB, which the network adapter will
    /// split. The checksum is not verified ([`Self::is_checksum_valid`]).
    ///
    /// # Errors
    /// [`ParseError`] if the header was cut off, has another version, or has lengths that contradict each other.
    #[inline]
    pub fn parse(packet: Captured<'a>) -> Result<Self, ParseError> {
        let (header, _) = packet.header::<HEADER_BYTES>(Layer::Ipv4)?;
        if header[0] >> 4 != 4 {
            return Err(Fault::Version.at(Layer::Ipv4));
        }
        let header_bytes = usize::from(header[0] & 0x0f) * 4;
        if header_bytes < HEADER_BYTES {
            return Err(Fault::HeaderLength.at(Layer::Ipv4));
        }
        let total = match u16::from_be_bytes([header[2], header[3]]) {
            0 => packet.length(),
            total => usize::from(total),
        };
        if total < header_bytes || total > packet.length() {
            return Err(Fault::TotalLength.at(Layer::Ipv4));
        }
        let (options, payload) = if header_bytes == HEADER_BYTES {
            (
                &[][..],
                packet.limit(total).header::<HEADER_BYTES>(Layer::Ipv4)?.1,
            )
        } else {
            let (whole, payload) = packet.limit(total).split(Layer::Ipv4, header_bytes)?;
            (&whole[HEADER_BYTES..], payload)
        };
        Ok(Self {
            header,
            options,
            payload,
        })
    }

    #[inline]
    fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.header[at], self.header[at + 1]])
    }

    /// The source address.
    #[inline]
    pub fn source(&self) -> Ipv4Addr {
        let [.., a, b, c, d, _, _, _, _] = *self.header;
        Ipv4Addr::new(a, b, c, d)
    }

    /// The destination address.
    #[inline]
    pub fn destination(&self) -> Ipv4Addr {
        let [.., a, b, c, d] = *self.header;
        Ipv4Addr::new(a, b, c, d)
    }

    /// The differentiated services code point, 0 to 63 (RFC 2474).
    #[inline]
    pub fn dscp(&self) -> u8 {
        self.header[1] >> 2
    }

    /// The ECN codepoint (RFC 3168).
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.header[1])
    }

    /// The length of header and payload in bytes, from the header. Padding is not counted.
    #[inline]
    pub fn total_length(&self) -> usize {
        self.header_bytes() + self.payload.length()
    }

    /// The identification, which all fragments of a packet share. In packets that are not fragments it is usually a
    /// counter of the host, which helps to find one packet in two captures.
    #[inline]
    pub fn identification(&self) -> u16 {
        self.word(4)
    }

    /// Whether routers must not fragment the packet.
    #[inline]
    pub fn dont_fragment(&self) -> bool {
        self.word(6) & DONT_FRAGMENT != 0
    }

    /// Whether more fragments follow this one.
    #[inline]
    pub fn more_fragments(&self) -> bool {
        self.word(6) & MORE_FRAGMENTS != 0
    }

    /// The offset of the fragment's payload in the payload of the whole packet, in units of 8 bytes.
    #[inline]
    pub fn fragment_offset(&self) -> u16 {
        self.word(6) & OFFSET_MASK
    }

    /// Whether the packet is a fragment, the first or a later one.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        self.word(6) & (MORE_FRAGMENTS | OFFSET_MASK) != 0
    }

    /// The time to live: the number of hops that the packet may still take.
    #[inline]
    pub fn ttl(&self) -> u8 {
        self.header[8]
    }

    /// The protocol of the payload, such as 6 for TCP and 17 for UDP.
    #[inline]
    pub fn protocol(&self) -> u8 {
        self.header[9]
    }

    /// Whether the header's checksum is right. Captures on the sending host may hold packets whose checksums the
    /// network adapter has not filled in yet.
    pub fn is_checksum_valid(&self) -> bool {
        Sum::ZERO.bytes(self.header).bytes(self.options).finish() == 0
    }

    /// The options with their padding.
    #[inline]
    pub fn options(&self) -> &'a [u8] {
        self.options
    }

    /// The length of the header with its options, in bytes. The payload begins there.
    #[inline]
    pub fn header_bytes(&self) -> usize {
        HEADER_BYTES + self.options.len()
    }

    /// The payload.
    #[inline]
    pub fn payload(&self) -> Captured<'a> {
        self.payload
    }

    /// The header as a value, without its options.
    pub fn header(&self) -> Ipv4Header {
        Ipv4Header {
            source: self.source(),
            destination: self.destination(),
            dscp: self.dscp(),
            ecn: self.ecn(),
            identification: self.identification(),
            dont_fragment: self.dont_fragment(),
            more_fragments: self.more_fragments(),
            fragment_offset: self.fragment_offset(),
            ttl: self.ttl(),
            protocol: self.protocol(),
        }
    }
}

/// An IPv4 header without options as a value. `emit` computes the total length and the checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Header {
    /// The source address.
    pub source: Ipv4Addr,
    /// The destination address.
    pub destination: Ipv4Addr,
    /// The differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// The ECN codepoint.
    pub ecn: Ecn,
    /// The identification.
    pub identification: u16,
    /// Whether routers must not fragment the packet.
    pub dont_fragment: bool,
    /// Whether more fragments follow this one.
    pub more_fragments: bool,
    /// The offset of the fragment's payload in units of 8 bytes, up to 8191.
    pub fragment_offset: u16,
    /// The time to live: the number of hops that the packet may still take.
    pub ttl: u8,
    /// The protocol of the payload.
    pub protocol: u8,
}

impl Ipv4Header {
    /// The header of a packet as hosts send it: not to be fragmented, 64 hops, best effort.
    pub const fn new(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8) -> Self {
        Self {
            source,
            destination,
            dscp: 0,
            ecn: Ecn::NotEct,
            identification: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol,
        }
    }

    /// Writes the header of a packet with a payload of `payload_bytes`; returns the length of the header in bytes.
    ///
    /// # Errors
    /// [`EmitError`] if the buffer is too short, or a value does not fit its field.
    pub fn emit(&self, payload_bytes: usize, out: &mut [u8]) -> Result<usize, EmitError> {
        check_range("payload_bytes", payload_bytes, PAYLOAD_MAX)?;
        check_range("dscp", self.dscp.into(), 63)?;
        check_range(
            "fragment_offset",
            self.fragment_offset.into(),
            OFFSET_MASK.into(),
        )?;
        let header = room(out, HEADER_BYTES)?;
        let total = (HEADER_BYTES + payload_bytes) as u16;
        let mut fragment = self.fragment_offset;
        if self.dont_fragment {
            fragment |= DONT_FRAGMENT;
        }
        if self.more_fragments {
            fragment |= MORE_FRAGMENTS;
        }
        header[0] = 0x45;
        header[1] = self.dscp << 2 | self.ecn.bits();
        header[2..4].copy_from_slice(&total.to_be_bytes());
        header[4..6].copy_from_slice(&self.identification.to_be_bytes());
        header[6..8].copy_from_slice(&fragment.to_be_bytes());
        header[8] = self.ttl;
        header[9] = self.protocol;
        header[10..12].fill(0);
        header[12..16].copy_from_slice(&self.source.octets());
        header[16..20].copy_from_slice(&self.destination.octets());
        let sum = checksum(header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        Ok(HEADER_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header whose checksum was computed by hand:
    /// 4500+0073+0000+4000+4011+c0a8+0001+c0a8+00c7 = 2479c, 2 + 479c = 479e, its complement b861.
    const HEADER: [u8; 20] = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00,
        0x01, 0xc0, 0xa8, 0x00, 0xc7,
    ];

    #[test]
    fn a_header_is_read_and_written_byte_for_byte() {
        let packet = Ipv4Packet::parse(Captured::first_of(&HEADER, 115)).expect("a packet");
        assert!(packet.is_checksum_valid());
        assert_eq!(packet.total_length(), 115);
        assert_eq!(packet.payload().length(), 95);
        assert_eq!((packet.ttl(), packet.protocol()), (64, 17));
        assert!(packet.dont_fragment() && !packet.is_fragment());
        let expected = Ipv4Header::new([192, 168, 0, 1].into(), [192, 168, 0, 199].into(), 17);
        assert_eq!(packet.header(), expected);
        let mut written = [0xff; 20];
        assert_eq!(expected.emit(95, &mut written), Ok(20));
        assert_eq!(written, HEADER);
    }

    #[test]
    fn a_hop_that_leaves_the_checksum_as_it_was_makes_it_wrong() {
        let mut bytes = HEADER;
        bytes[8] -= 1;
        let packet = Ipv4Packet::parse(Captured::first_of(&bytes, 115)).expect("a packet");
        assert!(!packet.is_checksum_valid());
    }

    #[test]
    fn padding_is_no_payload() {
        let mut frame = [0_u8; 46];
        Ipv4Header::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, 6)
            .emit(20, &mut frame)
            .expect("room");
        let packet = Ipv4Packet::parse(Captured::whole(&frame)).expect("a packet");
        assert_eq!(packet.payload().bytes().len(), 20);
    }

    #[test]
    fn options_are_skipped_and_count_into_the_checksum() {
        let mut bytes = [0_u8; 28];
        Ipv4Header::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, 6)
            .emit(8, &mut bytes)
            .expect("room");
        bytes[0] = 0x46;
        bytes[20..24].copy_from_slice(&[0x94, 0x04, 0x00, 0x00]); // router alert, RFC 2113
        bytes[10..12].fill(0);
        let sum = checksum(&bytes[..24]);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        let packet = Ipv4Packet::parse(Captured::whole(&bytes)).expect("a packet");
        assert_eq!(packet.options(), [0x94, 0x04, 0x00, 0x00]);
        assert_eq!(packet.payload().length(), 4);
        assert!(packet.is_checksum_valid());
    }

    #[test]
    fn lengths_that_contradict_each_other_are_malformed() {
        let parse = |at: usize, byte: u8| {
            let mut bytes = [0; 115];
            bytes[..20].copy_from_slice(&HEADER);
            bytes[at] = byte;
            Ipv4Packet::parse(Captured::whole(&bytes)).map(|_| ())
        };
        assert_eq!(parse(0, 0x65), Err(Fault::Version.at(Layer::Ipv4)));
        assert_eq!(parse(0, 0x44), Err(Fault::HeaderLength.at(Layer::Ipv4)));
        assert_eq!(parse(3, 0x74), Err(Fault::TotalLength.at(Layer::Ipv4)));
        assert_eq!(parse(3, 0x13), Err(Fault::TotalLength.at(Layer::Ipv4)));
        assert_eq!(parse(3, 0x72), Ok(()));
    }

    #[test]
    fn a_total_length_of_zero_is_that_of_the_capture() {
        let mut bytes = HEADER;
        bytes[2..4].fill(0);
        let packet = Ipv4Packet::parse(Captured::first_of(&bytes, 100_020)).expect("a packet");
        assert_eq!(packet.payload().length(), 100_000);
    }

    #[test]
    fn a_value_that_does_not_fit_its_field_is_refused() {
        let header = Ipv4Header {
            dscp: 64,
            ..Ipv4Header::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, 6)
        };
        let error = header.emit(0, &mut [0; 20]).expect_err("seven bits");
        assert_eq!(error.to_string(), "`dscp` is 64, but at most 63");
        let header = Ipv4Header { dscp: 63, ..header };
        assert_eq!(header.emit(65_515, &mut [0; 20]), Ok(20));
        let error = header.emit(65_516, &mut [0; 20]).expect_err("64 KiB");
        assert_eq!(
            error.to_string(),
            "`payload_bytes` is 65516, but at most 65515"
        );
    }
}
