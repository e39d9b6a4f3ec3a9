//! The payload of a packet that is written.

use crate::checksum::Sum;

/// The data after the headers of a packet that is written. It is not copied: the headers need only its length and sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// Data in memory.
    Bytes(&'a [u8]),
    /// This number of zero bytes. The data of a simulated segment, for example, need not be in memory.
    Zeros(usize),
}

impl Payload<'_> {
    /// The length in bytes.
    #[inline]
    pub const fn length(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Zeros(length) => *length,
        }
    }

    /// Adds the data to `sum`. Zeros do not change it.
    #[inline]
    pub(crate) fn add_to(self, sum: Sum) -> Sum {
        match self {
            Self::Bytes(bytes) => sum.bytes(bytes),
            Self::Zeros(_) => sum,
        }
    }
}
