//! Unpacks a stream in a separate thread, several chunks ahead of its reader, because unpacking takes longer than
//! analysing the result.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Bytes that are handed over together.
const CHUNK: usize = 1 << 18;
/// Maximum number of chunks that are ready.
const READY: usize = 4;

/// Reads a stream in a thread. The thread ends at the end of the stream, or when this is dropped.
pub(crate) struct Ahead {
    chunks: Receiver<io::Result<Vec<u8>>>,
    /// chunks to be reused
    spare: Sender<Vec<u8>>,
    present: Vec<u8>,
    /// bytes of the present chunk that were already returned
    taken: usize,
}

impl Ahead {
    /// Starts to read.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(crate) fn of(source: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, chunks) = sync_channel(READY);
        let (spare, spares) = channel();
        thread::Builder::new()
            .name("unpack".to_owned())
            .spawn(move || fill(source, &sender, &spares))?;
        Ok(Self {
            chunks,
            spare,
            present: Vec::new(),
            taken: 0,
        })
    }
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.present.len() {
            let Ok(chunk) = self.chunks.recv() else {
                return Ok(0); // the thread has reached the end of the stream
            };
            let old = std::mem::replace(&mut self.present, chunk?);
            self.taken = 0;
            // if the thread is gone, the chunk is not needed
            self.spare.send(old).ok();
        }
        let count = buffer.len().min(self.present.len() - self.taken);
        buffer[..count].copy_from_slice(&self.present[self.taken..][..count]);
        self.taken += count;
        Ok(count)
    }
}

/// Sends the data of the source until its end, its first error, or until nobody receives it.
fn fill(
    mut source: impl Read,
    sender: &SyncSender<io::Result<Vec<u8>>>,
    spares: &Receiver<Vec<u8>>,
) {
    loop {
        let mut chunk = spares.try_recv().unwrap_or_default();
        chunk.clear();
        let done = source.by_ref().take(CHUNK as u64).read_to_end(&mut chunk);
        let is_over = chunk.len() < CHUNK;
        if !chunk.is_empty() && sender.send(Ok(chunk)).is_err() {
            return;
        }
        if let Err(error) = done {
            sender.send(Err(error)).ok();
            return;
        }
        if is_over {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that fails after its bytes.
    struct Broken(io::Cursor<Vec<u8>>);

    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("damaged")),
                count => Ok(count),
            }
        }
    }

    #[test]
    fn it_gives_the_same_bytes_and_then_the_error() {
        let bytes: Vec<u8> = (0..5 * CHUNK + 7)
            .map(|place| (place % 251) as u8)
            .collect();
        let mut whole = Vec::new();
        let mut ahead = Ahead::of(io::Cursor::new(bytes.clone())).unwrap();
        ahead.read_to_end(&mut whole).unwrap();
        assert!(whole == bytes);

        let mut ahead = Ahead::of(Broken(io::Cursor::new(bytes.clone()))).unwrap();
        let mut part = Vec::new();
        let error = ahead.read_to_end(&mut part).unwrap_err();
        assert_eq!(error.to_string(), "damaged");
        assert!(part == bytes);
    }
}
