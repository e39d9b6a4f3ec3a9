//! A whole frame, read layer by layer: Ethernet, IP and, on request, the transport.

use std::net::IpAddr;

use fairport_tcp::Ecn;

use crate::captured::Captured;
use crate::checksum::PseudoHeader;
use crate::error::{Layer, ParseError};
use crate::ethernet::{EtherType, EthernetFrame};
use crate::ipv4::Ipv4Packet;
use crate::ipv6::Ipv6Packet;
use crate::tcp::{self, TcpPacket};
use crate::udp::{self, UdpDatagram};

/// The protocols whose header begins with the two ports.
const WITH_PORTS: [u8; 5] = [tcp::PROTOCOL, udp::PROTOCOL, DCCP, SCTP, UDP_LITE];
const DCCP: u8 = 33;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

/// A frame's bytes, read as Ethernet and IP.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The Ethernet header.
    pub ethernet: EthernetFrame<'a>,
    /// The packet in the frame.
    pub network: Network<'a>,
}

impl<'a> Frame<'a> {
    /// Reads the Ethernet header and the fixed header of IP. The headers after them are read on request, so a capture
    /// that ends just after the ports still shows which flow the packet belongs to.
    ///
    /// # Errors
    /// [`ParseError`] if one of the two headers was cut off or is malformed.
    #[inline]
    pub fn parse(frame: Captured<'a>) -> Result<Self, ParseError> {
        let ethernet = EthernetFrame::parse(frame)?;
        let network = Network::parse(ethernet.ether_type(), ethernet.payload())?;
        Ok(Self { ethernet, network })
    }

    /// The offset of the packet in the frame, in bytes. [`crate::mark_ce`] expects the bytes from there on.
    #[inline]
    pub fn network_offset(&self) -> usize {
        self.ethernet.header_bytes()
    }
}

/// A packet of the network layer.
#[derive(Clone, Copy, Debug)]
pub enum Network<'a> {
    /// IPv4.
    Ipv4(Ipv4Packet<'a>),
    /// IPv6.
    Ipv6(Ipv6Packet<'a>),
    /// Something else, such as ARP.
    Other(EtherType, Captured<'a>),
}

impl<'a> Network<'a> {
    /// Reads a packet of the protocol that `ether_type` names. Use it for captures without Ethernet headers.
    ///
    /// # Errors
    /// [`ParseError`] if the fixed header of IP was cut off or is malformed.
    #[inline]
    pub fn parse(ether_type: EtherType, packet: Captured<'a>) -> Result<Self, ParseError> {
        Ok(match ether_type {
            EtherType::IPV4 => Self::Ipv4(Ipv4Packet::parse(packet)?),
            EtherType::IPV6 => Self::Ipv6(Ipv6Packet::parse(packet)?),
            _ => Self::Other(ether_type, packet),
        })
    }

    /// The length of the packet in bytes, without the Ethernet header and padding, or None if it is not IP.
    #[inline]
    pub fn total_length(&self) -> Option<usize> {
        match self {
            Self::Ipv4(packet) => Some(packet.total_length()),
            Self::Ipv6(packet) => Some(packet.total_length()),
            Self::Other(..) => None,
        }
    }

    /// The ECN codepoint, or None if the packet is not IP.
    #[inline]
    pub fn ecn(&self) -> Option<Ecn> {
        match self {
            Self::Ipv4(packet) => Some(packet.ecn()),
            Self::Ipv6(packet) => Some(packet.ecn()),
            Self::Other(..) => None,
        }
    }

    /// The pseudo-header for the checksums of TCP and UDP, or None if the packet is not IP.
    pub fn pseudo_header(&self, protocol: u8) -> Option<PseudoHeader> {
        match self {
            Self::Ipv4(packet) => Some(PseudoHeader::ipv4(
                packet.source(),
                packet.destination(),
                protocol,
            )),
            Self::Ipv6(packet) => Some(PseudoHeader::ipv6(
                packet.source(),
                packet.destination(),
                protocol,
            )),
            Self::Other(..) => None,
        }
    }

    /// The payload of IP and whether it is a fragment, or None if the packet is not IP.
    #[inline]
    pub(crate) fn upper(&self) -> Result<Option<Upper<'a>>, ParseError> {
        Ok(match self {
            Self::Ipv4(packet) => Some(Upper {
                protocol: packet.protocol(),
                payload: packet.payload(),
                is_fragment: packet.is_fragment(),
                is_later_fragment: packet.fragment_offset() > 0,
            }),
            Self::Ipv6(packet) => {
                let upper = packet.upper()?;
                let fragment = upper.fragment;
                Some(Upper {
                    protocol: upper.protocol,
                    payload: upper.payload,
                    // a packet in one fragment is whole (RFC 6946)
                    is_fragment: fragment.is_some_and(|f| f.offset > 0 || f.more),
                    is_later_fragment: upper.is_later_fragment(),
                })
            }
            Self::Other(..) => None,
        })
    }

    /// The flow that the packet belongs to, or None if the packet is not IP.
    ///
    /// # Errors
    /// [`ParseError`] if an IPv6 extension header or the ports were cut off or are malformed.
    #[inline]
    pub fn flow_key(&self) -> Result<Option<FlowKey>, ParseError> {
        let (source, destination): (IpAddr, IpAddr) = match self {
            Self::Ipv4(packet) => (packet.source().into(), packet.destination().into()),
            Self::Ipv6(packet) => (packet.source().into(), packet.destination().into()),
            Self::Other(..) => return Ok(None),
        };
        let Some(upper) = self.upper()? else {
            return Ok(None);
        };
        let mut key = FlowKey {
            source,
            destination,
            protocol: upper.protocol,
            source_port: 0,
            destination_port: 0,
        };
        if WITH_PORTS.contains(&upper.protocol) && !upper.is_fragment {
            let layer = if upper.protocol == tcp::PROTOCOL {
                Layer::Tcp
            } else {
                Layer::Udp
            };
            let ([a, b, c, d], _) = upper.payload.header::<4>(layer)?;
            key.source_port = u16::from_be_bytes([*a, *b]);
            key.destination_port = u16::from_be_bytes([*c, *d]);
        }
        Ok(Some(key))
    }

    /// The transport's header and data, or None if the packet is not IP.
    ///
    /// # Errors
    /// [`ParseError`] if the transport's header, or an IPv6 extension header before it, was cut off or is malformed.
    #[inline]
    pub fn transport(&self) -> Result<Option<Transport<'a>>, ParseError> {
        self.upper()?.map(Upper::transport).transpose()
    }
}

/// The payload of IP, before it is read as a transport.
pub(crate) struct Upper<'a> {
    protocol: u8,
    payload: Captured<'a>,
    /// whether the packet holds only a part of the transport's header and data
    pub(crate) is_fragment: bool,
    is_later_fragment: bool,
}

impl<'a> Upper<'a> {
    #[inline]
    pub(crate) fn transport(self) -> Result<Transport<'a>, ParseError> {
        let Self {
            protocol, payload, ..
        } = self;
        Ok(match protocol {
            _ if self.is_later_fragment => Transport::LaterFragment { protocol, payload },
            tcp::PROTOCOL => Transport::Tcp(TcpPacket::parse(payload)?),
            udp::PROTOCOL if self.is_fragment => {
                Transport::Udp(UdpDatagram::parse_first_fragment(payload)?)
            }
            udp::PROTOCOL => Transport::Udp(UdpDatagram::parse(payload)?),
            _ => Transport::Other { protocol, payload },
        })
    }
}

/// The payload of IP, read as a transport.
#[derive(Clone, Copy, Debug)]
pub enum Transport<'a> {
    /// TCP.
    Tcp(TcpPacket<'a>),
    /// UDP.
    Udp(UdpDatagram<'a>),
    /// Another transport protocol.
    Other {
        /// Its protocol number.
        protocol: u8,
        /// Its header and data.
        payload: Captured<'a>,
    },
    /// A fragment other than the first. It has no transport header: its payload is from the middle of the packet.
    LaterFragment {
        /// The protocol of the whole packet.
        protocol: u8,
        /// The part of the payload that this fragment carries.
        payload: Captured<'a>,
    },
}

/// The addresses, protocol and ports that identify the flow of a packet. The ports are 0 if the protocol has none. They
/// are 0 in every fragment too, so that all fragments of a packet have the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// The source address.
    pub source: IpAddr,
    /// The destination address.
    pub destination: IpAddr,
    /// The transport's protocol number.
    pub protocol: u8,
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
}

impl FlowKey {
    /// The key of the packets in the other direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            protocol: self.protocol,
            source_port: self.destination_port,
            destination_port: self.source_port,
        }
    }
}
