//! The hosts: every running flow's two ends, their timers, and the time that a host takes to send a
//! segment.

use fairport_net::classifier::{Classifier, LONG};
use fairport_net::{Access, Header, Hosts, NodeId, Observer, Packet, prefetch};
use fairport_plan::{Answer, HostOutput, HostTime};
use fairport_record::Simulated;
use fairport_tcp::{Ecn, Segment};
use fairport_units::Instant;

use crate::live_flow::{Endpoint, LiveFlow, Side};
use crate::reports::Reports;
use crate::timers::Timers;
use crate::udp::{HEADER_BYTES, UdpFlow, stamp, stamped};

/// The hosts' output paths: a segment takes its host's processing time, and then a constant latency to
/// the NIC.
pub(crate) struct Outputs {
    /// by host number
    hosts: Vec<Output>,
    /// separates short flows from long ones
    classifier: Option<Classifier>,
}

impl Outputs {
    pub(crate) fn new(hosts: Vec<HostOutput>, classifier: Option<Classifier>) -> Self {
        let output = |host: HostOutput| Output {
            room: host.queue_packets,
            host,
        };
        Self {
            hosts: hosts.into_iter().map(output).collect(),
            classifier,
        }
    }

    /// The output path of one host, looked up once per event.
    #[inline]
    fn of(&mut self, host: u32) -> WayOut<'_> {
        WayOut {
            output: &mut self.hosts[host as usize],
            classifier: &mut self.classifier,
        }
    }
}

/// The output of one host.
struct Output {
    host: HostOutput,
    /// lower bound on the packets that it can send before the queue of one of its adapters is full
    room: u32,
}

/// The output of the host at which an event happens.
struct WayOut<'a> {
    output: &'a mut Output,
    classifier: &'a mut Option<Classifier>,
}

impl WayOut<'_> {
    /// A packet reaches the host.
    #[inline]
    fn reached(&mut self, now: Instant) {
        if let HostTime::Measured(host) = &mut self.output.host.time {
            host.reached(now);
        }
    }

    /// Returns when a packet that an endpoint sends at `now` reaches its host's NIC, and its class. The
    /// packet is classified at that time, because the wire to the edge switch delays all packets equally.
    #[expect(clippy::inline_always, reason = "the hot path: every packet sent")]
    #[inline(always)]
    fn leave(&mut self, now: Instant, endpoint: u32, segment: &Segment) -> (Instant, u8) {
        let host = &mut self.output.host;
        let done = match &mut host.time {
            HostTime::Drawn(server) => server.serve(now),
            HostTime::Measured(host) => host.answer(now, answer(segment)),
        };
        let at = done + host.latency;
        let class = match self.classifier {
            Some(classifier) => classifier.classify(at, host.edge, endpoint),
            None => LONG,
        };
        (at, class)
    }

    /// Whether the host certainly has room for another packet. Does not look at its queues.
    #[inline]
    fn has_room(&self) -> bool {
        self.output.room > 0
    }

    /// Counts a packet that the host sends, which may take a place in a queue.
    #[inline]
    fn take_room(&mut self) {
        self.output.room = self.output.room.saturating_sub(1);
    }

    /// Whether a connection waits because its host's queue is full. Updates `room` from the queues' backlogs.
    #[cold]
    fn holds<P: Simulated, O: Observer<P>>(
        &mut self,
        network: &mut Access<'_, P, O>,
        endpoint: &mut Endpoint,
        now: Instant,
    ) -> bool {
        let Output { host, room } = &mut *self.output;
        let at = now.max(host.time.free_at()) + host.latency;
        let mut waiting = |port| network.backlog(port, at).packets;
        let most = host.adapters.iter().map(|port| waiting(*port)).max();
        *room = host.queue_packets.saturating_sub(most.unwrap_or(0));
        *room == 0
            && network.backlog_of_adapter(endpoint.route, at).packets >= host.queue_packets
            && endpoint.connection.yields_to_host(now)
    }
}

/// Which of the measured times a segment takes. An ACK with SACK blocks reports missing segments.
fn answer(segment: &Segment) -> Answer {
    if segment.payload > 0 {
        Answer::Data
    } else if segment.options.sacks().len() > 0 {
        Answer::DuplicateAck
    } else {
        Answer::Ack
    }
}

/// The hosts of a domain. It has an entry for every host and flow of the run, and uses those in its region.
pub(crate) struct DomainHosts {
    /// by flow; none if it has not started or was given up
    pub(crate) live: Vec<Option<LiveFlow>>,
    pub(crate) outputs: Outputs,
    pub(crate) timers: Timers,
    /// timers that had something to do when they fired
    pub(crate) timers_fired: u64,
    pub(crate) reports: Reports,
}

impl DomainHosts {
    /// Wakes the endpoint whose timer is the earliest.
    #[inline(never)] // so that the packet loop stays in the instruction cache
    pub(crate) fn fire<P: Simulated, O: Observer<P>>(&mut self, network: &mut Access<'_, P, O>) {
        let Some((now, index)) = self.timers.fire() else {
            return;
        };
        match &mut self.live[index as usize / 2] {
            Some(LiveFlow::Tcp(flow)) => {
                let mut events = self.reports.events(index);
                let endpoint = &mut flow.ends[index as usize % 2];
                // an entry that fires early, or whose timer is off, only arms the next one
                let deadline = endpoint.connection.poll_timer();
                self.timers_fired += u64::from(deadline.is_some_and(|at| at <= now));
                endpoint.connection.on_timer(now, &mut events);
                self.transmit(network, now, index);
            }
            Some(LiveFlow::Udp(flow)) => {
                self.timers_fired += 1;
                send_datagram(network, &mut self.outputs, flow, now, index);
                self.timers.arm(index, flow.next_at());
            }
            None => unreachable!("the timers of a flow that was given up are off"),
        }
    }

    /// Sends what a flow's end may send now, and arms its timer.
    pub(crate) fn transmit<P: Simulated, O: Observer<P>>(
        &mut self,
        network: &mut Access<'_, P, O>,
        now: Instant,
        index: u32,
    ) {
        let Some(LiveFlow::Tcp(flow)) = &mut self.live[index as usize / 2] else {
            unreachable!("only a running TCP flow transmits");
        };
        let endpoint = &mut flow.ends[index as usize % 2];
        let mut way = self.outputs.of(endpoint.host);
        transmit(network, &mut way, &mut self.timers, endpoint, now, index);
    }
}

#[expect(clippy::inline_always, reason = "the hot path: every packet received")]
#[inline(always)]
fn transmit<P: Simulated, O: Observer<P>>(
    network: &mut Access<'_, P, O>,
    way: &mut WayOut<'_>,
    timers: &mut Timers,
    endpoint: &mut Endpoint,
    now: Instant,
    index: u32,
) {
    let mut burst = None;
    while (way.has_room() || !way.holds(network, endpoint, now))
        && let Some(segment) = endpoint.connection.poll_transmit(now)
    {
        let (at, class) = match burst {
            Some(burst) if segment.payload > 0 && endpoint.connection.continues_burst() => burst,
            _ => way.leave(now, index, &segment),
        };
        burst = Some((at, class));
        let departs = send(network, endpoint, index, &segment, at, class);
        way.take_room();
        endpoint.connection.queued_until(departs, &segment);
    }
    if let Some(deadline) = endpoint.connection.poll_timer() {
        timers.arm(index, deadline.max(now));
    }
}

/// Sends an endpoint's segment, which reaches its host's NIC at `at`. Returns when it will have left the NIC.
#[inline(never)] // the segment stays in one place in memory, and is copied from there as a whole
fn send<P: Simulated, O: Observer<P>>(
    network: &mut Access<'_, P, O>,
    endpoint: &mut Endpoint,
    index: u32,
    segment: &Segment,
    at: Instant,
    class: u8,
) -> Instant {
    let header = Header {
        flow: index / 2,
        route: endpoint.route,
        size_bytes: segment.wire_bytes() as u16,
        ecn: endpoint.connection.codepoint().bits(),
        class,
        ..Header::default()
    };
    endpoint.sent += 1;
    let content = P::new(*segment, endpoint.sent, index % 2 == 1);
    network.inject(at, Packet { header, content })
}

/// Sends the datagram that is due. It looks like a segment without an acknowledgement: `seq` counts bytes, as in TCP.
fn send_datagram<P: Simulated, O: Observer<P>>(
    network: &mut Access<'_, P, O>,
    outputs: &mut Outputs,
    flow: &mut UdpFlow,
    now: Instant,
    index: u32,
) {
    let seq = flow.offset as u32;
    let Some(payload) = flow.send() else {
        return;
    };
    let mut datagram = Segment {
        seq,
        payload,
        ..Segment::default()
    };
    stamp(&mut datagram, now);
    let mut way = outputs.of(flow.host);
    let (at, class) = way.leave(now, index, &datagram);
    let header = Header {
        flow: index / 2,
        route: flow.route,
        size_bytes: (u32::from(payload) + HEADER_BYTES) as u16,
        ecn: Ecn::NotEct.bits(),
        class,
        ..Header::default()
    };
    let content = P::new(datagram, flow.sent, false);
    network.inject(at, Packet { header, content });
    way.take_room();
}

impl<P: Simulated, O: Observer<P>> Hosts<P, O> for DomainHosts {
    #[inline]
    fn horizon(&self) -> Instant {
        self.timers.next_time().min(self.reports.stop_at())
    }

    #[inline]
    fn expect(&self, host: NodeId, header: &Header) {
        if let Some(LiveFlow::Tcp(flow)) = &self.live[header.flow as usize] {
            prefetch(&flow.ends[flow.side_at(host) as usize]);
        }
    }

    #[inline]
    fn receive(&mut self, mut network: Access<'_, P, O>, host: NodeId, packet: &Packet<P>) {
        let (now, number) = (network.now(), packet.header.flow);
        match &mut self.live[number as usize] {
            Some(LiveFlow::Tcp(flow)) => {
                let side = flow.side_at(host);
                let index = 2 * number + side as u32;
                let endpoint = &mut flow.ends[side as usize];
                endpoint.received += 1;
                let mut way = self.outputs.of(endpoint.host);
                way.reached(now);
                receive_segment(&mut self.reports, endpoint, packet, now, index);
                if endpoint.connection.delivered_bytes() >= endpoint.awaits {
                    endpoint.awaits = u64::MAX;
                    self.reports.delivered(number, side.other(), now);
                }
                let timers = &mut self.timers;
                transmit(&mut network, &mut way, timers, endpoint, now, index);
            }
            Some(LiveFlow::Udp(flow)) => {
                flow.received += 1;
                let datagram = packet.content.segment();
                flow.delivered += u64::from(datagram.payload);
                let delay = now - stamped(datagram);
                self.reports.log.rtt_sample(number, delay);
                if flow.delivered >= flow.size_bytes {
                    self.reports.delivered(number, Side::Sender, now);
                }
            }
            None => unreachable!("a flow is given up only when none of its packets is in flight"),
        }
    }
}

#[inline]
fn receive_segment<P: Simulated>(
    reports: &mut Reports,
    endpoint: &mut Endpoint,
    packet: &Packet<P>,
    now: Instant,
    index: u32,
) {
    let mut events = reports.events(index);
    let ecn = Ecn::from_bits(packet.header.ecn);
    endpoint
        .connection
        .on_packet(now, packet.content.segment(), ecn, &mut events);
}

#[cfg(test)]
mod tests {
    use fairport_tcp::{Flags, SackBlock};

    use super::*;

    #[test]
    fn data_acks_and_acks_with_sack_blocks_take_times_of_their_own() {
        let mut segment = Segment {
            flags: Flags::ACK,
            ..Segment::default()
        };
        assert!(matches!(answer(&segment), Answer::Ack));
        let (start, end) = (1449, 2897);
        segment.options.push_sack(SackBlock { start, end });
        assert!(matches!(answer(&segment), Answer::DuplicateAck));
        // a segment with a payload counts as data, whatever else it carries
        segment.payload = 1;
        assert!(matches!(answer(&segment), Answer::Data));
    }
}
