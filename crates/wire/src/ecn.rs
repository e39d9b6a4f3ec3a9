//! Congestion experienced, set in place: what a queue does that marks instead of dropping (RFC 3168 5).

use fairport_tcp::Ecn;

use crate::checksum::update;
use crate::error::{Fault, Layer, ParseError};

/// What a mark did to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The packet has the mark now.
    Set,
    /// It had the mark already, from a queue before this one.
    AlreadySet,
    /// The transport does not understand marks: the packet is unchanged, and should be dropped.
    NotCapable,
}

/// Marks an IP packet, which begins at the first byte. The checksum of IPv4 is corrected and not computed
/// anew, so that one that was wrong stays wrong (RFC 1624). No other checksum covers the codepoint.
///
/// # Errors
/// If the bytes do not begin as IPv4 or IPv6 does.
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
            // the codepoint is the last two bits of the traffic class, which the second byte begins with
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
