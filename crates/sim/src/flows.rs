//! The flows of a run. A flow gets its number and its record, opens its connection when it starts, and
//! releases its connection and its routes when it is over ([`release`]). Numbers are never reused.

mod entry;
mod read;
mod release;

use fairport_net::routing::Path;
use fairport_net::stream::Stream;
use fairport_net::{Observer, Topology};
use fairport_plan::flow::{End, FlowSpec, Side};
use fairport_plan::udp::Udp;
use fairport_plan::{FlowFactory, FlowPaths};
use fairport_record::{FlowEnds, Simulated, Watcher};
use fairport_tcp::Connection;
use fairport_units::Instant;

use crate::domains::Domains;
use crate::hosts::live_flow::{Endpoint, LiveFlow, TcpFlow};
use crate::hosts::udp::UdpFlow;
use entry::Entry;
use release::Draining;

/// All flows that have a number, and the domains that run their ends.
pub(crate) struct Flows<P: Copy, O: Observer<P>> {
    pub(crate) domains: Domains<P, O>,
    topology: Topology,
    factory: FlowFactory,
    /// by flow
    entries: Vec<Entry>,
    draining: Draining,
    /// by port: number of flows whose data is routed through it
    through: Vec<u32>,
}

impl<P: Simulated, O: Observer<P> + Watcher> Flows<P, O> {
    /// No flows yet.
    pub(crate) fn new(domains: Domains<P, O>, topology: Topology, factory: FlowFactory) -> Self {
        Self {
            domains,
            factory,
            entries: Vec::new(),
            draining: Draining::default(),
            through: vec![0; topology.ports().len()],
            topology,
        }
    }

    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }

    /// By port: number of flows whose data is routed through it.
    pub(crate) fn through(&self) -> &[u32] {
        &self.through
    }

    /// The flow's description.
    pub(crate) fn spec(&self, flow: u32) -> &FlowSpec {
        self.entry(flow).spec()
    }

    fn entry(&self, flow: u32) -> &Entry {
        &self.entries[flow as usize]
    }

    /// Gives a flow that starts at `start` its number and its record.
    pub(crate) fn add(&mut self, start: Instant, spec: FlowSpec) -> (u32, FlowPaths) {
        let number = self.entries.len() as u32;
        let (flow, paths) = self.factory.create(&self.topology, number, start, spec);
        paths.count(&mut self.through);
        let nodes = spec
            .hosts()
            .map(|host| self.topology.hosts()[host as usize]);
        let domains = nodes.map(|node| self.domains.number_of(node));
        self.entries.push(Entry::new(flow, domains));
        for domain in &mut self.domains.list {
            domain.hosts.live.push(None);
            domain.hosts.timers.add_flow();
            domain.hosts.reports.add_flow(&spec.application);
            domain.network.observer_mut().add_flow(FlowEnds {
                src: spec.src.host,
                dst: spec.dst.host,
                is_udp: spec.application.datagrams().is_some(),
            });
        }
        (number, paths)
    }

    /// Adds a flow and opens it.
    pub(crate) fn start(&mut self, now: Instant, spec: FlowSpec) {
        let (flow, paths) = self.add(now, spec);
        self.open_on(now, flow, &paths);
    }

    /// Opens a flow that was added before.
    pub(crate) fn open(&mut self, now: Instant, flow: u32) {
        let spec = *self.spec(flow);
        let paths = self.factory.paths(&self.topology, flow, &spec);
        self.open_on(now, flow, &paths);
    }

    /// Opens a flow's connection on these paths, or starts its source of datagrams.
    fn open_on(&mut self, now: Instant, flow: u32, paths: &FlowPaths) {
        self.release_drained();
        match self.spec(flow).application.datagrams() {
            Some(source) => self.open_udp(now, flow, source, paths),
            None => self.open_tcp(now, flow, paths),
        }
    }

    fn open_udp(&mut self, now: Instant, flow: u32, source: Udp, paths: &FlowPaths) {
        let spec = *self.spec(flow);
        let route = self.add_route(2 * flow, &paths.forward);
        let size_bytes = spec.application.size_bytes();
        let sender = self.entry(flow).domain_at(Side::Sender);
        for number in self.entry(flow).domains() {
            let stream = Stream::new(self.factory.seed(), "udp", u64::from(flow));
            let udp = UdpFlow::new(source, stream, [spec.src.host, route], size_bytes, now);
            let hosts = &mut self.domains.list[number].hosts;
            if number == sender {
                hosts.timers.arm(2 * flow, udp.next_at());
                hosts.reports.established(flow, now);
            }
            hosts.live[flow as usize] = Some(LiveFlow::Udp(Box::new(udp)));
        }
    }

    fn open_tcp(&mut self, now: Instant, flow: u32, paths: &FlowPaths) {
        let spec = *self.spec(flow);
        let routes = [
            self.add_route(2 * flow, &paths.forward),
            self.add_route(2 * flow + 1, &paths.backward),
        ];
        for number in self.entry(flow).domains() {
            let tcp = self.connection(flow, &spec, routes);
            self.domains.list[number].hosts.live[flow as usize] = Some(LiveFlow::Tcp(tcp));
        }
        let asks = spec.application.request_bytes().is_some();
        let opener = if asks { Side::Receiver } else { Side::Sender };
        self.transmit(now, flow, opener);
    }

    /// Both ends of a connection before it opens.
    fn connection(&self, flow: u32, spec: &FlowSpec, [forward, backward]: [u32; 2]) -> TcpFlow {
        let FlowSpec {
            src,
            dst,
            application,
            ..
        } = *spec;
        let mut seeds = Stream::new(self.factory.seed(), "tcp", u64::from(flow));
        let factory = &self.factory;
        let mut end = |end: End, opens: bool, route: u32, written: u64| {
            let settings = factory.stack(end.stack);
            let connection = if opens {
                Connection::active(settings)
            } else {
                Connection::passive(settings)
            };
            let connection = connection.with_seed(seeds.up_to(u64::MAX)).with_flow(flow);
            Endpoint::new(connection, end.host, route, written)
        };
        let (size_bytes, request_bytes) = (application.size_bytes(), application.request_bytes());
        let asks = request_bytes.is_some();
        let mut sender = end(src, !asks, forward, size_bytes.unwrap_or(u64::MAX));
        let receiver = end(dst, asks, backward, request_bytes.unwrap_or(0));
        if size_bytes.is_some() && !application.stays_open() {
            sender.connection.close();
        }
        TcpFlow::new([sender, receiver], self.topology.hosts()[dst.host as usize])
    }

    /// One end of a flow sends what it may send now.
    fn transmit(&mut self, now: Instant, flow: u32, side: Side) {
        let number = self.entry(flow).domain_at(side);
        let domain = &mut self.domains.list[number];
        let network = &mut domain.network.access();
        domain.hosts.transmit(network, now, 2 * flow + side as u32);
    }

    /// Adds the route of an endpoint's packets to every domain. It has the same number in all of them.
    fn add_route(&mut self, endpoint: u32, ways: &[Path]) -> u32 {
        let stream = Stream::new(self.factory.seed(), "spray", u64::from(endpoint));
        let mut route = 0;
        for domain in &mut self.domains.list {
            route = domain.network.add_route(ways, stream.clone());
        }
        route
    }

    /// One of a persistent flow's two applications writes more data.
    pub(crate) fn write(&mut self, now: Instant, flow: u32, side: Side, bytes: u64) {
        for number in self.entry(flow).domains() {
            let hosts = &mut self.domains.list[number].hosts;
            let Some(LiveFlow::Tcp(tcp)) = &mut hosts.live[flow as usize] else {
                unreachable!("a persistent flow runs to the end");
            };
            tcp.write(side, bytes);
            if side == Side::Sender {
                hosts.reports.log.flow_mut(flow).finished_at = Instant::NEVER;
            }
        }
        if side == Side::Sender {
            self.entries[flow as usize]
                .planned
                .spec
                .application
                .add(bytes);
        }
        self.transmit(now, flow, side);
    }

    /// A flow's application ends it: what has been sent is still delivered.
    pub(crate) fn stop(&mut self, now: Instant, flow: u32) {
        let number = self.entry(flow).domain_at(Side::Sender);
        match &mut self.domains.list[number].hosts.live[flow as usize] {
            Some(LiveFlow::Tcp(tcp)) => tcp.ends[0].connection.stop(),
            Some(LiveFlow::Udp(udp)) => return udp.stop(),
            None => return, // its data was delivered before
        }
        self.transmit(now, flow, Side::Sender);
    }
}
