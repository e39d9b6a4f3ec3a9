//! Captures of real frames, at the ports of a network in real time.

use std::io;

use fairport_net::discipline::Admission;
use fairport_net::{PortId, Topology};
use fairport_tcp::Ecn;
use fairport_units::Instant;
use fairport_wire::{Captured, Frame, Transport, mark_ce};

use super::port::{Captures, Kept, PortFiles, Seen, captures};

/// Maximum number of header bytes, which a file's interfaces announce.
const HEADER_BYTES_MAX: u32 = 192;

/// The first bytes of a frame.
#[derive(Clone, Debug)]
pub struct RealFrame {
    bytes: Vec<u8>,
    wire_bytes: u32,
}

impl RealFrame {
    /// A frame of length `wire_bytes`, of which the headers and at least the first `snap_bytes` are kept. `ecn` is the
    /// codepoint that the network has given to it since it was read.
    pub fn new(bytes: &[u8], wire_bytes: u32, snap_bytes: usize, ecn: Ecn) -> Self {
        let (network_offset, headers) = headers(Captured::first_of(bytes, wire_bytes as usize));
        let kept = bytes.len().min(headers.max(snap_bytes));
        let mut bytes = bytes[..kept].to_vec();
        if ecn == Ecn::Ce && network_offset < kept {
            // a frame without IP has no codepoint
            let _ = mark_ce(&mut bytes[network_offset..]);
        }
        Self { bytes, wire_bytes }
    }
}

impl Kept for RealFrame {
    fn wire_bytes(&self) -> u32 {
        self.wire_bytes
    }

    fn with_bytes<T>(&self, _: usize, put: impl FnOnce(&[u8]) -> T) -> T {
        put(&self.bytes)
    }
}

/// The offset of the packet in a frame, and the number of bytes of all headers. For an unknown packet, all bytes.
fn headers(captured: Captured<'_>) -> (usize, usize) {
    let all = captured.bytes().len();
    let Ok(frame) = Frame::parse(captured) else {
        return (all, all);
    };
    let offset = frame.network_offset();
    let payload = match frame.network.transport() {
        Ok(Some(Transport::Tcp(tcp))) => tcp.payload_length(),
        Ok(Some(Transport::Udp(udp))) => udp.payload().length(),
        _ => return (offset, all),
    };
    let total = frame.network.total_length().unwrap_or(payload);
    (offset, offset + total - payload)
}

/// Captures at chosen ports.
#[derive(Debug)]
pub struct FrameCaptures {
    captures: Captures<RealFrame>,
    /// by port: its number at its node
    numbers: Vec<u16>,
    /// the start of the run's time
    zero: Instant,
    snap_bytes: usize,
}

impl FrameCaptures {
    /// Captures at these ports of the topology. `rates_bps` are the rates of the links by port. The run's time starts
    /// at `zero`.
    pub fn new(
        topology: &Topology,
        rates_bps: &[u64],
        ports: Vec<PortFiles>,
        snap_bytes: u32,
        zero: Instant,
    ) -> Self {
        Self {
            captures: captures(topology, rates_bps, ports, snap_bytes, HEADER_BYTES_MAX),
            numbers: topology.ports().iter().map(|port| port.number).collect(),
            zero,
            snap_bytes: snap_bytes as usize,
        }
    }

    /// Number of bytes of each frame that are kept in any case.
    pub fn snap_bytes(&self) -> usize {
        self.snap_bytes
    }

    fn seen(&self, interface: u32, at: Instant, frame: RealFrame) -> Seen<RealFrame> {
        Seen {
            interface,
            time: Instant::ZERO + at.saturating_sub(self.zero),
            frame,
        }
    }

    /// The next packet arrives at a captured port, through another port of its node. `fate` is none if it may still be
    /// dropped.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn arrived(
        &mut self,
        port: PortId,
        ingress: PortId,
        at: Instant,
        frame: RealFrame,
        fate: Option<Admission>,
    ) -> io::Result<()> {
        let interface = u32::from(self.numbers[ingress.0 as usize]);
        let seen = self.seen(interface, at, frame);
        match &mut self.captures[port.0 as usize] {
            Some(capture) => capture.arrived(seen, fate),
            None => Ok(()),
        }
    }

    /// The fate of the port's n-th arrival is known.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn settled(&mut self, port: PortId, port_arrival: u64, fate: Admission) -> io::Result<()> {
        match &mut self.captures[port.0 as usize] {
            Some(capture) => capture.settled(port_arrival, fate),
            None => Ok(()),
        }
    }

    /// A packet's last bit leaves a captured port.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn departed(&mut self, port: PortId, at: Instant, frame: RealFrame) -> io::Result<()> {
        let seen = self.seen(0, at, frame);
        match &mut self.captures[port.0 as usize] {
            Some(capture) => capture.departed(&seen),
            None => Ok(()),
        }
    }

    /// The run is over: completes the captures.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        let captures = &mut self.captures;
        captures
            .iter_mut()
            .flatten()
            .try_for_each(|one| one.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 bytes of data behind headers without options.
    fn frame() -> Vec<u8> {
        let mut frame = vec![0; 74];
        (frame[12], frame[14], frame[15]) = (8, 0x45, 2);
        (frame[17], frame[22], frame[23]) = (60, 64, 6);
        frame[46] = 0x50;
        let sum = fairport_wire::checksum::checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    fn kept(snap_bytes: usize, ecn: Ecn) -> Vec<u8> {
        RealFrame::new(&frame(), 74, snap_bytes, ecn).bytes
    }

    #[test]
    fn headers_are_kept_and_as_much_more_as_is_asked_for() {
        assert_eq!(kept(0, Ecn::Ect0), frame()[..54]);
        assert_eq!(kept(60, Ecn::Ect0), frame()[..60]);
        assert_eq!(kept(2000, Ecn::Ect0), frame());
    }

    #[test]
    fn a_mark_is_in_the_header_with_its_checksum() {
        let bytes = kept(0, Ecn::Ce);
        assert_eq!(bytes[15] & 3, 3);
        assert_eq!(fairport_wire::checksum::checksum(&bytes[14..34]), 0);
    }
}
