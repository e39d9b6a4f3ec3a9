//! The key that identifies a packet at both sides of a switch.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::packet::Packet;

/// The key of a packet in both captures. A switch may change Ethernet addresses, the time to live and the ECN
/// codepoint, so none of them is part of it. Timestamps are, if there is no identification. Samples are drawn by its low
/// bits, so each of them depends on everything.
#[inline]
pub(crate) fn key(packet: &Packet) -> u64 {
    let mut hasher = FxHasher::default();
    packet.key.hash(&mut hasher);
    let hash = hash_rest(packet, hasher);
    // Fx only multiplies, so its high bits depend on most. It puts the highest 26 lowest, and this the highest 14
    hash.rotate_right(12)
}

/// The key of a packet whose direction has a number.
#[inline]
pub(crate) fn numbered_key(direction: u32, packet: &Packet) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u32(direction);
    hash_rest(packet, hasher)
}

#[inline]
fn hash_rest(packet: &Packet, mut hasher: FxHasher) -> u64 {
    hasher.write_u64(u64::from(packet.seq) << 32 | u64::from(packet.ack));
    hasher.write_u64(
        u64::from(packet.payload) << 32
            | u64::from(packet.identification) << 16
            | u64::from(packet.flags.bits()),
    );
    // a capture that keeps few bytes of a packet may lack its options
    if packet.identification == 0
        && let Some(stamps) = packet.timestamps
    {
        hasher.write_u64(u64::from(stamps.val) << 32 | u64::from(stamps.ecr));
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use fairport_tcp::{Flags, Timestamps};

    use super::*;

    #[test]
    fn packets_that_differ_have_other_keys_but_for_what_a_switch_changes() {
        let one = Packet {
            seq: 5,
            ack: 9,
            payload: 1448,
            ..Packet::bare(1000)
        };
        let stamped = |val, ecr| Packet {
            timestamps: Some(Timestamps { val, ecr }),
            ..one
        };
        let both = |packet: &Packet| (key(packet), numbered_key(0, packet));
        let others = [
            Packet { seq: 6, ..one },
            Packet { ack: 8, ..one },
            Packet {
                seq: 9,
                ack: 5,
                ..one
            },
            Packet {
                payload: 1447,
                ..one
            },
            Packet {
                identification: 1,
                ..one
            },
            Packet {
                flags: Flags::ACK | Flags::PSH,
                ..one
            },
            stamped(1, 2),
            stamped(2, 1),
            stamped(1, 3),
        ];
        for (place, other) in others.iter().enumerate() {
            assert_ne!(both(other).0, both(&one).0, "{place}");
            assert_ne!(both(other).1, both(&one).1, "{place}");
            for before in &others[..place] {
                assert_ne!(both(other).0, both(before).0, "{place}");
                assert_ne!(both(other).1, both(before).1, "{place}");
            }
        }
        assert_eq!(
            both(&one),
            both(&Packet {
                ttl: 63,
                time_ns: 77,
                ..one
            })
        );
        assert_ne!(numbered_key(0, &one), numbered_key(1, &one));
    }
}
