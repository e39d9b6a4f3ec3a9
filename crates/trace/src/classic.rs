//! The classic format of tcpdump (`.pcap`): a file header, and records that consist of 16 bytes and a packet.

use crate::damage::Damage;
use crate::input::Input;
use crate::record::Located;

pub(crate) const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// A length that exceeds any packet's: the largest snap length that programs write is 256 KiB.
const LONGEST: u32 = 1 << 20;
/// Length of an Ethernet header. Bytes that were overwritten with zeros look like empty records.
const SHORTEST: u32 = 14;
/// After damage, a record is accepted if it is within this many seconds of the one before.
const NEAR_S: u32 = 86_400;

/// The byte order and time unit of a file's records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Classic {
    is_big_endian: bool,
    /// ns per unit of the fraction in timestamps
    unit_ns: u64,
    /// seconds of the last two records; two, because the timestamp of the last one may itself be damaged
    last_s: [Option<u32>; 2],
}

/// The header of a record.
#[derive(Clone, Copy)]
struct Header {
    seconds: u32,
    fraction: u32,
    captured: u32,
    length: u32,
}

impl Classic {
    /// Reads a file header. Also returns the link type. None if the bytes are not a file header.
    pub(crate) fn begin(header: &[u8]) -> Option<(Self, u16)> {
        let magic = u32::from_le_bytes(header[..4].try_into().ok()?);
        let (is_big_endian, unit_ns) = match magic {
            0xa1b2_c3d4 => (false, 1000),
            0xa1b2_3c4d => (false, 1),
            0xd4c3_b2a1 => (true, 1000),
            0x4d3c_b2a1 => (true, 1),
            _ => return None,
        };
        let format = Self {
            is_big_endian,
            unit_ns,
            last_s: [None; 2],
        };
        // the upper half says whether frames include their check sequence
        let link_type = format.word(header[20..24].try_into().ok()?) as u16;
        Some((format, link_type))
    }

    #[inline]
    fn word(self, word: [u8; 4]) -> u32 {
        if self.is_big_endian {
            u32::from_be_bytes(word)
        } else {
            u32::from_le_bytes(word)
        }
    }

    /// The header at the beginning of the bytes. None if there are too few.
    #[inline]
    fn header(self, bytes: &[u8]) -> Option<Header> {
        let (words, _) = bytes.first_chunk::<RECORD_HEADER>()?.as_chunks::<4>();
        let [seconds, fraction, captured, length] = *words else {
            return None;
        };
        Some(Header {
            seconds: self.word(seconds),
            fraction: self.word(fraction),
            captured: self.word(captured),
            length: self.word(length),
        })
    }

    #[inline]
    fn is_possible(self, header: Header) -> bool {
        let has_bytes = (1..=LONGEST).contains(&header.length) && header.captured <= LONGEST;
        has_bytes && u64::from(header.fraction) * self.unit_ns < 1_000_000_000
    }

    /// The next record. None at the end of the file.
    #[inline]
    pub(crate) fn next(&mut self, input: &mut Input, damage: &mut Damage) -> Option<Located> {
        loop {
            input.has(RECORD_HEADER);
            let Some(header) = self.header(input.bytes()) else {
                lose_rest(input, damage);
                return None;
            };
            if !self.is_possible(header) {
                if !self.skip_damage(input, damage) {
                    return None;
                }
                continue;
            }
            let captured = header.captured as usize;
            let behind = RECORD_HEADER + captured;
            input.has(behind + RECORD_HEADER);
            let following = input.bytes().get(behind..);
            let is_followed = following.is_some_and(|bytes| {
                let next = self.header(bytes);
                next.is_none_or(|next| self.is_possible(next))
            });
            if !is_followed && self.hides_records(input.bytes(), behind) {
                if !self.skip_damage(input, damage) {
                    return None;
                }
                continue;
            }
            if input.bytes().len() < behind {
                lose_rest(input, damage);
                return None;
            }
            if header.captured >= SHORTEST {
                self.last_s = [self.last_s[1], Some(header.seconds)];
            }
            let nanoseconds = u64::from(header.fraction) * self.unit_ns;
            return Some(Located {
                time_ns: u64::from(header.seconds) * 1_000_000_000 + nanoseconds,
                interface: 0,
                start: RECORD_HEADER,
                end: RECORD_HEADER + captured,
                length: header.length.max(header.captured),
                next: RECORD_HEADER + captured,
                ..Located::default()
            });
        }
    }

    /// Skips to the next place where two records follow each other. False if there is none.
    #[cold]
    fn skip_damage(&self, input: &mut Input, damage: &mut Damage) -> bool {
        let at = input.position();
        let mut skipped = 0;
        while input.has(RECORD_HEADER + 1) {
            input.consume(1);
            skipped += 1;
            if self.is_likely(input) {
                damage.add(at, skipped, 1, "a record that is not valid");
                return true;
            }
        }
        let rest = input.bytes().len();
        input.consume(rest);
        damage.add(at, skipped + rest as u64, 1, "a record that is not valid");
        false
    }

    /// Whether a record begins here and is followed by another one or the end of the file.
    fn is_likely(&self, input: &mut Input) -> bool {
        let header = self.header(input.bytes());
        let captured = header.map_or(0, |header| header.captured.min(LONGEST));
        input.has(2 * RECORD_HEADER + captured as usize);
        self.begins_at(input.bytes(), 0)
    }

    /// Whether other records begin within a record of this length. Then the length is damaged.
    #[cold]
    fn hides_records(&self, bytes: &[u8], length: usize) -> bool {
        (1..length.min(bytes.len())).any(|at| self.begins_at(bytes, at))
    }

    fn begins_at(&self, bytes: &[u8], at: usize) -> bool {
        let near = |at: usize| {
            let header = self.header(bytes.get(at..)?);
            header.filter(|header| self.is_near(*header))
        };
        near(at).is_some_and(|header| {
            let behind = at + RECORD_HEADER + header.captured as usize;
            behind == bytes.len() || near(behind).is_some()
        })
    }

    /// Whether the header is plausible for a record of this file.
    fn is_near(&self, header: Header) -> bool {
        let is_near = |last: &u32| header.seconds.abs_diff(*last) < NEAR_S;
        let mut known = self.last_s.iter().flatten().peekable();
        self.is_possible(header)
            && header.captured >= SHORTEST
            && header.captured <= header.length
            && (known.peek().is_none() || known.any(is_near))
    }
}

/// Records that the file ends within a record.
#[cold]
pub(crate) fn lose_rest(input: &mut Input, damage: &mut Damage) {
    let rest = input.bytes().len();
    let at = input.position();
    input.consume(rest);
    // this is asked again when the end is read again, and is one damage
    if let Some(problem) = input.take_broke_off() {
        let problem = format!("it cannot be read further ({problem})");
        damage.add(at, rest as u64, u64::from(rest > 0), &problem);
    } else if rest > 0 {
        damage.add(at, rest as u64, 1, "the file ends within a packet");
    }
}
