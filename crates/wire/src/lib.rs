//! Reads bytes into headers and segments, and writes them: Ethernet with VLAN tags, IPv4, IPv6, TCP with its options,
//! UDP.
//!
//! Every header has two types:
//!
//! * a **view** of bytes ([`EthernetFrame`], [`Ipv4Packet`], [`Ipv6Packet`], [`TcpPacket`], [`UdpDatagram`]). `parse`
//!   checks the lengths once, and the accessors then read in place. Nothing is copied, and no input makes it panic;
//! * a **value** ([`EthernetHeader`], [`Ipv4Header`], [`Ipv6Header`], [`TcpHeader`], [`UdpHeader`]) that `emit` writes.
//!   Lengths and checksums are not part of it: `emit` computes them from what it writes, so they cannot be wrong.
//!
//! [`Frame`] reads a frame layer by layer, and [`Headers`] holds the values of all its layers.
//! [`TcpPacket::to_segment`] and [`TcpHeader::from_segment`] convert to and from the segments that the state machines
//! of `fairport-tcp` exchange.
//!
//! ```
//! use fairport_tcp::{Flags, Segment};
//! use fairport_wire::*;
//!
//! // a segment of a simulation, as a capture would show it
//! let segment = Segment { seq: 1, ack: 1, payload: 1448, flags: Flags::ACK, ..Segment::default() };
//! let headers = Headers::new(
//!     EthernetHeader {
//!         destination: MacAddress([2, 0, 0, 0, 0, 2]),
//!         source: MacAddress([2, 0, 0, 0, 0, 1]),
//!         tags: VlanTags::None,
//!         ether_type: EtherType::IPV4,
//!     },
//!     IpHeader::V4(Ipv4Header::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), tcp::PROTOCOL)),
//!     TransportHeader::Tcp(TcpHeader::from_segment(&segment, 40_000, 5_001)),
//! );
//! let mut bytes = [0; Headers::BYTES_MAX];
//! let length = headers.emit(Payload::Zeros(1448), &mut bytes)?;
//!
//! // the capture holds the headers; on the wire, 1448 bytes of data followed
//! let record = Captured::first_of(&bytes[..length], length + 1448);
//! let frame = Frame::parse(record)?;
//! assert_eq!(frame.network.total_length(), Some(1488));
//! let Some(Transport::Tcp(tcp)) = frame.network.transport()? else { panic!("it is TCP") };
//! assert_eq!((tcp.destination_port(), tcp.payload_length()), (5_001, 1448));
//! assert_eq!(tcp.to_segment()?, segment);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Truncated is not malformed
//!
//! Captures often keep only the first bytes of each packet. [`Captured`] holds those bytes and the length on the wire.
//! A header that the capture cut off is [`ParseError::Truncated`]; lengths that contradict each other are
//! [`ParseError::Malformed`], however long the capture. Missing data is not an error. The length of a payload comes
//! from the IP header, so the padding of short Ethernet frames does not count.
//!
//! # A switch in real time
//!
//! [`Network::flow_key`] says which flow a packet belongs to, and [`Network::total_length`] its length. [`mark_ce`]
//! sets congestion experienced in place and updates the checksum.
//!
//! # Why not an existing crate
//!
//! etherparse reads frames well, and the tests compare this crate with it. It is not used here because it takes 1.3
//! to 2.8 times as long and cannot handle a length on the wire beyond the captured bytes. Measured
//! (`cargo bench -p fairport-wire`, one core, ns per frame with timestamps):
//!
//! | work | here | etherparse |
//! |---|---|---|
//! | IPv4 and TCP: addresses, ports, length, ECN | 13 | 30 |
//! | IPv6 and TCP: the same | 14 | 18 |
//! | to a segment with its options | 13 | 37 |
//! | to a segment with three SACK blocks | 27 | 46 |
//! | a mark in place | 5 | |
//! | checksum of 1500 bytes | 41 | |
//! | headers of a segment written | 45 | |
//!
//! Not supported: ARP, ICMP, tunnels, reassembly of fragments, writing IPv4 options and IPv6 extension headers.

pub mod checksum;
pub mod ethernet;
pub mod ipv4;
pub mod ipv6;
pub mod tcp;
pub mod tcp_options;
pub mod udp;

mod captured;
mod ecn;
mod error;
mod frame;
mod headers;
mod payload;
mod segment;

pub use captured::Captured;
pub use checksum::PseudoHeader;
pub use ecn::{Mark, mark_ce};
pub use error::{EmitError, Fault, Layer, ParseError};
pub use ethernet::{
    EtherType, EthernetFrame, EthernetHeader, MacAddress, TagKind, VlanTag, VlanTags,
};
pub use frame::{FlowKey, Frame, Network, Transport};
pub use headers::{Headers, IpHeader, TransportHeader};
pub use ipv4::{Ipv4Header, Ipv4Packet};
pub use ipv6::{Ipv6Fragment, Ipv6Header, Ipv6Packet, Ipv6Upper};
pub use payload::Payload;
pub use tcp::{TcpHeader, TcpPacket};
pub use tcp_options::{OptionSet, SackList, TcpOption, TcpOptions};
pub use udp::{UdpDatagram, UdpHeader};
