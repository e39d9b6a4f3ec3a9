//! The options of TCP: an iterator that reads them one by one ([`TcpOptions`]), and a value that can be written
//! ([`OptionSet`]).

use fairport_tcp::{SackBlock, Timestamps};

use crate::captured::Captured;
use crate::error::{EmitError, Fault, Layer, ParseError, check_range};

/// The largest length of the options, in bytes, that the data offset can express.
pub const BYTES_MAX: usize = 40;
/// The largest number of SACK blocks (RFC 2018 3).
pub const SACKS_MAX: usize = 4;

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// One option as it is in the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpOption<'a> {
    /// The maximum segment size that the sender of the option accepts (RFC 9293 3.7.1).
    Mss(u16),
    /// The number of bits by which windows are shifted (RFC 7323 2).
    WindowScale(u8),
    /// The sender of the option accepts SACK blocks (RFC 2018 2).
    SackPermitted,
    /// SACK blocks (RFC 2018 3).
    Sack(SackList),
    /// Timestamps (RFC 7323 3).
    Timestamps(Timestamps),
    /// An unknown kind, or a known kind with a length that is not valid for it. Hosts skip both.
    Unknown {
        /// The kind.
        kind: u8,
        /// The bytes after kind and length.
        data: &'a [u8],
    },
}

impl<'a> TcpOption<'a> {
    #[inline]
    fn new(kind: u8, data: &'a [u8]) -> Self {
        let known = match (kind, data) {
            (MSS, [a, b]) => Some(Self::Mss(u16::from_be_bytes([*a, *b]))),
            (WINDOW_SCALE, [shift]) => Some(Self::WindowScale(*shift)),
            (SACK_PERMITTED, []) => Some(Self::SackPermitted),
            (SACK, _) => SackList::read(data).map(Self::Sack),
            (TIMESTAMPS, _) => timestamps(data).map(Self::Timestamps),
            _ => None,
        };
        known.unwrap_or(Self::Unknown { kind, data })
    }
}

#[inline]
fn timestamps(data: &[u8]) -> Option<Timestamps> {
    let ([val, ecr], []) = data.as_chunks::<4>() else {
        return None;
    };
    Some(Timestamps {
        val: u32::from_be_bytes(*val),
        ecr: u32::from_be_bytes(*ecr),
    })
}

/// Up to four SACK blocks, in their order on the wire.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct SackList {
    blocks: [SackBlock; SACKS_MAX],
    count: u8,
}

impl SackList {
    /// A list of these blocks, or None if there are more than four.
    pub fn new(blocks: &[SackBlock]) -> Option<Self> {
        let mut list = Self::default();
        list.blocks.get_mut(..blocks.len())?.copy_from_slice(blocks);
        list.count = blocks.len() as u8;
        Some(list)
    }

    /// Reads a list of blocks, or None if `data` has no valid length.
    #[inline]
    fn read(data: &[u8]) -> Option<Self> {
        let (blocks, rest) = data.as_chunks::<8>();
        if blocks.is_empty() || blocks.len() > SACKS_MAX || !rest.is_empty() {
            return None;
        }
        let mut list = Self::default();
        for (block, [a, b, c, d, e, f, g, h]) in list.blocks.iter_mut().zip(blocks) {
            *block = SackBlock {
                start: u32::from_be_bytes([*a, *b, *c, *d]),
                end: u32::from_be_bytes([*e, *f, *g, *h]),
            };
        }
        list.count = blocks.len() as u8;
        Some(list)
    }

    /// The blocks.
    #[inline]
    pub fn blocks(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count).min(SACKS_MAX)]
    }
}

impl std::fmt::Debug for SackList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.blocks()).finish()
    }
}

/// An iterator over the options of a segment, without padding. It ends after the first error, because an option whose
/// length is wrong hides where the next one begins.
#[derive(Clone, Debug)]
pub struct TcpOptions<'a> {
    rest: Captured<'a>,
}

impl<'a> TcpOptions<'a> {
    #[inline]
    pub(crate) fn new(options: Captured<'a>) -> Self {
        Self { rest: options }
    }

    /// Whether these are timestamps alone, as hosts send them (RFC 7323 A). Their values may be cut off.
    pub fn are_timestamps(&self) -> bool {
        let start = [NOP, NOP, TIMESTAMPS, 10];
        self.rest.length() == 12 && self.rest.bytes().starts_with(&start)
    }

    #[inline]
    fn read(&mut self) -> Result<Option<TcpOption<'a>>, ParseError> {
        const LAYER: Layer = Layer::TcpOptions;
        loop {
            if self.rest.length() == 0 {
                return Ok(None);
            }
            match self.rest.header::<1>(LAYER)? {
                ([END], _) => return Ok(None),
                ([NOP], rest) => self.rest = rest,
                ([kind], rest) => {
                    // the last byte of the options is a kind whose length byte is missing: the length is wrong, not cut
                    // off
                    let bad_length = |error: ParseError| match error {
                        ParseError::Malformed { .. } => Fault::OptionLength.at(LAYER),
                        cut @ ParseError::Truncated { .. } => cut,
                    };
                    let ([length], rest) = rest.header::<1>(LAYER).map_err(bad_length)?;
                    let length = usize::from(*length)
                        .checked_sub(2)
                        .ok_or(Fault::OptionLength.at(LAYER))?;
                    let (data, rest) = rest.split(LAYER, length).map_err(bad_length)?;
                    self.rest = rest;
                    return Ok(Some(TcpOption::new(*kind, data)));
                }
            }
        }
    }
}

impl<'a> Iterator for TcpOptions<'a> {
    type Item = Result<TcpOption<'a>, ParseError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let item = self.read().transpose();
        if !matches!(item, Some(Ok(_))) {
            self.rest = Captured::whole(&[]);
        }
        item
    }
}

/// The options that this crate knows, as a value. If a segment has an option twice, the last one counts, as on hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionSet {
    /// The maximum segment size that the sender accepts.
    pub mss: Option<u16>,
    /// The number of bits by which windows are shifted.
    pub window_scale: Option<u8>,
    /// Whether the sender accepts SACK blocks.
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks.
    pub sacks: SackList,
}

impl OptionSet {
    /// Reads all options. Unknown options are skipped.
    ///
    /// # Errors
    /// [`ParseError`] if the options were cut off, or an option's length is not valid.
    #[inline]
    pub fn read(options: TcpOptions<'_>) -> Result<Self, ParseError> {
        let mut set = Self::default();
        for option in options {
            match option? {
                TcpOption::Mss(mss) => set.mss = Some(mss),
                TcpOption::WindowScale(shift) => set.window_scale = Some(shift),
                TcpOption::SackPermitted => set.sack_permitted = true,
                TcpOption::Sack(blocks) => set.sacks = blocks,
                TcpOption::Timestamps(timestamps) => set.timestamps = Some(timestamps),
                TcpOption::Unknown { .. } => {}
            }
        }
        Ok(set)
    }

    /// The length of the options in the header with padding, in bytes.
    ///
    /// # Errors
    /// [`EmitError`] if they take more than the 40 bytes that a header has room for.
    pub fn bytes(&self) -> Result<usize, EmitError> {
        Ok(self.written()?.bytes().len())
    }

    /// The bytes of the options: aligned if they fit so.
    pub(crate) fn written(&self) -> Result<Writer, EmitError> {
        let mut written = Writer::write(self, true);
        if written.at > BYTES_MAX {
            written = Writer::write(self, false);
        }
        check_range("options", written.at, BYTES_MAX)?;
        // the header's length is a multiple of four, and receivers do not look at the padding at its end
        written.at = written.at.next_multiple_of(4);
        Ok(written)
    }
}

/// Writes options one after another. If they are aligned, each is padded to four bytes, as Linux does
/// (`tcp_options_write`), and SACK permitted takes the place of the timestamps' padding.
pub(crate) struct Writer {
    bytes: [u8; Self::ROOM],
    at: usize,
    aligned: bool,
}

impl Writer {
    /// All options together: the MSS, SACK permitted, timestamps, the window scale and four SACK blocks take
    /// 4 + 4 + 12 + 4 + 36 bytes.
    const ROOM: usize = 60;

    /// The bytes written so far.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.at]
    }

    fn write(set: &OptionSet, aligned: bool) -> Self {
        let mut writer = Self {
            bytes: [NOP; Self::ROOM],
            at: 0,
            aligned,
        };
        writer.put_all(set);
        writer
    }

    fn put_all(&mut self, set: &OptionSet) {
        if let Some(mss) = set.mss {
            self.option(MSS, &[&mss.to_be_bytes()]);
        }
        if set.sack_permitted {
            let place = if set.timestamps.is_some() { 0 } else { 2 };
            self.align(place);
            self.option(SACK_PERMITTED, &[]);
        }
        if let Some(Timestamps { val, ecr }) = set.timestamps {
            self.align(2);
            self.option(TIMESTAMPS, &[&val.to_be_bytes(), &ecr.to_be_bytes()]);
        }
        if let Some(shift) = set.window_scale {
            self.align(1);
            self.option(WINDOW_SCALE, &[&[shift]]);
        }
        let blocks = set.sacks.blocks();
        if !blocks.is_empty() {
            self.align(2);
            self.put(&[SACK, (2 + 8 * blocks.len()) as u8]);
            for block in blocks {
                self.put(&block.start.to_be_bytes());
                self.put(&block.end.to_be_bytes());
            }
        }
    }

    /// Pads until the position is `place` modulo 4, if options are aligned.
    fn align(&mut self, place: usize) {
        if self.aligned {
            while self.at % 4 != place {
                self.at += 1;
            }
        }
    }

    fn option(&mut self, kind: u8, data: &[&[u8]]) {
        let length: usize = data.iter().map(|part| part.len()).sum();
        self.put(&[kind, (2 + length) as u8]);
        for part in data {
            self.put(part);
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
}
