//! What follows the headers that are written.

use crate::checksum::Sum;

/// The data of a packet that is written. It is not copied: the headers need its length and its sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// So many bytes that are all zero: the data of a simulated segment, which need not be in memory.
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

    /// The sum with the data. Zeros add nothing.
    #[inline]
    pub(crate) fn add_to(self, sum: Sum) -> Sum {
        match self {
            Self::Bytes(bytes) => sum.bytes(bytes),
            Self::Zeros(_) => sum,
        }
    }
}
