//! Random numbers without a global source: a sequence is state, which the caller seeds per flow.

/// `SplitMix64` (Steele, Lea and Flood 2014): a counter whose value is mixed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The sequence of `seed` for one of several purposes.
    pub(crate) fn new(seed: u64, purpose: u64) -> Self {
        let mut random = Self(seed ^ purpose.wrapping_mul(0xd1b5_4a32_d192_ed03));
        random.0 = random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Uniform over 0..=`max`, by multiply-shift. The bias is below 2^-64 of `max`.
    pub(crate) fn up_to(&mut self, max: u64) -> u64 {
        ((u128::from(self.next()) * (u128::from(max) + 1)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The generator's published sequence for the seed 1234567.
    #[test]
    fn the_sequence_is_that_of_splitmix64() {
        let mut random = Random(1_234_567);
        let known = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(known.map(|_| random.up_to(u64::MAX)), known);
    }

    #[test]
    fn every_value_comes_equally_often() {
        let mut random = Random::new(1, 0);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[random.up_to(9) as usize] += 1;
        }
        // four standard deviations
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 380));
    }

    #[test]
    fn seeds_and_purposes_have_their_own_sequences() {
        let draw = |seed, purpose| Random::new(seed, purpose).up_to(u64::MAX);
        assert_eq!(draw(1, 0), draw(1, 0));
        assert_ne!(draw(1, 0), draw(2, 0));
        assert_ne!(draw(1, 0), draw(1, 1));
    }
}
