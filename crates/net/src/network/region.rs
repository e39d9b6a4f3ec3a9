//! A region: ports and all that changes while packets move through them.
//!
//! Nothing in it is shared with another region: packets, events, counts and random numbers are its own.

use std::collections::BTreeMap;

use fairport_units::{Duration, Instant};

use super::accounts::{AtEnd, Balance};
use super::crossings::Crossings;
use super::passages::Passages;
use super::scheduled::ScheduledPorts;
use super::{Access, Fabric, Hosts};
use crate::arbitration::Arbiter;
use crate::buffer::Buffer;
use crate::event_queue::EventQueue;
use crate::observer::Observer;
use crate::pool::{Handle, Pool, Transit, prefetch_transit};
use crate::port::{Location, OutputPort, PortConfig};
use crate::prefetch::prefetch;
use crate::routing::Routes;
use crate::topology::{PortId, Topology};

/// Packet-hops between two checks of how many links are busy.
const FIT_HOPS: u64 = 1 << 14;

/// For how many of the next packets memory is prefetched.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PrefetchDepth {
    /// the caches next to the core hold what packets need
    None,
    One,
    /// even the next packet's own cache line is in no near cache
    Two,
}

impl PrefetchDepth {
    /// The setting that pays in a network with this number of ports and of busy links.
    ///
    /// Measured on fat-trees: many flows to one receiver keep at most 55 links busy, whatever the network's size. They
    /// need the same few ports again and again, so prefetching costs 3 % of the time. The web search workload keeps 200
    /// links busy at k = 8, where prefetching saves 5 %, and 700 at k = 16, where it saves 13 %. A second packet saves
    /// 4 % more there.
    fn over(ports: usize, busy_links: u32) -> Self {
        match (busy_links, ports) {
            (..64, _) => Self::None,
            (_, ..2048) => Self::One,
            _ => Self::Two,
        }
    }
}

/// A packet just taken off a link.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    /// the port whose link it was on
    pub(super) from: PortId,
    pub(super) handle: Handle,
    /// its next output port; [`Routes::END`] if its route ends here
    pub(super) output: PortId,
    /// the number of the port through which it came in
    pub(super) ingress_number: u16,
}

impl Taken {
    /// A packet that was taken off the link of the port `from`, which is at `location`.
    #[inline]
    pub(super) fn new(
        from: PortId,
        handle: Handle,
        location: &Location,
        transits: &[Transit],
    ) -> Self {
        Self {
            from,
            handle,
            output: transits[handle.index()].header.output,
            ingress_number: location.far_number,
        }
    }

    /// A sort key, equal for packets to the same output port. Packets at the end of their routes come first.
    pub(super) fn contest(&self) -> (bool, PortId) {
        (self.output != Routes::END, self.output)
    }
}

/// An arrival that shares its picosecond with others.
pub(super) struct Tied {
    pub(super) rank: u64,
    pub(super) taken: Taken,
}

/// Ports, links, and the packets on them; `O` observes.
///
/// Asserted in release builds: time never goes back; every packet that was injected is delivered, dropped
/// or in flight.
pub(super) struct Region<P: Copy, O: Observer<P>> {
    pub(super) ports: Vec<OutputPort<O::PortState>>,
    /// the queues of the ports with a scheduler
    pub(super) scheduled: ScheduledPorts,
    /// the buffers of the ports that keep them apart from their links
    pub(super) buffers: Vec<Buffer>,
    /// whether all ports of the kind `Ahead` are drop-tail
    pub(super) only_plain_ahead: bool,
    /// the end of the run; no packet is forwarded ahead beyond it
    pub(super) end: Instant,
    /// the accounts of the NICs that have decided about a packet which they will see after the end
    pub(super) at_end: BTreeMap<PortId, AtEnd>,
    pub(super) packets: Pool<P>,
    pub(super) crossings: Crossings,
    pub(super) ingress_arrivals: Vec<u64>,
    pub(super) passages: Passages,
    pub(super) prefetch_depth: PrefetchDepth,
    /// packet-hops at which the number of busy links is checked next
    fits_until: u64,
    pub(super) events: EventQueue,
    pub(super) now: Instant,
    pub(super) arbiter: Arbiter,
    pub(super) tied: Vec<Tied>,
    /// the counts of packets, without those in flight
    pub(super) balance: Balance,
    pub(super) observer: O,
}

impl<P: Copy, O: Observer<P>> Region<P, O> {
    /// A region without packets, with all ports of the topology in their order.
    pub(super) fn new(
        topology: &Topology,
        routes: &Routes,
        ports: Vec<PortConfig>,
        arbiter: Arbiter,
        observer: O,
    ) -> Self {
        let typical_span = typical_span(&ports);
        let mut scheduled = ScheduledPorts::default();
        let mut ingress_base = 0;
        let ports: Vec<OutputPort<O::PortState>> = topology
            .ports()
            .iter()
            .zip(ports)
            .map(|(port, config)| {
                let location = Location::new(port, topology.port(port.peer), ingress_base);
                ingress_base += topology.node(port.node).ports.len() as u32;
                OutputPort::new(location, config, |scheduler| {
                    scheduled.add(port.node, scheduler)
                })
            })
            .collect();
        Self {
            events: EventQueue::new(ports.len(), typical_span),
            prefetch_depth: PrefetchDepth::None,
            fits_until: 0,
            ports,
            scheduled,
            buffers: Vec::new(),
            only_plain_ahead: true,
            end: Instant::NEVER,
            at_end: BTreeMap::new(),
            packets: Pool::new(),
            crossings: Crossings::none(),
            ingress_arrivals: vec![0; ingress_base as usize],
            passages: Passages::new(routes),
            now: Instant::ZERO,
            arbiter,
            tied: Vec::new(),
            balance: Balance::default(),
            observer,
        }
    }

    /// Lets packets arrive, in order of time, until the next arrival is later than `until` or
    /// than the hosts' horizon, or `hops` packets have arrived.
    pub(super) fn advance(
        &mut self,
        fabric: &Fabric,
        until: Instant,
        hops: u64,
        hosts: &mut impl Hosts<P, O>,
    ) {
        if self.balance.arrived >= self.fits_until {
            self.fit();
        }
        let enough = self.balance.arrived.saturating_add(hops);
        let after = |hosts: &_| until.min(Hosts::<P, O>::horizon(hosts)) + Duration::from_ps(1);
        let mut end = after(hosts);
        while self.balance.arrived < enough {
            let Some((time, from)) = self.events.pop_before(end) else {
                break;
            };
            assert!(time >= self.now, "time went back");
            self.now = time;
            let taken = self.take(fabric, PortId(from));
            self.prefetch_next(fabric, hosts);
            if self.events.next_time() == time {
                self.resolve_tie(fabric, PortId(from), taken.handle, hosts);
                end = after(hosts);
            } else if taken.output == Routes::END {
                self.deliver(fabric, PortId(from), taken.handle, hosts);
                end = after(hosts);
            } else {
                self.enqueue(
                    fabric,
                    time,
                    taken.output,
                    taken.ingress_number,
                    taken.handle,
                );
            }
        }
    }

    /// Adapts the event queue and the prefetching to the number of busy links.
    #[inline(never)]
    fn fit(&mut self) {
        let busy_links = self.events.occupied_slots();
        self.events.fit(busy_links);
        self.prefetch_depth = PrefetchDepth::over(self.ports.len(), busy_links);
        self.fits_until = self.balance.arrived + FIT_HOPS;
    }

    /// Prefetches what the next packets will need, while the present arrival is handled: the port or the host of
    /// the next packet. With [`PrefetchDepth::Two`] also its hop, and the cache line of the packet after it.
    #[inline]
    fn prefetch_next(&self, fabric: &Fabric, hosts: &impl Hosts<P, O>) {
        if self.prefetch_depth == PrefetchDepth::None {
            return;
        }
        if self.prefetch_depth == PrefetchDepth::Two
            && let Some((from, packet)) = self.events.second()
        {
            prefetch(&self.ports[from as usize].link);
            prefetch_transit(&self.packets.transits, Handle::at(packet as usize));
        }
        let Some((from, packet)) = self.events.next() else {
            return;
        };
        let packet = Handle::at(packet as usize);
        let header = self.packets.header(packet);
        if header.output == Routes::END {
            self.packets.prefetch_content(packet);
            hosts.expect(self.ports[from as usize].location.far_node, header);
        } else {
            prefetch(&self.ports[header.output.0 as usize]);
            if self.prefetch_depth == PrefetchDepth::Two {
                fabric.routes.prefetch(header.route);
            }
        }
    }

    /// Takes the first packet off a link; it has arrived at the far end.
    #[inline(always)]
    pub(super) fn take(&mut self, fabric: &Fabric, from: PortId) -> Taken {
        let port = &mut self.ports[from.0 as usize];
        let transits = &self.packets.transits[..];
        let (handle, next) = port.link.pop(transits);
        self.balance.arrived += 1;
        if let Some((due, behind)) = next {
            self.events.insert(due, from.0, behind.index() as u32);
        }
        let taken = Taken::new(from, handle, &port.location, transits);
        if port.is_behind(self.now) {
            self.catch_up(fabric, from, self.now);
        }
        taken
    }

    /// The host at the far end of a link receives a packet.
    #[inline]
    pub(super) fn deliver(
        &mut self,
        fabric: &Fabric,
        from: PortId,
        handle: Handle,
        hosts: &mut impl Hosts<P, O>,
    ) {
        self.balance.delivered += 1;
        let host = self.ports[from.0 as usize].location.far_node;
        let received = self.packets.get(handle);
        self.packets.release(handle);
        hosts.receive(Access::new(fabric, self), host, &received);
    }
}

/// The median of the ports' latency plus four full frames, because a port's next arrival is rarely later than
/// that. With the median, a few slow links do not make the event queue slow for the others.
fn typical_span(ports: &[PortConfig]) -> Duration {
    let span = |port: &PortConfig| port.latency + port.rate.time_of(1538) * 4;
    let mut spans: Vec<Duration> = ports.iter().map(span).collect();
    spans.sort_unstable();
    spans
        .get(spans.len() / 2)
        .copied()
        .unwrap_or(Duration::ZERO)
}
