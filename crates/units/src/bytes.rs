//! Sizes in bytes.

use serde::{Deserialize, Serialize};

/// A size in bytes. `KB` is 1000 bytes and `KiB` 1024 wherever a scenario is read.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(u64);

impl Bytes {
    /// From bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// In bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}
