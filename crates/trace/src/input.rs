//! The bytes of a capture: from a file or standard input, unpacked if they are gzip or zstd, through
//! one buffer of bounded size.
//!
//! A stream that breaks off (a file cut short, a damaged archive) ends there, and says why in
//! [`Input::broke_off`]: what came before it is good.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::ahead::Ahead;
use crate::error::Error;

/// Bytes that are asked of the system at once: few enough to be in the cache when they are read.
const CHUNK: usize = 1 << 17;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A stream of bytes with a window on what comes next.
pub(crate) struct Input {
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// bytes consumed
    position: u64,
    is_over: bool,
    /// why it ended before its end
    broke_off: Option<String>,
}

impl Input {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// If it cannot be opened, or is a directory.
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

    /// Of these bytes, unpacked if they are packed.
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

    /// What comes next, as far as it has been read.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Reads until `wanted` bytes are there; false: the stream ends before.
    #[inline]
    pub(crate) fn has(&mut self, wanted: usize) -> bool {
        self.end - self.start >= wanted || self.fill(wanted)
    }

    #[cold]
    fn fill(&mut self, wanted: usize) -> bool {
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

    /// Goes on behind the next `count` bytes.
    #[inline]
    pub(crate) fn consume(&mut self, count: usize) {
        assert!(count <= self.end - self.start, "only what is there");
        self.start += count;
        self.position += count as u64;
    }

    /// Bytes consumed, after unpacking.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Why the stream ended before its end, if it did.
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
