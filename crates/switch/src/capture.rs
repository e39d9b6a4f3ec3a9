//! Captures of the packets at chosen ports, which a separate thread writes.
//!
//! The switch copies the first bytes of each frame into a chunk of memory and hands full chunks over; it never waits.
//! The writer polls for chunks, because waking it would cost the switch a system call. If the writer is so slow that no
//! chunk is empty, the captures end there, and later packets are only counted.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fairport_net::PortId;
use fairport_net::discipline::Admission;
use fairport_tcp::Ecn;
use fairport_units::Instant;

use crate::frames::{FrameId, LONGEST_BYTES};

/// Size of a chunk in bytes: the headers of 300 frames.
const CHUNK_BYTES: usize = 1 << 16;
/// Maximum number of packets in a chunk.
const CHUNK_PACKETS: usize = 1024;
/// Total number of chunks: a third of a second of two ports at 1 Gbit/s.
const CHUNKS: usize = 256;
/// How often the writer polls for chunks.
const LOOK: Duration = Duration::from_millis(2);
/// Bytes kept of each frame: Ethernet with two tags, IP with options or IPv6 with some extension headers, and TCP with
/// options.
const HEADER_BYTES: usize = 192;

/// What happens to a packet at a captured port.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The packet arrives.
    Arrived {
        /// The port of the same node through which it came.
        ingress: PortId,
        /// What happens to it. None: it is accepted, but may be dropped later.
        fate: Option<Admission>,
    },
    /// The last bit of the packet leaves.
    Departed,
    /// The fate of an earlier arrival is known. There are no bytes.
    Settled {
        /// The number of the arrival at the port, from 1.
        port_arrival: u64,
        /// What happened to it.
        fate: Admission,
    },
}

/// A packet at a captured port.
#[derive(Clone, Copy, Debug)]
pub struct CapturedPacket<'a> {
    /// The output port.
    pub port: PortId,
    /// When it happened, from the start of the run.
    pub at: Instant,
    /// What happens to the packet.
    pub event: Event,
    /// The ECN codepoint at this port. The codepoint in the frame may be older.
    pub ecn: Ecn,
    /// The first bytes of the frame: all headers, and more if more was requested.
    pub bytes: &'a [u8],
    /// Length of the whole frame.
    pub wire_bytes: u32,
}

/// Writes captures. It runs in a thread of its own.
pub trait Writer: Send + 'static {
    /// Writes the next packet. Packets of one port and one kind are in order of time.
    ///
    /// # Errors
    /// If it cannot be written. No further packets follow.
    fn write(&mut self, packet: &CapturedPacket<'_>) -> io::Result<()>;

    /// The run is over: completes the captures.
    ///
    /// # Errors
    /// If something cannot be written.
    fn finish(&mut self) -> io::Result<()>;
}

/// A packet that was seen at a captured port and whose frame still exists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) port: PortId,
    pub(crate) at: Instant,
    pub(crate) event: Event,
    pub(crate) ecn: Ecn,
    pub(crate) frame: FrameId,
}

/// A packet in a chunk.
#[derive(Clone, Copy, Debug)]
struct Kept {
    seen: Seen,
    from: u32,
    bytes: u16,
    wire_bytes: u16,
}

/// Packets on their way to the writer.
#[derive(Debug)]
struct Chunk {
    kept: Vec<Kept>,
    bytes: Vec<u8>,
}

impl Chunk {
    /// An empty chunk. Its memory was written to, so that the switch causes no page faults when it fills it.
    fn new() -> Self {
        let mut bytes = vec![1; CHUNK_BYTES];
        bytes.clear();
        Self {
            kept: Vec::with_capacity(CHUNK_PACKETS),
            bytes,
        }
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.kept.len() < CHUNK_PACKETS && self.bytes.len() + bytes <= CHUNK_BYTES
    }

    fn packets(&self) -> impl Iterator<Item = CapturedPacket<'_>> {
        self.kept.iter().map(|one| CapturedPacket {
            port: one.seen.port,
            at: one.seen.at,
            event: one.seen.event,
            ecn: one.seen.ecn,
            bytes: &self.bytes[one.from as usize..][..usize::from(one.bytes)],
            wire_bytes: one.wire_bytes.into(),
        })
    }
}

/// The switch's side of the connection to the writer.
pub(crate) struct Capturing {
    present: Chunk,
    full: SyncSender<Chunk>,
    empty: Receiver<Chunk>,
    /// at least this many bytes of each frame are kept
    kept_bytes: usize,
    lost: u64,
    thread: JoinHandle<io::Result<()>>,
}

impl Capturing {
    /// Starts the writer. The headers of each frame are kept, and at least its first `snap_bytes`.
    pub(crate) fn start(writer: impl Writer, snap_bytes: usize) -> io::Result<Self> {
        let (full, chunks) = sync_channel(CHUNKS);
        let (spare, empty) = sync_channel(CHUNKS);
        for _ in 1..CHUNKS {
            spare
                .try_send(Chunk::new())
                .map_err(|_| io::ErrorKind::OutOfMemory)?;
        }
        let thread = thread::Builder::new()
            .name("captures".to_owned())
            .spawn(move || write(writer, &chunks, &spare))?;
        Ok(Self {
            present: Chunk::new(),
            full,
            empty,
            kept_bytes: snap_bytes.clamp(HEADER_BYTES, LONGEST_BYTES),
            lost: 0,
            thread,
        })
    }

    /// Keeps a packet, with the first bytes of its frame.
    pub(crate) fn push(&mut self, seen: Seen, frame: &[u8]) {
        let bytes = match seen.event {
            Event::Settled { .. } => &[],
            _ => &frame[..frame.len().min(self.kept_bytes)],
        };
        if self.lost > 0 || !(self.present.has_room(bytes.len()) || self.hand_over()) {
            self.lost += 1;
            return;
        }
        self.present.kept.push(Kept {
            seen,
            from: self.present.bytes.len() as u32,
            bytes: bytes.len() as u16,
            wire_bytes: frame.len() as u16,
        });
        self.present.bytes.extend_from_slice(bytes);
    }

    /// Hands the present chunk to the writer. Returns false if there is no empty chunk or the writer has failed.
    fn hand_over(&mut self) -> bool {
        let Ok(empty) = self.empty.try_recv() else {
            return false;
        };
        let full = std::mem::replace(&mut self.present, empty);
        self.full.try_send(full).is_ok()
    }

    /// Waits until everything is written. Returns the number of packets that were not kept.
    ///
    /// # Errors
    /// If the writer failed.
    pub(crate) fn finish(self) -> io::Result<u64> {
        let Self {
            present,
            full,
            thread,
            lost,
            ..
        } = self;
        // a writer that has failed does not receive it
        let _ = full.send(present);
        drop(full);
        match thread.join() {
            Ok(done) => done.map(|()| lost),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Writes chunks until the sender is gone.
fn write(
    mut writer: impl Writer,
    chunks: &Receiver<Chunk>,
    spare: &SyncSender<Chunk>,
) -> io::Result<()> {
    loop {
        match chunks.try_recv() {
            Ok(mut chunk) => {
                chunk
                    .packets()
                    .try_for_each(|packet| writer.write(&packet))?;
                chunk.kept.clear();
                chunk.bytes.clear();
                // at the end of the run nobody receives it
                let _ = spare.try_send(chunk);
            }
            Err(TryRecvError::Empty) => thread::sleep(LOOK),
            Err(TryRecvError::Disconnected) => return writer.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::frames::Frames;

    /// Counts the packets that it is given, and checks their order.
    struct Counting {
        seen: Arc<Mutex<Vec<(u64, usize)>>>,
        /// starts when this is unlocked
        gate: Arc<Mutex<()>>,
        fails: bool,
    }

    impl Writer for Counting {
        fn write(&mut self, packet: &CapturedPacket<'_>) -> io::Result<()> {
            drop(self.gate.lock());
            if self.fails {
                return Err(io::Error::other("disk full"));
            }
            assert!(
                packet
                    .bytes
                    .iter()
                    .all(|byte| *byte == packet.at.as_ps() as u8)
            );
            let seen = (packet.at.as_ps(), packet.bytes.len());
            self.seen.lock().unwrap().push(seen);
            Ok(())
        }

        fn finish(&mut self) -> io::Result<()> {
            self.seen.lock().unwrap().push((u64::MAX, 0));
            Ok(())
        }
    }

    fn seen(number: u64, frame: FrameId) -> Seen {
        Seen {
            port: PortId(0),
            at: Instant::from_ps(number),
            event: Event::Departed,
            ecn: Ecn::NotEct,
            frame,
        }
    }

    fn pushed(packets: u64, is_late: bool, fails: bool) -> (io::Result<u64>, Vec<(u64, usize)>) {
        let (got, gate) = (Arc::default(), Arc::new(Mutex::new(())));
        let writer = Counting {
            seen: Arc::clone(&got),
            gate: Arc::clone(&gate),
            fails,
        };
        let mut frames = Frames::with_capacity(1);
        let frame = frames.put(&[0; 1514], Instant::ZERO).unwrap();
        let mut capturing = Capturing::start(writer, 0).unwrap();
        let shut = is_late.then(|| gate.lock().unwrap());
        for number in 0..packets {
            let bytes = [number as u8; 1514];
            capturing.push(seen(number, frame), &bytes);
        }
        drop(shut);
        let lost = capturing.finish();
        let got = got.lock().unwrap().clone();
        (lost, got)
    }

    #[test]
    fn everything_is_written_in_order_with_its_headers() {
        let (lost, got) = pushed(5000, false, false);
        assert_eq!(lost.unwrap(), 0);
        let expected = (0..5000).map(|number| (number, HEADER_BYTES));
        assert!(got.iter().copied().eq(expected.chain([(u64::MAX, 0)])));
    }

    #[test]
    fn what_finds_no_room_is_counted_and_nothing_follows_it() {
        let room = (CHUNKS * (CHUNK_BYTES / HEADER_BYTES)) as u64;
        let (lost, got) = pushed(room + 1000, true, false);
        // the writer may have taken a chunk, but does not return any
        assert_eq!(lost.unwrap(), 1000);
        assert_eq!(got.len() as u64, room + 1);
        assert!(got.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn a_writer_that_fails_says_so_at_the_end() {
        let (lost, _) = pushed(100_000, false, true);
        assert_eq!(lost.unwrap_err().to_string(), "disk full");
    }
}
