//! An output port: its buffer, its queue discipline, its link to the next node.

use fairport_units::{Rate, Serializer, Time};

use crate::discipline::{Backlog, Candidate, Discipline, Queue, Verdict};
use crate::link::Link;
use crate::packet::Packet;
use crate::pool::Handle;
use crate::processing::Server;
use crate::shaper::Shaper;
use crate::topology::{NodeId, PortId};

/// What a port is made of.
#[derive(Clone, Debug)]
pub struct PortConfig {
    /// nominal rate of its link
    pub rate: Rate,
    /// how fast its clock runs, in parts of 10^9 (IEEE 802.3 allows ±100 000)
    pub clock_error_ppb: i32,
    /// from the last bit's departure to the next node's decision: propagation, and the constant
    /// part of that node's processing
    pub latency: Time,
    /// the random part of the next node's processing, served in order
    pub far_processing: Option<Server>,
    /// who gets into the buffer
    pub discipline: Discipline,
    /// what holds packets back before they go to the line
    pub shaper: Option<Shaper>,
    /// when a packet stops counting against the buffer's limit
    pub leaves: Leaves,
    /// whether a packet that leaves the buffer in the picosecond in which another arrives makes
    /// room for it
    pub departure_first: bool,
}

/// When a packet stops counting against the buffer's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// when its last bit is sent: the packet in service counts
    AtEndOfService,
    /// when its first bit is sent
    AtStartOfService,
}

/// What has happened at a port since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct PortTotals {
    /// packets that arrived, accepted or not
    pub arrivals: u64,
    /// packets accepted, marked ones included
    pub accepted: u64,
    /// packets accepted and marked
    pub marked: u64,
    /// octets accepted, as the buffer counts them
    pub accepted_bytes: u64,
    /// packets whose last bit reached the next node
    pub delivered: u64,
    /// most octets in the buffer
    pub backlog_max_bytes: u32,
    /// the backlog's integral over time, octet · ps
    pub backlog_integral: u128,
}

/// Where a port stands in the topology.
pub(crate) struct Place {
    /// the node at the far end of its link
    pub(crate) far_node: NodeId,
    /// the port at the far end, and its number there
    pub(crate) far_port: PortId,
    pub(crate) far_number: u16,
    /// its own number at its node
    pub(crate) number: u16,
    /// where the counts by ingress port of this output port begin
    pub(crate) ingress_base: u32,
}

/// A port that serves first in, first out: it knows a packet's departure when it accepts it.
///
/// Three cache lines, in this order: what a packet meets when it leaves, what it meets besides when
/// it comes, and what is counted. In a large network they come from the second-level cache.
#[repr(C, align(64))]
pub(crate) struct Port {
    pub(crate) link: Link,
    pub(crate) place: Place,
    shaper: Option<Box<Shaper>>,
    leaves: Leaves,
    /// whether a packet still counts in the picosecond in which it leaves
    lingers: bool,

    serializer: Serializer,
    free_at: Time,
    latency: Time,
    last_arrival: Time,
    far_processing: Option<Box<Server>>,
    discipline: Discipline,

    pub(crate) totals: PortTotals,
}

/// A fourth line would cost a large network some per cent.
const _: () = assert!(size_of::<Port>() == 3 * 64);

impl Port {
    /// An idle port.
    pub(crate) fn new(place: Place, config: PortConfig) -> Self {
        Self {
            link: Link::new(),
            place,
            serializer: Serializer::new(config.rate, config.clock_error_ppb),
            free_at: Time::ZERO,
            latency: config.latency,
            discipline: config.discipline,
            shaper: config.shaper.map(Box::new),
            leaves: config.leaves,
            lingers: !config.departure_first,
            totals: PortTotals::default(),
            last_arrival: Time::ZERO,
            far_processing: config.far_processing.map(Box::new),
        }
    }

    /// What waits in the buffer at `now`.
    #[inline]
    pub(crate) fn backlog(&mut self, now: Time) -> Backlog {
        self.link.release(now);
        Backlog {
            bytes: self.link.backlog_bytes(),
            packets: self.link.backlog_packets(),
        }
    }

    /// Time spent sending what was accepted so far, with gaps of `gap_bytes`; at the shaper's rate
    /// where there is one.
    pub(crate) fn busy(&self, gap_bytes: u32) -> Time {
        if let Some(shaper) = &self.shaper {
            return shaper.time_of(self.totals.accepted_bytes);
        }
        let gaps = self.totals.accepted * u64::from(gap_bytes);
        self.serializer.time_of(self.totals.accepted_bytes + gaps)
    }

    /// The discipline's verdict on a packet that arrives at `now` and takes `frame_bytes`.
    #[inline]
    pub(crate) fn judge<P: Copy>(
        &mut self,
        now: Time,
        backlog: Backlog,
        frame_bytes: u32,
        packet: &Packet<P>,
    ) -> Verdict {
        assert!(now >= self.last_arrival, "time went back at a port");
        self.last_arrival = now;
        self.totals.arrivals += 1;
        // The plainest discipline needs neither of the two structures, and its ports are the many.
        if let Discipline::DropTail(drop_tail) = &self.discipline {
            return drop_tail.judge(backlog, frame_bytes);
        }
        let queue = Queue {
            now,
            backlog,
            idle_at: self.free_at,
        };
        let candidate = Candidate {
            frame_bytes,
            flow: packet.flow,
            class: packet.class,
            ecn: packet.ecn,
        };
        self.discipline.judge(&queue, &candidate)
    }

    /// Takes an accepted packet; returns when its last bit is sent, and when the next node
    /// decides about it if it is now the first on the link.
    #[inline]
    pub(crate) fn accept(
        &mut self,
        now: Time,
        frame_bytes: u32,
        wire_bytes: u32,
        packet: Handle,
    ) -> (Time, Option<Time>) {
        // A work-conserving port: it starts at once, or as soon as it has sent what it holds.
        let mut start = now.max(self.free_at);
        if let Some(shaper) = &mut self.shaper {
            start = shaper.release(start, frame_bytes);
        }
        let depart = start + self.serializer.take(wire_bytes);
        self.free_at = depart;
        let mut due = depart + self.latency;
        if let Some(server) = &mut self.far_processing {
            due = server.serve(due);
        }
        let leaves = match self.leaves {
            Leaves::AtEndOfService => depart,
            Leaves::AtStartOfService => start,
        };
        let first = self.link.is_empty();
        self.link.push(
            due,
            leaves + Time::from_ps(u64::from(self.lingers)),
            frame_bytes,
            packet,
        );
        self.discipline
            .joined(leaves + Time::from_ps(u64::from(self.lingers)));
        let totals = &mut self.totals;
        totals.accepted += 1;
        totals.accepted_bytes += u64::from(frame_bytes);
        totals.backlog_max_bytes = totals.backlog_max_bytes.max(self.link.backlog_bytes());
        totals.backlog_integral += u128::from((leaves - now).as_ps()) * u128::from(frame_bytes);
        (depart, first.then_some(due))
    }
}
