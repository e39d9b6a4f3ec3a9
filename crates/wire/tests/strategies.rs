//! Any legal header, segment and frame.

use fairport_tcp::{Ecn, Flags, SackBlock, Segment, SynOptions, Timestamps};
use fairport_wire::{
    EtherType, EthernetHeader, Headers, IpHeader, Ipv4Header, Ipv6Header, MacAddress, OptionSet,
    Payload, SackList, TagKind, TcpHeader, TransportHeader, UdpHeader, VlanTag, VlanTags,
};
use proptest::option;
use proptest::prelude::*;

fn any_tags() -> impl Strategy<Value = VlanTags> {
    let kind = prop_oneof![
        Just(TagKind::Customer),
        Just(TagKind::Service),
        Just(TagKind::Legacy)
    ];
    let tag = (kind, any::<u16>()).prop_map(|(kind, control)| VlanTag { kind, control });
    prop_oneof![
        Just(VlanTags::None),
        tag.clone().prop_map(VlanTags::One),
        (tag.clone(), tag).prop_map(|(outer, inner)| VlanTags::Two(outer, inner)),
    ]
}

fn any_ethernet() -> impl Strategy<Value = EthernetHeader> {
    (any::<[u8; 6]>(), any::<[u8; 6]>(), any_tags()).prop_map(|(destination, source, tags)| {
        EthernetHeader {
            destination: MacAddress(destination),
            source: MacAddress(source),
            tags,
            ether_type: EtherType::IPV4,
        }
    })
}

/// IPv4, whole or a fragment, or IPv6.
fn any_ip() -> impl Strategy<Value = IpHeader> {
    let v4 = (
        any::<[[u8; 4]; 2]>(),
        (0..64_u8, 0..4_u8),
        any::<(u16, u8, bool)>(),
        prop_oneof![4 => Just((false, 0)), 1 => (any::<bool>(), 0..8192_u16)],
    )
        .prop_map(|([source, destination], (dscp, ecn), other, fragment)| {
            IpHeader::V4(Ipv4Header {
                source: source.into(),
                destination: destination.into(),
                dscp,
                ecn: Ecn::from_bits(ecn),
                identification: other.0,
                dont_fragment: other.2,
                more_fragments: fragment.0,
                fragment_offset: fragment.1,
                ttl: other.1,
                protocol: 0,
            })
        });
    let v6 = (
        any::<[[u8; 16]; 2]>(),
        (0..64_u8, 0..4_u8),
        0..1_u32 << 20,
        any::<u8>(),
    )
        .prop_map(
            |([source, destination], (dscp, ecn), flow_label, hop_limit)| {
                IpHeader::V6(Ipv6Header {
                    source: source.into(),
                    destination: destination.into(),
                    dscp,
                    ecn: Ecn::from_bits(ecn),
                    flow_label,
                    hop_limit,
                    next_header: 0,
                })
            },
        );
    prop_oneof![v4, v6]
}

fn any_sack() -> impl Strategy<Value = SackBlock> {
    any::<(u32, u32)>().prop_map(|(start, end)| SackBlock { start, end })
}

/// As many options as fit into a header.
fn any_options() -> impl Strategy<Value = OptionSet> {
    (
        option::of(any::<u16>()),
        option::of(any::<u8>()),
        any::<bool>(),
        option::of(any::<(u32, u32)>()),
        prop::collection::vec(any_sack(), 0..=4),
    )
        .prop_map(
            |(mss, window_scale, sack_permitted, timestamps, sacks)| OptionSet {
                mss,
                window_scale,
                sack_permitted,
                timestamps: timestamps.map(|(val, ecr)| Timestamps { val, ecr }),
                sacks: SackList::new(&sacks).expect("at most four"),
            },
        )
        .prop_filter("they fit into 40 bytes", |set| set.bytes().is_ok())
}

fn any_tcp() -> impl Strategy<Value = TcpHeader> {
    (
        any::<[u16; 4]>(),
        any::<(u32, u32, u8, bool)>(),
        any_options(),
    )
        .prop_map(
            |(words, (seq, ack, flags, accurate_ecn), options)| TcpHeader {
                source_port: words[0],
                destination_port: words[1],
                seq,
                ack,
                flags: Flags::from_bits(flags),
                accurate_ecn,
                window: words[2],
                urgent_pointer: words[3],
                options,
            },
        )
}

fn any_transport() -> impl Strategy<Value = TransportHeader> {
    let udp = any::<(u16, u16)>().prop_map(|(source_port, destination_port)| UdpHeader {
        source_port,
        destination_port,
    });
    prop_oneof![
        4 => any_tcp().prop_map(TransportHeader::Tcp),
        2 => udp.prop_map(TransportHeader::Udp),
        // GRE, OSPF, PIM: neither TCP, UDP nor an extension header of IPv6
        1 => prop::sample::select(vec![47_u8, 89, 103]).prop_map(TransportHeader::Other),
    ]
}

/// Legal headers and data. A fragment has no transport header of its own.
pub(crate) fn any_headers() -> impl Strategy<Value = (Headers, Vec<u8>)> {
    let data = prop::collection::vec(any::<u8>(), 0..100);
    (any_ethernet(), any_ip(), any_transport(), data).prop_map(|(ethernet, ip, transport, data)| {
        let is_fragment = match &ip {
            IpHeader::V4(header) => header.more_fragments || header.fragment_offset > 0,
            IpHeader::V6(_) => false,
        };
        let transport = if is_fragment {
            TransportHeader::Other(47)
        } else {
            transport
        };
        (Headers::new(ethernet, ip, transport), data)
    })
}

/// The frame on the wire.
pub(crate) fn frame_bytes(headers: &Headers, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xee; Headers::BYTES_MAX];
    let length = headers
        .emit(Payload::Bytes(data), &mut bytes)
        .expect("legal headers");
    bytes.truncate(length);
    bytes.extend(data);
    bytes
}

/// A legal frame, of IPv6 sometimes with an extension header.
pub(crate) fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    (any_headers(), option::of(0..3_u8)).prop_map(|((headers, data), extension)| {
        let bytes = frame_bytes(&headers, &data);
        match (extension, headers.ip()) {
            (Some(units), IpHeader::V6(_)) => with_extension(bytes, headers.ethernet(), units),
            _ => bytes,
        }
    })
}

/// The frame with destination options (60) before its transport.
fn with_extension(mut bytes: Vec<u8>, ethernet: &EthernetHeader, units: u8) -> Vec<u8> {
    let at = ethernet.bytes();
    let mut extension = vec![0; 8 * (usize::from(units) + 1)];
    extension[0] = bytes[at + 6];
    extension[1] = units;
    bytes[at + 6] = 60;
    let length = u16::from_be_bytes([bytes[at + 4], bytes[at + 5]]) + extension.len() as u16;
    bytes[at + 4..at + 6].copy_from_slice(&length.to_be_bytes());
    bytes.splice(at + 40..at + 40, extension);
    bytes
}

/// Any segment that the state machines may exchange.
pub(crate) fn any_segment() -> impl Strategy<Value = Segment> {
    let syn = option::of((any::<u16>(), option::of(any::<u8>()), any::<bool>()));
    (
        any::<(u32, u32, u16, u8)>(),
        0..60_000_u16,
        option::of(any::<(u32, u32)>()),
        syn,
        prop::collection::vec(any_sack(), 0..=4),
    )
        .prop_map(
            |((seq, ack, window, flags), payload, timestamps, syn, sacks)| {
                let syn_flag = if syn.is_some() { flags | 2 } else { flags & !2 };
                let mut segment = Segment {
                    seq,
                    ack,
                    payload,
                    window,
                    flags: Flags::from_bits(syn_flag),
                    ..Segment::default()
                };
                if let Some((val, ecr)) = timestamps {
                    segment.options.set_timestamps(Timestamps { val, ecr });
                }
                if let Some((mss, window_scale, sack_permitted)) = syn {
                    segment.options.set_syn(SynOptions {
                        mss,
                        window_scale,
                        sack_permitted,
                    });
                } else {
                    let room = segment.options.sack_room();
                    sacks
                        .iter()
                        .take(room)
                        .for_each(|block| segment.options.push_sack(*block));
                }
                segment
            },
        )
}
