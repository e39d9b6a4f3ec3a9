//! Ports whose discipline decides at dequeue: the general path.
//!
//! A first-in-first-out port knows a packet's departure when it accepts the packet. At a port with a
//! [`Scheduler`], the packet waits with the scheduler until the line is free, and only then goes on the
//! link. The scheduler chooses as of that instant, but it is asked later: a port catches up with its
//! departures when a packet arrives at it, when one that it has sent arrives at the far end, or when the
//! port's state is read. By then all packets that arrived before each departure are known, and the choice
//! depends on nothing else. So these ports need no events of their own. While packets wait, one is being
//! sent, and its arrival is an event to come. That event is early enough, because the next packet cannot
//! arrive before it.
//!
//! Departures come before arrivals of the same picosecond. If arrivals are to come first
//! (`departure_first = false`), a departure is decided one picosecond late, but the transmission that it
//! starts begins on time.
//!
//! A packet that finds the line free and no packet waiting is enqueued and dequeued at once, or bypasses
//! the queue ([`PacketScheduler::pass`]).
//!
//! The decision about an arriving packet may be revised: a discipline may drop a packet that it had
//! accepted, or mark it as it leaves. So every waiting packet keeps the counts of its own arrival.

mod departures;

use fairport_units::Instant;

use super::{Fabric, Region};
use crate::discipline::{Admission, Backlog, NOTHING, Reason};
use crate::observer::{Arrival, Observer};
use crate::pool::Handle;
use crate::port::{Kind, OutputPort};
use crate::queue::Scheduler;
use crate::scheduler::{Offer, PacketScheduler, Waiting, WaitingPackets};
use crate::topology::{NodeId, PortId};

/// The queue of one port with a scheduler.
#[repr(C, align(64))] // first the fields that a packet needs that bypasses the queue
struct Scheduled {
    scheduler: Scheduler,
    /// without the packet in service
    backlog: Backlog,
    /// the instant up to which the backlog is integrated
    integrated_to: Instant,
    revoked: Revoked,
    /// the switch that it belongs to
    node: NodeId,
}

impl Scheduled {
    /// Adds the time since the last change to the backlog's integral.
    #[inline]
    fn integrate<S>(&mut self, now: Instant, port: &mut OutputPort<S>) {
        let span = (now - self.integrated_to).as_ps();
        self.integrated_to = now;
        port.backlog_integral += u128::from(span) * u128::from(self.backlog.bytes);
    }

    /// Adds a packet to the backlog.
    #[inline]
    fn add<S: Default>(&mut self, frame_bytes: u32, port: &mut OutputPort<S>) {
        self.backlog.bytes += frame_bytes;
        self.backlog.packets += 1;
        port.waits = true;
        port.count_accepted(frame_bytes, self.backlog.bytes);
    }

    /// Removes a packet from the backlog.
    #[inline]
    fn remove<S>(&mut self, waiting: &mut Waiting, port: &mut OutputPort<S>) {
        assert!(
            waiting.is_here,
            "the scheduler sent or dropped a packet that does not wait: one that it refused, sent or dropped before"
        );
        waiting.is_here = false;
        self.backlog.bytes -= waiting.packet.frame_bytes;
        self.backlog.packets -= 1;
        port.waits = self.backlog.packets > 0;
    }
}

/// The packets that a port accepted and dropped later.
#[derive(Clone, Copy, Default)]
pub(super) struct Revoked {
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

/// All ports of a region that have a scheduler.
#[derive(Default)]
pub(super) struct ScheduledPorts {
    ports: Vec<Scheduled>,
    waiting_packets: WaitingPackets,
}

impl ScheduledPorts {
    /// Adds a port of `node`; returns its number among these.
    pub(super) fn add(&mut self, node: NodeId, scheduler: Scheduler) -> u32 {
        self.ports.push(Scheduled {
            backlog: NOTHING,
            integrated_to: Instant::ZERO,
            scheduler,
            revoked: Revoked::default(),
            node,
        });
        self.ports.len() as u32 - 1
    }

    /// The backlog of a port of this kind; zero if it has no scheduler.
    pub(super) fn backlog(&self, kind: Kind) -> Backlog {
        self.get(kind).map_or(NOTHING, |port| port.backlog)
    }

    /// The part of the backlog's integral that comes after the last change of the backlog.
    pub(super) fn backlog_integral_since(&self, kind: Kind, now: Instant) -> u128 {
        self.get(kind).map_or(0, |port| {
            let span = now.saturating_sub(port.integrated_to).as_ps();
            u128::from(span) * u128::from(port.backlog.bytes)
        })
    }

    /// What a port of this kind accepted and dropped later; zero if it has no scheduler.
    pub(super) fn revoked(&self, kind: Kind) -> Revoked {
        self.get(kind)
            .map_or_else(Revoked::default, |port| port.revoked)
    }

    fn get(&self, kind: Kind) -> Option<&Scheduled> {
        match kind {
            Kind::Scheduled(number) => Some(&self.ports[number as usize]),
            Kind::Plain | Kind::Ahead(_) | Kind::Cut(_) | Kind::Fifo => None,
        }
    }

    /// The packets that wait at any of them.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Handle> {
        self.waiting_packets.iter()
    }
}

impl<P: Copy, O: Observer<P>> Region<P, O> {
    /// A packet arrives at a port with the scheduler of this `number`: the counterpart of
    /// `Region::enqueue_fifo`.
    #[inline(never)] // inlined, it would take registers from the path of first-in-first-out ports
    pub(super) fn enqueue_scheduled(
        &mut self,
        fabric: &Fabric,
        now: Instant,
        id: PortId,
        ingress_number: u16,
        handle: Handle,
        number: u32,
    ) -> Instant {
        assert_eq!(
            now, self.now,
            "a host's own port needs a first-in-first-out discipline"
        );
        if self.scheduled.ports[number as usize]
            .scheduler
            .shares_memory()
        {
            self.catch_up_at_node(fabric, number);
        } else if self.ports[id.0 as usize].is_behind(now) {
            self.catch_up(fabric, id, now);
        }
        let port = &mut self.ports[id.0 as usize];
        let scheduled = &mut self.scheduled.ports[number as usize];
        port.count_arrival(now);
        port.forget_busy(now);
        let ingress_arrivals = &mut self.ingress_arrivals[port.ingress_slot(ingress_number)];
        *ingress_arrivals += 1;
        let header = self.packets.header_mut(handle);
        let hop = fabric.routes.hop(header.route);
        self.passages.count(hop.counted_at());
        header.route += 1;
        header.output = hop.next;
        let header = *header;
        let frame_bytes = fabric.framing.buffered_bytes(header.size_bytes);
        let view = header.view(frame_bytes, ingress_number);
        let counts = port.counts(*ingress_arrivals, self.passages.arrivals(hop.counted_at()));
        let is_lost = port.loses(now);
        let line_is_free = !is_lost && !port.waits && port.is_line_free(now);
        if line_is_free && let Some(admission) = scheduled.scheduler.pass(now, &view) {
            let observed = &mut port.observed;
            self.observer
                .admission(id, observed, now, &header, admission);
            if admission == Admission::Accepted && !self.observer.watches(id) {
                port.count_accepted(frame_bytes, frame_bytes);
                self.send(fabric, id, now, frame_bytes, handle);
                return Instant::NEVER;
            }
            let waiting_packets = &mut self.scheduled.waiting_packets;
            waiting_packets.enter(handle, now, view, counts);
            self.pass_reported(fabric, id, handle, admission);
            return Instant::NEVER;
        }
        let waiting_packets = &mut self.scheduled.waiting_packets;
        waiting_packets.enter(handle, now, view, counts);
        if is_lost {
            waiting_packets[handle].is_here = false;
            let (backlog, lost) = (scheduled.backlog, Admission::Dropped(Reason::Loss));
            self.report(fabric, id, handle, backlog, lost);
        } else {
            self.offer(fabric, id, number, handle);
            if line_is_free && self.ports[id.0 as usize].waits {
                self.depart(fabric, id, number, now, now);
            }
        }
        Instant::NEVER
    }

    /// Reports a packet that found the line free, if it was refused or if the port is watched.
    #[inline(never)]
    fn pass_reported(&mut self, fabric: &Fabric, id: PortId, handle: Handle, admission: Admission) {
        let waiting = &mut self.scheduled.waiting_packets[handle];
        waiting.is_here = false;
        let frame_bytes = waiting.packet.frame_bytes;
        let arrival = waiting.counts.port_arrival;
        self.report_detail(fabric, id, handle, NOTHING, admission, None);
        if !admission.is_accepted() {
            return;
        }
        let port = &mut self.ports[id.0 as usize];
        port.count_accepted(frame_bytes, frame_bytes);
        let depart = self.send(fabric, id, self.now, frame_bytes, handle);
        let packet = self.packets.get(handle);
        self.observer.departs(id, &packet, arrival, depart);
    }

    /// Offers a packet to the discipline, which enqueues or refuses it.
    #[inline(never)] // so that the path of a packet that bypasses the queue stays short
    fn offer(&mut self, fabric: &Fabric, id: PortId, number: u32, handle: Handle) {
        let ScheduledPorts {
            ports,
            waiting_packets,
        } = &mut self.scheduled;
        let scheduled = &mut ports[number as usize];
        scheduled.integrate(self.now, &mut self.ports[id.0 as usize]);
        let backlog = scheduled.backlog;
        let addresses = || fabric.addresses(self.packets.header(handle).route - 1);
        let offer = Offer::new(handle, backlog, &addresses);
        let admission = scheduled.scheduler.enqueue(&offer, waiting_packets);
        if !waiting_packets.dropped.is_empty() {
            self.drop_queued(fabric, id, number, self.now); // frees the room that the packet will take
        }
        self.report(fabric, id, handle, backlog, admission);
        let waiting = &mut self.scheduled.waiting_packets[handle];
        if admission.is_accepted() {
            let port = &mut self.ports[id.0 as usize];
            let frame_bytes = waiting.packet.frame_bytes;
            self.scheduled.ports[number as usize].add(frame_bytes, port);
        } else {
            waiting.is_here = false;
        }
    }

    /// Reports what became of a packet; `backlog` is what was queued before it.
    #[inline]
    fn report(
        &mut self,
        fabric: &Fabric,
        id: PortId,
        handle: Handle,
        backlog: Backlog,
        admission: Admission,
    ) {
        let header = self.packets.header(handle);
        let observed = &mut self.ports[id.0 as usize].observed;
        self.observer
            .admission(id, observed, self.now, header, admission);
        if admission != Admission::Accepted || self.observer.watches(id) {
            self.report_detail(fabric, id, handle, backlog, admission, None);
        }
    }

    /// Reports the details of a packet that was refused, or that arrived at a watched port. If it had been accepted and
    /// is marked or dropped now, `revised` has the time of this and of its departure. Releases a packet that is dropped.
    #[inline(never)]
    fn report_detail(
        &mut self,
        fabric: &Fabric,
        id: PortId,
        handle: Handle,
        backlog: Backlog,
        admission: Admission,
        revised: Option<[Instant; 2]>,
    ) {
        let waiting = &self.scheduled.waiting_packets[handle];
        let header = self.packets.header(handle);
        let [time, depart] = revised.unwrap_or([self.now, Instant::NEVER]);
        let arrival = Arrival {
            time,
            port: id,
            ingress: fabric.ingress(id, waiting.packet.ingress_number),
            header,
            content: self.packets.content(handle),
            addresses: &|| fabric.addresses(header.route - 1),
            frame_bytes: waiting.packet.frame_bytes,
            backlog,
            admission,
            depart,
            port_arrival: waiting.counts.port_arrival,
            counts: &|| waiting.counts,
        };
        match revised {
            None => self.observer.detail(&arrival),
            Some(_) => self.observer.revised(&arrival),
        }
        if !admission.is_accepted() {
            self.balance.dropped += 1;
            self.packets.release(handle);
        }
    }
}
