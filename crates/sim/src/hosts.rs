//! The hosts: every running flow's two ends and their timers.
//!
//! A packet or a timer lets an endpoint's TCP act, and then send what it may. Its segments leave through the output
//! path of its host ([`outputs`]).

pub(crate) mod live_flow;
pub(crate) mod outputs;
pub(crate) mod reports;
pub(crate) mod timers;
pub(crate) mod udp;

use fairport_net::{Access, Header, Hosts, NodeId, Observer, Packet, prefetch};
use fairport_record::Simulated;
use fairport_tcp::{Ecn, Segment};
use fairport_units::Instant;

use live_flow::{Endpoint, LiveFlow, Side};
use outputs::{OutputPath, Outputs};
use reports::Reports;
use timers::Timers;
use udp::{HEADER_BYTES, UdpFlow, stamp, stamped};

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
        let mut path = self.outputs.of(endpoint.host);
        transmit(network, &mut path, &mut self.timers, endpoint, now, index);
    }
}

#[expect(clippy::inline_always, reason = "the hot path: every packet received")]
#[inline(always)]
fn transmit<P: Simulated, O: Observer<P>>(
    network: &mut Access<'_, P, O>,
    path: &mut OutputPath<'_>,
    timers: &mut Timers,
    endpoint: &mut Endpoint,
    now: Instant,
    index: u32,
) {
    let mut burst = None;
    while (path.has_room() || !path.holds(network, endpoint, now))
        && let Some(segment) = endpoint.connection.poll_transmit(now)
    {
        let (at, class) = match burst {
            Some(burst) if segment.payload > 0 && endpoint.connection.continues_burst() => burst,
            _ => path.leave(now, index, &segment),
        };
        burst = Some((at, class));
        let departs = send(network, endpoint, index, &segment, at, class);
        path.take_room();
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
    let mut path = outputs.of(flow.host);
    let (at, class) = path.leave(now, index, &datagram);
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
    path.take_room();
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
                let mut path = self.outputs.of(endpoint.host);
                path.reached(now);
                receive_segment(&mut self.reports, endpoint, packet, now, index);
                if endpoint.has_delivered() {
                    endpoint.awaits = u64::MAX;
                    self.reports.delivered(number, side.other(), now);
                }
                let timers = &mut self.timers;
                transmit(&mut network, &mut path, timers, endpoint, now, index);
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
