//! The captures of one output port: the packets that arrived for it, and the packets that left it.
//!
//! A first-in-first-out port decides about a packet at once. A port with a scheduler may drop a packet that it had
//! accepted, so arrivals are kept until they have left or were dropped. These are at most the packets that wait in the
//! port. Both files are in order of time, because a port's arrivals are and its departures are.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;

use fairport_net::discipline::{Admission, Reason};
use fairport_net::{PortId, Topology};
use fairport_units::Instant;

use super::file::CaptureFile;
use super::pcapng::{Interface, PacketBlock};
use crate::record::Direction;

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

/// A port whose packets are captured, and the files for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortFiles {
    /// The output port.
    pub port: PortId,
    /// File for the packets that arrive for it.
    pub ingress: PathBuf,
    /// File for the packets that leave it.
    pub egress: PathBuf,
}

/// By port: its captures, if its packets are captured.
pub(super) type Captures<F> = Vec<Option<Box<PortCapture<F>>>>;

/// The captures at these ports. `rates_bps` are the rates of the links by port. Each packet has at most `snap_bytes`
/// bytes in the files, or `header_bytes` if that is more.
pub(super) fn captures<F: Kept>(
    topology: &Topology,
    rates_bps: &[u64],
    ports: Vec<PortFiles>,
    snap_bytes: u32,
    header_bytes: u32,
) -> Captures<F> {
    let mut captures: Captures<F> = topology.ports().iter().map(|_| None).collect();
    for files in ports {
        let port = files.port.0 as usize;
        let most = snap_bytes.max(header_bytes);
        let made = capture(topology, rates_bps, files, snap_bytes, most);
        captures[port] = Some(Box::new(made));
    }
    captures
}

/// The captures of a port, with one interface per port of its node through which packets come in. A host's own packets
/// come in by the port itself. Each packet has at most `most` bytes in the files.
fn capture<F: Kept>(
    topology: &Topology,
    rates_bps: &[u64],
    files: PortFiles,
    snap_bytes: u32,
    most: u32,
) -> PortCapture<F> {
    let rate = |port: PortId| rates_bps[port.0 as usize];
    let name = topology.port_name(files.port);
    let here = topology.port(files.port);
    let ports = &topology.node(here.node).ports;
    let ingress: Vec<_> = ports
        .iter()
        .map(|port| {
            let (own, far) = (topology.port_name(*port), topology.far_node(*port));
            let from = &topology.node(far).name;
            let description = match *port == files.port {
                true if topology.node(here.node).is_host => format!("sent by {own}"),
                true => "the port itself".to_owned(),
                false => format!("from {from} by {own} for {name}"),
            };
            Interface {
                name: own,
                description,
                speed_bps: rate(*port),
            }
        })
        .collect();
    let to = &topology.node(topology.far_node(files.port)).name;
    let egress = Interface {
        description: format!("from {name} to {to}"),
        speed_bps: rate(files.port),
        name,
    };
    PortCapture::new(
        CaptureFile::new(files.ingress, &ingress, most),
        CaptureFile::new(files.egress, &[egress], most),
        snap_bytes as usize,
    )
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
            Direction::Out,
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
            Direction::In,
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
            time_ns: seen.time.as_ps() / PS_PER_NS,
            bytes,
            wire_bytes: seen.frame.wire_bytes(),
            direction,
            comment,
        })
    })
}
