//! Packets that cross from one region of a partition into another.
//!
//! A port whose link is cut belongs to the region of its node: that one admits packets, counts them, and
//! knows when each will be at the far end. Each packet is copied into the far region, in which the link's
//! events are. The near region keeps its own copy until then, because the port's buffer is the front of
//! its link.

use fairport_units::Instant;

use super::{Fabric, Region};
use crate::observer::Observer;
use crate::packet::Packet;
use crate::partition::Partition;
use crate::pool::Handle;
use crate::port::{Kind, OutputPort};
use crate::prefetch::prefetch;
use crate::topology::{PortId, Topology};

/// A packet on a cut link.
#[derive(Clone, Copy, Debug)]
pub struct Crossing<P: Copy> {
    /// the port whose link it is on
    from: PortId,
    /// when the node at the far end decides about it
    due: Instant,
    packet: Packet<P>,
}

/// A packet on a cut link, still in its own region. It is copied when the outbox is drained: by then its content, which
/// nobody has read since its host sent it, is in the cache.
#[derive(Clone, Copy)]
struct Sent {
    from: PortId,
    handle: Handle,
}

/// What a region knows of the others.
pub(super) struct Crossings {
    /// by port: the region at the far end, where that is another; empty where there are no other regions
    far_region: Vec<Option<u16>>,
    /// the cut ports of this region that decide at departures
    scheduled: Vec<PortId>,
    /// by region: what goes there
    outbox: Vec<Vec<Sent>>,
    /// when the first packet of all outboxes is due
    first_due: Instant,
    /// packets that have gone to other regions, and that have come from there
    pub(super) gone: u64,
    pub(super) come: u64,
}

impl Crossings {
    /// Of a region that is the whole network.
    pub(super) fn none() -> Self {
        Self {
            far_region: Vec::new(),
            scheduled: Vec::new(),
            outbox: Vec::new(),
            first_due: Instant::NEVER,
            gone: 0,
            come: 0,
        }
    }

    /// Whether a port's link leads into another region.
    #[inline]
    pub(super) fn is_cut(&self, port: PortId) -> bool {
        matches!(self.far_region.get(port.0 as usize), Some(Some(_)))
    }
}

impl<P: Copy, O: Observer<P>> Region<P, O> {
    /// Confines the region to the nodes of this number in the partition. Nothing has arrived yet.
    pub(super) fn confine(&mut self, topology: &Topology, partition: &Partition, own: u16) {
        assert_eq!(
            self.injected, 0,
            "a region is confined before its first packet"
        );
        let ports = (0..self.ports.len() as u32).map(PortId);
        let far_region = |port: PortId| {
            let is_own = partition.region(topology.port(port).node) == own;
            let far = partition.region(topology.far_node(port));
            (is_own && far != own).then_some(far)
        };
        self.crossings.far_region = ports.clone().map(far_region).collect();
        let regions = usize::from(partition.regions());
        self.crossings.outbox.resize_with(regions, Vec::new);
        for port in ports {
            if self.crossings.is_cut(port) {
                self.ports[port.0 as usize].take_the_general_path();
                if let Kind::Scheduled(_) = self.ports[port.0 as usize].kind() {
                    self.crossings.scheduled.push(port);
                }
            }
        }
    }

    /// A packet is on the link of a cut port: it goes to the far region as well.
    #[inline(never)]
    pub(super) fn cross(&mut self, from: PortId, handle: Handle) {
        let crossings = &mut self.crossings;
        let to = crossings.far_region[from.0 as usize].expect("a cut port");
        let due = self.packets.transits[handle.index()].entry.due;
        self.packets.prefetch_content(handle);
        crossings.first_due = crossings.first_due.min(due);
        crossings.gone += 1;
        crossings.outbox[usize::from(to)].push(Sent { from, handle });
    }

    /// Forgets the packets of a cut port that are at the far end by now.
    pub(super) fn forget_crossed(&mut self, from: PortId) {
        let now = self.now; // a host's packet may reach its port later
        debug_assert!(
            now < self.crossings.first_due,
            "a packet is still to be copied"
        );
        let link = &mut self.ports[from.0 as usize].link;
        while link
            .next_due(&self.packets.transits)
            .is_some_and(|due| due <= now)
        {
            let (handle, _) = link.pop(&self.packets.transits);
            self.packets.release(handle);
        }
    }

    /// Packets come from another region, in order of time at each link. None is due yet.
    pub(super) fn receive_crossings(&mut self, crossings: &mut Vec<Crossing<P>>) {
        self.crossings.come += crossings.len() as u64;
        // another core has written them
        crossings.iter().for_each(prefetch);
        for Crossing { from, due, packet } in crossings.drain(..) {
            let handle = self.packets.put(&packet);
            let link = &mut self.ports[from.0 as usize].link;
            if link.is_empty() {
                self.events.insert(due, from.0, handle.index() as u32);
            }
            link.append(due, handle, &mut self.packets.transits);
        }
    }

    /// Puts copies of what has crossed into that region behind what is in `batch`, before any of it is due. A caller that
    /// does so for one region does so for all.
    pub(super) fn drain_outbox(&mut self, region: u16, batch: &mut Vec<Crossing<P>>) {
        self.crossings.first_due = Instant::NEVER;
        let packets = &self.packets;
        let outbox = self.crossings.outbox[usize::from(region)].drain(..);
        batch.extend(outbox.map(|Sent { from, handle }| Crossing {
            from,
            due: packets.transits[handle.index()].entry.due,
            packet: packets.get(handle),
        }));
    }

    /// All that happens until `now` has happened: cut ports choose what they choose until then.
    pub(super) fn catch_up_crossings(&mut self, fabric: &Fabric, now: Instant) {
        for i in 0..self.crossings.scheduled.len() {
            let port = self.crossings.scheduled[i];
            if self.ports[port.0 as usize].is_behind(now) {
                self.catch_up(fabric, port, now);
            }
        }
    }

    /// When something happens next that concerns another region: a packet crosses, or a cut port chooses the
    /// next. [`Instant::NEVER`] when nothing is known to.
    pub(super) fn next_crossing(&self) -> Instant {
        let scheduled = self.crossings.scheduled.iter();
        let waiting = scheduled.map(|port| &self.ports[port.0 as usize]);
        let departures = waiting
            .filter(|port| port.waits)
            .map(OutputPort::next_departure);
        departures.fold(self.crossings.first_due, Instant::min)
    }
}
