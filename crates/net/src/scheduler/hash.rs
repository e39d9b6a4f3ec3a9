//! Hashes that choose one of several queues for a packet.

use std::hash::{BuildHasherDefault, Hasher};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// A number below `queues` for a `key`: evenly distributed over many keys, and different for each `seed`.
pub(super) fn queue_of(key: u64, seed: u64, queues: u32) -> u32 {
    let hash = SplitMix64::seed_from_u64(key ^ seed).next_u64();
    ((u128::from(hash) * u128::from(queues)) >> 64) as u32
}

/// The hash for maps by flow number: one multiplication. No code iterates over such a map, so the hash does not affect
/// results.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowHasher(u64);

/// Builds the hashers of maps by flow number.
pub(super) type BuildFlowHasher = BuildHasherDefault<FlowHasher>;

impl Hasher for FlowHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        let x = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = x ^ (x >> 32);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_spread_evenly_and_a_seed_moves_most_of_them() {
        let mut filled = [0; 4];
        for key in 0..4000 {
            filled[queue_of(key, 1, 4) as usize] += 1;
        }
        assert!(filled.iter().all(|n| (900..1100).contains(n)), "{filled:?}");
        let stayed = (0..4000).filter(|key| queue_of(*key, 1, 4) == queue_of(*key, 2, 4));
        assert!((900..1100).contains(&stayed.count()));
    }

    /// Vigna's `splitmix64.c` from the state 1234567, whose outputs other libraries use as a test.
    #[test]
    fn the_hash_is_the_high_bits_of_splitmix64() {
        let outputs: [u64; 5] = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        for (n, output) in (0..).zip(outputs) {
            let state = 0x9e37_79b9_7f4a_7c15_u64
                .wrapping_mul(n)
                .wrapping_add(1_234_567);
            assert_eq!(u64::from(queue_of(state, 0, 1 << 31)), output >> 33);
            assert_eq!(queue_of(0, state, 1 << 16), (output >> 48) as u32);
        }
    }
}
