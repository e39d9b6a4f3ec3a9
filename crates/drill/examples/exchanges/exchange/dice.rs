//! The random numbers from which an exchange is drawn.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The random numbers from which an exchange is drawn.
#[derive(Clone)]
pub(super) struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// The random numbers of one attempt with one seed.
    pub(super) fn new(seed: u64, attempt: u64) -> Self {
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ attempt.wrapping_mul(0xd1b5_4a33);
        Self(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// A uniform number in `from..=to`.
    pub(super) fn between(&mut self, from: u64, to: u64) -> u64 {
        from + ((u128::from(self.0.next_u64()) * u128::from(to - from + 1)) >> 64) as u64
    }

    /// True with a probability of `percent` per cent.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.between(0, 99) < percent
    }

    pub(super) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.between(0, choices.len() as u64 - 1) as usize]
    }
}
