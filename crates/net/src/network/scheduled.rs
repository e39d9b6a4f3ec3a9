//! Ports whose discipline decides at dequeue: the general path.
//!
//! A port of the other kind knows a departure when it accepts the packet. Here the packet stays
//! with the [`Scheduler`] until the line is free for it, and only then goes on the link. So such a
//! port has an event of its own, "the line is free and somebody waits", in the same event queue;
//! its ids lie behind those of the links. It is set while packets wait. Of all that happens in one
//! picosecond departures come first; where arrivals are to come first (`departure_first = false`)
//! the event is set one picosecond late, and the packet that it sends begins on time.
//!
//! What was decided when a packet arrived may be revised: a discipline drops one that it had
//! accepted, or marks it as it leaves. So every waiting packet keeps the counts of its own arrival.

use fairport_units::Time;

use super::Network;
use crate::discipline::{Backlog, Reason, Verdict};
use crate::observer::{Arrival, Counts, Observer};
use crate::packet::CE;
use crate::pool::Handle;
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
            backlog: Backlog {
                bytes: 0,
                packets: 0,
            },
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
        self.get(index).map_or(
            Backlog {
                bytes: 0,
                packets: 0,
            },
            |port| port.backlog,
        )
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
    /// A packet meets a port with a scheduler: the counterpart of [`Network::meet`].
    #[inline(never)] // it would crowd the other kind of port out of the registers
    pub(super) fn meet_scheduler(
        &mut self,
        now: Time,
        index: u32,
        hop: Hop,
        ingress_number: u16,
        handle: Handle,
    ) {
        assert_eq!(
            now, self.now,
            "a host's own port needs a first-in-first-out discipline"
        );
        let port = &mut self.ports[hop.port.0 as usize];
        port.count_arrival(now);
        let slot = port.place.ingress_base as usize + ingress_number as usize;
        self.ingress_arrivals[slot] += 1;
        let counts = Counts {
            port_arrival: port.totals.arrivals,
            ingress_arrival: self.ingress_arrivals[slot],
            flow_arrival: hop.arrivals,
            port_accepted: port.totals.accepted,
        };
        let waiting = self.describe(now, handle);
        let addresses = match self.scheduled.ports[index as usize].scheduler {
            Scheduler::Sfq(_) => self.addresses(handle),
            _ => Addresses::default(),
        };
        self.integrate(index);
        let scheduled = &mut self.scheduled.ports[index as usize];
        let backlog = scheduled.backlog;
        let lost = &mut self.scheduled.lost;
        let verdict = scheduled
            .scheduler
            .enqueue(backlog, addresses, waiting, lost);
        if !lost.is_empty() {
            self.lose(index); // room is made before it is taken
        }
        let packet = self.packets.get_mut(handle);
        if verdict == Verdict::Marked {
            packet.ecn |= CE;
            self.ports[hop.port.0 as usize].totals.marked += 1;
        }
        self.observer.verdict(now, hop.port, packet, verdict);
        if verdict != Verdict::Accepted || self.observer.watches(hop.port) {
            self.observer.detail(&Arrival {
                time: now,
                port: hop.port,
                packet,
                frame_bytes: waiting.frame_bytes,
                backlog,
                verdict,
                depart: Time::NEVER,
                counts,
            });
        }
        if let Verdict::Dropped(_) = verdict {
            self.dropped += 1;
            self.packets.release(handle);
        } else {
            self.keep(index, &waiting, counts);
        }
        // Where packets waited before, the event is set already.
        if backlog.packets == 0 {
            self.start(index);
        }
    }

    /// Serves the first packet that waits at once, or when the line has sent what it holds.
    fn start(&mut self, index: u32) {
        let port = &self.ports[self.scheduled.ports[index as usize].port.0 as usize];
        if self.scheduled.backlog(index).packets == 0 {
            return;
        }
        if port.free_at() <= self.now {
            self.serve(index, self.now);
        } else {
            self.wake(index);
        }
    }

    /// Sets the event to when the line will have sent what it holds.
    fn wake(&mut self, index: u32) {
        let scheduled = &mut self.scheduled.ports[index as usize];
        debug_assert!(!scheduled.is_set, "one departure event a port");
        scheduled.is_set = true;
        let port = &self.ports[scheduled.port.0 as usize];
        let at = port.free_at() + port.lingers();
        self.events.insert(at, self.scheduled.first_event + index);
    }

    /// The line of a port with a scheduler is free, and packets wait.
    #[cold]
    pub(super) fn depart(&mut self, event: u32) {
        let index = event - self.scheduled.first_event;
        let scheduled = &mut self.scheduled.ports[index as usize];
        scheduled.is_set = false;
        let port = scheduled.port;
        self.serve(index, self.ports[port.0 as usize].free_at());
    }

    /// Sends the next packet, if the discipline has one left; the line is free at `begin`.
    fn serve(&mut self, index: u32, begin: Time) {
        let now = self.now;
        self.integrate(index);
        let scheduled = &mut self.scheduled.ports[index as usize];
        let id = scheduled.port;
        let next = scheduled.scheduler.dequeue(now, &mut self.scheduled.lost);
        if let Some(waiting) = &next {
            let (counts, backlog) = self.give_up(index, waiting);
            let packet = self.packets.get_mut(waiting.handle);
            let port = &mut self.ports[id.0 as usize];
            let wire_bytes = waiting.frame_bytes + self.framing.gap_bytes();
            let (depart, due) = port.send(begin, waiting.frame_bytes, wire_bytes, waiting.handle);
            if let Some(due) = due {
                self.events.insert(due, id.0);
            }
            if waiting.marked {
                packet.ecn |= CE;
                port.totals.marked += 1;
                self.observer.verdict(now, id, packet, Verdict::Marked);
                self.observer.revised(&Arrival {
                    time: now,
                    port: id,
                    packet,
                    frame_bytes: waiting.frame_bytes,
                    backlog,
                    verdict: Verdict::Marked,
                    depart,
                    counts,
                });
            }
            if self.observer.watches(id) {
                self.observer
                    .departs(id, packet, counts.port_arrival, depart);
            }
        }
        if !self.scheduled.lost.is_empty() {
            self.lose(index);
        }
        if self.scheduled.ports[index as usize].backlog.packets > 0 {
            self.wake(index);
        }
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
        let packet = self.packets.get(waiting.handle);
        let verdict = Verdict::Dropped(reason);
        self.observer.verdict(self.now, id, packet, verdict);
        self.observer.revised(&Arrival {
            time: self.now,
            port: id,
            packet,
            frame_bytes: waiting.frame_bytes,
            backlog,
            verdict,
            depart: Time::NEVER,
            counts,
        });
        let revoked = &mut self.scheduled.ports[index as usize].revoked;
        revoked.packets += 1;
        revoked.bytes += u64::from(waiting.frame_bytes);
        self.dropped += 1;
        self.packets.release(waiting.handle);
    }

    /// An accepted packet waits from now on.
    fn keep(&mut self, index: u32, waiting: &Waiting, counts: Counts) {
        let place = waiting.handle.place();
        if self.scheduled.counts.len() <= place {
            self.scheduled.counts.resize(place + 1, None);
        }
        self.scheduled.counts[place] = Some(counts);
        let scheduled = &mut self.scheduled.ports[index as usize];
        scheduled.backlog.bytes += waiting.frame_bytes;
        scheduled.backlog.packets += 1;
        let totals = &mut self.ports[scheduled.port.0 as usize].totals;
        totals.accepted += 1;
        totals.accepted_bytes += u64::from(waiting.frame_bytes);
        totals.backlog_max_bytes = totals.backlog_max_bytes.max(scheduled.backlog.bytes);
    }

    /// A packet waits no longer: its counts, and what still waits.
    fn give_up(&mut self, index: u32, waiting: &Waiting) -> (Counts, Backlog) {
        let counts = self.scheduled.counts[waiting.handle.place()].take();
        let scheduled = &mut self.scheduled.ports[index as usize];
        scheduled.backlog.bytes -= waiting.frame_bytes;
        scheduled.backlog.packets -= 1;
        (counts.expect("it waited"), scheduled.backlog)
    }

    /// Adds the time since the last change to the backlog's integral.
    fn integrate(&mut self, index: u32) {
        let scheduled = &mut self.scheduled.ports[index as usize];
        let span = (self.now - scheduled.integrated_to).as_ps();
        scheduled.integrated_to = self.now;
        let totals = &mut self.ports[scheduled.port.0 as usize].totals;
        totals.backlog_integral += u128::from(span) * u128::from(scheduled.backlog.bytes);
    }

    /// What a discipline may know of an arriving packet.
    fn describe(&self, now: Time, handle: Handle) -> Waiting {
        let packet = self.packets.get(handle);
        Waiting {
            arrived: now,
            frame_bytes: self.framing.buffered_bytes(packet.size_bytes),
            flow: packet.flow,
            class: packet.class,
            ecn: packet.ecn,
            marked: false,
            handle,
        }
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
