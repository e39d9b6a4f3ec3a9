//! Explicit congestion notification: the codepoint in a segment's IP header (RFC 3168; RFC 8257 for DCTCP).
//! `receiver/echo` has what the receiver echoes, and `sender/ecn` the sender's reaction.

/// The ECN codepoint of an IP header (RFC 3168 5), which travels beside the segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// The transport does not support ECN: a queue drops the packet instead of marking it.
    #[default]
    NotEct = 0,
    /// ECN-capable, codepoint ECT(1).
    Ect1 = 1,
    /// ECN-capable, codepoint ECT(0), which senders use.
    Ect0 = 2,
    /// Congestion experienced: a queue has marked it.
    Ce = 3,
}

impl Ecn {
    /// The codepoint in the lower two bits of `bits`.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The codepoint as two bits.
    pub const fn bits(self) -> u8 {
        self as u8
    }
}

/// How one endpoint uses ECN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EcnUse {
    /// both sides use ECN; before the handshake: this side offers it
    pub(crate) on: bool,
    /// every segment is ECN-capable, not only new data (RFC 8257 3.5; Linux's DCTCP)
    pub(crate) on_all: bool,
    /// the codepoint of the last segment sent
    pub(crate) codepoint: Ecn,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codepoints_are_the_lower_two_bits_of_the_header_byte() {
        let known = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
        for byte in 0..=u8::MAX {
            let codepoint = known[usize::from(byte % 4)];
            assert_eq!(Ecn::from_bits(byte), codepoint);
            assert_eq!(codepoint.bits(), byte % 4);
        }
    }
}
