//! A whole frame, read layer by layer: Ethernet, IP, and the transport where it is asked for.

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

/// Protocols whose header begins with the two ports.
const WITH_PORTS: [u8; 5] = [tcp::PROTOCOL, udp::PROTOCOL, DCCP, SCTP, UDP_LITE];
const DCCP: u8 = 33;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

/// A frame's bytes.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Its Ethernet header.
    pub ethernet: EthernetFrame<'a>,
    /// The packet in it.
    pub network: Network<'a>,
}

impl<'a> Frame<'a> {
    /// Reads the Ethernet header and the fixed header of IP. Headers behind them are read when they are
    /// asked for, so that a capture that was cut off behind the ports still says whose packet it is.
    ///
    /// # Errors
    /// If one of the two headers was cut off or is malformed.
    #[inline]
    pub fn parse(frame: Captured<'a>) -> Result<Self, ParseError> {
        let ethernet = EthernetFrame::parse(frame)?;
        let network = Network::parse(ethernet.ether_type(), ethernet.payload())?;
        Ok(Self { ethernet, network })
    }

    /// Where the packet begins in the frame: what [`crate::mark_ce`] is to be given.
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
    /// Reads the packet that the type announces. Captures without Ethernet headers can begin here.
    ///
    /// # Errors
    /// If the fixed header was cut off or is malformed.
    #[inline]
    pub fn parse(ether_type: EtherType, packet: Captured<'a>) -> Result<Self, ParseError> {
        Ok(match ether_type {
            EtherType::IPV4 => Self::Ipv4(Ipv4Packet::parse(packet)?),
            EtherType::IPV6 => Self::Ipv6(Ipv6Packet::parse(packet)?),
            _ => Self::Other(ether_type, packet),
        })
    }

    /// Bytes of the packet without the link's header and padding. None if it is not IP.
    #[inline]
    pub fn total_length(&self) -> Option<usize> {
        match self {
            Self::Ipv4(packet) => Some(packet.total_length()),
            Self::Ipv6(packet) => Some(packet.total_length()),
            Self::Other(..) => None,
        }
    }

    /// The ECN codepoint. None if it is not IP.
    #[inline]
    pub fn ecn(&self) -> Option<Ecn> {
        match self {
            Self::Ipv4(packet) => Some(packet.ecn()),
            Self::Ipv6(packet) => Some(packet.ecn()),
            Self::Other(..) => None,
        }
    }

    /// What TCP and UDP count into their checksums. None if it is not IP.
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

    /// What IP carries, and which part of it this is. None if it is not IP.
    #[inline]
    fn upper(&self) -> Result<Option<Upper<'a>>, ParseError> {
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

    /// Whose packet it is. None if it is not IP.
    ///
    /// # Errors
    /// If an extension header of IPv6 or the ports were cut off, or are malformed.
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

    /// The transport's header. None if it is not IP.
    ///
    /// # Errors
    /// If it, or an extension header of IPv6 before it, was cut off or is malformed.
    #[inline]
    pub fn transport(&self) -> Result<Option<Transport<'a>>, ParseError> {
        let Some(upper) = self.upper()? else {
            return Ok(None);
        };
        let Upper {
            protocol, payload, ..
        } = upper;
        Ok(Some(match protocol {
            _ if upper.is_later_fragment => Transport::LaterFragment { protocol, payload },
            tcp::PROTOCOL => Transport::Tcp(TcpPacket::parse(payload)?),
            udp::PROTOCOL if upper.is_fragment => {
                Transport::Udp(UdpDatagram::parse_first_fragment(payload)?)
            }
            udp::PROTOCOL => Transport::Udp(UdpDatagram::parse(payload)?),
            _ => Transport::Other { protocol, payload },
        }))
    }

    /// Whether the transport's header is in this packet alone, and whole.
    pub(crate) fn is_fragment(&self) -> Result<bool, ParseError> {
        Ok(self.upper()?.is_some_and(|upper| upper.is_fragment))
    }
}

/// What IP carries.
struct Upper<'a> {
    protocol: u8,
    payload: Captured<'a>,
    is_fragment: bool,
    is_later_fragment: bool,
}

/// What IP carries, read.
#[derive(Clone, Copy, Debug)]
pub enum Transport<'a> {
    /// TCP.
    Tcp(TcpPacket<'a>),
    /// UDP.
    Udp(UdpDatagram<'a>),
    /// Another protocol.
    Other {
        /// Its number.
        protocol: u8,
        /// Its header and data.
        payload: Captured<'a>,
    },
    /// A fragment that is not the first: the payload is the middle of something.
    LaterFragment {
        /// The protocol of the whole packet.
        protocol: u8,
        /// The fragment's part.
        payload: Captured<'a>,
    },
}

/// Addresses, protocol and ports: whose packet it is. The ports are 0 if the protocol has none, and in
/// every fragment, so that all fragments of a packet have the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// Where the packet comes from.
    pub source: IpAddr,
    /// Where it goes.
    pub destination: IpAddr,
    /// The transport's number.
    pub protocol: u8,
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
}

impl FlowKey {
    /// The key of the packets that go the other way.
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
