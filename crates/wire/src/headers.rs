//! The headers of a frame as one value, written together with their lengths and checksums.

use crate::captured::Captured;
use crate::checksum::PseudoHeader;
use crate::error::{EmitError, ParseError, check_range, room};
use crate::ethernet::{EtherType, EthernetHeader};
use crate::frame::{Frame, Network, Transport};
use crate::ipv4::{self, Ipv4Header};
use crate::ipv6::{self, Ipv6Header};
use crate::payload::Payload;
use crate::tcp::{self, TcpHeader};
use crate::udp::{self, UdpHeader};

/// An IP header as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpHeader {
    /// IPv4.
    V4(Ipv4Header),
    /// IPv6.
    V6(Ipv6Header),
}

impl IpHeader {
    const fn bytes(&self) -> usize {
        match self {
            Self::V4(_) => ipv4::HEADER_BYTES,
            Self::V6(_) => ipv6::HEADER_BYTES,
        }
    }

    /// The pseudo-header for the checksums of TCP and UDP.
    pub fn pseudo_header(&self, protocol: u8) -> PseudoHeader {
        match self {
            Self::V4(header) => PseudoHeader::ipv4(header.source, header.destination, protocol),
            Self::V6(header) => PseudoHeader::ipv6(header.source, header.destination, protocol),
        }
    }

    fn emit(&self, payload_bytes: usize, out: &mut [u8]) -> Result<usize, EmitError> {
        match self {
            Self::V4(header) => header.emit(payload_bytes, out),
            Self::V6(header) => header.emit(payload_bytes, out),
        }
    }
}

/// A transport's header as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportHeader {
    /// TCP.
    Tcp(TcpHeader),
    /// UDP.
    Udp(UdpHeader),
    /// The number of another protocol, whose header is the first part of the payload.
    Other(u8),
}

impl TransportHeader {
    const fn protocol(&self) -> u8 {
        match self {
            Self::Tcp(_) => tcp::PROTOCOL,
            Self::Udp(_) => udp::PROTOCOL,
            Self::Other(protocol) => *protocol,
        }
    }

    fn bytes(&self) -> Result<usize, EmitError> {
        match self {
            Self::Tcp(header) => header.bytes(),
            Self::Udp(_) => Ok(udp::HEADER_BYTES),
            Self::Other(_) => Ok(0),
        }
    }
}

/// The Ethernet, IP and transport headers of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    ethernet: EthernetHeader,
    ip: IpHeader,
    transport: TransportHeader,
}

impl Headers {
    /// The largest length of the headers, in bytes: two VLAN tags, IPv6, and TCP with 40 bytes of options.
    pub const BYTES_MAX: usize = 14 + 8 + ipv6::HEADER_BYTES + tcp::HEADER_BYTES_MAX;

    /// Combines three headers. The Ethernet type is set to that of `ip`, and the protocol of the IP header to that of
    /// `transport`.
    pub const fn new(
        mut ethernet: EthernetHeader,
        mut ip: IpHeader,
        transport: TransportHeader,
    ) -> Self {
        let protocol = transport.protocol();
        match &mut ip {
            IpHeader::V4(header) => {
                header.protocol = protocol;
                ethernet.ether_type = EtherType::IPV4;
            }
            IpHeader::V6(header) => {
                header.next_header = protocol;
                ethernet.ether_type = EtherType::IPV6;
            }
        }
        Self {
            ethernet,
            ip,
            transport,
        }
    }

    /// Reads the headers of a frame; returns them and the data after them, or None if the frame is not IP. IPv4 options
    /// are left out, and so are IPv6 extension headers before TCP and UDP. If the packet is a fragment, the transport's
    /// header stays part of the data, since its checksum covers the whole packet.
    ///
    /// # Errors
    /// [`ParseError`] if a header was cut off or is malformed.
    pub fn read<'a>(frame: &Frame<'a>) -> Result<Option<(Self, Captured<'a>)>, ParseError> {
        let (ip, protocol, whole) = match &frame.network {
            Network::Ipv4(packet) => (
                IpHeader::V4(packet.header()),
                packet.protocol(),
                packet.payload(),
            ),
            Network::Ipv6(packet) => (
                IpHeader::V6(packet.header()),
                packet.next_header(),
                packet.payload(),
            ),
            Network::Other(..) => return Ok(None),
        };
        let Some(upper) = frame.network.upper()? else {
            return Ok(None);
        };
        let is_fragment = upper.is_fragment;
        let (transport, payload) = match upper.transport()? {
            Transport::Tcp(tcp) if !is_fragment => {
                (TransportHeader::Tcp(tcp.header()?), tcp.payload())
            }
            Transport::Udp(udp) if !is_fragment => {
                (TransportHeader::Udp(udp.header()), udp.payload())
            }
            _ => (TransportHeader::Other(protocol), whole),
        };
        let headers = Self::new(frame.ethernet.header(), ip, transport);
        Ok(Some((headers, payload)))
    }

    /// The Ethernet header.
    pub const fn ethernet(&self) -> &EthernetHeader {
        &self.ethernet
    }

    /// The IP header.
    pub const fn ip(&self) -> &IpHeader {
        &self.ip
    }

    /// The transport's header.
    pub const fn transport(&self) -> &TransportHeader {
        &self.transport
    }

    /// Writes the headers of a frame with this payload; returns their length in bytes. The payload itself is not
    /// written: copy it to the bytes after the headers, or leave it out of a capture.
    ///
    /// # Errors
    /// [`EmitError`] if the buffer is too short ([`Self::BYTES_MAX`] bytes always suffice), or a value does not fit its
    /// field.
    pub fn emit(&self, payload: Payload<'_>, out: &mut [u8]) -> Result<usize, EmitError> {
        let transport_bytes = self.transport.bytes()?;
        let out = room(
            out,
            self.ethernet.bytes() + self.ip.bytes() + transport_bytes,
        )?;
        check_range("payload", payload.length(), 65_535)?;
        let mut at = self.ethernet.emit(out)?;
        at += self
            .ip
            .emit(transport_bytes + payload.length(), &mut out[at..])?;
        let pseudo = self.ip.pseudo_header(self.transport.protocol());
        at += match &self.transport {
            TransportHeader::Tcp(header) => header.emit(&pseudo, payload, &mut out[at..])?,
            TransportHeader::Udp(header) => header.emit(&pseudo, payload, &mut out[at..])?,
            TransportHeader::Other(_) => 0,
        };
        Ok(at)
    }
}
