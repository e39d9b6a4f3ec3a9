//! The file of a capture that is being written, with a buffer that is appended to the file when it is full.
//!
//! The file is only open while it is appended to, so a network may have more ports than a process may have open files.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

use super::pcapng::{self, Interface, PacketBlock};

/// Maximum number of bytes that wait to be written, not counting the longest block.
const BUFFER_BYTES: usize = 64 * 1024;

/// A capture that is being written to a file.
#[derive(Debug)]
pub(crate) struct CaptureFile {
    path: PathBuf,
    buffer: Vec<u8>,
}

impl CaptureFile {
    /// A capture at these interfaces. The first write creates the file.
    pub(crate) fn new(path: PathBuf, interfaces: &[Interface], snap_bytes: u32) -> Self {
        let mut buffer = Vec::new();
        let application = concat!("fairport ", env!("CARGO_PKG_VERSION"));
        pcapng::section(&mut buffer, application);
        for interface in interfaces {
            pcapng::interface(&mut buffer, interface, snap_bytes);
        }
        Self { path, buffer }
    }

    /// Adds a packet.
    pub(crate) fn push(&mut self, packet: &PacketBlock<'_>) -> io::Result<()> {
        pcapng::packet(&mut self.buffer, packet);
        if self.buffer.len() < BUFFER_BYTES {
            return Ok(());
        }
        self.flush()
    }

    /// Writes the buffer to the file.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)?;
        file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}
