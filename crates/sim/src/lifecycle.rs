//! A flow's life: it gets its number and its record, opens its connection when it starts, and
//! gives back what it took when it is over. Its number is never given again.
//!
//! A packet may outlive its flow: a late retransmission, or the copy of an ACK. The host drops it,
//! and the flow's routes are given back when none is left.

use fairport_net::Observer;
use fairport_net::routing::Path;
use fairport_net::stream::Stream;
use fairport_plan::FlowPaths;
use fairport_plan::flow::{End, FlowSpec};
use fairport_plan::udp::Udp;
use fairport_plan::workload::Action;
use fairport_record::{FlowEnds, Simulated, Watcher};
use fairport_tcp::Connection;
use fairport_units::Instant;

use crate::flow::{Endpoint, LiveFlow, Side, TcpFlow};
use crate::reports::PendingEvent;
use crate::simulation::Simulation;
use crate::udp::UdpFlow;

impl<P: Simulated, O: Observer<P> + Watcher> Simulation<P, O> {
    /// Gives a flow that starts at `start` its number and its record.
    pub(crate) fn add_flow(&mut self, start: Instant, spec: FlowSpec) -> (u32, FlowPaths) {
        let number = self.flows.len() as u32;
        let (flow, paths) = self.factory.create(&self.topology, number, start, spec);
        paths.count(&mut self.flows_through);
        self.flows.push(flow);
        self.hosts.live.push(None);
        self.hosts.timers.add_flow();
        self.hosts.reports.add_flow(&spec.application);
        self.network.observer_mut().add_flow(FlowEnds {
            src: spec.src.host,
            dst: spec.dst.host,
            is_udp: spec.application.datagrams().is_some(),
        });
        (number, paths)
    }

    /// Does what is scheduled next.
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

    /// Handles what is pending: data is delivered, so that workloads go on; or flows are over.
    pub(crate) fn handle_pending(&mut self) {
        for (now, event) in self.hosts.reports.take_pending() {
            match event {
                PendingEvent::Delivered(flow, from) => {
                    let origin = self.flows[flow as usize].spec.origin;
                    self.workloads.delivered(from, origin, now, flow);
                }
                PendingEvent::Over(flow) => self.finish_flow(now, flow),
            }
        }
    }

    /// A flow's connection is opened, or its source of datagrams begins.
    fn open(&mut self, now: Instant, flow: u32, paths: &FlowPaths) {
        self.release_drained();
        match self.flows[flow as usize].spec.application.datagrams() {
            Some(source) => self.open_udp(now, flow, source, paths),
            None => self.open_tcp(now, flow, paths),
        }
    }

    fn open_udp(&mut self, now: Instant, flow: u32, source: Udp, paths: &FlowPaths) {
        let spec = self.flows[flow as usize].spec;
        let route = self.add_route(2 * flow, &paths.forward);
        let stream = Stream::new(self.factory.seed(), "udp", u64::from(flow));
        let size_bytes = spec.application.size_bytes();
        let udp = UdpFlow::new(source, stream, [spec.src.host, route], size_bytes, now);
        self.hosts.timers.arm(2 * flow, udp.next_at());
        self.hosts.live[flow as usize] = Some(LiveFlow::Udp(Box::new(udp)));
        self.hosts.reports.established(flow, now);
    }

    fn open_tcp(&mut self, now: Instant, flow: u32, paths: &FlowPaths) {
        let FlowSpec {
            src,
            dst,
            application,
            ..
        } = self.flows[flow as usize].spec;
        let forward = self.add_route(2 * flow, &paths.forward);
        let backward = self.add_route(2 * flow + 1, &paths.backward);
        let mut seeds = Stream::new(self.factory.seed(), "tcp", u64::from(flow));
        let factory = &self.factory;
        let mut end = |end: End, opens: bool, route: u32, written: u64| {
            let settings = factory.stack(end.stack);
            let connection = if opens {
                Connection::active(settings)
            } else {
                Connection::passive(settings)
            };
            let connection = connection.with_seed(seeds.up_to(u64::MAX));
            Endpoint::new(connection, end.host, route, written)
        };
        let (size_bytes, request_bytes) = (application.size_bytes(), application.request_bytes());
        let asks = request_bytes.is_some();
        let mut sender = end(src, !asks, forward, size_bytes.unwrap_or(u64::MAX));
        let receiver = end(dst, asks, backward, request_bytes.unwrap_or(0));
        if size_bytes.is_some() && !application.stays_open() {
            sender.connection.close();
        }
        let receiving = self.topology.hosts()[dst.host as usize];
        let tcp = TcpFlow::new([sender, receiver], receiving);
        self.hosts.live[flow as usize] = Some(LiveFlow::Tcp(tcp));
        let opener = if asks { Side::Receiver } else { Side::Sender };
        self.hosts
            .transmit(&mut self.network.access(), now, 2 * flow + opener as u32);
    }

    /// Adds the route of what an endpoint sends.
    fn add_route(&mut self, endpoint: u32, ways: &[Path]) -> u32 {
        let stream = Stream::new(self.factory.seed(), "spray", u64::from(endpoint));
        self.network.add_route(ways, stream)
    }

    /// One of a persistent flow's applications has more to send.
    fn write(&mut self, now: Instant, flow: u32, side: Side, bytes: u64) {
        let Some(LiveFlow::Tcp(tcp)) = &mut self.hosts.live[flow as usize] else {
            unreachable!("a persistent flow runs to the end");
        };
        tcp.write(side, bytes);
        if side == Side::Sender {
            self.hosts.reports.log.flow_mut(flow).finished_at = Instant::NEVER;
            self.flows[flow as usize].spec.application.add(bytes);
        }
        self.hosts
            .transmit(&mut self.network.access(), now, 2 * flow + side as u32);
    }

    /// A flow's application ends it: what has been sent is still delivered.
    fn stop(&mut self, now: Instant, flow: u32) {
        match &mut self.hosts.live[flow as usize] {
            Some(LiveFlow::Tcp(tcp)) => tcp.ends[0].connection.stop(),
            Some(LiveFlow::Udp(udp)) => return udp.stop(),
            None => return, // its data was delivered before
        }
        self.hosts
            .transmit(&mut self.network.access(), now, 2 * flow);
    }

    /// A flow is over: its record is closed and its connection freed.
    fn finish_flow(&mut self, now: Instant, flow: u32) {
        let live = self.hosts.live[flow as usize].take();
        let live = live.expect("a flow is over once");
        for end in [2 * flow, 2 * flow + 1] {
            self.hosts.timers.disarm(end);
        }
        let record = self.hosts.reports.log.flow_mut(flow);
        record.progress = live.progress();
        if record.finished_at == Instant::NEVER {
            record.finished_at = now; // it was stopped
        }
        record.counters = live.counters();
        let state = self.hosts.reports.state_mut(flow);
        (state.sent, state.received) = live.packets();
        self.draining.push((flow, live.routes()));
        self.release_drained();
    }

    /// Gives back the routes of flows that are over and have no packet left under way.
    fn release_drained(&mut self) {
        let (network, reports) = (&mut self.network, &self.hosts.reports);
        self.draining.retain(|(flow, routes)| {
            let (sent, received) = reports.state(*flow).packets();
            let losses = network.observer().recorder().losses(*flow);
            if sent != received + losses.drops + losses.late_drops {
                return true;
            }
            for route in routes.iter().flatten() {
                network.release_route(*route);
            }
            false
        });
    }
}
