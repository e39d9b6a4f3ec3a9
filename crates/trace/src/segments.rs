//! Captured packets that hold several segments, and the segments in them.
//!
//! A host hands up to 64 kB at once to its network adapter, which cuts them into segments (TSO). What arrives is merged
//! again (GRO, LRO). A capture on such a host has the long packets, which were never on a line. They are cut here as
//! the adapter does it, so that everything behind the reading of captures sees the packets of the line.

use fairport_tcp::Flags;
use fairport_wire::tcp;
use rustc_hash::FxHashMap;

use crate::packet::{Key, Packet};

/// MTUs of Ethernet that are tried first if the handshake was not seen.
const USUAL_MTUS: [u32; 2] = [1500, 9000];
/// Bytes of the headers of IPv4 or IPv6 and TCP, without options.
const HEADER_BYTES: [u32; 2] = [40, 60];
/// The most data in a jumbo frame.
const JUMBO_BYTES: u32 = 9_216;
/// Packets whose lengths have a smaller common divisor do not show the size of segments: a host need not accept more
/// than 536 bytes (RFC 9293 3.7.1), less the options.
const SMALLEST_SHOWN: u32 = 496;
/// As many packets in a row must have a common divisor.
const SHOWN_BY: u32 = 3;
/// Linux sends no smaller segments, whatever the other end offers (`TCP_MIN_SND_MSS`).
const SMALLEST_MSS: u32 = 48;

/// What is known about the segments of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// the most bytes of data and options in a segment; 0 if it is not known
    mss: u32,
    /// greatest common divisor of the latest long packets that do not consist of such segments, and their number
    common: u32,
    times: u32,
    /// whether a long packet was seen
    has_long: bool,
    /// whether its packets have identifications, which count up
    has_identifications: bool,
}

/// The sizes of segments, by connection: the smaller one that its ends offer in the handshake, or a smaller one that its
/// long packets show.
#[derive(Clone, Debug)]
pub(crate) struct SegmentSizes {
    /// by the connection's key
    known: FxHashMap<Key, Known>,
    /// by IPv4 and IPv6: no connection has a smaller maximum
    least: [u32; 2],
    /// nothing further is learned
    pub(crate) is_final: bool,
    /// whether a size was learned after a long packet of its connection
    pub(crate) is_late: bool,
}

impl Default for SegmentSizes {
    fn default() -> Self {
        Self {
            known: FxHashMap::default(),
            least: HEADER_BYTES.map(|header| USUAL_MTUS[0] - header),
            is_final: false,
            is_late: false,
        }
    }
}

impl SegmentSizes {
    /// The segments in a packet, if it has more than one.
    #[inline]
    pub(crate) fn pieces(&mut self, packet: &Packet) -> Option<Pieces> {
        let least = self.least[usize::from(packet.key.is_ipv6())];
        if packet.payload + u32::from(packet.option_bytes) <= least && packet.mss.is_none() {
            return None;
        }
        self.pieces_of_long(packet)
    }

    #[cold]
    fn pieces_of_long(&mut self, packet: &Packet) -> Option<Pieces> {
        if packet.key.protocol != tcp::PROTOCOL {
            return None;
        }
        let known = self.known.entry(packet.key.of_connection()).or_default();
        let before = known.mss;
        if !self.is_final {
            match packet.mss {
                Some(mss) => known.offer(mss.into()),
                None => known.learn(packet),
            }
            if known.mss > 0 {
                let least = &mut self.least[usize::from(packet.key.is_ipv6())];
                *least = known.mss.min(*least);
            }
            self.is_late |= known.has_long && known.mss != before;
        }
        known.has_long |= packet.mss.is_none();
        let full = known.full(packet);
        if packet.payload <= full.unwrap_or(JUMBO_BYTES) {
            return None;
        }
        known.has_identifications |= packet.identification > 0;
        Some(Pieces {
            rest: Packet {
                is_merged: true,
                ..*packet
            },
            segment: full.unwrap_or(packet.payload),
            identification_step: known.has_identifications.into(),
        })
    }
}

impl Known {
    /// Data in a full segment with as many options as this packet has.
    fn full(&self, packet: &Packet) -> Option<u32> {
        let full = self.mss.checked_sub(packet.option_bytes.into());
        full.filter(|full| *full > 0)
    }

    /// An end offers to accept segments of this size. It hardly ever sends larger ones: both depend on its MTU.
    fn offer(&mut self, mss: u32) {
        let mss = mss.max(SMALLEST_MSS);
        self.mss = if self.mss == 0 {
            mss
        } else {
            self.mss.min(mss)
        };
    }

    /// Learns from a long packet. All segments in it are full but the last one, which ends what its sender had to send.
    fn learn(&mut self, packet: &Packet) {
        let length = packet.payload;
        let is_whole = |full: u32| length.is_multiple_of(full);
        let full = self.full(packet);
        let is_end = [Flags::PSH, Flags::FIN].map(|flag| packet.flags.contains(flag)) != [false; 2];
        if full.is_some_and(|full| is_end || length <= full || is_whole(full)) {
            return;
        }
        let options = u32::from(packet.option_bytes);
        if full.is_none() {
            let headers = options + HEADER_BYTES[usize::from(packet.key.is_ipv6())];
            let mut usual = USUAL_MTUS.map(|mtu| mtu - headers).into_iter();
            if let Some(full) = usual.find(|full| is_whole(*full)) {
                self.mss = full + options;
                return;
            }
        }
        if is_end {
            return;
        }
        (self.common, self.times) = match common_divisor(self.common, length) {
            common if common >= SMALLEST_SHOWN => (common, self.times + 1),
            _ => (length, 1),
        };
        if self.times >= SHOWN_BY && self.common < full.unwrap_or(JUMBO_BYTES) {
            self.mss = self.common + options;
        }
    }
}

fn common_divisor(mut one: u32, mut other: u32) -> u32 {
    while one > 0 {
        (one, other) = (other % one, one);
    }
    other
}

/// The segments of a long packet, in their order. All have its time. If their size is not known, it is one segment.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    rest: Packet,
    segment: u32,
    identification_step: u16,
}

impl Pieces {
    /// Whether the packet stays whole, because the size of its segments is not known.
    pub(crate) fn is_whole(&self) -> bool {
        self.segment == self.rest.payload
    }
}

impl Iterator for Pieces {
    type Item = Packet;

    fn next(&mut self) -> Option<Packet> {
        let rest = &mut self.rest;
        if rest.payload == 0 {
            return None;
        }
        let mut piece = *rest;
        rest.payload -= piece.payload.min(self.segment);
        piece.payload -= rest.payload;
        piece.frame_bytes = piece.frame_bytes.saturating_sub(rest.payload);
        rest.frame_bytes = rest.frame_bytes.saturating_sub(piece.payload);
        rest.seq = rest.seq.wrapping_add(piece.payload);
        rest.identification = rest.identification.wrapping_add(self.identification_step);
        rest.is_merged = false;
        // of flags that are about one segment, CWR is about the first one, and PSH and FIN are about the last one
        rest.flags = without(rest.flags, Flags::CWR);
        if rest.payload > 0 {
            piece.flags = without(without(piece.flags, Flags::PSH), Flags::FIN);
        }
        Some(piece)
    }
}

fn without(flags: Flags, one: Flags) -> Flags {
    Flags::from_bits(flags.bits() & !one.bits())
}

#[cfg(test)]
mod tests {
    use fairport_tcp::Timestamps;

    use super::*;

    const ACK: Flags = Flags::ACK;
    const PUSH: Flags = Flags::from_bits(Flags::ACK.bits() | Flags::PSH.bits());

    /// `::ffff:0:0/96`, to which IPv4 addresses are mapped.
    const MAPPED: u128 = 0xffff << 32;

    /// A packet of IPv4 with timestamps and so much data.
    fn packet(payload: u32, flags: Flags) -> Packet {
        let bare = Packet::bare(1000);
        Packet {
            key: Key {
                source: MAPPED | 1,
                destination: MAPPED | 2,
                ..bare.key
            },
            payload,
            flags,
            frame_bytes: 66 + payload,
            option_bytes: 12,
            timestamps: Some(Timestamps { val: 7, ecr: 8 }),
            ..bare
        }
    }

    fn syn(mss: u16, from_server: bool) -> Packet {
        let bare = packet(0, Flags::SYN);
        Packet {
            key: if from_server {
                bare.key.reversed()
            } else {
                bare.key
            },
            mss: Some(mss),
            option_bytes: 20,
            ..bare
        }
    }

    fn lengths(sizes: &mut SegmentSizes, packet: &Packet) -> Vec<u32> {
        let pieces = sizes.pieces(packet);
        pieces.map_or_else(
            || vec![packet.payload],
            |all| all.map(|one| one.payload).collect(),
        )
    }

    #[test]
    fn a_long_packet_is_cut_as_by_an_adapter() {
        let mut sizes = SegmentSizes::default();
        assert!(sizes.pieces(&syn(1460, false)).is_none());
        let bits = PUSH.bits() | Flags::FIN.bits() | Flags::CWR.bits() | Flags::ECE.bits();
        let whole = Packet {
            seq: u32::MAX - 1447,
            ack: 77,
            identification: 65_535,
            ..packet(2 * 1448 + 100, Flags::from_bits(bits))
        };
        let pieces: Vec<Packet> = sizes
            .pieces(&whole)
            .expect("it has three segments")
            .collect();
        let middle = ACK | Flags::ECE;
        let expected = [
            (u32::MAX - 1447, 1448, 65_535, middle | Flags::CWR, true),
            (0, 1448, 0, middle, false),
            (1448, 100, 1, middle | Flags::PSH | Flags::FIN, false),
        ];
        for (piece, (seq, payload, identification, flags, is_merged)) in pieces.iter().zip(expected)
        {
            let of_line = Packet {
                seq,
                payload,
                frame_bytes: 66 + payload,
                identification,
                flags,
                is_merged,
                ..whole
            };
            assert_eq!(*piece, of_line);
        }
        assert_eq!(pieces.len(), 3);
    }

    #[test]
    fn identifications_count_up_if_there_are_any() {
        let mut sizes = SegmentSizes::default();
        sizes.pieces(&syn(1460, false));
        let mut numbers = |identification: u16| -> Vec<u16> {
            let whole = Packet {
                identification,
                ..packet(3 * 1448, ACK)
            };
            sizes
                .pieces(&whole)
                .expect("it is long")
                .map(|one| one.identification)
                .collect()
        };
        assert_eq!(numbers(0), [0, 0, 0]);
        assert_eq!(numbers(9), [9, 10, 11]);
        // the counter has wrapped
        assert_eq!(numbers(0), [0, 1, 2]);
    }

    #[test]
    fn the_smaller_offer_counts_less_the_options() {
        let mut sizes = SegmentSizes::default();
        for one in [syn(8960, false), syn(1360, true), syn(8960, false)] {
            sizes.pieces(&one);
        }
        assert_eq!(lengths(&mut sizes, &packet(3000, PUSH)), [1348, 1348, 304]);
        // without options there is room for more
        let bare = Packet {
            option_bytes: 0,
            timestamps: None,
            ..packet(1360, ACK)
        };
        assert_eq!(lengths(&mut sizes, &bare), [1360]);
        assert_eq!(lengths(&mut sizes, &packet(1360, PUSH)), [1348, 12]);
    }

    #[test]
    fn without_a_handshake_long_packets_show_the_size() {
        // Ethernet's usual MTU is known from the first packet that consists of such segments
        let mut sizes = SegmentSizes::default();
        assert_eq!(lengths(&mut sizes, &packet(45 * 1448, ACK)).len(), 45);
        assert_eq!(lengths(&mut sizes, &packet(1500, PUSH)), [1448, 52]);
        assert!(!sizes.is_late);
        let mut longer = packet(45 * 1428, ACK);
        longer.key = Packet::bare(1000).key;
        assert_eq!(lengths(&mut sizes, &longer).len(), 45);
        // and another one is known from some
        let mut sizes = SegmentSizes::default();
        for count in [40, 6] {
            assert_eq!(
                lengths(&mut sizes, &packet(count * 1398, ACK)),
                [count * 1398]
            );
        }
        assert_eq!(lengths(&mut sizes, &packet(47 * 1398, ACK)).len(), 47);
        assert!(sizes.is_late, "the first packets were not cut");
        assert_eq!(lengths(&mut sizes, &packet(6 * 1398, ACK)).len(), 6);
        // jumbo frames are whole
        let mut sizes = SegmentSizes::default();
        for _ in 0..5 {
            assert!(sizes.pieces(&packet(8949, ACK)).is_none());
        }
        assert_eq!(lengths(&mut sizes, &packet(3 * 8949, ACK)).len(), 3);
    }

    #[test]
    fn a_path_may_allow_less_than_both_ends_offer() {
        let mut sizes = SegmentSizes::default();
        sizes.pieces(&syn(1460, false));
        for count in [2, 3, 5] {
            lengths(&mut sizes, &packet(count * 1386, ACK));
        }
        assert_eq!(lengths(&mut sizes, &packet(4 * 1386, ACK)), [1386; 4]);
        // what a sender's last segments have says nothing, nor do lengths of all kinds
        let mut sizes = SegmentSizes::default();
        sizes.pieces(&syn(1460, false));
        for n in 2..5 {
            lengths(&mut sizes, &packet(1000 * n, PUSH));
            lengths(&mut sizes, &packet(1000 * n + n * n, ACK));
        }
        assert_eq!(lengths(&mut sizes, &packet(2896, ACK)), [1448, 1448]);
    }

    #[test]
    fn a_packet_of_unknown_segments_stays_whole() {
        let mut sizes = SegmentSizes::default();
        let mut pieces = sizes
            .pieces(&packet(65_001, ACK))
            .expect("no frame is as long");
        assert!(pieces.is_whole());
        let one = pieces.next().map(|one| (one.payload, one.is_merged));
        assert_eq!((one, pieces.next()), (Some((65_001, true)), None));
        // datagrams have no size in common
        let mut datagram = packet(65_001, Flags::NONE);
        datagram.key.protocol = fairport_wire::udp::PROTOCOL;
        assert!(sizes.pieces(&datagram).is_none());
    }
}
