//! The captures of one output port: the packets that arrived for it, and the packets that left it.
//!
//! A first-in-first-out port decides about a packet at once. A port with a scheduler may drop a packet that it had
//! accepted, so arrivals are kept until they have left or were dropped. These are at most the packets that wait in the
//! port. Both files are in order of time, because a port's arrivals are and its departures are.

use std::collections::VecDeque;
use std::io;

use fairport_net::discipline::{Admission, Reason};
use fairport_units::Instant;

use super::file::CaptureFile;
use super::pcapng::{Direction, PacketBlock};

const PS_PER_NS: u64 = 1000;

/// A frame, as far as it is kept.
pub(crate) trait Kept {
    /// Length of the whole frame.
    fn wire_bytes(&self) -> u32;

    /// Calls `put` with the bytes for the file: the headers, and at least the first `snap_bytes`.
    fn with_bytes<T>(&self, snap_bytes: usize, put: impl FnOnce(&[u8]) -> T) -> T;
}

/// A frame that was seen at an interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<F> {
    pub(crate) interface: u32,
    pub(crate) time: Instant,
    pub(crate) frame: F,
}

/// An arrival whose fate is not known, or which waits behind such an arrival.
#[derive(Clone, Copy, Debug)]
struct Waiting<F> {
    seen: Seen<F>,
    /// none: not known yet
    fate: Option<Admission>,
}

/// The captures of a port.
#[derive(Debug)]
pub(crate) struct PortCapture<F> {
    pub(crate) ingress: CaptureFile,
    pub(crate) egress: CaptureFile,
    /// consecutive arrivals at the port
    waiting: VecDeque<Waiting<F>>,
    /// number of the first of these arrivals at the port, from 1
    first: u64,
    /// at least this many bytes of every frame are kept
    snap_bytes: usize,
}

impl<F: Kept> PortCapture<F> {
    pub(crate) fn new(ingress: CaptureFile, egress: CaptureFile, snap_bytes: usize) -> Self {
        Self {
            ingress,
            egress,
            waiting: VecDeque::new(),
            first: 1,
            snap_bytes,
        }
    }

    /// The port's next packet arrives. `fate` is none if it may still be dropped.
    pub(crate) fn arrived(&mut self, seen: Seen<F>, fate: Option<Admission>) -> io::Result<()> {
        if self.waiting.is_empty()
            && let Some(fate) = fate
        {
            self.first += 1;
            return self.write_arrival(&seen, Some(fate));
        }
        self.waiting.push_back(Waiting { seen, fate });
        Ok(())
    }

    /// The fate of the port's n-th arrival is known. Does nothing if it was known before.
    pub(crate) fn settled(&mut self, port_arrival: u64, fate: Admission) -> io::Result<()> {
        let place = port_arrival.checked_sub(self.first);
        let waiting = place.and_then(|place| self.waiting.get_mut(place as usize));
        if let Some(waiting) = waiting {
            waiting.fate = Some(fate);
        }
        while let Some(Waiting { fate: Some(_), .. }) = self.waiting.front() {
            self.write_first()?;
        }
        Ok(())
    }

    /// A packet's last bit leaves.
    pub(crate) fn departed(&mut self, seen: &Seen<F>) -> io::Result<()> {
        write(
            &mut self.egress,
            seen,
            Direction::Outbound,
            None,
            self.snap_bytes,
        )
    }

    /// The run is over: packets that still wait count as arrived.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            self.write_first()?;
        }
        self.ingress.flush()?;
        self.egress.flush()
    }

    fn write_first(&mut self) -> io::Result<()> {
        let Some(Waiting { seen, fate }) = self.waiting.pop_front() else {
            return Ok(());
        };
        self.first += 1;
        self.write_arrival(&seen, fate)
    }

    fn write_arrival(&mut self, seen: &Seen<F>, fate: Option<Admission>) -> io::Result<()> {
        let comment = match fate {
            Some(Admission::Dropped(reason)) => {
                Some(format!("dropped: {}", Reason::NAMES[reason as usize]))
            }
            _ => None,
        };
        write(
            &mut self.ingress,
            seen,
            Direction::Inbound,
            comment.as_deref(),
            self.snap_bytes,
        )
    }
}

/// Writes a frame.
fn write<F: Kept>(
    file: &mut CaptureFile,
    seen: &Seen<F>,
    direction: Direction,
    comment: Option<&str>,
    snap_bytes: usize,
) -> io::Result<()> {
    seen.frame.with_bytes(snap_bytes, |bytes| {
        file.push(&PacketBlock {
            interface: seen.interface,
            time_ns: (seen.time - Instant::ZERO).as_ps() / PS_PER_NS,
            bytes,
            wire_bytes: seen.frame.wire_bytes(),
            direction,
            comment,
        })
    })
}
