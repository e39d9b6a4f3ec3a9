//! The Internet checksum (RFC 1071), and its update when one 16-bit word changes (RFC 1624).

use std::net::{Ipv4Addr, Ipv6Addr};

/// A ones' complement sum of 16-bit words that is not yet folded to 16 bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

/// The number of bytes that are summed at a time: twice the size of the widest registers in common use.
const BLOCK: usize = 32;

impl Sum {
    /// The sum of nothing.
    pub const ZERO: Self = Self(0);

    /// Adds a word.
    #[inline]
    #[must_use]
    pub const fn word(self, word: u16) -> Self {
        Self(self.0 + word as u64)
    }

    /// Adds bytes that begin at an even position of the message. An odd last byte counts as the upper half of a word
    /// (RFC 1071 4.1), so only the last part of a message may have an odd length.
    #[inline]
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        // The byte order changes the sum only by one swap at the end (RFC 1071 2B). Words are therefore added in native
        // order, and the 64-bit sum leaves their carries to the end.
        let mut native: u64 = 0;
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        for block in blocks {
            let (words, _) = block.as_chunks::<4>();
            native += words
                .iter()
                .map(|word| u64::from(u32::from_ne_bytes(*word)))
                .sum::<u64>();
        }
        let (words, last) = rest.as_chunks::<2>();
        for word in words {
            native += u64::from(u16::from_ne_bytes(*word));
        }
        if let [byte] = last {
            native += u64::from(u16::from_ne_bytes([*byte, 0]));
        }
        self.word(u16::from_be(fold(native)))
    }

    /// The checksum: the complement of the sum, folded to 16 bits.
    #[inline]
    pub const fn finish(self) -> u16 {
        !fold(self.0)
    }
}

const fn fold(mut sum: u64) -> u16 {
    sum = (sum & 0xffff_ffff) + (sum >> 32);
    sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    sum as u16
}

/// The checksum of `bytes`. It is zero if they contain their own, valid checksum.
#[inline]
pub fn checksum(bytes: &[u8]) -> u16 {
    Sum::ZERO.bytes(bytes).finish()
}

/// The checksum after one word of the message changed from `old` to `new` (RFC 1624, equation 3).
#[inline]
pub const fn update(checksum: u16, old: u16, new: u16) -> u16 {
    Sum(!checksum as u64 + !old as u64 + new as u64).finish()
}

/// The sum of the pseudo-header, which the checksums of TCP and UDP cover besides header and data (RFC 9293 3.1, RFC
/// 8200 8.1): the addresses and the protocol. The length, which is also part of it, is added when the segment or
/// datagram is known.
#[derive(Clone, Copy, Debug)]
pub struct PseudoHeader(Sum);

impl PseudoHeader {
    /// The pseudo-header of an IPv4 packet.
    #[inline]
    pub fn ipv4(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8) -> Self {
        Self::of(&source.octets(), &destination.octets(), protocol)
    }

    /// The pseudo-header of an IPv6 packet. `protocol` is the transport's number, also if extension headers come before
    /// the transport.
    #[inline]
    pub fn ipv6(source: Ipv6Addr, destination: Ipv6Addr, protocol: u8) -> Self {
        Self::of(&source.octets(), &destination.octets(), protocol)
    }

    #[inline]
    fn of(source: &[u8], destination: &[u8], protocol: u8) -> Self {
        let addresses = Sum::ZERO.bytes(source).bytes(destination);
        Self(addresses.word(u16::from(protocol)))
    }

    /// The sum after adding `length`, the length of the TCP segment or the UDP datagram: header and data, in bytes.
    #[inline]
    pub(crate) fn with_length(self, length: usize) -> Sum {
        Sum(self.0.0 + length as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071_sums_to_ddf2() {
        // RFC 1071 3: 0001 f203 f4f5 f6f7
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(&bytes), !0xddf2);
    }

    #[test]
    fn the_example_of_rfc_1624_is_updated_to_zero() {
        // RFC 1624 4: a word goes from 0x5555 to 0x3285, the checksum from 0xdd2f to 0x0000
        assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn an_odd_last_byte_is_the_upper_half_of_a_word() {
        assert_eq!(checksum(&[0x12, 0x34, 0x56]), !(0x1234 + 0x5600));
    }

    #[test]
    fn the_sum_is_that_of_words_one_by_one_at_every_length() {
        let bytes: Vec<u8> = (0..200_u32).map(|i| (i * 167 + 91) as u8).collect();
        for length in 0..bytes.len() {
            let mut plain: u32 = 0;
            for word in bytes[..length].chunks(2) {
                let low = word.get(1).copied().unwrap_or(0);
                plain += u32::from(u16::from_be_bytes([word[0], low]));
                plain = (plain & 0xffff) + (plain >> 16);
            }
            assert_eq!(checksum(&bytes[..length]), !(plain as u16), "{length}");
        }
    }

    #[test]
    fn all_ones_do_not_overflow_the_sum() {
        assert_eq!(checksum(&vec![0xff; 65_536]), 0);
    }
}
