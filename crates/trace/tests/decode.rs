//! Frames as they come: VLAN tags, IPv6 with extension headers, other links, tunnels, cut-off headers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fairport_tcp::{Flags, Segment, Timestamps};
use fairport_trace::packet::address;
use fairport_trace::{Packet, Unread, decode};
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
    assert_eq!(
        decode(ip, ip.len() as u32, 147, 0, false),
        Err(Unread::Link(147))
    );
}

#[test]
fn tags_do_not_hide_a_packet_where_ethernet_is_left_out() {
    let bytes = frame(VlanTags::None, v4());
    let decoded = |tags: &[u8]| {
        // what comes before the type, and the type of each tag and of IP
        let before = [0, 0, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0];
        let cooked = [&before[..], tags, &[8, 0], &bytes[14..]].concat();
        decode(&cooked, cooked.len() as u32 + 1000, 113, 0, false)
    };
    check(&decoded(&[0x81, 0, 0, 5]).unwrap());
    check(&decoded(&[0x88, 0xa8, 0, 100, 0x81, 0, 0, 200]).unwrap());
}

#[test]
fn many_tags_and_those_of_port_extenders_do_not_hide_a_packet() {
    let plain = frame(VlanTags::None, v4());
    let decoded = |tags: &[u8]| {
        let bytes = [&plain[..12], tags, &plain[12..]].concat();
        decode(&bytes, bytes.len() as u32 + 1000, ETHERNET, 0, false)
    };
    check(&decoded(&[0x81, 0, 0, 1].repeat(3)).unwrap());
    let extender = [0x89, 0x3f, 0, 1, 0, 2, 0, 0];
    check(&decoded(&extender).unwrap());
    check(&decoded(&[&extender[..], &[0x81, 0, 0, 1]].concat()).unwrap());
    // a type that is none, behind a tag
    assert_eq!(decoded(&[0x81, 0, 0, 1, 5, 240]), Err(Unread::Malformed));
}

#[test]
fn a_session_of_pppoe_is_read_through_to_the_packet() {
    let plain = frame(VlanTags::None, v4());
    let session = |protocol: u8, ip: &[u8]| {
        let header = [0x88, 0x64, 0x11, 0, 0, 7, 0, 0, 0, protocol];
        let bytes = [&plain[..12], &header, ip].concat();
        decode(&bytes, bytes.len() as u32 + 1000, ETHERNET, 0, false)
    };
    check(&session(0x21, &plain[14..]).unwrap());
    // not IP: its address is being agreed on
    assert_eq!(session(0x23, &plain[14..]), Err(Unread::EtherType(0x8864)));
}

#[test]
fn labels_are_read_through_to_the_packet() {
    let plain = frame(VlanTags::None, v4());
    let labelled = |ether_type: u16, labels: &[u32], packet: &[u8]| {
        let labels: Vec<u8> = labels
            .iter()
            .flat_map(|label| label.to_be_bytes())
            .collect();
        [&plain[..12], &ether_type.to_be_bytes(), &labels, packet].concat()
    };
    // the last label has the bit of the bottom of the stack
    let two = labelled(0x8847, &[0x0006_4040, 0x0006_5140], &plain[14..]);
    check(&decode(&two, two.len() as u32 + 1000, ETHERNET, 0, false).unwrap());
    let is = |bytes: &[u8], unread: Unread| {
        let found = decode(bytes, bytes.len() as u32 + 1000, ETHERNET, 0, false);
        assert_eq!(found, Err(unread));
    };
    is(
        &labelled(0x8847, &[0x0006_4040, 0x0006_5040], &[]),
        Unread::CutOff,
    );
    is(
        &labelled(0x8847, &[0x0006_4040; 20], &plain[14..]),
        Unread::Malformed,
    );
    // an Ethernet frame behind the control word of a pseudowire, and what an operator sends to test one
    let wire = labelled(0x8847, &[0x0006_4140], &[&[0; 4][..], &plain].concat());
    check(&decode(&wire, wire.len() as u32 + 1000, ETHERNET, 0, false).unwrap());
    is(
        &labelled(0x8847, &[0x0006_4140], &[0x10, 0, 0, 7]),
        Unread::EtherType(0x8847),
    );
}

#[test]
fn what_is_no_tcp_has_a_name() {
    let mut bytes = frame(VlanTags::None, v4());
    let of = |bytes: &[u8]| {
        let unread = decode(bytes, bytes.len() as u32 + 1000, ETHERNET, 0, false);
        unread.expect_err("neither TCP nor UDP").to_string()
    };
    bytes[23] = 1;
    assert_eq!(of(&bytes), "ICMP");
    bytes[23] = 47;
    assert_eq!(of(&bytes), "GRE");
    bytes[12..14].copy_from_slice(&[0x08, 0x06]);
    assert_eq!(of(&bytes), "ARP");
    bytes[12..14].copy_from_slice(&[0x89, 0x06]);
    assert_eq!(of(&bytes), "of Ethernet type 0x8906");
}

/// An Ethernet frame with an IPv4 header of this protocol and `between` before the packet of [`frame`], of which the
/// first `left_out` bytes are left out.
fn tunnelled(protocol: u8, between: &[u8], left_out: usize) -> (Vec<u8>, u32) {
    let inner = &frame(VlanTags::None, v4())[left_out..];
    let length = (20 + between.len() + inner.len() + 1000) as u16;
    let mut ip = vec![
        0x45, 0, 0, 0, 0, 1, 0, 0, 64, protocol, 0, 0, 192, 168, 0, 1, 192, 168, 0, 2,
    ];
    ip[2..4].copy_from_slice(&length.to_be_bytes());
    let bytes = [&[2; 6][..], &[4; 6], &[8, 0], &ip, between, inner].concat();
    (bytes, 14 + u32::from(length))
}

/// UDP to this port, and the first 8 bytes of its data.
fn in_udp(port: u16, data: [u8; 8]) -> Vec<u8> {
    let length = (8 + 8 + frame(VlanTags::None, v4()).len() + 1000) as u16;
    let header = [12_345, port, length, 0].map(u16::to_be_bytes).concat();
    [&header[..], &data].concat()
}

#[test]
fn tunnels_are_looked_into_on_request() {
    let vxlan = in_udp(4789, [8, 0, 0, 0, 0, 0, 42, 0]);
    let geneve = in_udp(6081, [0, 0, 0x65, 0x58, 0, 0, 42, 0]);
    for (bytes, length) in [
        tunnelled(17, &vxlan, 0),
        tunnelled(17, &in_udp(8472, [8, 0, 0, 0, 0, 0, 42, 0]), 0),
        tunnelled(17, &geneve, 0),
        // GRE with a key, and Ethernet in it
        tunnelled(47, &[0x20, 0, 0x65, 0x58, 0, 0, 0, 42], 0),
        tunnelled(47, &[0, 0, 8, 0], 14),
        // what a switch mirrors: ERSPAN of types I, II and III, the last also with its subheader
        tunnelled(47, &[0, 0, 0x88, 0xbe], 0),
        tunnelled(
            47,
            &[&[0x10, 0, 0x88, 0xbe][..], &[0; 4], &[0x10; 8]].concat(),
            0,
        ),
        tunnelled(
            47,
            &[&[0x10, 0, 0x22, 0xeb][..], &[0; 4], &[0x20; 12]].concat(),
            0,
        ),
        tunnelled(
            47,
            &[&[0x10, 0, 0x22, 0xeb][..], &[0; 4], &[0x21; 20]].concat(),
            0,
        ),
        tunnelled(4, &[], 14),
    ] {
        check(&decode(&bytes, length, ETHERNET, 0, true).unwrap());
        let is_tunnel = match decode(&bytes, length, ETHERNET, 0, false) {
            Ok(packet) => packet.is_tunnel(),
            Err(unread) => unread.is_tunnel(),
        };
        assert!(is_tunnel);
    }
}

#[test]
fn headers_that_were_cut_off_are_no_packet() {
    let bytes = frame(VlanTags::None, v4());
    for kept in [0, 10, 20, 40, 53] {
        let cut = decode(&bytes[..kept], 1066, ETHERNET, 0, true);
        assert_eq!(cut, Err(Unread::CutOff), "{kept}");
    }
    // the options may be missing
    let packet = decode(&bytes[..54], 1066, ETHERNET, 0, false).unwrap();
    assert_eq!((packet.payload, packet.timestamps), (1000, None));
    assert!(packet.options_cut && packet.sacks_cut);
    // what is left shows that they are timestamps
    let packet = decode(&bytes[..60], 1066, ETHERNET, 0, false).unwrap();
    assert!(packet.options_cut && !packet.sacks_cut);
}

#[test]
fn options_before_the_cut_are_read() {
    // of a SYN: its maximum segment size, and a window scale that was cut off
    let mut bytes = frame(VlanTags::None, v4());
    bytes[47] = Flags::SYN.bits();
    bytes[54..66].copy_from_slice(&[2, 4, 0x05, 0xb4, 1, 1, 4, 2, 1, 3, 3, 7]);
    let of = |kept: usize| decode(&bytes[..kept], 1066, ETHERNET, 0, false).unwrap();
    let found = |packet: Packet| (packet.mss, packet.window_scale, packet.options_cut);
    assert_eq!(found(of(64)), (Some(1460), None, true));
    assert_eq!(found(of(66)), (Some(1460), Some(7), false));
}
