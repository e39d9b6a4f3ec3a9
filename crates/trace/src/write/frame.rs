//! The bytes of a simulated packet, as a tap on the cable would see them.
//!
//! The data of a simulated segment is zeros. A capture contains the headers, and as much of the data as requested;
//! lengths and checksums are those of the whole packet. If a stack uses one size for every header (40 bytes in ns-2),
//! the header on the wire still has its true size.

use fairport_record::{FlowEnds, Numbered};
use fairport_tcp::Ecn;
use fairport_wire::{
    EtherType, EthernetHeader, Headers, IpHeader, Ipv4Header, Payload, TcpHeader, TransportHeader,
    UdpHeader, VlanTags, tcp, udp,
};

use super::addresses::{Address, ports};
use super::port::Kept;

/// Time to live of a packet when its host sends it.
const INITIAL_TTL: u8 = 64;
/// Maximum number of header bytes: Ethernet, IPv4, and TCP with the most options.
pub(crate) const HEADER_BYTES_MAX: usize = 14 + 20 + tcp::HEADER_BYTES_MAX;

/// The headers of a frame, and its length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameBytes {
    headers: [u8; HEADER_BYTES_MAX],
    header_bytes: u8,
    /// length of the whole frame, without its checksum
    wire_bytes: u32,
}

impl FrameBytes {
    /// The headers of the frame.
    #[inline]
    fn headers(&self) -> &[u8] {
        &self.headers[..usize::from(self.header_bytes)]
    }
}

impl Kept for FrameBytes {
    fn wire_bytes(&self) -> u32 {
        self.wire_bytes
    }

    /// Calls `put` with the headers and the requested part of the data, which is zeros.
    fn with_bytes<T>(&self, snap_bytes: usize, put: impl FnOnce(&[u8]) -> T) -> T {
        let headers = self.headers();
        let kept = snap_bytes.min(self.wire_bytes as usize);
        if kept <= headers.len() {
            return put(headers);
        }
        let mut whole = headers.to_vec();
        whole.resize(kept, 0);
        put(&whole)
    }
}

/// The addresses of a packet, and what the network has done to it so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope<'a> {
    pub(crate) hosts: &'a [Address],
    pub(crate) flow: u32,
    pub(crate) ends: FlowEnds,
    pub(crate) ecn: Ecn,
    /// number of switches that have forwarded it
    pub(crate) hops: u8,
}

/// The frame of a packet.
///
/// # Panics
/// If the packet has more data than IP can carry. No simulated packet has.
pub(crate) fn frame(envelope: &Envelope<'_>, packet: &Numbered) -> FrameBytes {
    let FlowEnds { src, dst, is_udp } = envelope.ends;
    let [source_port, destination_port] = ports(envelope.flow);
    let mut ends = [(src, source_port), (dst, destination_port)];
    if packet.is_backward {
        ends.reverse();
    }
    let [(from, source_port), (to, destination_port)] = ends;
    let [from, to] = [from, to].map(|host| envelope.hosts[host as usize]);
    let protocol = if is_udp { udp::PROTOCOL } else { tcp::PROTOCOL };
    let transport = if is_udp {
        TransportHeader::Udp(UdpHeader {
            source_port,
            destination_port,
        })
    } else {
        let segment = &packet.segment;
        TransportHeader::Tcp(TcpHeader::from_segment(
            segment,
            source_port,
            destination_port,
        ))
    };
    let headers = Headers::new(
        EthernetHeader {
            destination: to.ethernet,
            source: from.ethernet,
            tags: VlanTags::None,
            ether_type: EtherType::IPV4,
        },
        IpHeader::V4(Ipv4Header {
            ecn: envelope.ecn,
            identification: packet.number,
            ttl: INITIAL_TTL.saturating_sub(envelope.hops),
            ..Ipv4Header::new(from.ip, to.ip, protocol)
        }),
        transport,
    );
    let payload = usize::from(packet.segment.payload);
    let mut bytes = [0; HEADER_BYTES_MAX];
    let length = headers
        .emit(Payload::Zeros(payload), &mut bytes)
        .expect("a simulated packet fits into one of IP");
    FrameBytes {
        headers: bytes,
        header_bytes: length as u8,
        wire_bytes: (length + payload) as u32,
    }
}
