//! Which flow the fragments of a packet belong to, in IPv4 and IPv6.

use std::net::{Ipv4Addr, Ipv6Addr};

use fairport_wire::{
    Captured, EtherType, EthernetHeader, Frame, Headers, IpHeader, Ipv4Header, Ipv6Header,
    MacAddress, Payload, Transport, TransportHeader, VlanTags,
};

/// The beginning of a datagram from port 7 to port 9, with 2952 bytes of data.
const UDP: [u8; 16] = [0, 7, 0, 9, 0x0b, 0x90, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];

/// A part of the datagram at this offset, in units of 8 bytes.
fn fragment(is_ipv4: bool, more: bool, offset: u16) -> Vec<u8> {
    let (ip, protocol, data) = if is_ipv4 {
        let mut header = Ipv4Header::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, 17);
        (header.more_fragments, header.fragment_offset) = (more, offset);
        (IpHeader::V4(header), 17, UDP.to_vec())
    } else {
        // RFC 8200 4.5: the offset has the upper 13 bits, and the lowest says whether more follow
        let [high, low] = (offset << 3 | u16::from(more)).to_be_bytes();
        let data = [&[17, 0, high, low, 0, 0, 0, 1], &UDP[..]].concat();
        let header = Ipv6Header::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, 44);
        (IpHeader::V6(header), 44, data)
    };
    let ethernet = EthernetHeader {
        destination: MacAddress::default(),
        source: MacAddress::default(),
        tags: VlanTags::None,
        ether_type: EtherType::IPV4,
    };
    let headers = Headers::new(ethernet, ip, TransportHeader::Other(protocol));
    let mut bytes = vec![0; Headers::BYTES_MAX];
    let length = headers.emit(Payload::Bytes(&data), &mut bytes);
    bytes.truncate(length.expect("legal headers"));
    [bytes, data].concat()
}

#[test]
fn no_fragment_has_ports_and_only_the_first_has_a_transport_header() {
    for is_ipv4 in [true, false] {
        for (more, offset) in [(true, 0), (true, 185), (false, 370)] {
            let bytes = fragment(is_ipv4, more, offset);
            let network = Frame::parse(Captured::whole(&bytes)).expect("IP").network;
            let key = network.flow_key().expect("a key").expect("IP");
            assert_eq!(key.protocol, 17);
            assert_eq!((key.source_port, key.destination_port), (0, 0));
            match network.transport().expect("it is not cut off").expect("IP") {
                Transport::Udp(udp) => {
                    assert_eq!((offset, udp.payload().bytes()), (0, &UDP[8..]));
                }
                Transport::LaterFragment { protocol, payload } => {
                    assert!(offset > 0);
                    assert_eq!((protocol, payload.bytes()), (17, &UDP[..]));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// RFC 6946: a packet in one fragment, offset 0 and none after it, is a whole one.
#[test]
fn a_packet_in_one_fragment_has_ports() {
    for is_ipv4 in [true, false] {
        let mut bytes = fragment(is_ipv4, false, 0);
        let length = bytes.len() - UDP.len() + 4;
        bytes[length..length + 2].copy_from_slice(&16_u16.to_be_bytes());
        let network = Frame::parse(Captured::whole(&bytes)).expect("IP").network;
        let key = network.flow_key().expect("a key").expect("IP");
        assert_eq!((key.source_port, key.destination_port), (7, 9));
        let transport = network.transport().expect("it is whole");
        assert!(matches!(transport, Some(Transport::Udp(_))));
    }
}
