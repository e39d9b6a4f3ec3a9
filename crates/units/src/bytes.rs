//! Sizes in octets.

use serde::{Deserialize, Serialize};

/// A size in octets. `KB` is 1000 octets and `KiB` 1024 wherever a scenario is read.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(u64);

impl Bytes {
    /// From octets.
    pub const fn new(octets: u64) -> Self {
        Self(octets)
    }

    /// In octets.
    pub const fn get(self) -> u64 {
        self.0
    }
}
