//! What a capture file holds, whatever its format: interfaces, and packets as they were captured.

use std::ops::Range;

/// Which way a packet passed the interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// the capture does not say
    #[default]
    Unknown,
    /// it came in
    In,
    /// it went out
    Out,
}

/// Where packets were captured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// its name, empty if the capture has none
    pub name: String,
    /// its description
    pub description: String,
    /// what its packets begin with, by the registry of tcpdump
    pub link_type: u16,
}

impl Interface {
    /// Which way the packets of an interface pass whose description says so: one that begins with
    /// "ingress" or "in", or "egress" or "out".
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

/// A packet as it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// when, in ns of the capture's clock, usually since 1970
    pub time_ns: u64,
    /// number of the interface in the file
    pub interface: u32,
    /// what it begins with, by the registry of tcpdump
    pub link_type: u16,
    /// its first bytes
    pub bytes: &'a [u8],
    /// bytes on the wire
    pub length: u32,
    /// which way it passed
    pub direction: Direction,
    /// what somebody wrote about it
    pub comment: &'a [u8],
}

/// A record's parts, as places in the bytes that come next.
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
