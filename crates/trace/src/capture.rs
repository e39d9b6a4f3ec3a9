//! A capture file that is read packet by packet.

use crate::blocks::{self, Blocks};
use crate::classic::{self, Classic};
use crate::damage::Damage;
use crate::error::Error;
use crate::input::Input;
use crate::packet::is_known_link;
use crate::record::{Interface, Record};

/// The first bytes of files of other packers, and their programs.
const PACKED: [(&[u8], &str); 3] = [
    (b"\xfd7zXZ\0", "xz"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"BZh", "bzip2"),
];

/// A capture that is being read: pcap or pcapng, uncompressed, gzip or zstd.
///
/// Its memory does not depend on the length of the capture.
pub struct Capture {
    name: String,
    input: Input,
    format: Format,
    interfaces: Vec<Interface>,
    damage: Damage,
    /// bytes of the record that was returned last
    behind: usize,
}

enum Format {
    Classic(Classic),
    Blocks(Blocks),
}

impl Capture {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// If the file cannot be opened, is a directory, is empty, or is not a capture.
    pub fn open(file: &str) -> Result<Self, Error> {
        let name = if file == "-" { "stdin" } else { file };
        Self::of(name, Input::open(file)?)
    }

    /// Opens a capture in memory.
    ///
    /// # Errors
    /// If the bytes are empty or not a capture.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, Error> {
        let input = Input::new(Box::new(std::io::Cursor::new(bytes)));
        Self::of(
            name,
            input.map_err(|error| crate::input::io_error(name, error))?,
        )
    }

    fn of(name: &str, mut input: Input) -> Result<Self, Error> {
        let mut interfaces = Vec::new();
        input.has(classic::FILE_HEADER);
        let head = input.bytes();
        let is_section = head.len() >= 12 && head[..4] == blocks::SECTION.to_le_bytes();
        let format = if is_section {
            Format::Blocks(Blocks::default())
        } else if let Some((format, link_type)) =
            head.get(..classic::FILE_HEADER).and_then(Classic::begin)
        {
            input.consume(classic::FILE_HEADER);
            interfaces.push(Interface {
                link_type,
                ..Interface::default()
            });
            Format::Classic(format)
        } else {
            return Err(not_a_capture(name, &input));
        };
        Ok(Self {
            name: name.to_owned(),
            input,
            format,
            interfaces,
            damage: Damage::default(),
            behind: 0,
        })
    }

    /// The name of the capture, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The interfaces announced so far. Those of later sections come after those of earlier ones.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// The damage found so far.
    pub fn damage(&self) -> &Damage {
        &self.damage
    }

    /// Number of bytes read so far, after unpacking.
    pub fn position(&self) -> u64 {
        self.input.position() + self.behind as u64
    }

    /// Checks that packets of one of its links can be read.
    pub(crate) fn check_links(&self) -> Result<(), Error> {
        match self.interfaces.first() {
            Some(one) if !self.interfaces.iter().any(|it| is_known_link(it.link_type)) => {
                let number = one.link_type;
                Err(Error::new(
                    &self.name,
                    format!("was captured on a link of type {number}, which cannot be read"),
                    "capture on Ethernet, on Linux's `any`, or raw IP",
                ))
            }
            _ => Ok(()),
        }
    }

    /// The next packet. None at the end. Damaged places are skipped and counted.
    #[inline]
    pub fn next_record(&mut self) -> Option<Record<'_>> {
        self.input.consume(std::mem::take(&mut self.behind));
        let located = match &mut self.format {
            Format::Classic(classic) => classic.next(&mut self.input, &mut self.damage)?,
            Format::Blocks(blocks) => {
                blocks.next(&mut self.input, &mut self.interfaces, &mut self.damage)?
            }
        };
        self.behind = located.next;
        let bytes = self.input.bytes();
        Some(Record {
            time_ns: located.time_ns,
            interface: located.interface,
            link_type: self.interfaces[located.interface as usize].link_type,
            bytes: &bytes[located.start..located.end],
            length: located.length,
            direction: located.direction,
            comment: &bytes[located.comment],
        })
    }
}

fn not_a_capture(name: &str, input: &Input) -> Error {
    if let Some(problem) = input.broke_off() {
        let remedy = "unpack it by hand to see how far it goes";
        return Error::new(name, format!("cannot be unpacked: {problem}"), remedy);
    }
    if input.bytes().is_empty() {
        let remedy = "capture again: tcpdump -i PORT -s 128 -w FILE";
        return Error::new(name, "is empty", remedy);
    }
    let packed = PACKED
        .iter()
        .find(|(magic, ..)| input.bytes().starts_with(magic));
    if let Some((_, program)) = packed {
        let remedy = format!("unpack it on the way: {program} -dc {name} | fairport analyze -");
        return Error::new(name, format!("is packed with {program}"), remedy);
    }
    let remedy =
        "give pcap or pcapng files, plain, gzip or zstd, as tcpdump and Wireshark write them";
    Error::new(name, "is not a packet capture", remedy)
}
