//! The pcapng format of Wireshark (`.pcapng`, draft-ietf-opsawg-pcapng): blocks in sections, with several interfaces.

use crate::classic::lose_rest;
use crate::damage::Damage;
use crate::input::Input;
use crate::record::{Direction, Interface, Located};

pub(crate) const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
/// The largest type of a block other than a section header. After damage, larger types are not accepted.
const TYPE_MAX: u32 = 0x20;
/// A length in bytes that exceeds any block's, and any packet's.
const LONGEST: u32 = 1 << 24;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const COMMENT: u16 = 1;

/// How an interface counts time.
#[derive(Clone, Copy, Debug)]
struct Timebase {
    units_per_s: u64,
    offset_s: i64,
}

impl Timebase {
    #[inline]
    fn ns(self, units: u64) -> u64 {
        const NS: u64 = 1_000_000_000;
        let ns = match self.units_per_s {
            NS => units,
            1_000_000 => units.wrapping_mul(1000),
            per_s => (u128::from(units) * u128::from(NS) / u128::from(per_s)) as u64,
        };
        ns.wrapping_add_signed(self.offset_s.wrapping_mul(NS.cast_signed()))
    }
}

/// The byte order of a file's blocks, and the interfaces read so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    is_big_endian: bool,
    timebases: Vec<Timebase>,
    /// number of the present section's first interface
    first: usize,
    last_ns: u64,
}

impl Blocks {
    #[inline]
    fn word(&self, bytes: &[u8], at: usize) -> u32 {
        let word = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if self.is_big_endian {
            u32::from_be_bytes(word)
        } else {
            u32::from_le_bytes(word)
        }
    }

    #[inline]
    fn half(&self, bytes: &[u8], at: usize) -> u16 {
        let half = [bytes[at], bytes[at + 1]];
        if self.is_big_endian {
            u16::from_be_bytes(half)
        } else {
            u16::from_le_bytes(half)
        }
    }

    fn long(&self, bytes: &[u8]) -> Option<u64> {
        let bytes: [u8; 8] = bytes.try_into().ok()?;
        Some(if self.is_big_endian {
            u64::from_be_bytes(bytes)
        } else {
            u64::from_le_bytes(bytes)
        })
    }

    /// The next packet. None at the end of the file. Interfaces that are announced before it are added.
    #[inline]
    pub(crate) fn next(
        &mut self,
        input: &mut Input,
        interfaces: &mut Vec<Interface>,
        damage: &mut Damage,
    ) -> Option<Located> {
        loop {
            let (kind, bytes) = self.block(input, damage)?;
            let block = &input.bytes()[..bytes];
            let located = match kind {
                ENHANCED_PACKET => self.packet(block, false),
                OBSOLETE_PACKET => self.packet(block, true),
                SIMPLE_PACKET => self.simple(block),
                other => {
                    match other {
                        INTERFACE => self.interface(block, interfaces),
                        STATISTICS => self.statistics(block, interfaces),
                        SECTION => self.first = self.timebases.len(),
                        _ => {}
                    }
                    input.consume(bytes);
                    continue;
                }
            };
            if let Some(located) = located {
                self.last_ns = located.time_ns;
                return Some(located);
            }
            damage.add(
                input.position(),
                bytes as u64,
                1,
                "a packet that is not valid",
            );
            input.consume(bytes);
        }
    }

    /// Type and length of the next block, which is completely available.
    #[inline]
    fn block(&mut self, input: &mut Input, damage: &mut Damage) -> Option<(u32, usize)> {
        loop {
            if !input.has(12) {
                lose_rest(input, damage);
                return None;
            }
            if self.word(input.bytes(), 0) == SECTION {
                self.set_byte_order(input.bytes());
            }
            let kind = self.word(input.bytes(), 0);
            let bytes = self.word(input.bytes(), 4);
            if is_length(bytes) {
                let length = bytes as usize;
                if !input.has(length) && input.bytes().len() < length {
                    if self.first_likely(input.bytes()).is_none() {
                        lose_rest(input, damage);
                        return None;
                    }
                } else if self.word(input.bytes(), length - 4) == bytes {
                    return Some((kind, length));
                }
            }
            if !self.skip_damage(input, damage) {
                return None;
            }
        }
    }

    fn set_byte_order(&mut self, section: &[u8]) {
        let magic = [section[8], section[9], section[10], section[11]];
        if u32::from_le_bytes(magic) == BYTE_ORDER {
            self.is_big_endian = false;
        } else if u32::from_be_bytes(magic) == BYTE_ORDER {
            self.is_big_endian = true;
        }
    }

    #[cold]
    fn skip_damage(&self, input: &mut Input, damage: &mut Damage) -> bool {
        const PROBLEM: &str = "a block that is not valid";
        let at = input.position();
        let mut skipped = 0;
        loop {
            // read enough for a whole block to be found
            input.has(LONGEST as usize / 16);
            if let Some(place) = self.first_likely(input.bytes()) {
                input.consume(place);
                damage.add(at, skipped + place as u64, 1, PROBLEM);
                return true;
            }
            let rest = input.bytes().len();
            if rest <= LONGEST as usize / 32 {
                input.consume(rest);
                damage.add(at, skipped + rest as u64, 1, PROBLEM);
                return false;
            }
            input.consume(rest / 2);
            skipped += rest as u64 / 2;
        }
    }

    /// Where the next whole block begins after the first byte. It must have the same length at both ends, and another
    /// block or the end of the file must follow.
    fn first_likely(&self, bytes: &[u8]) -> Option<usize> {
        let begins_at = |at: usize| {
            let (kind, length) = (self.word(bytes, at), self.word(bytes, at + 4));
            let is_known = kind == SECTION || (1..TYPE_MAX).contains(&kind);
            (is_known && is_length(length) && length >= 16).then_some(at + length as usize)
        };
        (1..bytes.len().saturating_sub(12)).find(|&at| {
            begins_at(at).is_some_and(|end| {
                end <= bytes.len()
                    && self.word(bytes, end - 4) == self.word(bytes, at + 4)
                    && (end + 8 > bytes.len() || begins_at(end).is_some())
            })
        })
    }

    fn interface(&mut self, block: &[u8], interfaces: &mut Vec<Interface>) {
        let mut timebase = Timebase {
            units_per_s: 1_000_000,
            offset_s: 0,
        };
        let mut found = Interface {
            link_type: if block.len() >= 20 {
                self.half(block, 8)
            } else {
                u16::MAX
            },
            ..Interface::default()
        };
        let options = block.get(16..block.len() - 4).unwrap_or_default();
        self.options(options, |code, value| match (code, value) {
            (2, _) => found.name = text(value),
            (3, _) => found.description = text(value),
            (9, [power]) => timebase.units_per_s = units_per_s(*power),
            (14, _) => timebase.offset_s = self.long(value).unwrap_or_default().cast_signed(),
            _ => {}
        });
        self.timebases.push(timebase);
        interfaces.push(found);
    }

    /// Counts of an interface so far: what the interface and the system dropped before the file.
    fn statistics(&self, block: &[u8], interfaces: &mut [Interface]) {
        let number = self.first + self.word(block, 8) as usize;
        let (Some(interface), Some(options)) =
            (interfaces.get_mut(number), block.get(20..block.len() - 4))
        else {
            return;
        };
        interface.lost = 0;
        self.options(options, |code, value| {
            if let (5 | 7, Some(count)) = (code, self.long(value)) {
                interface.lost = interface.lost.saturating_add(count);
            }
        });
    }

    /// Calls `each` with the code and the value of each option.
    fn options<'a>(&self, mut options: &'a [u8], mut each: impl FnMut(u16, &'a [u8])) {
        while options.len() >= 4 {
            let code = self.half(options, 0);
            let length = usize::from(self.half(options, 2));
            let Some(value) = options.get(4..4 + length) else {
                return;
            };
            if code == 0 {
                return;
            }
            each(code, value);
            options = options
                .get(4 + length.next_multiple_of(4)..)
                .unwrap_or_default();
        }
    }

    #[inline]
    fn packet(&self, block: &[u8], is_obsolete: bool) -> Option<Located> {
        if block.len() < 32 {
            return None;
        }
        let number = if is_obsolete {
            u32::from(self.half(block, 8))
        } else {
            self.word(block, 8)
        };
        let interface = self.first + number as usize;
        let timebase = self.timebases.get(interface)?;
        let units = u64::from(self.word(block, 12)) << 32 | u64::from(self.word(block, 16));
        let captured = self.word(block, 20) as usize;
        let length = self.word(block, 24);
        let end = 28_usize.checked_add(captured)?;
        if end > block.len() - 4 || length > LONGEST {
            return None;
        }
        let mut located = Located {
            time_ns: timebase.ns(units),
            interface: interface as u32,
            start: 28,
            end,
            length: length.max(captured as u32),
            next: block.len(),
            ..Located::default()
        };
        let options = end.next_multiple_of(4);
        if block.len() - 4 > options {
            self.packet_options(block, options, &mut located);
        }
        Some(located)
    }

    fn packet_options(&self, block: &[u8], at: usize, located: &mut Located) {
        let base = block.as_ptr() as usize;
        self.options(&block[at..block.len() - 4], |code, value| {
            match (code, value) {
                (COMMENT, _) => {
                    let from = value.as_ptr() as usize - base;
                    located.comment = from..from + value.len();
                }
                (2, [_, _, _, _]) => {
                    located.direction = match self.word(value, 0) & 3 {
                        1 => Direction::In,
                        2 => Direction::Out,
                        _ => Direction::Unknown,
                    };
                }
                _ => {}
            }
        });
    }

    /// A packet without a timestamp. It gets the timestamp of the packet before.
    fn simple(&self, block: &[u8]) -> Option<Located> {
        if block.len() < 16 || self.timebases.len() <= self.first {
            return None;
        }
        let length = self.word(block, 8);
        (length <= LONGEST).then(|| Located {
            time_ns: self.last_ns,
            interface: self.first as u32,
            start: 12,
            end: 12 + (length as usize).min(block.len() - 16),
            length,
            next: block.len(),
            ..Located::default()
        })
    }
}

fn is_length(bytes: u32) -> bool {
    (12..=LONGEST).contains(&bytes) && bytes.is_multiple_of(4)
}

/// Units of an interface's time per second, according to its option `if_tsresol`.
fn units_per_s(power: u8) -> u64 {
    let exponent = u32::from(power & 0x7f);
    let base: u64 = if power & 0x80 == 0 { 10 } else { 2 };
    base.checked_pow(exponent).unwrap_or(1_000_000)
}

fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_end_matches('\0').to_owned()
}
