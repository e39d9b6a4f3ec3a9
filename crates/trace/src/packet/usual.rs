//! A fast path for the most frequent frame in captures: Ethernet without tags, IPv4 without options or fragments, TCP
//! with no options or only timestamps, and no SYN.
//!
//! All offsets in such a frame are known in advance, so its lengths are checked only once. Any other frame is decoded
//! by the general path, which gives the same packet for these frames as well; a test compares the two.

use fairport_tcp::{Flags, Timestamps};
use fairport_wire::tcp;

use super::{Key, Packet};

const ETHERNET: usize = 14;
const HEADERS: usize = ETHERNET + 20 + tcp::HEADER_BYTES;
/// Length of timestamps as hosts send them (RFC 7323 A): two bytes of padding, kind, length, and two numbers.
const STAMPS: usize = 12;
const STAMPS_START: [u8; 4] = [1, 1, 8, 10];
/// IPv4's type in Ethernet, and its version and header length.
const IPV4: [u8; 3] = [0x08, 0x00, 0x45];
/// `::ffff:0:0/96`, to which IPv4 addresses are mapped (RFC 4291 2.5.5.2).
const MAPPED: u128 = 0xffff << 32;
/// Bits of the flags and fragment offset that are zero in a whole packet.
const FRAGMENT: u16 = 0x3fff;

/// The packet in such a frame, of which `bytes` were captured. None if the general path must decode it.
#[inline]
pub(super) fn usual(bytes: &[u8], length: u32, time_ns: u64) -> Option<Packet> {
    let (head, rest) = bytes.split_first_chunk::<HEADERS>()?;
    let half = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let flags = Flags::from_bits(head[47]);
    let is_usual = head[12..15] == IPV4
        && head[23] == tcp::PROTOCOL
        && half(20) & FRAGMENT == 0
        && !flags.contains(Flags::SYN);
    if !is_usual {
        return None;
    }
    let (timestamps, header_bytes) = match head[46] >> 4 {
        5 => (None, tcp::HEADER_BYTES),
        8 => (Some(timestamps(rest)?), tcp::HEADER_BYTES + STAMPS),
        _ => return None,
    };
    let total = usize::from(half(16));
    let payload = total.checked_sub(20 + header_bytes)?;
    if ETHERNET + total > length as usize || bytes.len() > length as usize {
        return None;
    }
    let key = Key {
        source: MAPPED | u128::from(word(26)),
        destination: MAPPED | u128::from(word(30)),
        ports: [half(34), half(36)],
        protocol: tcp::PROTOCOL,
    };
    Some(Packet {
        payload: payload as u32,
        seq: word(38),
        ack: word(42),
        window: half(48),
        identification: half(18),
        ttl: head[22],
        ecn: head[15] & 3,
        flags,
        timestamps,
        option_bytes: (header_bytes - tcp::HEADER_BYTES) as u8,
        ..Packet::new(key, time_ns, length)
    })
}

/// The timestamps, if they are the only option.
#[inline]
fn timestamps(options: &[u8]) -> Option<Timestamps> {
    let (words, _) = options.first_chunk::<STAMPS>()?.as_chunks::<4>();
    let [start, val, ecr] = *words else {
        return None;
    };
    (start == STAMPS_START).then(|| Timestamps {
        val: u32::from_be_bytes(val),
        ecr: u32::from_be_bytes(ecr),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::general;
    use super::*;

    /// A segment with timestamps and 20 bytes of data.
    const FRAME: [u8; 86] = {
        let mut frame = [0x5a; 86];
        let head: [u8; 24] = [
            2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00, 0x45, 0x02, 0, 72, 0x12, 0x34, 0x40, 0,
            64, 6,
        ];
        let mut at = 0;
        while at < head.len() {
            frame[at] = head[at];
            at += 1;
        }
        (frame[46], frame[47]) = (0x80, 0x18);
        (frame[54], frame[55], frame[56], frame[57]) = (1, 1, 8, 10);
        frame
    };

    #[test]
    fn it_reads_what_is_most_often_there() {
        let packet = usual(&FRAME, 86, 7).expect("it is usual");
        assert_eq!((packet.payload, packet.ttl, packet.ecn), (20, 64, 2));
        assert_eq!(packet.identification, 0x1234);
        assert!(packet.timestamps.is_some());
        let mut bare = FRAME;
        bare[46] = 0x50;
        assert_eq!(usual(&bare, 86, 7).map(|packet| packet.payload), Some(32));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        /// Changes bytes that affect the headers most often, to values near those of a usual frame.
        #[test]
        fn it_gives_what_the_general_way_gives(
            changes in prop::collection::vec((0_usize..86, any::<u8>()), 0..4),
            offset in prop::sample::select(vec![0x50_u8, 0x80, 0x60, 0xb0, 0x40]),
            kept in 50_usize..=86,
            length in 60_u32..100,
        ) {
            let mut frame = FRAME;
            frame[46] = offset;
            for (place, value) in changes {
                frame[place] = value;
            }
            let bytes = &frame[..kept];
            if let Some(packet) = usual(bytes, length, 7) {
                prop_assert_eq!(general(bytes, length, super::super::layers::ETHERNET, 7, false), Ok(packet));
            }
        }
    }
}
