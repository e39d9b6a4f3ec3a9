//! A TCP segment as on the wire, as a value of 48 bytes.
//!
//! Sequence numbers here are 32 bits and wrap, as in the header. The state machines use 64 bits and convert at the edge
//! ([`crate::seq`]).

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// The control bits of the TCP header (RFC 9293 3.1), at their places on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// No bit set.
    pub const NONE: Self = Self(0);
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push: the sender had no more to send at that moment.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number is valid.
    pub const ACK: Self = Self(0x10);
    /// A packet was CE-marked (RFC 3168). On a SYN: ECN is offered or agreed to.
    pub const ECE: Self = Self(0x40);
    /// The sender has reacted to ECE. On a SYN: ECN is offered.
    pub const CWR: Self = Self(0x80);

    /// The flags in a byte of the header.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The header's byte.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether every bit of `other` is set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any bit of `other` is set.
    #[inline]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// The timestamps option (RFC 7323 3). Values are in ticks of the respective clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// Value of the sender's clock.
    pub val: u32,
    /// The echoed value of the receiver's clock; 0 if there is none yet.
    pub ecr: u32,
}

/// A SACK block (RFC 2018 3), from `start` up to but not including `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// Left edge.
    pub start: u32,
    /// Right edge, exclusive.
    pub end: u32,
}

/// The options of a SYN (RFC 9293 3.7.1, RFC 7323 2, RFC 2018 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynOptions {
    /// Largest segment that the sender of this SYN accepts, in bytes without options.
    pub mss: u16,
    /// Window scale in bits, if offered.
    pub window_scale: Option<u8>,
    /// Whether the sender of this SYN accepts SACK blocks.
    pub sack_permitted: bool,
}

const HAS_TIMESTAMPS: u8 = 1;
const HAS_SYN: u8 = 2;
const HAS_WINDOW_SCALE: u8 = 4;
const HAS_SACK_PERMITTED: u8 = 8;
/// Index of the first word after the timestamps. It begins the options of a SYN or the first SACK block, since a
/// segment has only one of the two. A fourth block takes the place of the timestamps.
const AFTER_TIMESTAMPS: usize = 2;

/// The options of a segment: timestamps, and either SACK blocks or the options of a SYN. Up to three SACK blocks fit
/// beside timestamps, and four without them (RFC 2018 3).
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Options {
    present: u8,
    sacks: u8,
    /// native bytes of 32-bit words, so that the whole segment packs into 48 bytes
    words: [[u8; 4]; 8],
}

impl Options {
    /// SACK blocks that fit into the 40 bytes of TCP options without timestamps; one fewer fits beside them.
    pub const MAX_SACKS: usize = 4;

    /// The number of SACK blocks that fit into this segment.
    #[inline]
    pub const fn sack_room(&self) -> usize {
        Self::MAX_SACKS - (self.present & HAS_TIMESTAMPS) as usize
    }

    /// Index of the word with the start of a SACK block; the next word is its end.
    #[inline]
    const fn sack_word(index: usize) -> usize {
        (AFTER_TIMESTAMPS + 2 * index) & 7
    }

    #[inline]
    fn word(&self, index: usize) -> u32 {
        u32::from_ne_bytes(self.words[index])
    }

    #[inline]
    fn set_word(&mut self, index: usize, value: u32) {
        self.words[index] = value.to_ne_bytes();
    }

    /// The timestamps, if present.
    #[inline]
    pub fn timestamps(&self) -> Option<Timestamps> {
        (self.present & HAS_TIMESTAMPS != 0).then(|| Timestamps {
            val: self.word(0),
            ecr: self.word(1),
        })
    }

    /// Sets the timestamps.
    ///
    /// # Panics
    /// If the segment has four SACK blocks.
    #[inline]
    pub fn set_timestamps(&mut self, timestamps: Timestamps) {
        assert!(
            usize::from(self.sacks) < Self::MAX_SACKS,
            "no room for timestamps"
        );
        self.present |= HAS_TIMESTAMPS;
        self.set_word(0, timestamps.val);
        self.set_word(1, timestamps.ecr);
    }

    /// The SACK blocks in their order on the wire: the most recent first (RFC 2018 4).
    #[inline]
    pub fn sacks(&self) -> impl ExactSizeIterator<Item = SackBlock> + '_ {
        (0..usize::from(self.sacks)).map(|i| SackBlock {
            start: self.word(Self::sack_word(i)),
            end: self.word(Self::sack_word(i) + 1),
        })
    }

    /// Whether there is a SACK block.
    #[inline]
    pub const fn has_sacks(&self) -> bool {
        self.sacks > 0
    }

    /// Appends a SACK block.
    ///
    /// # Panics
    /// If no more block fits, or if the segment has the options of a SYN.
    #[inline]
    pub fn push_sack(&mut self, block: SackBlock) {
        let count = usize::from(self.sacks);
        assert!(
            count < self.sack_room() && self.present & HAS_SYN == 0,
            "no room for a SACK block"
        );
        let at = Self::sack_word(count);
        self.set_word(at, block.start);
        self.set_word(at + 1, block.end);
        self.sacks += 1;
    }

    /// The options of a SYN, if present.
    pub fn syn(&self) -> Option<SynOptions> {
        (self.present & HAS_SYN != 0).then(|| {
            let word = self.word(AFTER_TIMESTAMPS);
            SynOptions {
                mss: word as u16,
                window_scale: (self.present & HAS_WINDOW_SCALE != 0).then_some((word >> 16) as u8),
                sack_permitted: self.present & HAS_SACK_PERMITTED != 0,
            }
        })
    }

    /// Sets the options of a SYN.
    ///
    /// # Panics
    /// If the segment has SACK blocks.
    pub fn set_syn(&mut self, syn: SynOptions) {
        assert!(self.sacks == 0, "a SYN has no SACK blocks");
        self.present |= HAS_SYN;
        if syn.window_scale.is_some() {
            self.present |= HAS_WINDOW_SCALE;
        }
        if syn.sack_permitted {
            self.present |= HAS_SACK_PERMITTED;
        }
        let scale = u32::from(syn.window_scale.unwrap_or(0));
        self.set_word(AFTER_TIMESTAMPS, u32::from(syn.mss) | scale << 16);
    }

    /// Bytes of the options in the header. Each option is padded to a multiple of four, as hosts send them: timestamps
    /// 12, SACK 4 plus 8 per block, MSS 4, window scale 4, SACK-permitted 4, or 0 if it fits into the padding of the
    /// timestamps.
    #[inline]
    pub fn wire_bytes(&self) -> u32 {
        let mut bytes = if self.present & HAS_TIMESTAMPS != 0 {
            12
        } else {
            0
        };
        if self.sacks > 0 {
            bytes += 4 + 8 * u32::from(self.sacks);
        }
        if self.present & HAS_SYN != 0 {
            bytes += 4;
            if self.present & HAS_WINDOW_SCALE != 0 {
                bytes += 4;
            }
            if self.present & (HAS_SACK_PERMITTED | HAS_TIMESTAMPS) == HAS_SACK_PERMITTED {
                bytes += 4;
            }
        }
        bytes
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        list.entries(self.timestamps());
        list.entries(self.syn());
        list.entries(self.sacks()).finish()
    }
}

/// A TCP segment. `seq`, `ack` and the numbers in the options are 32 bits that wrap, as on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Segment {
    /// Sequence number of the first byte, or of the SYN if that is set.
    pub seq: u32,
    /// Next byte that the sender of this segment expects; valid with [`Flags::ACK`].
    pub ack: u32,
    /// Bytes of data.
    pub payload: u16,
    /// Receive window as on the wire, not yet shifted by the window scale (RFC 7323 2.2).
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// Bytes of IP and TCP header, if the stack has one size for all headers (ns-2: 40); 0 if they are counted.
    pub fixed_header: u8,
    /// Options.
    pub options: Options,
}

/// Bytes of an IPv4 header plus a TCP header, without options.
const PLAIN_HEADERS: u32 = 20 + 20;

impl Segment {
    /// Bytes of the IPv4 header and the TCP header with its options, or the stack's fixed size.
    #[inline]
    pub fn header_bytes(&self) -> u32 {
        if self.fixed_header > 0 {
            u32::from(self.fixed_header)
        } else {
            PLAIN_HEADERS + self.options.wire_bytes()
        }
    }

    /// Bytes of the IP packet.
    #[inline]
    pub fn wire_bytes(&self) -> u32 {
        self.header_bytes() + u32::from(self.payload)
    }

    /// Sequence numbers that the segment takes up: its data, and one each for SYN and FIN.
    #[inline]
    pub fn sequence_length(&self) -> u32 {
        u32::from(self.payload)
            + u32::from(self.flags.contains(Flags::SYN))
            + u32::from(self.flags.contains(Flags::FIN))
    }
}

const _: () = assert!(size_of::<Segment>() == 48 && align_of::<Segment>() == 4);
const _: () = assert!(size_of::<Options>() == 34);

#[cfg(test)]
mod encoding;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_bit_that_both_flags_have_stays_set() {
        let both = (Flags::SYN | Flags::ACK) | Flags::ACK;
        assert!(both.contains(Flags::SYN) && both.contains(Flags::ACK));
    }

    #[test]
    fn a_full_data_segment_with_timestamps_fills_an_ethernet_mtu() {
        let mut segment = Segment {
            payload: 1448,
            flags: Flags::ACK,
            ..Segment::default()
        };
        segment
            .options
            .set_timestamps(Timestamps { val: 1, ecr: 2 });
        assert_eq!(segment.wire_bytes(), 1500);
    }

    #[test]
    fn four_sack_blocks_fit_without_timestamps() {
        let mut options = Options::default();
        let block = |i: u32| SackBlock {
            start: 10 * i,
            end: 10 * i + 5,
        };
        (0..4).for_each(|i| options.push_sack(block(i)));
        assert_eq!(options.wire_bytes(), 36);
        assert!(options.sacks().eq((0..4).map(block)));
        assert_eq!(options.sack_room(), 4);
    }

    #[test]
    fn timestamps_and_three_sack_blocks_fill_the_option_space() {
        let mut options = Options::default();
        options.set_timestamps(Timestamps { val: 1, ecr: 2 });
        for i in 0..3 {
            options.push_sack(SackBlock {
                start: 10 * i,
                end: 10 * i + 5,
            });
        }
        assert_eq!(options.wire_bytes(), 40);
        assert_eq!(options.sacks().len(), 3);
        assert_eq!(
            options.sacks().nth(1),
            Some(SackBlock { start: 10, end: 15 })
        );
        assert_eq!(options.timestamps(), Some(Timestamps { val: 1, ecr: 2 }));
    }

    #[test]
    fn a_syn_of_linux_has_20_bytes_of_options() {
        let syn = SynOptions {
            mss: 1460,
            window_scale: Some(7),
            sack_permitted: true,
        };
        let mut options = Options::default();
        options.set_syn(syn);
        options.set_timestamps(Timestamps { val: 1, ecr: 0 });
        assert_eq!(options.wire_bytes(), 20);
        assert_eq!(options.syn(), Some(syn));
    }

    #[test]
    fn a_fixed_header_is_the_whole_header() {
        let segment = Segment {
            payload: 1000,
            fixed_header: 40,
            ..Segment::default()
        };
        assert_eq!(segment.wire_bytes(), 1040);
    }
}
