//! The blocks of a pcapng file (draft-ietf-opsawg-pcapng): section header, interface description, enhanced packet. All
//! numbers are little-endian, and times are in ns.
//!
//! This is own code because it needs only three kinds of blocks. The crate pcap-file, with which the tests read them,
//! allocates for each block.

use crate::record::Direction;

/// The first block of every section.
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Means that the length of the section is not given.
const UNKNOWN_LENGTH: u64 = u64::MAX;
const LINK_TYPE_ETHERNET: u16 = 1;

/// Code of the option that ends a list, in all blocks.
const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
/// Option codes of a section header.
const USER_APPLICATION: u16 = 4;
/// Option codes of an interface description.
const NAME: u16 = 2;
const DESCRIPTION: u16 = 3;
const SPEED: u16 = 8;
const TIME_RESOLUTION: u16 = 9;
/// Option codes of an enhanced packet.
const FLAGS: u16 = 2;

/// Time resolution of 10^-9 s.
const NANOSECONDS: u8 = 9;

/// A port at which packets are seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name of the port.
    pub name: String,
    /// Description of what is seen there.
    pub description: String,
    /// Rate of its link, in bit/s.
    pub speed_bps: u64,
}

/// A packet in the file.
#[derive(Clone, Copy, Debug)]
pub struct PacketBlock<'a> {
    /// Number of the interface in the section.
    pub interface: u32,
    /// When it was seen, in ns since the beginning of the run.
    pub time_ns: u64,
    /// The first bytes of the frame, without preamble and checksum.
    pub bytes: &'a [u8],
    /// Length of the whole frame.
    pub wire_bytes: u32,
    /// The direction in which it passes.
    pub direction: Direction,
    /// A comment about it.
    pub comment: Option<&'a str>,
}

/// Appends a section header. `application` is the name of the writing program.
pub fn section(out: &mut Vec<u8>, application: &str) {
    block(out, SECTION_HEADER, |out| {
        out.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        out.extend(1_u16.to_le_bytes());
        out.extend(0_u16.to_le_bytes());
        out.extend(UNKNOWN_LENGTH.to_le_bytes());
        option(out, USER_APPLICATION, application.as_bytes());
        option(out, END_OF_OPTIONS, &[]);
    });
}

/// Appends the description of the section's next interface. At most `snap_bytes` of each frame are kept.
pub fn interface(out: &mut Vec<u8>, interface: &Interface, snap_bytes: u32) {
    block(out, INTERFACE_DESCRIPTION, |out| {
        out.extend(LINK_TYPE_ETHERNET.to_le_bytes());
        out.extend(0_u16.to_le_bytes());
        out.extend(snap_bytes.to_le_bytes());
        option(out, NAME, interface.name.as_bytes());
        option(out, DESCRIPTION, interface.description.as_bytes());
        option(out, SPEED, &interface.speed_bps.to_le_bytes());
        option(out, TIME_RESOLUTION, &[NANOSECONDS]);
        option(out, END_OF_OPTIONS, &[]);
    });
}

/// Appends a packet.
pub fn packet(out: &mut Vec<u8>, packet: &PacketBlock<'_>) {
    let direction: u32 = match packet.direction {
        Direction::Unknown => 0,
        Direction::In => 1,
        Direction::Out => 2,
    };
    block(out, ENHANCED_PACKET, |out| {
        out.extend(packet.interface.to_le_bytes());
        out.extend(((packet.time_ns >> 32) as u32).to_le_bytes());
        out.extend((packet.time_ns as u32).to_le_bytes());
        out.extend((packet.bytes.len() as u32).to_le_bytes());
        out.extend(packet.wire_bytes.to_le_bytes());
        out.extend(packet.bytes);
        pad(out, packet.bytes.len());
        if let Some(comment) = packet.comment {
            option(out, COMMENT, comment.as_bytes());
        }
        option(out, FLAGS, &direction.to_le_bytes());
        option(out, END_OF_OPTIONS, &[]);
    });
}

/// Appends a block. Its length is written before and after its body.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let length = (out.len() - start + 4) as u32;
    out[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    out.extend(length.to_le_bytes());
}

/// Appends an option. A value that is too long for its length field is cut.
fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend(value);
    pad(out, value.len());
}

/// Appends zeros up to a multiple of four bytes.
fn pad(out: &mut Vec<u8>, length: usize) {
    out.extend(&[0; 3][..length.wrapping_neg() % 4]);
}
