//! The key that identifies a packet at both sides of a switch.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::packet::Packet;

/// The key of a packet in both captures. A switch may change Ethernet addresses, the time to live and the ECN
/// codepoint, so none of them is part of it. Timestamps are, if there is no identification.
#[inline]
pub(crate) fn key(packet: &Packet) -> u64 {
    let mut hasher = FxHasher::default();
    packet.key.hash(&mut hasher);
    hash_rest(packet, hasher)
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
