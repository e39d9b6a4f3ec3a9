//! The bytes of a capture from a file or standard input, unpacked if they are gzip or zstd, through one buffer of
//! limited size.
//!
//! A stream that breaks off (a truncated file, a damaged archive) ends there, and [`Input::broke_off`] gives the
//! reason. The data before that point is valid.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::ahead::Ahead;
use crate::error::Error;

/// Number of bytes that are read from the system together; few enough to stay in the cache.
const CHUNK: usize = 1 << 17;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A stream of bytes, with a window on the next bytes.
pub(crate) struct Input {
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// number of bytes consumed
    position: u64,
    is_over: bool,
    /// why the stream broke off, if it did
    broke_off: Option<String>,
}

impl Input {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// If the file cannot be opened, or is a directory.
    pub(crate) fn open(file: &str) -> Result<Self, Error> {
        if file == "-" {
            return Self::new(Box::new(io::stdin())).map_err(|source| io_error("stdin", source));
        }
        if Path::new(file).is_dir() {
            let remedy = "name the captures in it, such as DIR/*.pcapng";
            return Err(Error::new(file, "is a directory", remedy));
        }
        let opened = File::open(file).and_then(|opened| Self::new(Box::new(opened)));
        opened.map_err(|source| io_error(file, source))
    }

    /// Reads these bytes, and unpacks them if they are packed.
    pub(crate) fn new(mut source: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut head = Vec::new();
        source.by_ref().take(4).read_to_end(&mut head)?;
        let is_gzip = head.starts_with(&GZIP);
        let is_zstd = head.starts_with(&ZSTD);
        let whole = io::Cursor::new(head).chain(source);
        let source: Box<dyn Read + Send> = if is_gzip {
            Box::new(Ahead::of(MultiGzDecoder::new(whole))?)
        } else if is_zstd {
            Box::new(Ahead::of(zstd::Decoder::new(whole)?)?)
        } else {
            Box::new(whole)
        };
        Ok(Self {
            source,
            buffer: vec![0; 2 * CHUNK],
            start: 0,
            end: 0,
            position: 0,
            is_over: false,
            broke_off: None,
        })
    }

    /// The next bytes, as far as they have been read.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Reads until `wanted` bytes are available. False if the stream ends before.
    #[inline]
    pub(crate) fn has(&mut self, wanted: usize) -> bool {
        self.end - self.start >= wanted || self.fill(wanted)
    }

    #[cold]
    fn fill(&mut self, wanted: usize) -> bool {
        if self.is_over {
            // what is left need not be moved: after damage this is asked again at every byte
            return false;
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.buffer.len() < wanted + CHUNK {
            self.buffer.resize(wanted + CHUNK, 0);
        }
        while self.end < wanted && !self.is_over {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.is_over = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_over = true;
                    self.broke_off = Some(error.to_string());
                }
            }
        }
        self.end >= wanted
    }

    /// Moves on by `count` bytes.
    #[inline]
    pub(crate) fn consume(&mut self, count: usize) {
        assert!(
            count <= self.end - self.start,
            "cannot consume more than was read"
        );
        self.start += count;
        self.position += count as u64;
    }

    /// Number of bytes consumed, after unpacking.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Why the stream broke off, if it did.
    pub(crate) fn broke_off(&self) -> Option<&str> {
        self.broke_off.as_deref()
    }

    /// The same, once.
    pub(crate) fn take_broke_off(&mut self) -> Option<String> {
        self.broke_off.take()
    }
}

pub(crate) fn io_error(file: &str, source: io::Error) -> Error {
    Error::Io {
        file: file.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_at_the_end_is_not_moved_for_every_byte() {
        let mut input = Input::new(Box::new(io::Cursor::new([7; 100]))).unwrap();
        assert!(!input.has(101));
        for consumed in 1..=100 {
            input.consume(1);
            assert_eq!(input.bytes().len(), 100 - consumed);
            assert!(!input.has(101) && input.has(100 - consumed));
            assert_eq!(input.start, consumed);
        }
    }
}
