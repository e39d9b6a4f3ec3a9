//! Extracts the fields of a frame that the network needs.

use fairport_tcp::{Ecn, Flags};
use fairport_wire::{Captured, FlowKey, Frame, Transport};

/// The fields of a frame that the network needs.
pub(crate) struct Identified {
    pub(crate) key: FlowKey,
    pub(crate) size_bytes: u16,
    pub(crate) ecn: Ecn,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    /// whether `ack` acknowledges anything: a SYN does not, and its number is 0
    pub(crate) has_ack: bool,
    /// length in the sequence space, in bytes
    pub(crate) length: u16,
}

/// Reads these fields from a frame. None if it does not contain a whole IP packet.
pub(crate) fn identify(frame: Captured<'_>) -> Option<Identified> {
    let frame = Frame::parse(frame).ok()?;
    let key = frame.network.flow_key().ok()??;
    let size_bytes = u16::try_from(frame.network.total_length()?).ok()?;
    let (seq, ack, has_ack, length) = match frame.network.transport().ok()?? {
        Transport::Tcp(tcp) => {
            let flags = tcp.flags();
            let ends =
                u16::from(flags.contains(Flags::SYN)) + u16::from(flags.contains(Flags::FIN));
            let length = tcp.payload_length() as u16 + ends; // headers take more than SYN and FIN
            (tcp.seq(), tcp.ack(), flags.contains(Flags::ACK), length)
        }
        _ => (0, 0, false, 0),
    };
    Some(Identified {
        key,
        size_bytes,
        ecn: frame.network.ecn()?,
        seq,
        ack,
        has_ack,
        length,
    })
}

#[cfg(test)]
mod tests {
    use fairport_tcp::Segment;
    use fairport_wire::{
        EtherType, EthernetHeader, Headers, IpHeader, Ipv4Header, MacAddress, Payload, TcpHeader,
        TransportHeader, VlanTags, tcp,
    };

    use super::*;

    /// Whether a segment with these flags acknowledges anything, and its length in the sequence space.
    fn identified(flags: Flags) -> (bool, u16) {
        let segment = Segment {
            flags,
            ..Segment::default()
        };
        let mac = MacAddress([2, 0, 0, 0, 0, 1]);
        let headers = Headers::new(
            EthernetHeader {
                destination: mac,
                source: mac,
                tags: VlanTags::None,
                ether_type: EtherType::IPV4,
            },
            IpHeader::V4(Ipv4Header::new(
                [10, 0, 0, 1].into(),
                [10, 0, 0, 2].into(),
                tcp::PROTOCOL,
            )),
            TransportHeader::Tcp(TcpHeader::from_segment(&segment, 40_000, 5_001)),
        );
        let mut bytes = [0; Headers::BYTES_MAX];
        let length = headers
            .emit(Payload::Zeros(0), &mut bytes)
            .expect("it has room");
        let known = identify(Captured::whole(&bytes[..length])).expect("it is a whole packet");
        (known.has_ack, known.length)
    }

    #[test]
    fn a_syn_acknowledges_nothing() {
        assert_eq!(identified(Flags::SYN), (false, 1));
        assert_eq!(identified(Flags::SYN | Flags::ACK), (true, 1));
        assert_eq!(identified(Flags::ACK), (true, 0));
    }
}
