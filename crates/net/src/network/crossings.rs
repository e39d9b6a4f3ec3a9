//! Packets that cross from one region of a partition into another.
//!
//! A region admits packets to its ports, counts them, and knows when each will be at the far end of its link. A link
//! is cut if some of its packets continue at ports of another region. These packets are copied into that region, which
//! keeps a list of its own packets on the link. The near region keeps a list of the others, and keeps the port's
//! buffer apart from both lists.

use fairport_units::Instant;

use super::{Network, Region};
use crate::buffer::Buffer;
use crate::observer::Observer;
use crate::packet::Packet;
use crate::partition::Partition;
use crate::pool::Handle;
use crate::port::{Kind, OutputPort};
use crate::prefetch::prefetch;
use crate::topology::{PortId, Topology};

/// A packet on a cut link that crosses into another region.
#[derive(Clone, Copy, Debug)]
pub struct Crossing<P: Copy> {
    /// the port whose link it is on
    from: PortId,
    /// when the node at the far end decides about it
    due: Instant,
    packet: Packet<P>,
}

/// A packet that crosses but is still stored in the region it leaves. It is copied when the outbox is drained. Its
/// content, which nothing has read since its host sent it, is prefetched before that.
#[derive(Clone, Copy)]
struct Sent {
    from: PortId,
    handle: Handle,
    due: Instant,
}

/// What a region knows about the others, and the packets that cross into them.
pub(super) struct Crossings {
    own: u16,
    /// by port: its region
    port_region: Vec<u16>,
    /// by port: the number of its buffer, if its link is cut; empty if there are no other regions
    buffer: Vec<Option<u32>>,
    /// by port: the region of the node at the far end, for a packet whose route ends there
    end_region: Vec<u16>,
    /// the cut ports of this region that have a scheduler
    scheduled: Vec<PortId>,
    /// by region: the packets that go there
    outbox: Vec<Vec<Sent>>,
    /// when the first packet of all outboxes is due
    first_due: Instant,
}

impl Crossings {
    /// The crossings of a region that is the whole network: there are none.
    pub(super) fn none() -> Self {
        Self {
            own: 0,
            port_region: Vec::new(),
            buffer: Vec::new(),
            end_region: Vec::new(),
            scheduled: Vec::new(),
            outbox: Vec::new(),
            first_due: Instant::NEVER,
        }
    }

    /// The number of a port's buffer, if its link is cut.
    #[inline]
    pub(super) fn buffer(&self, port: PortId) -> Option<u32> {
        *self.buffer.get(port.0 as usize)?
    }

    /// Whether both ports are in the same region.
    pub(super) fn are_together(&self, ports: [PortId; 2]) -> bool {
        let [one, other] = ports.map(|port| self.port_region.get(port.0 as usize));
        one == other
    }

    /// The region in which a packet on the link of the port `from` continues, if `output` is its next port.
    #[inline]
    fn region_of(&self, from: PortId, output: PortId) -> u16 {
        let region = self.port_region.get(output.0 as usize);
        *region.unwrap_or(&self.end_region[from.0 as usize])
    }
}

impl<P: Copy, O: Observer<P>> Network<P, O> {
    /// Confines this network to the region `own` of the partition: packets move through that region's ports only. Every
    /// region has a network of its own, with the same ports and routes. The owner of the networks moves the packets
    /// that cross from one into another. This comes after [`Network::end_at`] and before [`Network::forward_ahead`].
    ///
    /// # Panics
    /// If a packet has been injected, or packets are forwarded ahead.
    pub fn confine(&mut self, topology: &Topology, partition: &Partition, own: u16) {
        assert!(
            self.fabric.fed_ahead_by.is_empty(),
            "a network is confined before it forwards packets ahead"
        );
        let region = &mut self.region;
        assert_eq!(
            region.balance.injected, 0,
            "a region is confined before its first packet"
        );
        region.crossings.own = own;
        region.crossings.port_region = partition.port_regions().to_vec();
        let ends = topology.port_ids().map(|port| topology.far_node(port));
        region.crossings.end_region = ends.map(|node| partition.region(node)).collect();
        let regions = usize::from(partition.regions());
        region.crossings.outbox.resize_with(regions, Vec::new);
        for port in topology.port_ids() {
            let is_cut = partition.port_region(port) == own && partition.is_cut(topology, port);
            let number = is_cut.then_some(region.buffers.len() as u32);
            region.crossings.buffer.push(number);
            if let Some(number) = number {
                region.buffers.push(Buffer::new(region.end));
                let port_state = &mut region.ports[port.0 as usize];
                match port_state.kind {
                    Kind::Plain => port_state.keep_buffer_apart(Kind::Cut(number)),
                    Kind::Scheduled(_) => region.crossings.scheduled.push(port),
                    Kind::Ahead(_) | Kind::Cut(_) | Kind::Fifo => {}
                }
            }
        }
    }

    /// Appends copies of the packets that have crossed into `region` to `batch`, before any of them is due. This resets
    /// [`Network::first_due`], so the caller must do it for all regions.
    pub fn drain_outbox(&mut self, region: u16, batch: &mut Vec<Crossing<P>>) {
        let Region {
            crossings, packets, ..
        } = &mut self.region;
        crossings.first_due = Instant::NEVER;
        let outbox = crossings.outbox[usize::from(region)].drain(..);
        batch.extend(outbox.map(|Sent { from, handle, due }| {
            let packet = packets.get(handle);
            packets.release(handle);
            Crossing { from, due, packet }
        }));
    }

    /// Takes packets that have crossed from another region, in order of arrival on each link. This network has not
    /// advanced to the arrival of any of them.
    pub fn receive_crossings(&mut self, crossings: &mut Vec<Crossing<P>>) {
        let region = &mut self.region;
        region.balance.crossing -= crossings.len().cast_signed() as i64;
        // prefetched, because another core has written them
        crossings.iter().for_each(prefetch);
        for Crossing { from, due, packet } in crossings.drain(..) {
            let handle = region.packets.put(&packet);
            region.put_on_link(from, handle, due);
        }
    }

    /// Lets the schedulers of cut ports choose the packets that they send until `now`, inclusive. Everything else that
    /// happens in this region until then has happened.
    pub fn catch_up_crossings(&mut self, now: Instant) {
        let region = &mut self.region;
        for i in 0..region.crossings.scheduled.len() {
            let port = region.crossings.scheduled[i];
            if region.ports[port.0 as usize].is_behind(now) {
                region.catch_up(&self.fabric, port, now);
            }
        }
    }

    /// The earliest arrival of a packet that has crossed and was not moved yet; [`Instant::NEVER`] if there is none.
    pub fn first_due(&self) -> Instant {
        self.region.crossings.first_due
    }

    /// When the scheduler of a cut port next chooses a packet; [`Instant::NEVER`] if no packet waits at one.
    pub fn next_choice(&self) -> Instant {
        let scheduled = self.region.crossings.scheduled.iter();
        let waiting = scheduled.map(|port| &self.region.ports[port.0 as usize]);
        let departures = waiting
            .filter(|port| port.waits)
            .map(OutputPort::next_departure);
        departures.fold(Instant::NEVER, Instant::min)
    }
}

impl<P: Copy, O: Observer<P>> Region<P, O> {
    /// Puts a packet on the link of a cut port. At `due` it arrives in this region, or in the one into which it
    /// crosses. The caller updates the port's buffer.
    #[inline]
    pub(super) fn put_on_cut_link(&mut self, from: PortId, handle: Handle, due: Instant) {
        let crossings = &mut self.crossings;
        let to = crossings.region_of(from, self.packets.header(handle).output);
        if to == crossings.own {
            self.put_on_link(from, handle, due);
            return;
        }
        self.packets.prefetch_content(handle);
        crossings.first_due = crossings.first_due.min(due);
        self.balance.crossing += 1;
        crossings.outbox[usize::from(to)].push(Sent { from, handle, due });
    }

    /// Puts a packet on a link, where it arrives at `due`. The link does not count it as buffered.
    #[inline]
    pub(super) fn put_on_link(&mut self, from: PortId, handle: Handle, due: Instant) {
        let link = &mut self.ports[from.0 as usize].link;
        if link.is_empty() {
            self.events.insert(due, from.0, handle.index() as u32);
        }
        link.append(due, handle, &mut self.packets.transits);
    }
}
