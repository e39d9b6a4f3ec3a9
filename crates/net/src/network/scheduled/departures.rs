//! Departures from ports whose discipline decides at dequeue: a port catches up with those that were due,
//! sends what its scheduler chooses, and drops what the scheduler gives up.

use fairport_units::Instant;

use super::super::{Fabric, Region};
use super::ScheduledPorts;
use crate::discipline::Admission;
use crate::observer::Observer;
use crate::packet::CE;
use crate::pool::Handle;
use crate::port::Kind;
use crate::scheduler::PacketScheduler;
use crate::topology::PortId;

impl<P: Copy, O: Observer<P>> Region<P, O> {
    /// Lets all ports of a switch catch up with their departures, because they share a memory. It is the switch
    /// of the scheduler with this `number`.
    #[cold]
    pub(super) fn catch_up_at_node(&mut self, fabric: &Fabric, number: u32) {
        let node = self.scheduled.ports[number as usize].node;
        for port in fabric.ports_of(node) {
            self.catch_up(fabric, *port, self.now);
        }
    }

    /// Lets one port catch up with the departures that are due by `now`.
    #[inline(never)]
    pub(in crate::network) fn catch_up(&mut self, fabric: &Fabric, id: PortId, now: Instant) {
        let Kind::Scheduled(number) = self.ports[id.0 as usize].kind else {
            return;
        };
        while self.ports[id.0 as usize].is_behind(now) {
            let port = &self.ports[id.0 as usize];
            let (at, begin) = (port.next_departure(), port.free_at());
            self.depart(fabric, id, number, at, begin);
        }
    }

    /// Sends the next packet of a port whose line is free and at which packets wait, if the discipline has
    /// one left. The discipline chooses it at `at`, and its transmission begins at `begin`.
    #[inline]
    pub(super) fn depart(
        &mut self,
        fabric: &Fabric,
        id: PortId,
        number: u32,
        at: Instant,
        begin: Instant,
    ) {
        let ScheduledPorts {
            ports,
            waiting_packets,
        } = &mut self.scheduled;
        let scheduled = &mut ports[number as usize];
        let port = &mut self.ports[id.0 as usize];
        scheduled.integrate(at, port);
        let next = scheduled.scheduler.dequeue(at, waiting_packets);
        if let Some(handle) = next {
            let waiting = &mut waiting_packets[handle];
            scheduled.remove(waiting, port);
            let frame_bytes = waiting.packet.frame_bytes;
            let marked = waiting.marked;
            let depart = self.send(fabric, id, begin, frame_bytes, handle);
            if marked {
                self.ports[id.0 as usize].totals.marked += 1;
                self.packets.header_mut(handle).ecn |= CE;
            }
            if self.observer.watches(id) {
                let packet = self.packets.get(handle);
                let arrival = self.scheduled.waiting_packets[handle].counts.port_arrival;
                self.observer.departs(id, &packet, arrival, depart);
            }
            if marked {
                self.revise(fabric, id, number, handle, Admission::Marked, [at, depart]);
            }
        }
        if !self.scheduled.waiting_packets.dropped.is_empty() {
            self.drop_queued(fabric, id, number, at);
        }
        if next.is_none() {
            let left = self.scheduled.ports[number as usize].backlog.packets;
            assert!(left == 0, "the scheduler sent no packet while {left} wait");
        }
    }

    /// Puts a packet on the line, which is free at `begin`; returns when its last bit is sent.
    #[inline]
    pub(super) fn send(
        &mut self,
        fabric: &Fabric,
        id: PortId,
        begin: Instant,
        frame_bytes: u32,
        handle: Handle,
    ) -> Instant {
        let port = &mut self.ports[id.0 as usize];
        let wire_bytes = frame_bytes + fabric.framing.gap_bytes();
        let (_, due) = port.serialize::<false>(begin, frame_bytes, wire_bytes);
        let depart = port.free_at();
        if let Some(number) = self.crossings.buffer(id) {
            // the scheduler holds the packets that wait, so the buffer holds only the one in transmission
            self.buffers[number as usize].pass(begin, frame_bytes);
            self.put_on_cut_link(id, handle, due);
            return depart;
        }
        if port.link.is_empty() {
            self.events.insert(due, id.0, handle.index() as u32);
        }
        let transits = &mut self.packets.transits[..];
        port.link.push(due, begin, frame_bytes, handle, transits);
        depart
    }

    /// Reports that a packet that had been accepted is marked or dropped now, with the time of this and of
    /// its departure.
    fn revise(
        &mut self,
        fabric: &Fabric,
        id: PortId,
        number: u32,
        handle: Handle,
        admission: Admission,
        times: [Instant; 2],
    ) {
        let header = self.packets.header(handle);
        let observed = &mut self.ports[id.0 as usize].observed;
        self.observer
            .admission(id, observed, times[0], header, admission);
        let backlog = self.scheduled.ports[number as usize].backlog;
        self.report_detail(fabric, id, handle, backlog, admission, Some(times));
    }

    /// Drops the queued packets that the discipline gave up at `now`.
    #[inline(never)]
    pub(super) fn drop_queued(&mut self, fabric: &Fabric, id: PortId, number: u32, now: Instant) {
        let mut lost = std::mem::take(&mut self.scheduled.waiting_packets.dropped);
        for (handle, reason) in lost.drain(..) {
            let ScheduledPorts {
                ports,
                waiting_packets,
            } = &mut self.scheduled;
            let scheduled = &mut ports[number as usize];
            let waiting = &mut waiting_packets[handle];
            scheduled.remove(waiting, &mut self.ports[id.0 as usize]);
            scheduled.revoked.packets += 1;
            scheduled.revoked.bytes += u64::from(waiting.packet.frame_bytes);
            let (admission, times) = (Admission::Dropped(reason), [now, Instant::NEVER]);
            self.revise(fabric, id, number, handle, admission, times);
        }
        self.scheduled.waiting_packets.dropped = lost;
    }
}
