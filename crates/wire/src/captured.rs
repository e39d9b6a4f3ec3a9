//! The captured bytes of a frame or a packet, together with its length on the wire.
//!
//! A capture may hold only the first bytes of each packet (its snap length). Every reader of this crate checks lengths
//! against the length on the wire and takes bytes from the capture. A header that the capture cut off is
//! [`ParseError::Truncated`]; a header that never fitted is [`ParseError::Malformed`].

use crate::error::{Fault, Layer, ParseError};

/// The captured bytes of a frame, a packet or a payload, and its length on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured<'a> {
    bytes: &'a [u8],
    length: usize,
}

impl<'a> Captured<'a> {
    /// A frame that was captured whole, as from a network interface: its length on the wire is that of `bytes`.
    #[inline]
    pub const fn whole(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            length: bytes.len(),
        }
    }

    /// The first bytes of a frame that had `length` bytes on the wire, as in a record of a capture. Bytes beyond
    /// `length` are left out.
    #[inline]
    pub fn first_of(bytes: &'a [u8], length: usize) -> Self {
        Self {
            bytes: &bytes[..bytes.len().min(length)],
            length,
        }
    }

    /// The bytes that were captured.
    #[inline]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The length on the wire, in bytes: never less than `bytes().len()`.
    #[inline]
    pub const fn length(&self) -> usize {
        self.length
    }

    /// All bytes, or None if some were not captured.
    #[inline]
    pub fn complete(&self) -> Option<&'a [u8]> {
        (self.bytes.len() == self.length).then_some(self.bytes)
    }

    /// The first `length` bytes on the wire, as far as they were captured.
    #[inline]
    pub(crate) fn limit(self, length: usize) -> Self {
        Self::first_of(self.bytes, length.min(self.length))
    }

    /// Splits off a header of `N` bytes; returns the header and the rest.
    #[inline]
    pub(crate) fn header<const N: usize>(
        self,
        layer: Layer,
    ) -> Result<(&'a [u8; N], Self), ParseError> {
        match self.bytes.split_first_chunk::<N>() {
            Some((header, bytes)) if self.length >= N => Ok((
                header,
                Self {
                    bytes,
                    length: self.length - N,
                },
            )),
            _ => Err(self.too_short(layer, N)),
        }
    }

    /// Splits off a header of `needed` bytes; returns the header and the rest.
    #[inline]
    pub(crate) fn split(self, layer: Layer, needed: usize) -> Result<(&'a [u8], Self), ParseError> {
        match self.bytes.split_at_checked(needed) {
            Some((header, bytes)) => Ok((
                header,
                Self {
                    bytes,
                    length: self.length - needed,
                },
            )),
            None => Err(self.too_short(layer, needed)),
        }
    }

    #[cold]
    fn too_short(self, layer: Layer, needed: usize) -> ParseError {
        if self.length < needed {
            return Fault::TooShort.at(layer);
        }
        ParseError::Truncated {
            layer,
            needed,
            captured: self.bytes.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_was_cut_off_is_truncated_and_one_that_never_fitted_is_malformed() {
        let bytes = [0; 10];
        let cut = Captured::first_of(&bytes, 60).header::<20>(Layer::Ipv4);
        assert_eq!(
            cut,
            Err(ParseError::Truncated {
                layer: Layer::Ipv4,
                needed: 20,
                captured: 10
            })
        );
        let short = Captured::whole(&bytes).header::<20>(Layer::Ipv4);
        assert_eq!(short, Err(Fault::TooShort.at(Layer::Ipv4)));
    }

    #[test]
    fn bytes_beyond_the_length_on_the_wire_are_left_out() {
        let record = Captured::first_of(&[1, 2, 3, 4], 3);
        assert_eq!(record.bytes(), [1, 2, 3]);
        assert_eq!(record.complete(), Some(&[1, 2, 3][..]));
    }
}
