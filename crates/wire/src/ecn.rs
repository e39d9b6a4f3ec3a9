//! Sets congestion experienced (CE) in place, as a queue does that marks packets instead of dropping them (RFC 3168 5).

use fairport_tcp::Ecn;

use crate::checksum::update;
use crate::error::{Fault, Layer, ParseError};

/// The outcome of [`mark_ce`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The packet was not marked before and is marked now.
    Set,
    /// The packet already had the mark, from an earlier queue.
    AlreadySet,
    /// The transport does not support ECN. The packet is unchanged, and the queue should drop it.
    NotCapable,
}

/// Marks an IP packet, which begins at the first byte, with congestion experienced. The IPv4 checksum is updated and
/// not computed anew, so a wrong checksum stays wrong (RFC 1624). No other checksum covers the ECN codepoint.
///
/// # Errors
/// [`ParseError`] if the bytes do not begin with the first bytes of an IPv4 or IPv6 header.
#[inline]
pub fn mark_ce(packet: &mut [u8]) -> Result<Mark, ParseError> {
    match packet {
        [first, class, _, _, _, _, _, _, _, _, high, low, ..] if *first >> 4 == 4 => {
            let codepoint = Ecn::from_bits(*class);
            if codepoint == Ecn::Ect0 || codepoint == Ecn::Ect1 {
                let old = u16::from_be_bytes([*first, *class]);
                *class |= Ecn::Ce.bits();
                let new = u16::from_be_bytes([*first, *class]);
                let sum = update(u16::from_be_bytes([*high, *low]), old, new);
                [*high, *low] = sum.to_be_bytes();
            }
            Ok(outcome(codepoint))
        }
        [first, second, ..] if *first >> 4 == 6 => {
            // the codepoint is the last two bits of the traffic class, whose lower half is the upper half of the second
            // byte
            let codepoint = Ecn::from_bits(*second >> 4);
            if codepoint == Ecn::Ect0 || codepoint == Ecn::Ect1 {
                *second |= Ecn::Ce.bits() << 4;
            }
            Ok(outcome(codepoint))
        }
        [first, ..] if *first >> 4 == 4 => Err(Fault::TooShort.at(Layer::Ipv4)),
        [first, ..] if *first >> 4 == 6 => Err(Fault::TooShort.at(Layer::Ipv6)),
        [_, ..] => Err(Fault::Version.at(Layer::Ipv4)),
        [] => Err(Fault::TooShort.at(Layer::Ipv4)),
    }
}

const fn outcome(before: Ecn) -> Mark {
    match before {
        Ecn::NotEct => Mark::NotCapable,
        Ecn::Ect0 | Ecn::Ect1 => Mark::Set,
        Ecn::Ce => Mark::AlreadySet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_ip_header_is_refused_and_left_as_it_is() {
        let refused = |bytes: &[u8], fault: Fault, layer: Layer| {
            let mut packet = bytes.to_vec();
            assert_eq!(mark_ce(&mut packet), Err(fault.at(layer)));
            assert_eq!(packet, bytes);
        };
        // version 5, with bits that would be a codepoint in IPv4 and in IPv6
        refused(&[0x51; 40], Fault::Version, Layer::Ipv4);
        refused(&[0x45, 1], Fault::TooShort, Layer::Ipv4);
        refused(&[0x60], Fault::TooShort, Layer::Ipv6);
        refused(&[], Fault::TooShort, Layer::Ipv4);
    }
}
