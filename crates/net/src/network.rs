//! The forwarding core: takes packets from port to port along their routes.

mod entrance;
mod scheduled;
mod ties;

use fairport_units::{Duration, Instant};

use crate::arbitration::Arbiter;
use crate::discipline::{Backlog, Verdict};
use crate::event_queue::EventQueue;
use crate::framing::Framing;
use crate::observer::{Arrival, Observer};
use crate::packet::{CE, Header, Packet};
use crate::pool::{Handle, Pool, Transit};
use crate::port::{Kind, Location, OutputPort, PortConfig, PortTotals};
use crate::routing::Routes;
use crate::topology::{NodeId, PortId, Topology};
use scheduled::ScheduledPorts;

/// The hosts at the network's edge, as whoever drives the network implements them.
pub trait Hosts<P: Copy, O: Observer<P>> {
    /// The network stops before anything that happens later than this: the hosts' next timer.
    fn horizon(&self) -> Instant;

    /// The next to arrive is perhaps a packet with this header, at this host: a hint of what to have
    /// at hand.
    fn expect(&self, host: NodeId, header: &Header) {
        let _ = (host, header);
    }

    /// A packet has reached the end of its route. The host may inject in answer.
    fn receive(&mut self, network: &mut Network<P, O>, host: NodeId, packet: &Packet<P>);
}

/// The port of a node through which a packet came in; its own NIC where it begins.
#[derive(Clone, Copy)]
struct Ingress {
    port: PortId,
    /// its number at the node
    number: u16,
}

/// A packet just taken off a link.
#[derive(Clone, Copy)]
struct Taken {
    /// the port whose link it was on
    from: PortId,
    handle: Handle,
    /// [`Routes::END`] where its route ends
    output: PortId,
    ingress: Ingress,
    /// the node at which it is now
    node: NodeId,
}

impl Taken {
    /// A packet that was taken off the link of the port `from`, which is at `location`.
    #[inline]
    fn new(from: PortId, handle: Handle, location: &Location, transits: &[Transit]) -> Self {
        Self {
            from,
            handle,
            output: transits[handle.index()].header.output,
            ingress: Ingress {
                port: location.far_port,
                number: location.far_number,
            },
            node: location.far_node,
        }
    }

    /// Equal for packets that want the same output; those at the end of their routes come first.
    fn contest(&self) -> (bool, PortId) {
        (self.output != Routes::END, self.output)
    }
}

/// An arrival that shares its picosecond with others.
struct Tied {
    rank: u64,
    taken: Taken,
}

/// Ports, links, routes and the packets on them; `O` observes.
///
/// Asserted in release builds: time never goes back; what was injected is delivered, dropped or
/// still here.
pub struct Network<P: Copy, O: Observer<P>> {
    ports: Vec<OutputPort<O::PortState>>,
    /// what the ports with a scheduler have besides
    scheduled: ScheduledPorts,
    packets: Pool<P>,
    ingress_arrivals: Vec<u64>,
    routes: Routes,
    events: EventQueue,
    now: Instant,
    framing: Framing,
    arbiter: Arbiter,
    tied: Vec<Tied>,
    packet_hops: u64,
    injected: u64,
    dropped: u64,
    delivered: u64,
    observer: O,
}

impl<P: Copy, O: Observer<P>> Network<P, O> {
    /// A network at rest. `ports` are in the order of the topology's.
    pub fn new(
        topology: &Topology,
        ports: Vec<PortConfig>,
        routes: Routes,
        framing: Framing,
        arbiter: Arbiter,
        observer: O,
    ) -> Self {
        assert_eq!(
            ports.len(),
            topology.ports().len(),
            "one configuration per port"
        );
        let mut ingress_base = 0;
        let mut locate = |port: &crate::topology::Port| {
            let far = topology.port(port.peer);
            let base = ingress_base;
            ingress_base += topology.node(port.node).ports.len() as u32;
            Location {
                far_node: far.node,
                far_port: port.peer,
                far_number: far.number,
                number: port.number,
                ingress_base: base,
            }
        };
        let typical_span = typical_span(&ports);
        let mut scheduled = ScheduledPorts::new(topology);
        let ports: Vec<OutputPort<O::PortState>> = topology
            .ports()
            .iter()
            .map(&mut locate)
            .zip(ports)
            .zip(0..)
            .map(|((location, config), id)| {
                let node = topology.port(PortId(id)).node;
                OutputPort::new(location, config, |scheduler| scheduled.add(node, scheduler))
            })
            .collect();
        Self {
            events: EventQueue::new(ports.len(), typical_span),
            ports,
            scheduled,
            packets: Pool::new(),
            ingress_arrivals: vec![0; ingress_base as usize],
            routes,
            now: Instant::ZERO,
            framing,
            arbiter,
            tied: Vec::new(),
            packet_hops: 0,
            injected: 0,
            dropped: 0,
            delivered: 0,
            observer,
        }
    }

    /// The time of the last arrival.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// When the next packet arrives somewhere; [`Instant::NEVER`] when none is under way.
    pub fn next_time(&self) -> Instant {
        self.events.next_time()
    }

    /// Packets whose last bit arrived at a next node: the unit in which speed is measured.
    pub fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer, mutable.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// The observer, with what it has seen.
    pub fn into_observer(self) -> O {
        self.observer
    }

    /// What the observer keeps of every port, in the order of the topology's.
    pub fn port_states(&self) -> impl Iterator<Item = &O::PortState> {
        self.ports.iter().map(|port| &port.observed)
    }

    /// The routes, to add one or to give one back.
    pub fn routes_mut(&mut self) -> &mut Routes {
        &mut self.routes
    }

    /// What has happened at a port, as of the last [`Network::settle`].
    pub fn totals(&self, port: PortId) -> &PortTotals {
        &self.ports[port.0 as usize].totals
    }

    /// Packets that a port dropped on arrival or later, as of the last
    /// [`Network::settle`].
    pub fn drops(&self, port: PortId) -> u64 {
        let port = &self.ports[port.0 as usize];
        let revoked = self.scheduled.revoked(port.kind()).packets;
        port.totals.arrivals - port.totals.accepted + revoked
    }

    /// How long a port was busy until `now`, as of the last [`Network::settle`]: how long it sent,
    /// gaps included, or a packet waited for its shaper's tokens. `now` is not before the network's
    /// own time.
    pub fn busy(&self, port: PortId, now: Instant) -> Duration {
        let port = &self.ports[port.0 as usize];
        let revoked = self.scheduled.revoked(port.kind());
        let waiting = self.scheduled.backlog(port.kind());
        let packets = port.totals.accepted - revoked.packets - u64::from(waiting.packets);
        let bytes = port.totals.accepted_bytes - revoked.bytes - u64::from(waiting.bytes);
        let gap_bytes = self.framing.gap_bytes();
        port.busy(now, [packets, bytes], gap_bytes, &self.packets.transits)
    }

    /// The backlog of a port, integrated over time until `now`, in bytes · ps, as of the last
    /// [`Network::settle`]. `now` is not before the network's own time.
    pub fn backlog_integral(&self, port: PortId, now: Instant) -> u128 {
        let port = &self.ports[port.0 as usize];
        match port.kind() {
            Kind::Plain | Kind::Fifo => port.backlog_integral_until(now, &self.packets.transits),
            kind @ Kind::Scheduled(_) => {
                port.backlog_integral + self.scheduled.backlog_integral_since(kind, now)
            }
        }
    }

    /// What waits in a port's buffer at `now`, which is not before the network's own time.
    pub fn backlog(&mut self, port: PortId, now: Instant) -> Backlog {
        self.catch_up(port, now);
        let port = &mut self.ports[port.0 as usize];
        match port.kind() {
            Kind::Plain | Kind::Fifo => port.backlog(now, &self.packets.transits),
            kind @ Kind::Scheduled(_) => self.scheduled.backlog(kind),
        }
    }

    /// The headers of the packets that are in a buffer or on a link.
    pub fn in_flight(&self) -> impl Iterator<Item = &Header> {
        let on_links = self
            .ports
            .iter()
            .flat_map(|port| port.link.iter(&self.packets.transits));
        let handles = on_links.chain(self.scheduled.waiting());
        handles.map(|handle| self.packets.header(handle))
    }

    /// Lets packets arrive, in order of time, until the next arrival is later than `until` or
    /// than the hosts' horizon, or `hops` packets have arrived.
    pub fn advance(&mut self, until: Instant, hops: u64, hosts: &mut impl Hosts<P, O>) {
        let enough = self.packet_hops.saturating_add(hops);
        let after = |hosts: &_| until.min(Hosts::<P, O>::horizon(hosts)) + Duration::from_ps(1);
        let mut end = after(hosts);
        while self.packet_hops < enough {
            let Some((time, from)) = self.events.pop_before(end) else {
                break;
            };
            assert!(time >= self.now, "time went back");
            self.now = time;
            let taken = self.take(PortId(from));
            self.prefetch_next(hosts);
            if self.events.next_time() == time {
                self.resolve_tie(PortId(from), taken.handle, hosts);
                end = after(hosts);
            } else if taken.output == Routes::END {
                self.deliver(taken.node, taken.handle, hosts);
                end = after(hosts);
            } else {
                self.enqueue(time, taken.output, taken.ingress, taken.handle);
            }
        }
    }

    /// A host that is the next to receive a packet has what it will need fetched, while the present
    /// arrival is dealt with.
    #[inline]
    fn prefetch_next(&self, hosts: &impl Hosts<P, O>) {
        if let Some((from, packet)) = self.events.next() {
            let header = self.packets.header(Handle::at(packet as usize));
            if header.output == Routes::END {
                hosts.expect(self.ports[from as usize].location.far_node, header);
            }
        }
    }

    /// Takes the head off a link, now at the far end.
    #[expect(
        clippy::inline_always,
        reason = "the hot loop: a call costs a tenth of it"
    )]
    #[inline(always)]
    fn take(&mut self, from: PortId) -> Taken {
        let port = &mut self.ports[from.0 as usize];
        let transits = &self.packets.transits[..];
        let (handle, next) = port.link.pop(transits);
        self.packet_hops += 1;
        if let Some((due, behind)) = next {
            if transits[behind.index()].header.output == Routes::END {
                self.packets.prefetch_content(behind); // as early as it is known
            }
            self.events.insert(due, from.0, behind.index() as u32);
        }
        let taken = Taken::new(from, handle, &port.location, transits);
        if port.is_behind(self.now) {
            self.catch_up(from, self.now);
        }
        taken
    }

    #[inline]
    fn deliver(&mut self, host: NodeId, handle: Handle, hosts: &mut impl Hosts<P, O>) {
        self.delivered += 1;
        let received = self.packets.get(handle);
        self.packets.release(handle);
        hosts.receive(self, host, &received);
    }

    /// A packet arrives at the output port of its next hop. Returns when its last bit leaves, or
    /// [`Instant::NEVER`] if that is not known yet.
    #[expect(
        clippy::inline_always,
        reason = "the hot loop: one call a hop is enough"
    )]
    #[inline(always)]
    fn enqueue(
        &mut self,
        now: Instant,
        output: PortId,
        ingress: Ingress,
        handle: Handle,
    ) -> Instant {
        match self.ports[output.0 as usize].kind() {
            Kind::Plain => self.enqueue_fifo::<true>(now, output, ingress, handle),
            Kind::Fifo => self.enqueue_fifo::<false>(now, output, ingress, handle),
            Kind::Scheduled(number) => self.enqueue_scheduled(now, output, ingress, handle, number),
        }
    }

    /// A packet arrives at a port that serves first in, first out: it is put on the link or dropped.
    #[inline(never)]
    fn enqueue_fifo<const PLAIN: bool>(
        &mut self,
        now: Instant,
        id: PortId,
        ingress: Ingress,
        handle: Handle,
    ) -> Instant {
        let port = &mut self.ports[id.0 as usize];
        let transits = &mut self.packets.transits[..];
        let header = &mut transits[handle.index()].header;
        let hop = self.routes.pass(header.route);
        header.route += 1;
        header.output = hop.next;
        let header = *header;
        let frame_bytes = self.framing.buffered_bytes(header.size_bytes);
        let backlog = port.backlog(now, transits);
        if !PLAIN {
            port.forget_busy(self.now);
        }
        let verdict = port.admit::<PLAIN>(now, backlog, frame_bytes, ingress.number, &header);
        self.ingress_arrivals[port.ingress_slot(ingress.number)] += 1;
        if !verdict.is_accepted() {
            self.report_fifo(now, id, ingress, handle, verdict, Instant::NEVER);
            return Instant::NEVER;
        }
        let observed = &mut port.observed;
        self.observer.verdict(id, observed, now, &header, verdict);
        let wire_bytes = frame_bytes + self.framing.gap_bytes();
        let (depart, due) = port.accept::<PLAIN>(now, frame_bytes, wire_bytes, handle, transits);
        if let Some(due) = due {
            self.events.insert(due, id.0, handle.index() as u32);
        }
        if matches!(verdict, Verdict::Marked) || self.observer.watches(id) {
            self.report_fifo(now, id, ingress, handle, verdict, depart);
        }
        depart
    }

    /// The rest for a packet that was dropped or marked, or that arrived at a watched port. Apart, and
    /// with what it says of the port taken from there once more, so that the way of all others keeps
    /// to the registers.
    #[inline(never)]
    fn report_fifo(
        &mut self,
        now: Instant,
        id: PortId,
        ingress: Ingress,
        handle: Handle,
        verdict: Verdict,
        depart: Instant,
    ) {
        let port = &mut self.ports[id.0 as usize];
        let header = self.packets.header(handle);
        if !verdict.is_accepted() {
            let observed = &mut port.observed;
            self.observer.verdict(id, observed, now, header, verdict);
        }
        let frame_bytes = self.framing.buffered_bytes(header.size_bytes);
        let ingress_arrival = self.ingress_arrivals[port.ingress_slot(ingress.number)];
        let flow_arrival = self.routes.arrivals(header.route - 1);
        // without the packet itself
        let mut counts = port.counts(ingress_arrival, flow_arrival);
        let mut backlog = port.link.backlog();
        if verdict.is_accepted() {
            counts.port_accepted -= 1;
            backlog.packets -= 1;
            backlog.bytes -= frame_bytes;
        }
        self.observer.detail(&Arrival {
            time: now,
            port: id,
            ingress: ingress.port,
            header,
            content: self.packets.content(handle),
            frame_bytes,
            backlog,
            verdict,
            depart,
            counts,
        });
        if !verdict.is_accepted() {
            self.dropped += 1;
            self.packets.release(handle);
        } else if matches!(verdict, Verdict::Marked) {
            self.packets.header_mut(handle).ecn |= CE;
            self.ports[id.0 as usize].totals.marked += 1;
        }
    }

    /// Asserts that every packet is accounted for: what was injected, and what ports accepted.
    ///
    /// # Panics
    /// If a packet was lost without a verdict or appeared from nowhere.
    pub fn assert_conservation(&self) {
        let mut in_flight = 0;
        let mut gone = 0;
        for port in &self.ports {
            let waiting = self.scheduled.backlog(port.kind()).packets;
            let here = u64::from(port.link.len() + waiting);
            let revoked = self.scheduled.revoked(port.kind()).packets;
            gone += port.totals.accepted - revoked - here;
            in_flight += here;
        }
        assert_eq!(gone, self.packet_hops, "conservation at the ports");
        assert_eq!(
            self.injected,
            self.delivered + self.dropped + in_flight,
            "conservation"
        );
    }
}

/// A port's next arrival is rarely further off than its latency and a few full frames; the median
/// of that, so that a few slow links leave the queue fast for the others.
fn typical_span(ports: &[PortConfig]) -> Duration {
    let span = |port: &PortConfig| {
        let frame_ps = 8 * 1538 * 1_000_000_000_000 / port.rate.as_bps();
        port.latency.as_ps() + 4 * frame_ps
    };
    let mut spans: Vec<u64> = ports.iter().map(span).collect();
    spans.sort_unstable();
    Duration::from_ps(spans.get(spans.len() / 2).copied().unwrap_or(0))
}
