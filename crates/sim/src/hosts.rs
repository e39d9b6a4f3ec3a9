//! The hosts: every running flow's two ends, their timers, and the time that a host takes to
//! send a segment.

use fairport_net::classifier::{Classifier, LONG};
use fairport_net::processing::Server;
use fairport_net::{Header, Hosts, Network, NodeId, Packet, PortId, prefetch};
use fairport_plan::HostOutput;
use fairport_record::{FlowSample, Progress, Recorder};
use fairport_tcp::{Ecn, Segment};
use fairport_units::Time;

use crate::flow::{Endpoint, LiveFlow, Side};
use crate::reports::Reports;
use crate::timers::Timers;
use crate::udp::{HEADER_BYTES, UdpFlow};

/// A host's way out: segments are processed one after another and reach the NIC a constant
/// latency later. What comes in is delayed by the network's port that leads to the host.
pub(crate) struct Output {
    pub(crate) server: Server,
    pub(crate) latency: Time,
    /// the switch where its packets enter the network, by node
    pub(crate) edge: u32,
}

impl From<HostOutput> for Output {
    fn from(planned: HostOutput) -> Self {
        Self {
            server: planned.server,
            latency: planned.latency,
            edge: planned.edge,
        }
    }
}

impl Output {
    /// When a packet that is sent at `now` reaches the NIC, and its class. It is classified as it
    /// reaches the NIC: the wire to the edge delays all packets alike.
    #[inline]
    fn leave(&mut self, now: Time, index: u32, classifier: &mut Option<Classifier>) -> (Time, u8) {
        let at = self.server.serve(now) + self.latency;
        let class = match classifier {
            Some(classifier) => classifier.classify(at, self.edge, index),
            None => LONG,
        };
        (at, class)
    }
}

/// All hosts.
pub(crate) struct Endpoints {
    /// by flow; none: not yet started, or over
    pub(crate) live: Vec<Option<LiveFlow>>,
    /// by host number
    pub(crate) outputs: Vec<Output>,
    /// separates short flows from long ones
    pub(crate) classifier: Option<Classifier>,
    pub(crate) timers: Timers,
    pub(crate) timers_fired: u64,
    pub(crate) reports: Reports,
}

impl Endpoints {
    /// What a flow's receiving host has got.
    pub(crate) fn progress(&self, flow: u32) -> Progress {
        match &self.live[flow as usize] {
            Some(live) => live.progress(),
            None => self.reports.log.flow(flow).progress,
        }
    }

    /// The same of all flows.
    pub(crate) fn progress_of_all(&self) -> Vec<Progress> {
        let flows = 0..self.live.len() as u32;
        flows.map(|flow| self.progress(flow)).collect()
    }

    /// What a flow is like at the end of an interval of the series; none: it has not started.
    pub(crate) fn sample(&mut self, flow: u32) -> Option<FlowSample> {
        let progress = self.progress(flow);
        let live = self.live[flow as usize].as_ref();
        let has_started = live.is_some() || progress.arrived_bytes > 0;
        has_started.then(|| FlowSample {
            progress,
            gauges: live.and_then(LiveFlow::gauges),
            is_over: live.is_none(),
            rtt: self.reports.log.flow_mut(flow).take_interval(),
        })
    }

    /// Wakes the endpoint whose timer is the earliest.
    pub(crate) fn fire(&mut self, network: &mut Network<Segment, Recorder>) {
        let Some((now, index)) = self.timers.fire() else {
            return;
        };
        self.timers_fired += 1;
        match &mut self.live[index as usize / 2] {
            Some(LiveFlow::Tcp(flow)) => {
                let mut events = self.reports.events(index, now);
                let endpoint = &mut flow.ends[index as usize % 2];
                endpoint.connection.on_timer(now, &mut events);
            }
            Some(LiveFlow::Udp(flow)) => {
                let output = &mut self.outputs[flow.host as usize];
                let classifier = &mut self.classifier;
                send_datagram(network, output, classifier, flow, now, index);
                self.timers.arm(index, flow.next_at());
                return;
            }
            None => unreachable!("the timers of a flow that is over are off"),
        }
        self.transmit(network, now, index);
    }

    /// Sends what a flow's end may send now, and arms its timer.
    pub(crate) fn transmit(
        &mut self,
        network: &mut Network<Segment, Recorder>,
        now: Time,
        index: u32,
    ) {
        let Some(LiveFlow::Tcp(flow)) = &mut self.live[index as usize / 2] else {
            unreachable!("only a running TCP flow transmits");
        };
        let endpoint = &mut flow.ends[index as usize % 2];
        let output = &mut self.outputs[endpoint.host as usize];
        let (timers, classifier) = (&mut self.timers, &mut self.classifier);
        transmit(network, output, classifier, timers, endpoint, now, index);
    }
}

#[inline]
fn transmit(
    network: &mut Network<Segment, Recorder>,
    output: &mut Output,
    classifier: &mut Option<Classifier>,
    timers: &mut Timers,
    endpoint: &mut Endpoint,
    now: Time,
    index: u32,
) {
    let mut burst = None;
    while let Some(segment) = endpoint.connection.poll_transmit(now) {
        let (at, class) = match burst {
            Some(burst) if segment.payload > 0 && endpoint.connection.continues_burst() => burst,
            _ => output.leave(now, index, classifier),
        };
        burst = Some((at, class));
        let header = Header {
            flow: index / 2,
            route: endpoint.route,
            output: NIC,
            size_bytes: segment.wire_bytes() as u16,
            ecn: endpoint.connection.codepoint().bits(),
            class,
        };
        endpoint.sent += 1;
        let content = segment;
        let departs = network.inject(at, Packet { header, content });
        endpoint.connection.queued_until(departs, &segment);
    }
    if let Some(deadline) = endpoint.connection.poll_timer() {
        timers.arm(index, deadline.max(now));
    }
}

/// A packet's first output: its host's NIC, which the network knows.
const NIC: PortId = PortId(0);

/// A datagram looks like a segment without acknowledgement: `seq` counts bytes, as TCP's.
fn send_datagram(
    network: &mut Network<Segment, Recorder>,
    output: &mut Output,
    classifier: &mut Option<Classifier>,
    flow: &mut UdpFlow,
    now: Time,
    index: u32,
) {
    let seq = flow.offset as u32;
    if let Some(payload) = flow.send() {
        let (at, class) = output.leave(now, index, classifier);
        let header = Header {
            flow: index / 2,
            route: flow.route,
            output: NIC,
            size_bytes: (u32::from(payload) + HEADER_BYTES) as u16,
            ecn: Ecn::NotEct.bits(),
            class,
        };
        let content = Segment {
            seq,
            payload,
            ..Segment::default()
        };
        network.inject(at, Packet { header, content });
    }
}

impl Hosts<Segment, Recorder> for Endpoints {
    #[inline]
    fn horizon(&self) -> Time {
        self.timers.next_time().min(self.reports.stop_at())
    }

    #[inline]
    fn expect(&self, host: NodeId, header: &Header) {
        if let Some(LiveFlow::Tcp(flow)) = &self.live[header.flow as usize] {
            prefetch(&flow.ends[flow.side_at(host) as usize]);
        }
    }

    #[inline]
    fn receive(
        &mut self,
        network: &mut Network<Segment, Recorder>,
        host: NodeId,
        packet: &Packet<Segment>,
    ) {
        let now = network.now();
        match &mut self.live[packet.header.flow as usize] {
            Some(LiveFlow::Tcp(flow)) => {
                let side = flow.side_at(host);
                let index = 2 * packet.header.flow + side as u32;
                let endpoint = &mut flow.ends[side as usize];
                endpoint.received += 1;
                let mut events = self.reports.events(index, now);
                let ecn = Ecn::from_bits(packet.header.ecn);
                endpoint
                    .connection
                    .on_packet(now, &packet.content, ecn, &mut events);
                if endpoint.connection.delivered_bytes() >= endpoint.awaits {
                    endpoint.awaits = u64::MAX;
                    self.reports
                        .delivered(packet.header.flow, side.other(), now);
                }
                let output = &mut self.outputs[endpoint.host as usize];
                let (timers, classifier) = (&mut self.timers, &mut self.classifier);
                transmit(network, output, classifier, timers, endpoint, now, index);
            }
            Some(LiveFlow::Udp(flow)) => {
                flow.received += 1;
                flow.delivered += u64::from(packet.content.payload);
                if flow.delivered >= flow.size_bytes {
                    self.reports
                        .delivered(packet.header.flow, Side::Sender, now);
                }
            }
            // a late copy, for nobody
            None => self.reports.state_mut(packet.header.flow).received += 1,
        }
    }
}
