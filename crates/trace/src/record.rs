//! The contents of a capture file, whatever its format: interfaces, and captured packets.

use std::ops::Range;

/// The direction in which a packet passed the interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// not given by the capture
    #[default]
    Unknown,
    /// it came in
    In,
    /// it went out
    Out,
}

/// The place where packets were captured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// its name, empty if the capture has none
    pub name: String,
    /// its description
    pub description: String,
    /// link type of its packets, from the registry of tcpdump
    pub link_type: u16,
    /// packets that the capturing host lost here, by its own count
    pub lost: u64,
}

impl Interface {
    /// The direction of the interface's packets, if its description gives one: it must begin with "ingress" or "in", or
    /// with "egress" or "out".
    pub fn direction(&self) -> Direction {
        let word = self.description.split(|c: char| !c.is_ascii_alphabetic());
        match word
            .map(str::to_ascii_lowercase)
            .find(|word| !word.is_empty())
            .as_deref()
        {
            Some("ingress" | "in" | "inbound" | "received") => Direction::In,
            Some("egress" | "out" | "outbound" | "sent") => Direction::Out,
            _ => Direction::Unknown,
        }
    }
}

/// A captured packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// when it was captured, in ns of the capture's clock, usually since 1970
    pub time_ns: u64,
    /// number of the interface in the file
    pub interface: u32,
    /// link type, from the registry of tcpdump
    pub link_type: u16,
    /// the first bytes of the frame
    pub bytes: &'a [u8],
    /// length on the wire in bytes
    pub length: u32,
    /// the direction in which it passed
    pub direction: Direction,
    /// a comment about it
    pub comment: &'a [u8],
}

/// The parts of a record, as offsets into the next bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Located {
    pub(crate) time_ns: u64,
    pub(crate) interface: u32,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) length: u32,
    pub(crate) direction: Direction,
    pub(crate) comment: Range<usize>,
    /// where the next record begins
    pub(crate) next: usize,
}
