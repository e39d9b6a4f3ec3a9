//! Ports whose discipline decides at dequeue: the general path.
//!
//! A port of the other kind knows a departure when it accepts the packet. Here the packet stays
//! with the [`Scheduler`] until the line is free for it, and only then goes on the link. So such a
//! port has an event of its own, "the line is free and somebody waits", in the same event queue;
//! its ids lie behind those of the links. It is set while packets wait. Of all that happens in one
//! picosecond departures come first; where arrivals are to come first (`departure_first = false`)
//! the event is set one picosecond late, and the packet that it sends begins on time.
//!
//! A packet that finds the line free and nobody waiting goes at once: no queue, no event.
//!
//! What was decided when a packet arrived may be revised: a discipline drops one that it had
//! accepted, or marks it as it leaves. So every waiting packet keeps the counts of its own arrival.

use fairport_units::Time;

use super::Network;
use crate::discipline::{Backlog, NOTHING, Reason, Verdict};
use crate::observer::{Arrival, Counts, Observer};
use crate::packet::CE;
use crate::pool::Handle;
use crate::port::Port;
use crate::routing::Hop;
use crate::scheduler::{Addresses, Lost, Scheduler, Waiting};
use crate::topology::{NodeId, PortId, Topology};

/// The queue of one such port.
struct Scheduled {
    port: PortId,
    scheduler: Scheduler,
    /// without the packet in service
    backlog: Backlog,
    /// whether its event is set
    is_set: bool,
    /// until when the backlog's integral has been taken
    integrated_to: Time,
    revoked: Revoked,
}

impl Scheduled {
    /// Adds the time since the last change to the backlog's integral.
    #[inline]
    fn integrate(&mut self, now: Time, port: &mut Port) {
        let span = (now - self.integrated_to).as_ps();
        self.integrated_to = now;
        port.totals.backlog_integral += u128::from(span) * u128::from(self.backlog.bytes);
    }
}

/// A packet that meets such a port.
struct Meeting {
    port: PortId,
    /// the port's index among these
    index: u32,
    counts: Counts,
    packet: Waiting,
}

/// What was accepted at a port and dropped all the same.
#[derive(Clone, Copy, Default)]
pub(super) struct Revoked {
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

/// All such ports of a network.
pub(super) struct ScheduledPorts {
    ports: Vec<Scheduled>,
    /// the id of the first one's event
    first_event: u32,
    /// of each packet that waits at one of them the counts of its arrival, by its handle
    counts: Vec<Option<Counts>>,
    /// host number by node
    host_number: Vec<u32>,
    /// what the discipline gives up in one step; empty in between
    lost: Lost,
}

impl ScheduledPorts {
    /// None yet.
    pub(super) fn new(topology: &Topology) -> Self {
        let mut host_number = vec![0; topology.nodes().len()];
        for (number, host) in topology.hosts().iter().enumerate() {
            host_number[host.0 as usize] = number as u32;
        }
        Self {
            ports: Vec::new(),
            first_event: topology.ports().len() as u32,
            counts: Vec::new(),
            host_number,
            lost: Lost::new(),
        }
    }

    /// Adds a port; returns its index among these.
    pub(super) fn add(&mut self, port: PortId, scheduler: Scheduler) -> u32 {
        self.ports.push(Scheduled {
            port,
            scheduler,
            backlog: NOTHING,
            is_set: false,
            integrated_to: Time::ZERO,
            revoked: Revoked::default(),
        });
        self.ports.len() as u32 - 1
    }

    pub(super) fn len(&self) -> usize {
        self.ports.len()
    }

    /// What waits at a port with this index; nothing where it is [`NO_SCHEDULER`].
    pub(super) fn backlog(&self, index: u32) -> Backlog {
        self.get(index).map_or(NOTHING, |port| port.backlog)
    }

    /// What the port with this index revoked; nothing where it is [`NO_SCHEDULER`].
    pub(super) fn revoked(&self, index: u32) -> Revoked {
        self.get(index)
            .map_or_else(Revoked::default, |port| port.revoked)
    }

    fn get(&self, index: u32) -> Option<&Scheduled> {
        self.ports.get(index as usize)
    }

    /// The packets that wait at any of them.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Handle> {
        let places = self.counts.iter().enumerate();
        places.filter_map(|(place, counts)| counts.is_some().then_some(Handle::at(place)))
    }
}

impl<P: Copy, O: Observer<P>> Network<P, O> {
    /// A packet meets a port with a scheduler: the counterpart of `Network::meet_fifo`.
    #[inline(never)] // it would crowd the other kind of port out of the registers
    pub(super) fn meet_scheduler(
        &mut self,
        now: Time,
        hop: Hop,
        ingress_number: u16,
        handle: Handle,
    ) -> Time {
        assert_eq!(
            now, self.now,
            "a host's own port needs a first-in-first-out discipline"
        );
        let port = &mut self.ports[hop.port.0 as usize];
        let index = port.scheduler;
        port.count_arrival(now);
        let slot = port.place.ingress_base as usize + ingress_number as usize;
        let ingress_arrivals = &mut self.ingress_arrivals[slot];
        *ingress_arrivals += 1;
        let packet = self.packets.get(handle);
        let meeting = Meeting {
            port: hop.port,
            index,
            counts: Counts {
                port_arrival: port.totals.arrivals,
                ingress_arrival: *ingress_arrivals,
                flow_arrival: hop.arrivals,
                port_accepted: port.totals.accepted,
            },
            packet: Waiting {
                arrived: now,
                frame_bytes: self.framing.buffered_bytes(packet.size_bytes),
                flow: packet.flow,
                class: packet.class,
                ecn: packet.ecn,
                marked: false,
                handle,
            },
        };
        let waits = self.scheduled.ports[index as usize].backlog.packets > 0;
        if waits || port.free_at() > now {
            self.join(&meeting);
        } else {
            self.pass(&meeting);
        }
        Time::NEVER
    }

    /// The line is free and nobody waits, so the packet goes at once, unless it is refused.
    #[inline]
    fn pass(&mut self, meeting: &Meeting) {
        let waiting = &meeting.packet;
        let scheduler = &mut self.scheduled.ports[meeting.index as usize].scheduler;
        let verdict = scheduler.pass(waiting);
        self.tell(meeting, NOTHING, verdict);
        if !verdict.lets_in() {
            return;
        }
        let port = &mut self.ports[meeting.port.0 as usize];
        port.count_accepted(waiting.frame_bytes, waiting.frame_bytes);
        self.send(meeting.port, waiting, meeting.counts, self.now);
    }

    /// The packet has to wait, unless it is refused.
    #[inline(never)] // so that the way of a packet that passes stays short
    fn join(&mut self, meeting: &Meeting) {
        let waiting = meeting.packet;
        let addresses = match self.scheduled.ports[meeting.index as usize].scheduler {
            Scheduler::Sfq(_) => self.addresses(waiting.handle),
            _ => Addresses::default(),
        };
        let ScheduledPorts { ports, lost, .. } = &mut self.scheduled;
        let scheduled = &mut ports[meeting.index as usize];
        scheduled.integrate(self.now, &mut self.ports[meeting.port.0 as usize]);
        let backlog = scheduled.backlog;
        let verdict = scheduled
            .scheduler
            .enqueue(backlog, addresses, waiting, lost);
        if !lost.is_empty() {
            self.lose(meeting.index); // room is made before it is taken
        }
        self.tell(meeting, backlog, verdict);
        if verdict.lets_in() {
            self.keep(meeting);
        }
        // Where packets waited before, the event is set already.
        if backlog.packets == 0 && verdict.lets_in() {
            self.wake(meeting.index);
        }
    }

    /// Tells of a verdict; `backlog` is what the packet found.
    #[inline]
    fn tell(&mut self, meeting: &Meeting, backlog: Backlog, verdict: Verdict) {
        let packet = self.packets.get(meeting.packet.handle);
        self.observer
            .verdict(self.now, meeting.port, packet, verdict);
        if verdict != Verdict::Accepted || self.observer.watches(meeting.port) {
            self.tell_more(meeting, backlog, verdict);
        }
    }

    /// The same of a packet that is refused, or meets a watched port.
    #[inline(never)]
    fn tell_more(&mut self, meeting: &Meeting, backlog: Backlog, verdict: Verdict) {
        let waiting = &meeting.packet;
        self.observer.detail(&Arrival {
            time: self.now,
            port: meeting.port,
            packet: self.packets.get(waiting.handle),
            frame_bytes: waiting.frame_bytes,
            backlog,
            verdict,
            depart: Time::NEVER,
            counts: meeting.counts,
        });
        if !verdict.lets_in() {
            self.dropped += 1;
            self.packets.release(waiting.handle);
        }
    }

    /// Puts a packet on the line, which is free at `begin`; returns when its last bit is sent.
    #[expect(
        clippy::inline_always,
        reason = "the hot loop: a call costs as much as it does"
    )]
    #[inline(always)]
    fn send(&mut self, id: PortId, waiting: &Waiting, counts: Counts, begin: Time) -> Time {
        let wire_bytes = waiting.frame_bytes + self.framing.gap_bytes();
        let port = &mut self.ports[id.0 as usize];
        let (depart, due) = port.send(begin, waiting.frame_bytes, wire_bytes, waiting.handle);
        if let Some(due) = due {
            self.events.insert(due, id.0);
        }
        if self.observer.watches(id) {
            let packet = self.packets.get(waiting.handle);
            self.observer
                .departs(id, packet, counts.port_arrival, depart);
        }
        depart
    }

    /// Sets the event to when the line will have sent what it holds.
    #[inline]
    fn wake(&mut self, index: u32) {
        let scheduled = &mut self.scheduled.ports[index as usize];
        debug_assert!(!scheduled.is_set, "one departure event a port");
        scheduled.is_set = true;
        let port = &self.ports[scheduled.port.0 as usize];
        let at = port.free_at() + port.lingers();
        self.events.insert(at, self.scheduled.first_event + index);
    }

    /// The line of a port with a scheduler is free, and packets wait: sends the next, if the
    /// discipline has one left.
    #[cold]
    pub(super) fn depart(&mut self, event: u32) {
        let now = self.now;
        let index = event - self.scheduled.first_event;
        let ScheduledPorts { ports, lost, .. } = &mut self.scheduled;
        let scheduled = &mut ports[index as usize];
        scheduled.is_set = false;
        let id = scheduled.port;
        let port = &mut self.ports[id.0 as usize];
        let begin = port.free_at();
        scheduled.integrate(now, port);
        let next = scheduled.scheduler.dequeue(now, lost);
        if let Some(waiting) = &next {
            let (counts, backlog) = self.give_up(index, waiting);
            if waiting.marked {
                self.packets.get_mut(waiting.handle).ecn |= CE;
            }
            let depart = self.send(id, waiting, counts, begin);
            if waiting.marked {
                self.ports[id.0 as usize].totals.marked += 1;
                self.revise(id, waiting, counts, backlog, Verdict::Marked, depart);
            }
        }
        if !self.scheduled.lost.is_empty() {
            self.lose(index);
        }
        if self.scheduled.ports[index as usize].backlog.packets > 0 {
            self.wake(index);
        }
    }

    /// Tells that a packet that was accepted is marked or lost all the same.
    #[inline(never)]
    fn revise(
        &mut self,
        id: PortId,
        waiting: &Waiting,
        counts: Counts,
        backlog: Backlog,
        verdict: Verdict,
        depart: Time,
    ) {
        let packet = self.packets.get(waiting.handle);
        self.observer.verdict(self.now, id, packet, verdict);
        self.observer.revised(&Arrival {
            time: self.now,
            port: id,
            packet,
            frame_bytes: waiting.frame_bytes,
            backlog,
            verdict,
            depart,
            counts,
        });
    }

    /// Drops what the discipline has given up after all.
    #[inline(never)]
    fn lose(&mut self, index: u32) {
        let mut lost = std::mem::take(&mut self.scheduled.lost);
        for (waiting, reason) in lost.drain(..) {
            self.lose_one(index, &waiting, reason);
        }
        self.scheduled.lost = lost;
    }

    fn lose_one(&mut self, index: u32, waiting: &Waiting, reason: Reason) {
        let (counts, backlog) = self.give_up(index, waiting);
        let id = self.scheduled.ports[index as usize].port;
        let verdict = Verdict::Dropped(reason);
        self.revise(id, waiting, counts, backlog, verdict, Time::NEVER);
        let revoked = &mut self.scheduled.ports[index as usize].revoked;
        revoked.packets += 1;
        revoked.bytes += u64::from(waiting.frame_bytes);
        self.dropped += 1;
        self.packets.release(waiting.handle);
    }

    /// An accepted packet waits from now on.
    #[inline]
    fn keep(&mut self, meeting: &Meeting) {
        let ScheduledPorts { ports, counts, .. } = &mut self.scheduled;
        let waiting = &meeting.packet;
        let place = waiting.handle.place();
        if counts.len() <= place {
            counts.resize(place + 1, None);
        }
        counts[place] = Some(meeting.counts);
        let backlog = &mut ports[meeting.index as usize].backlog;
        backlog.bytes += waiting.frame_bytes;
        backlog.packets += 1;
        let port = &mut self.ports[meeting.port.0 as usize];
        port.count_accepted(waiting.frame_bytes, backlog.bytes);
    }

    /// A packet waits no longer: its counts, and what still waits.
    #[inline]
    fn give_up(&mut self, index: u32, waiting: &Waiting) -> (Counts, Backlog) {
        let ScheduledPorts { ports, counts, .. } = &mut self.scheduled;
        let counts = counts[waiting.handle.place()].take();
        let backlog = &mut ports[index as usize].backlog;
        backlog.bytes -= waiting.frame_bytes;
        backlog.packets -= 1;
        (counts.expect("it waited"), *backlog)
    }

    /// Where a packet's route begins and ends. Only some disciplines ask, and it takes a while.
    fn addresses(&self, handle: Handle) -> Addresses {
        let (first, last) = self.routes.ends(self.packets.get(handle).route);
        let number = |node: NodeId| self.scheduled.host_number[node.0 as usize];
        let near_node = |port: PortId| {
            let far_port = self.ports[port.0 as usize].place.far_port;
            self.ports[far_port.0 as usize].place.far_node
        };
        Addresses {
            source: number(near_node(first)),
            destination: number(self.ports[last.0 as usize].place.far_node),
        }
    }
}
