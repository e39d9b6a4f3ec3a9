//! The observer of a run's network that, in addition to recording, writes captures and logs packets.

use std::io;

use fairport_net::discipline::Admission;
use fairport_net::{Arrival, Header, Observer, Packet, PortId, Topology};
use fairport_record::{FlowEnds, Numbered, PacketLog, PortFingerprint, Recorder, Table, Watcher};
use fairport_tcp::Ecn;
use fairport_units::Instant;

use super::addresses::{self, Address};
use super::frame::{Envelope, FrameBytes, HEADER_BYTES_MAX, frame};
use super::port::{Captures, PortCapture, PortFiles, Seen, captures};

/// Records a run, and captures or logs the packets at some of its ports.
///
/// It sees the same as a [`Recorder`] and changes nothing, so a run is the same with and without it.
pub struct CapturingRecorder {
    recorder: Recorder,
    log: PacketLog,
    hosts: Vec<Address>,
    flows: Vec<FlowEnds>,
    /// by port: its number at its node
    numbers: Vec<u16>,
    /// by port: whether it leads from a host to itself
    is_own: Vec<bool>,
    /// by index of a hop: whether it is the first hop of a route
    starts: Vec<bool>,
    captures: Captures<FrameBytes>,
    end: Instant,
    /// the first failure; nothing is written after it
    failure: Option<io::Error>,
}

impl CapturingRecorder {
    /// Records with `recorder` until `end`, and captures at these ports of the topology. `rates_bps` are the rates of
    /// the links by port. The headers of each frame are kept, and at least its first `snap_bytes`. `log` logs packets.
    pub fn new(
        topology: &Topology,
        recorder: Recorder,
        log: PacketLog,
        end: Instant,
        rates_bps: &[u64],
        ports: Vec<PortFiles>,
        snap_bytes: u32,
    ) -> Self {
        let header_bytes = HEADER_BYTES_MAX as u32;
        Self {
            recorder,
            log,
            hosts: addresses::of_hosts(topology),
            flows: Vec::new(),
            numbers: topology.ports().iter().map(|port| port.number).collect(),
            is_own: topology
                .port_ids()
                .map(|id| !topology.leads_on(id))
                .collect(),
            starts: Vec::new(),
            captures: captures(topology, rates_bps, ports, snap_bytes, header_bytes),
            end,
            failure: None,
        }
    }

    /// The first write error, if there was one.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// Writes what is left at the end of the run. Returns the table of logged packets.
    ///
    /// # Errors
    /// If a file cannot be written now or could not be written before.
    pub fn finish(&mut self) -> io::Result<Table> {
        self.take_failure().map_or(Ok(()), Err)?;
        self.captures
            .iter_mut()
            .flatten()
            .try_for_each(|capture| capture.finish())?;
        let nothing = PacketLog::new([], Instant::ZERO, Instant::ZERO);
        let log = std::mem::replace(&mut self.log, nothing);
        Ok(log.into_table(self.end))
    }

    /// Number of links that a packet has passed whose next hop is at this index of the routes.
    fn links(&self, hop: u32) -> u8 {
        let starts = |hop: &u32| self.starts.get(*hop as usize) == Some(&true);
        (0..=hop).rev().take_while(|hop| !starts(hop)).count() as u8
    }

    /// The frame of a packet that `hops` switches have forwarded.
    fn frame(&self, flow: u32, content: &Numbered, ecn: Ecn, hops: u8) -> FrameBytes {
        let envelope = Envelope {
            hosts: &self.hosts,
            flow,
            ends: self.flows[flow as usize],
            ecn,
            hops,
        };
        frame(&envelope, content)
    }

    /// Calls a function with a port's capture, if there is one and nothing has failed yet.
    fn with(
        &mut self,
        port: PortId,
        act: impl FnOnce(&mut PortCapture<FrameBytes>) -> io::Result<()>,
    ) {
        let Some(capture) = &mut self.captures[port.0 as usize] else {
            return;
        };
        if self.failure.is_none() {
            self.failure = act(capture).err();
        }
    }

    /// A packet arrives at a captured port.
    fn arrived(&mut self, arrival: &Arrival<'_, Numbered>) {
        let (header, content) = (arrival.header, arrival.content);
        let frame = |ecn, hops| self.frame(header.flow, content, ecn, hops);
        // the route is already one hop further
        let links = self.links(header.route - 1);
        let came = Seen {
            interface: u32::from(self.numbers[arrival.ingress.0 as usize]),
            time: arrival.time,
            frame: frame(Ecn::from_bits(header.ecn), links.saturating_sub(1)),
        };
        let is_open = arrival.admission.is_accepted() && arrival.depart == Instant::NEVER;
        let fate = (!is_open).then_some(arrival.admission);
        let leaves = (arrival.depart <= self.end).then(|| {
            let ecn = match arrival.admission {
                Admission::Marked => Ecn::Ce,
                _ => Ecn::from_bits(header.ecn),
            };
            Seen {
                interface: 0,
                time: arrival.depart,
                frame: frame(ecn, links),
            }
        });
        self.with(arrival.port, |capture| {
            capture.arrived(came, fate)?;
            leaves.map_or(Ok(()), |leaves| capture.departed(&leaves))
        });
    }
}

impl Watcher for CapturingRecorder {
    fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    fn recorder_mut(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    fn into_recorder(self) -> Recorder {
        self.recorder
    }

    fn add_flow(&mut self, ends: FlowEnds) {
        self.recorder.add_flow(ends.src);
        self.flows.push(ends);
    }
}

impl Observer<Numbered> for CapturingRecorder {
    type PortState = PortFingerprint;

    fn sent(&mut self, port: PortId, state: &mut PortFingerprint, packet: &Packet<Numbered>) {
        self.recorder.sent(port, state, packet);
        // from a host's own port to its adapter, a packet has not passed a link yet
        let first = packet.header.route as usize + usize::from(self.is_own[port.0 as usize]);
        if self.starts.len() <= first {
            self.starts.resize(2 * (first + 1), false);
        }
        self.starts[packet.header.route as usize] = true;
        self.starts[first] = true;
    }

    fn admission(
        &mut self,
        port: PortId,
        state: &mut PortFingerprint,
        time: Instant,
        header: &Header,
        admission: Admission,
    ) {
        Observer::<Numbered>::admission(&mut self.recorder, port, state, time, header, admission);
    }

    fn watches(&self, port: PortId) -> bool {
        self.captures[port.0 as usize].is_some()
            || self.log.watches(port)
            || Observer::<Numbered>::watches(&self.recorder, port)
    }

    fn detail(&mut self, arrival: &Arrival<'_, Numbered>) {
        self.recorder.detail(arrival);
        if arrival.time <= self.end {
            self.log.arrived(arrival);
        }
        if self.captures[arrival.port.0 as usize].is_some() && arrival.time <= self.end {
            self.arrived(arrival);
        }
    }

    fn revised(&mut self, arrival: &Arrival<'_, Numbered>) {
        self.recorder.revised(arrival);
        self.log.revised(arrival);
        self.with(arrival.port, |capture| {
            capture.settled(arrival.port_arrival, arrival.admission)
        });
    }

    fn departs(
        &mut self,
        port: PortId,
        packet: &Packet<Numbered>,
        port_arrival: u64,
        depart: Instant,
    ) {
        self.recorder.departs(port, packet, port_arrival, depart);
        self.log.departs(port, port_arrival, depart);
        if self.captures[port.0 as usize].is_none() {
            return;
        }
        let links = self.links(packet.header.route - 1);
        let ecn = Ecn::from_bits(packet.header.ecn);
        let leaves = (depart <= self.end).then(|| Seen {
            interface: 0,
            time: depart,
            frame: self.frame(packet.header.flow, &packet.content, ecn, links),
        });
        self.with(port, |capture| {
            capture.settled(port_arrival, Admission::Accepted)?;
            leaves.map_or(Ok(()), |leaves| capture.departed(&leaves))
        });
    }
}
