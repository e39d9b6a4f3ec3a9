//! Frames as they come: VLAN tags, IPv6 with extension headers, other links, tunnels, cut-off headers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fairport_tcp::{Flags, Segment, Timestamps};
use fairport_trace::packet::address;
use fairport_trace::{Packet, decode};
use fairport_wire::{
    EtherType, EthernetHeader, Headers, IpHeader, Ipv4Header, Ipv6Header, MacAddress, Payload,
    TagKind, TcpHeader, TransportHeader, VlanTag, VlanTags,
};

const ETHERNET: u16 = 1;

fn segment() -> Segment {
    let mut segment = Segment {
        seq: 7,
        ack: 9,
        payload: 1000,
        flags: Flags::ACK,
        window: 500,
        ..Segment::default()
    };
    segment
        .options
        .set_timestamps(Timestamps { val: 11, ecr: 12 });
    segment
}

fn frame(tags: VlanTags, ip: IpHeader) -> Vec<u8> {
    let ethernet = EthernetHeader {
        destination: MacAddress([2; 6]),
        source: MacAddress([4; 6]),
        tags,
        ether_type: EtherType::IPV4,
    };
    let tcp = TcpHeader::from_segment(&segment(), 40_000, 5001);
    let headers = Headers::new(ethernet, ip, TransportHeader::Tcp(tcp));
    let mut bytes = [0; Headers::BYTES_MAX];
    let length = headers.emit(Payload::Zeros(1000), &mut bytes).unwrap();
    bytes[..length].to_vec()
}

fn v4() -> IpHeader {
    IpHeader::V4(Ipv4Header {
        identification: 77,
        ttl: 61,
        ..Ipv4Header::new(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2), 6)
    })
}

fn check(packet: &Packet) {
    assert_eq!(
        (packet.seq, packet.ack, packet.payload, packet.window),
        (7, 9, 1000, 500)
    );
    assert_eq!(packet.key.ports, [40_000, 5001]);
    assert_eq!(packet.timestamps, Some(Timestamps { val: 11, ecr: 12 }));
    assert_eq!(packet.sequence_length(), 1000);
}

#[test]
fn tags_do_not_hide_a_packet() {
    let tag = |kind, control| VlanTag { kind, control };
    let tags = [
        VlanTags::None,
        VlanTags::One(tag(TagKind::Customer, 5)),
        VlanTags::Two(tag(TagKind::Service, 100), tag(TagKind::Customer, 200)),
    ];
    for tags in tags {
        let bytes = frame(tags, v4());
        let packet = decode(&bytes, bytes.len() as u32 + 1000, ETHERNET, 5, false).unwrap();
        check(&packet);
        assert_eq!(
            (packet.identification, packet.ttl, packet.time_ns),
            (77, 61, 5)
        );
        assert_eq!(
            address(packet.key.source),
            IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1))
        );
    }
}

#[test]
fn ipv6_with_an_extension_header() {
    let ends: [Ipv6Addr; 2] = [1, 2].map(|n| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, n));
    let plain = frame(
        VlanTags::None,
        IpHeader::V6(Ipv6Header::new(ends[0], ends[1], 6)),
    );
    check(&decode(&plain, plain.len() as u32 + 1000, ETHERNET, 0, false).unwrap());
    // hop-by-hop options of 8 bytes in front of TCP
    let mut bytes = plain[..54].to_vec();
    bytes[18..20].copy_from_slice(&(1000_u16 + 32 + 8).to_be_bytes());
    bytes[20] = 0;
    bytes.extend([6, 0, 1, 4, 0, 0, 0, 0]);
    bytes.extend(&plain[54..]);
    let packet = decode(&bytes, bytes.len() as u32 + 1000, ETHERNET, 0, false).unwrap();
    check(&packet);
    assert_eq!(address(packet.key.destination), IpAddr::V6(ends[1]));
}

#[test]
fn links_without_ethernet() {
    let bytes = frame(VlanTags::None, v4());
    let ip = &bytes[14..];
    let cooked = [&[0, 0, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0, 8, 0][..], ip].concat();
    let cooked_2 = [
        &[8, 0, 0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0][..],
        ip,
    ]
    .concat();
    let null = [&[2, 0, 0, 0][..], ip].concat();
    for (link, bytes) in [
        (101, ip),
        (228, ip),
        (113, &cooked),
        (276, &cooked_2),
        (0, &null),
    ] {
        check(&decode(bytes, bytes.len() as u32 + 1000, link, 0, false).unwrap());
    }
    assert!(decode(ip, ip.len() as u32, 147, 0, false).is_none());
}

#[test]
fn tunnels_are_looked_into_on_request() {
    let inner = frame(VlanTags::None, v4());
    let outer = |protocol: u8, between: &[u8]| {
        let length = (20 + between.len() + inner.len() + 1000) as u16;
        let mut ip = vec![
            0x45, 0, 0, 0, 0, 1, 0, 0, 64, protocol, 0, 0, 192, 168, 0, 1, 192, 168, 0, 2,
        ];
        ip[2..4].copy_from_slice(&length.to_be_bytes());
        [&[2; 6][..], &[4; 6], &[8, 0], &ip, between].concat()
    };
    let udp_length = ((8 + 8 + inner.len() + 1000) as u16).to_be_bytes();
    let vxlan = [
        &[0x30, 0x39, 0x12, 0xb5][..],
        &udp_length,
        &[0, 0, 8, 0, 0, 0, 0, 0, 42, 0],
    ]
    .concat();
    let vxlan = [outer(17, &vxlan), inner.clone()].concat();
    // GRE with a key, and Ethernet in it
    let bridged = [
        outer(47, &[0x20, 0, 0x65, 0x58, 0, 0, 0, 42]),
        inner.clone(),
    ]
    .concat();
    let routed = [outer(47, &[0, 0, 8, 0]), inner[14..].to_vec()].concat();
    for (bytes, cut) in [(vxlan, 0), (bridged, 0), (routed, 14)] {
        let length = bytes.len() as u32 + 1000 + cut;
        check(&decode(&bytes, length, ETHERNET, 0, true).unwrap());
        let plain = decode(&bytes, length, ETHERNET, 0, false);
        assert!(plain.is_none_or(|packet| packet.key.ports != [40_000, 5001]));
    }
}

#[test]
fn headers_that_were_cut_off_are_no_packet() {
    let bytes = frame(VlanTags::None, v4());
    for kept in [0, 10, 20, 40, 53] {
        assert!(
            decode(&bytes[..kept], 1066, ETHERNET, 0, true).is_none(),
            "{kept}"
        );
    }
    // the options may be missing
    let packet = decode(&bytes[..54], 1066, ETHERNET, 0, false).unwrap();
    assert_eq!((packet.payload, packet.timestamps), (1000, None));
}
