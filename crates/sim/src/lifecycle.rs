//! A flow's life: it gets its number and its record, opens its connection when it starts, and
//! releases its connection and its routes when it is over. Numbers are never reused.
//!
//! A packet may outlive its flow: a late retransmission, or a duplicate ACK. A flow is therefore given up
//! only when nothing can happen to it any more: both ends have finished, none of its packets is in flight,
//! and none of its timers will act. Giving it up later makes no difference to the results.

use fairport_net::Observer;
use fairport_net::routing::Path;
use fairport_net::stream::Stream;
use fairport_plan::FlowPaths;
use fairport_plan::flow::{End, FlowSpec};
use fairport_plan::udp::Udp;
use fairport_plan::workload::Action;
use fairport_record::{FlowEnds, Losses, Simulated, Watcher};
use fairport_tcp::Connection;
use fairport_units::Instant;

use crate::flow::{Endpoint, LiveFlow, Side, TcpFlow};
use crate::life::{Done, Life};
use crate::reports::PendingEvent;
use crate::simulation::Simulation;
use crate::udp::UdpFlow;

/// Flows that are over may keep their connections and routes while there are fewer than this.
const FEW_DRAINING: usize = 16;

impl<P: Simulated + Send, O: Observer<P> + Watcher + Send> Simulation<P, O> {
    /// Gives a flow that starts at `start` its number and its record.
    pub(crate) fn add_flow(&mut self, start: Instant, spec: FlowSpec) -> (u32, FlowPaths) {
        let number = self.flows.len() as u32;
        let (flow, paths) = self.factory.create(&self.topology, number, start, spec);
        paths.count(&mut self.flows_through);
        self.flows.push(flow);
        self.lives.push(Life::new(&spec.application));
        for domain in &mut self.domains {
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

    /// Runs the workloads' next scheduled action.
    pub(crate) fn run_action(&mut self, now: Instant) {
        match self.workloads.schedule.pop() {
            Some(Action::Open(flow)) => {
                let spec = self.flows[flow as usize].spec;
                let paths = self.factory.paths(&self.topology, flow, &spec);
                self.open(now, flow, &paths);
            }
            Some(Action::Start(spec)) => {
                let (flow, paths) = self.add_flow(now, spec);
                self.open(now, flow, &paths);
            }
            Some(Action::Write(flow, side, bytes)) => self.write(now, flow, side, bytes),
            Some(Action::Stop(flow)) => self.stop(now, flow),
            Some(Action::Wake(workload, token)) => {
                self.workloads.wake(workload, now, token);
            }
            None => {}
        }
    }

    /// Handles the pending events: deliveries, to which workloads react, and flows that are established or over.
    pub(crate) fn handle_pending(&mut self) {
        for domain in 0..self.domains.len() {
            for (now, event) in self.domains[domain].hosts.reports.take_pending() {
                self.handle(now, event);
            }
        }
    }

    fn handle(&mut self, now: Instant, event: PendingEvent) {
        match event {
            PendingEvent::Delivered(flow, from) => {
                let origin = self.flows[flow as usize].spec.origin;
                self.workloads.delivered(from, origin, now, flow);
            }
            PendingEvent::Established => {
                self.unestablished -= 1;
                if self.unestablished == 0 {
                    self.begin_at = now;
                }
            }
            PendingEvent::Finished(flow) => {
                if self.lives[flow as usize].finish_end(now) {
                    self.draining.push(flow);
                    self.release_drained();
                }
            }
        }
    }

    /// Opens a flow's connection, or starts its source of datagrams.
    fn open(&mut self, now: Instant, flow: u32, paths: &FlowPaths) {
        self.release_drained();
        match self.flows[flow as usize].spec.application.datagrams() {
            Some(source) => self.open_udp(now, flow, source, paths),
            None => self.open_tcp(now, flow, paths),
        }
    }

    /// The domains in which a flow has an end: one, or two.
    fn domains_of(&self, flow: u32) -> impl Iterator<Item = usize> + use<P, O> {
        let sender = self.domain_at(flow, Side::Sender);
        let receiver = self.domain_at(flow, Side::Receiver);
        std::iter::once(sender).chain((receiver != sender).then_some(receiver))
    }

    fn open_udp(&mut self, now: Instant, flow: u32, source: Udp, paths: &FlowPaths) {
        let spec = self.flows[flow as usize].spec;
        let route = self.add_route(2 * flow, &paths.forward);
        let size_bytes = spec.application.size_bytes();
        let sender = self.domain_at(flow, Side::Sender);
        for number in self.domains_of(flow) {
            let stream = Stream::new(self.factory.seed(), "udp", u64::from(flow));
            let udp = UdpFlow::new(source, stream, [spec.src.host, route], size_bytes, now);
            let hosts = &mut self.domains[number].hosts;
            if number == sender {
                hosts.timers.arm(2 * flow, udp.next_at());
                hosts.reports.established(flow, now);
            }
            hosts.live[flow as usize] = Some(LiveFlow::Udp(Box::new(udp)));
        }
    }

    fn open_tcp(&mut self, now: Instant, flow: u32, paths: &FlowPaths) {
        let spec = self.flows[flow as usize].spec;
        let routes = [
            self.add_route(2 * flow, &paths.forward),
            self.add_route(2 * flow + 1, &paths.backward),
        ];
        for number in self.domains_of(flow) {
            let tcp = self.connection(flow, &spec, routes);
            self.domains[number].hosts.live[flow as usize] = Some(LiveFlow::Tcp(tcp));
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
        let number = self.domain_at(flow, side);
        let domain = &mut self.domains[number];
        let network = &mut domain.network.access();
        domain.hosts.transmit(network, now, 2 * flow + side as u32);
    }

    /// Adds the route of an endpoint's packets to every domain. It has the same number in all of them.
    fn add_route(&mut self, endpoint: u32, ways: &[Path]) -> u32 {
        let stream = Stream::new(self.factory.seed(), "spray", u64::from(endpoint));
        let mut route = 0;
        for domain in &mut self.domains {
            route = domain.network.add_route(ways, stream.clone());
        }
        route
    }

    /// One of a persistent flow's two applications writes more data.
    fn write(&mut self, now: Instant, flow: u32, side: Side, bytes: u64) {
        for number in self.domains_of(flow) {
            let hosts = &mut self.domains[number].hosts;
            let Some(LiveFlow::Tcp(tcp)) = &mut hosts.live[flow as usize] else {
                unreachable!("a persistent flow runs to the end");
            };
            tcp.write(side, bytes);
            if side == Side::Sender {
                hosts.reports.log.flow_mut(flow).finished_at = Instant::NEVER;
            }
        }
        if side == Side::Sender {
            self.flows[flow as usize].spec.application.add(bytes);
        }
        self.transmit(now, flow, side);
    }

    /// A flow's application ends it: what has been sent is still delivered.
    fn stop(&mut self, now: Instant, flow: u32) {
        let number = self.domain_at(flow, Side::Sender);
        match &mut self.domains[number].hosts.live[flow as usize] {
            Some(LiveFlow::Tcp(tcp)) => tcp.ends[0].connection.stop(),
            Some(LiveFlow::Udp(udp)) => return udp.stop(),
            None => return, // its data was delivered before
        }
        self.transmit(now, flow, Side::Sender);
    }

    /// Packets that both ends of a flow have sent and received.
    pub(crate) fn packets(&self, flow: u32) -> (u64, u64) {
        let ends = self.domains_of(flow).map(|number| {
            let live = self.domains[number].hosts.live[flow as usize].as_ref();
            live.map_or((0, 0), LiveFlow::packets)
        });
        ends.fold(self.lives[flow as usize].done.packets, |sum, end| {
            (sum.0 + end.0, sum.1 + end.1)
        })
    }

    /// The drops and marks of a flow's packets, in all domains.
    pub(crate) fn losses(&self, flow: u32) -> Losses {
        let recorders = self
            .domains
            .iter()
            .map(|it| it.network.observer().recorder());
        let losses = recorders.map(|recorder| recorder.losses(flow));
        losses.fold(Losses::default(), |sum, more| sum + more)
    }

    /// Gives up the flows that are over and to which nothing can happen any more. Checks them only when there
    /// are more than twice as many as the last check left, so that each flow is checked a few times at most.
    fn release_drained(&mut self) {
        if self.draining.len() < self.drain_at {
            return;
        }
        let mut draining = std::mem::take(&mut self.draining);
        draining.retain(|flow| {
            let is_drained = self.is_drained(*flow);
            if is_drained {
                self.give_up(*flow);
            }
            !is_drained
        });
        self.draining = draining;
        self.drain_at = FEW_DRAINING + 2 * self.draining.len();
    }

    fn is_drained(&self, flow: u32) -> bool {
        let (sent, received) = self.packets(flow);
        let losses = self.losses(flow);
        let may_wake = || {
            let lives = [Side::Sender, Side::Receiver].map(|side| (self.live(flow, side), side));
            lives
                .iter()
                .any(|(live, side)| live.is_some_and(|it| it.may_wake(*side)))
        };
        sent == received + losses.drops && !may_wake()
    }

    /// Saves a flow's totals, frees its connection and releases its routes.
    fn give_up(&mut self, flow: u32) {
        let live = self
            .live(flow, Side::Sender)
            .expect("a flow is given up once");
        let (counters, routes) = (live.counters(), live.routes());
        self.lives[flow as usize].done = Done {
            packets: self.packets(flow),
            progress: self.progress(flow),
            counters,
        };
        for domain in &mut self.domains {
            domain.hosts.live[flow as usize] = None;
            for end in [2 * flow, 2 * flow + 1] {
                domain.hosts.timers.disarm(end);
            }
            for route in routes.iter().flatten() {
                domain.network.release_route(*route);
            }
        }
    }

    /// When everything that a flow wrote had been delivered; for a flow that was stopped, when it was over.
    pub(crate) fn finished_at(&self, flow: u32) -> Instant {
        let receiver = self.domain_at(flow, Side::Receiver);
        let record = self.domains[receiver].hosts.reports.log.flow(flow);
        match record.finished_at {
            Instant::NEVER => self.lives[flow as usize].over_at(),
            at => at,
        }
    }
}
