//! IPv6 (RFC 8200). Extension headers are read on request, to reach the transport.

use std::net::Ipv6Addr;

use fairport_tcp::Ecn;

use crate::captured::Captured;
use crate::error::{EmitError, Fault, Layer, ParseError, check_range, room};

/// Length of the fixed header, in bytes.
pub const HEADER_BYTES: usize = 40;
/// The largest payload that the length field can express, in bytes.
pub const PAYLOAD_MAX: usize = 65_535;

const FLOW_LABEL_MAX: u32 = 0x000f_ffff;

const HOP_BY_HOP: u8 = 0;
const TCP: u8 = crate::tcp::PROTOCOL;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const HOST_IDENTITY: u8 = 139;
const SHIM6: u8 = 140;

/// A packet's bytes, read as IPv6.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6Packet<'a> {
    header: &'a [u8; HEADER_BYTES],
    payload: Captured<'a>,
}

/// The fragment header of a packet: the fragment's place in the whole packet (RFC 8200 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6Fragment {
    /// The offset of the fragment's payload in the payload of the whole packet, in units of 8 bytes.
    pub offset: u16,
    /// Whether more fragments follow this one.
    pub more: bool,
    /// The identification, which all fragments of a packet share.
    pub identification: u32,
}

/// The payload of IPv6 after the extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6Upper<'a> {
    /// The protocol of the payload.
    pub protocol: u8,
    /// The payload, or the part of it that this fragment carries.
    pub payload: Captured<'a>,
    /// The fragment header, or None if there is none.
    pub fragment: Option<Ipv6Fragment>,
}

impl<'a> Ipv6Packet<'a> {
    /// Reads the fixed header. Bytes beyond the payload length are padding of the link and are left out. A payload
    /// length of zero means all bytes in two cases: before hop-by-hop options, as in a jumbogram (RFC 2675), and before
    /// TCP, as in a segment of more than 64 KB that the network adapter will split.
    ///
    /// # Errors
    /// [`ParseError`] if the header was cut off, has another version, or its length reaches beyond the layer below.
    #[inline]
    pub fn parse(packet: Captured<'a>) -> Result<Self, ParseError> {
        let (header, rest) = packet.header::<HEADER_BYTES>(Layer::Ipv6)?;
        if header[0] >> 4 != 6 {
            return Err(Fault::Version.at(Layer::Ipv6));
        }
        let length = match u16::from_be_bytes([header[4], header[5]]) {
            0 if matches!(header[6], HOP_BY_HOP | TCP) => rest.length(),
            length => usize::from(length),
        };
        if length > rest.length() {
            return Err(Fault::TotalLength.at(Layer::Ipv6));
        }
        Ok(Self {
            header,
            payload: rest.limit(length),
        })
    }

    /// The source address.
    #[inline]
    pub fn source(&self) -> Ipv6Addr {
        self.address(8)
    }

    /// The destination address.
    #[inline]
    pub fn destination(&self) -> Ipv6Addr {
        self.address(24)
    }

    #[inline]
    fn address(&self, at: usize) -> Ipv6Addr {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&self.header[at..at + 16]);
        bytes.into()
    }

    #[inline]
    fn traffic_class(&self) -> u8 {
        self.header[0] << 4 | self.header[1] >> 4
    }

    /// The differentiated services code point, 0 to 63 (RFC 2474).
    #[inline]
    pub fn dscp(&self) -> u8 {
        self.traffic_class() >> 2
    }

    /// The ECN codepoint (RFC 3168).
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.traffic_class())
    }

    /// The flow label (RFC 6437), 20 bits.
    #[inline]
    pub fn flow_label(&self) -> u32 {
        let [_, a, b, c, ..] = *self.header;
        u32::from_be_bytes([0, a, b, c]) & FLOW_LABEL_MAX
    }

    /// The length of header and payload in bytes, from the header. Padding is not counted.
    #[inline]
    pub fn total_length(&self) -> usize {
        HEADER_BYTES + self.payload.length()
    }

    /// The number of the header that follows the fixed one: an extension header or the transport.
    #[inline]
    pub fn next_header(&self) -> u8 {
        self.header[6]
    }

    /// The hop limit: the number of hops that the packet may still take.
    #[inline]
    pub fn hop_limit(&self) -> u8 {
        self.header[7]
    }

    /// The payload after the fixed header, with any extension headers.
    #[inline]
    pub fn payload(&self) -> Captured<'a> {
        self.payload
    }

    /// Reads past the extension headers to the transport. A fragment other than the first has no transport header: its
    /// payload is from the middle of the packet. The content of an encrypted payload (protocol 50) is not read.
    ///
    /// # Errors
    /// [`ParseError`] if an extension header was cut off, or reaches beyond the packet.
    #[inline]
    pub fn upper(&self) -> Result<Ipv6Upper<'a>, ParseError> {
        let mut upper = Ipv6Upper {
            protocol: self.next_header(),
            payload: self.payload,
            fragment: None,
        };
        while upper.skip_extension()? {}
        Ok(upper)
    }

    /// The fixed header as a value.
    pub fn header(&self) -> Ipv6Header {
        Ipv6Header {
            source: self.source(),
            destination: self.destination(),
            dscp: self.dscp(),
            ecn: self.ecn(),
            flow_label: self.flow_label(),
            hop_limit: self.hop_limit(),
            next_header: self.next_header(),
        }
    }
}

impl Ipv6Upper<'_> {
    /// Whether the payload begins in the middle of the whole packet.
    pub(crate) fn is_later_fragment(&self) -> bool {
        self.fragment.is_some_and(|fragment| fragment.offset > 0)
    }

    /// Reads past one extension header. Returns false if there is none.
    #[inline]
    fn skip_extension(&mut self) -> Result<bool, ParseError> {
        const LAYER: Layer = Layer::Ipv6Extension;
        let unit = match self.protocol {
            _ if self.is_later_fragment() => return Ok(false),
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY | HOST_IDENTITY | SHIM6 => 8,
            FRAGMENT => {
                let (header, payload) = self.payload.header::<8>(LAYER)?;
                let place = u16::from_be_bytes([header[2], header[3]]);
                self.fragment = Some(Ipv6Fragment {
                    offset: place >> 3,
                    more: place & 1 != 0,
                    identification: u32::from_be_bytes([
                        header[4], header[5], header[6], header[7],
                    ]),
                });
                self.protocol = header[0];
                self.payload = payload;
                return Ok(true);
            }
            AUTHENTICATION => 4,
            _ => return Ok(false),
        };
        let (begin, _) = self.payload.header::<2>(LAYER)?;
        // the length counts 8 bytes a unit without the first unit (RFC 8200 4.2), in authentication headers 4 bytes a
        // unit without the first two (RFC 4302 2.2)
        let units = usize::from(begin[1]) + if unit == 8 { 1 } else { 2 };
        let (_, payload) = self.payload.split(LAYER, units * unit)?;
        self.protocol = begin[0];
        self.payload = payload;
        Ok(true)
    }
}

/// The fixed header of IPv6 as a value. `emit` computes the payload length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6Header {
    /// The source address.
    pub source: Ipv6Addr,
    /// The destination address.
    pub destination: Ipv6Addr,
    /// The differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// The ECN codepoint.
    pub ecn: Ecn,
    /// The flow label, 20 bits.
    pub flow_label: u32,
    /// The hop limit: the number of hops that the packet may still take.
    pub hop_limit: u8,
    /// The protocol of the payload.
    pub next_header: u8,
}

impl Ipv6Header {
    /// The header of a packet as hosts send it: 64 hops, best effort, no flow label.
    pub const fn new(source: Ipv6Addr, destination: Ipv6Addr, next_header: u8) -> Self {
        Self {
            source,
            destination,
            dscp: 0,
            ecn: Ecn::NotEct,
            flow_label: 0,
            hop_limit: 64,
            next_header,
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
            "flow_label",
            self.flow_label as usize,
            FLOW_LABEL_MAX as usize,
        )?;
        let header = room(out, HEADER_BYTES)?;
        let class = u32::from(self.dscp) << 2 | u32::from(self.ecn.bits());
        let first = 6 << 28 | class << 20 | self.flow_label;
        header[0..4].copy_from_slice(&first.to_be_bytes());
        header[4..6].copy_from_slice(&(payload_bytes as u16).to_be_bytes());
        header[6] = self.next_header;
        header[7] = self.hop_limit;
        header[8..24].copy_from_slice(&self.source.octets());
        header[24..40].copy_from_slice(&self.destination.octets());
        Ok(HEADER_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(next_header: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES];
        Ipv6Header::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, next_header)
            .emit(payload.len(), &mut bytes)
            .expect("room");
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn the_first_word_holds_version_class_and_label() {
        let header = Ipv6Header {
            dscp: 0b10_1110, // expedited forwarding
            ecn: Ecn::Ect0,
            flow_label: 0x12345,
            ..Ipv6Header::new(Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED, 6)
        };
        let mut bytes = [0; 40];
        header.emit(0x102, &mut bytes).expect("room");
        assert_eq!(bytes[..8], [0x6b, 0xa1, 0x23, 0x45, 0x01, 0x02, 6, 64]);
        let read = Ipv6Packet::parse(Captured::first_of(&bytes, 40 + 0x102)).expect("a packet");
        assert_eq!(read.header(), header);
        assert_eq!(read.payload().length(), 0x102);
    }

    #[test]
    fn extension_headers_are_walked_to_the_transport() {
        let mut payload = vec![ROUTING, 0, 5, 2, 0, 0, 1, 0]; // hop by hop: router alert, padding
        payload.extend([DESTINATION, 1].iter().chain(&[0; 14])); // routing, 16 bytes
        payload.extend([AUTHENTICATION, 0, 1, 4, 0, 0, 0, 0]); // destination options
        payload.extend([17, 1].iter().chain(&[0; 10])); // authentication, 12 bytes
        payload.extend([0xab; 8]);
        let bytes = packet(HOP_BY_HOP, &payload);
        let read = Ipv6Packet::parse(Captured::whole(&bytes)).expect("a packet");
        let upper = read.upper().expect("a transport");
        assert_eq!(upper.protocol, 17);
        assert_eq!(upper.payload.bytes(), [0xab; 8]);
        assert_eq!(upper.fragment, None);
    }

    #[test]
    fn a_payload_length_of_zero_is_that_of_the_capture_before_tcp_alone() {
        let bytes = packet(6, &[]);
        let segment = Captured::first_of(&bytes, 100_040);
        let read = Ipv6Packet::parse(segment).expect("a packet");
        assert_eq!(read.payload().length(), 100_000);
        let padded = [&packet(59, &[])[..], &[0; 6]].concat();
        let read = Ipv6Packet::parse(Captured::whole(&padded)).expect("a packet");
        assert_eq!(read.payload().length(), 0);
    }

    #[test]
    fn a_later_fragment_has_no_transport_header() {
        // the last fragment, at offset 185 (1480 bytes)
        let mut payload = vec![ROUTING, 0, 0x05, 0xc8, 0, 0, 0, 9];
        payload.extend([0xff; 16]);
        let bytes = packet(FRAGMENT, &payload);
        let read = Ipv6Packet::parse(Captured::whole(&bytes)).expect("a packet");
        let upper = read.upper().expect("a fragment");
        let fragment = upper.fragment.expect("a fragment");
        assert_eq!((fragment.offset, fragment.more), (185, false));
        assert_eq!(fragment.identification, 9);
        assert_eq!((upper.protocol, upper.payload.length()), (ROUTING, 16));
    }

    #[test]
    fn an_extension_header_that_reaches_beyond_the_packet_is_malformed() {
        let bytes = packet(DESTINATION, &[6, 9, 0, 0, 0, 0, 0, 0]);
        let read = Ipv6Packet::parse(Captured::whole(&bytes)).expect("a packet");
        assert_eq!(read.upper(), Err(Fault::TooShort.at(Layer::Ipv6Extension)));
    }
}
