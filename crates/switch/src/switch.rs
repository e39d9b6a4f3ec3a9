//! The switch: reads frames, lets the network decide about them, and sends each frame when it is due.
//!
//! The network is the simulator's own ([`fairport_net::Network`]). A frame enters it at its host's adapter, a constant
//! latency after the kernel's timestamp. Hosts add no processing time, because they are real. The network decides in
//! advance: each turn advances it to the present, and frames that have reached a host by then are sent to that host's
//! interface. Between turns the switch sleeps until something is due or a frame arrives ([`crate::rest`]).

mod delivery;
mod outcome;

use std::io;

use fairport_net::routing::Routes;
use fairport_net::stream::Stream;
use fairport_net::{Header, Network, Packet, PortId, Topology};
use fairport_plan::flow::{Application, End, FlowSpec, Origin};
use fairport_plan::{FlowFactory, Parts, Plan};
use fairport_record::{PacketLog, QueueSamples, Recorder};
use fairport_units::{Duration, Instant};
use fairport_wire::{Captured, FlowKey};

use crate::attachment::{Attachment, Limits};
use crate::capture::{Capturing, Writer};
use crate::clock::Clock;
use crate::edge::{Exits, InFlight, PacketObserver};
use crate::finders::Finders;
use crate::flows::{Direction, FlowTable};
use crate::frames::{FrameId, Frames};
use crate::health::Health;
use crate::hosts::AttachedHosts;
use crate::identify::{Identified, identify};
use crate::outlet::Outlet;
use crate::realtime::{Class, Neighbour};
use crate::rest::Rest;
use crate::ring::Ring;

pub use outcome::Outcome;

/// The longest sleep, so that a request to stop is noticed.
const LONGEST_SLEEP: Duration = Duration::from_ms(50);
/// Frames read before the due ones are checked again.
const READ_AT_ONCE: usize = 32;
/// Size of the ring in MiB: 2048 frames, 16 ms of 15 flows at 1 Gbit/s. A larger ring does not stay in the caches.
const RING_MEBIBYTES: usize = 4;
/// Number of frames for which buffers are allocated at the start.
const FRAMES: usize = 8192;

/// A network in real time.
pub struct Switch {
    topology: Topology,
    network: Network<InFlight, PacketObserver>,
    end: Instant,
    /// packets that have left the network
    exits: Exits,
    hosts: AttachedHosts,
    flows: FlowTable,
    factory: FlowFactory,
    /// by port: number of flows whose data is routed through it
    flows_through: Vec<u32>,
    frames: Frames,
    ring: Ring,
    outlet: Outlet,
    finders: Finders,
    queue: QueueSamples,
    capturing: Option<Capturing>,
    health: Health,
    /// by port: error of its clock, in parts of 10^9
    clock_errors_ppb: Vec<i32>,
}

impl Switch {
    /// A switch for the plan's network, in the present network namespace. `flows` are the keys of the data of the
    /// plan's flows, in their order.
    ///
    /// # Errors
    /// Without the privilege `CAP_NET_RAW` in the namespace, or without memory.
    pub fn new(
        plan: Plan,
        attachments: &[Attachment],
        flows: &[FlowKey],
        limits: Limits,
    ) -> io::Result<Self> {
        let (ports, framing, arbiter, end) =
            (plan.ports(), plan.framing(), plan.arbiter(), plan.end());
        let (watch, probes) = (plan.watch().clone(), plan.job().probes.clone());
        let (outputs, classifier) = (plan.hosts(), plan.classifier());
        let clock_errors_ppb = ports.iter().map(|port| port.clock_error_ppb).collect();
        let Parts {
            topology, factory, ..
        } = plan.into_parts(&ports);
        let recorder = Recorder::new(&topology, watch.traced, end);
        let observer = PacketObserver::new(recorder, end);
        let routes = Routes::default();
        let mut network = Network::new(&topology, ports, routes, framing, arbiter, observer);
        network.end_at(end);
        let addresses = attachments.iter().map(|one| (one.address, one.host));
        let mut switch = Self {
            exits: Exits::default(),
            hosts: AttachedHosts::new(&topology, outputs, classifier, attachments),
            flows: FlowTable::new(addresses, limits.request_ports),
            flows_through: vec![0; topology.ports().len()],
            frames: Frames::with_capacity(FRAMES),
            ring: Ring::open(RING_MEBIBYTES)?,
            outlet: Outlet::open(attachments.iter().map(|one| one.interface))?,
            finders: Finders::new(topology.hosts().len()),
            queue: QueueSamples::new(probes.queue_interval_ps, watch.queues),
            capturing: None,
            health: Health::new(limits.tolerated),
            clock_errors_ppb,
            topology,
            network,
            end,
            factory,
        };
        for key in flows {
            switch.add_flow(*key);
        }
        Ok(switch)
    }

    /// Makes every packet that arrives at these ports a row in the table `packets`.
    pub fn log_packets(&mut self, ports: impl IntoIterator<Item = PortId>) {
        self.network.observer_mut().log = PacketLog::new(ports, Instant::ZERO, self.end);
    }

    /// Lets `writer` write the packets at these ports, in a thread that is started now. The headers of each frame are
    /// kept, and at least its first `snap_bytes`.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub fn capture(
        &mut self,
        ports: impl IntoIterator<Item = PortId>,
        writer: impl Writer,
        snap_bytes: usize,
    ) -> io::Result<()> {
        let is_captured = &mut self.network.observer_mut().is_captured;
        is_captured.resize(self.topology.ports().len(), false);
        for port in ports {
            is_captured[port.0 as usize] = true;
        }
        self.capturing = Some(Capturing::start(writer, snap_bytes)?);
        Ok(())
    }

    /// The plan's network.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Forwards frames until the plan's end, or until `stops` returns true; it is called at least every 50 ms. `class`
    /// is the scheduling class of this thread, and `neighbour` the process that holds the hosts' sockets.
    ///
    /// # Errors
    /// If waiting for frames fails.
    pub fn run(
        &mut self,
        class: Class,
        mut neighbour: Neighbour,
        mut stops: impl FnMut(Instant) -> bool,
    ) -> io::Result<()> {
        while self.ring.next().is_some() {} // drops frames from before the run
        self.ring.take_losses()?;
        let mut clock = Clock::start();
        let (mut asked, mut rest) = (Instant::ZERO, Rest::new(class, self.health.tolerated()));
        loop {
            neighbour.keep_away();
            self.read(&clock);
            let now = clock.now().min(self.end);
            while now == self.end && self.read(&clock) {} // the thread may have been stopped since it read
            self.forward(now, &mut clock);
            if now == self.end {
                break;
            }
            if now - asked >= LONGEST_SLEEP {
                asked = now;
                self.health.ring_losses += u64::from(self.ring.take_losses()?);
                if stops(now) {
                    break;
                }
            }
            let next = self.network.next_time().min(self.queue.next_at());
            let awake = clock.now();
            if let Some(sleep) = rest.sleep(awake, next.saturating_sub(awake)) {
                let sleep = sleep.min(LONGEST_SLEEP);
                self.ring
                    .wait(std::time::Duration::from_nanos(sleep.as_ps() / 1000))?;
                rest.slept(awake, clock.now());
            }
        }
        self.health.ring_losses += u64::from(self.ring.take_losses()?);
        Ok(())
    }

    /// Reads frames that arrived by the end of the run. Returns whether there may be more.
    fn read(&mut self, clock: &Clock) -> bool {
        for _ in 0..READ_AT_ONCE {
            let Some(received) = self.ring.next() else {
                return false;
            };
            let at = clock.at_time_of_day(received.at_ns);
            if at > self.end {
                return false;
            }
            let host = self.hosts.at_interface(received.interface);
            let parsed = host.and_then(|host| {
                let captured = Captured::first_of(received.bytes, received.wire_bytes as usize);
                let known = identify(captured)?;
                let frame = self.frames.put(received.bytes, at)?;
                Some((host, known, frame))
            });
            drop(received);
            match parsed {
                Some((host, known, frame)) => self.enter(at, host, &known, frame),
                None => self.health.ignored += 1,
            }
        }
        true
    }

    /// Lets a host's frame enter the network.
    fn enter(&mut self, at: Instant, host: u32, known: &Identified, frame: FrameId) {
        let Some(direction) = self
            .flows
            .direction(&known.key)
            .or_else(|| self.add_unknown(known.key))
        else {
            self.frames.free(frame);
            self.health.ignored += 1;
            return;
        };
        self.health.frames_in += 1;
        let content = InFlight {
            frame,
            seq: known.seq,
            ack: known.ack,
            has_ack: known.has_ack,
            length: known.length,
            is_backward: direction.is_backward,
        };
        self.finders
            .answers
            .answered(at, host, content.numbers(direction.flow));
        let at = self.hosts.arrival(host, at, self.network.now());
        let (at_adapter, class) = self.hosts.enter(host, at, direction.number());
        let header = Header {
            flow: direction.flow,
            route: direction.route,
            size_bytes: known.size_bytes,
            ecn: known.ecn.bits(),
            class,
            ..Header::default()
        };
        self.finders.sent(at, direction, &content);
        self.network.inject(at_adapter, Packet { header, content });
        self.release_frames();
    }

    /// Adds the flow that begins with this frame. Its data travels in the same direction, unless it begins with a
    /// request.
    fn add_unknown(&mut self, first: FlowKey) -> Option<Direction> {
        self.add_flow(self.flows.key_of_data(first))?;
        self.flows.direction(&first)
    }

    /// Gives a flow its number and its routes. None if one of its ends is not a host of the network.
    fn add_flow(&mut self, key: FlowKey) -> Option<Direction> {
        let [src, dst] = self.flows.hosts_of(&key)?;
        let number = self.flows.count();
        let end = |host| End { host, stack: 0 };
        let spec = FlowSpec {
            src: end(src),
            dst: end(dst),
            application: Application::Transfer { size_bytes: None },
            traffic: 0,
            origin: Origin::Listed,
        };
        let paths = self.factory.paths(&self.topology, number, &spec);
        paths.count(&mut self.flows_through);
        let seed = self.factory.seed();
        let draw = |direction| Stream::new(seed, "spray", u64::from(2 * number + direction));
        let forward = self.network.add_route(&paths.forward, draw(0));
        let backward = self.network.add_route(&paths.backward, draw(1));
        self.network.observer_mut().recorder.add_flow(src);
        let is_requested = self.flows.is_requested(&key);
        let of_receiver = is_requested.then(|| self.hosts.silence(dst));
        self.finders
            .add_flow([Some(self.hosts.silence(src)), of_receiver]);
        Some(self.flows.add(key, [forward, backward]))
    }
}
