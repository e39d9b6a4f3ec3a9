//! An output port: its buffer, its queue discipline, its link to the next node.

mod apart;
mod config;
mod location;
mod usage;

use fairport_units::{Duration, Instant, Serializer};

use crate::busy_time::BusyTime;
use crate::discipline::{Admission, Backlog, DropTail, QueueDiscipline, QueueView, Reason};
use crate::link::LinkQueue;
use crate::loss::Loss;
use crate::observer::Counts;
use crate::packet::Header;
use crate::pool::{Handle, Transit};
use crate::processing::Server;
use crate::queue::{BufferRelease, Discipline, Queueing, Scheduler};
use crate::shaper::Shaper;
pub use config::{PortConfig, PortTotals};
pub(crate) use location::Location;

/// Which path through the forwarding core a port's packets take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Drop-tail, without a shaper or losses, departures first: most ports of most networks. What
    /// other ports have in addition is compiled out of its path (`PLAIN`).
    Plain,
    /// A port that forwards ahead, or to which packets are forwarded ahead. Its buffer is kept apart from its link and
    /// has this number in the region.
    Ahead(u32),
    /// A plain port whose link is cut. Its buffer is kept apart from its link and has this number in the region.
    Cut(u32),
    /// Any other port that serves first in, first out.
    Fifo,
    /// The region's scheduler with this number decides at departures.
    Scheduled(u32),
}

/// What only a few ports have.
#[derive(Debug)]
struct Extras {
    shaper: Option<Shaper>,
    /// counted only if there is a shaper
    busy: BusyTime,
    losses: Vec<Loss>,
}

/// An output port; `S` is the state that the network's observer keeps of it.
///
/// Three cache lines, in this order: what is read when a packet leaves, what is also read when one
/// arrives, and what is counted. In a large network they come from the second-level cache.
#[repr(C, align(64))]
pub(crate) struct OutputPort<S> {
    pub(crate) link: LinkQueue,
    pub(crate) location: Location,
    /// which path through the forwarding core its packets take
    pub(crate) kind: Kind,
    release: BufferRelease,
    /// whether arrivals come before departures of the same picosecond, so that a packet still counts
    /// in the picosecond in which it leaves
    arrivals_first: bool,
    /// whether packets wait with its scheduler
    pub(crate) waits: bool,
    extras: Option<Box<Extras>>,

    serializer: Serializer,
    free_at: Instant,
    latency: Duration,
    last_arrival: Instant,
    far_processing: Option<Box<Server>>,
    /// not used if there is a scheduler
    discipline: Discipline,

    pub(crate) totals: PortTotals,
    pub(crate) observed: S,
    /// the backlog's integral over time, bytes · ps; a first-in-first-out port adds a packet's whole part
    /// when it accepts the packet
    pub(crate) backlog_integral: u128,
}

/// A fourth cache line would cost a few per cent of the time in a large network.
const _: () = assert!(size_of::<OutputPort<u64>>() == 3 * 64);

impl<S: Default> OutputPort<S> {
    /// An idle port; `number` takes its scheduler, if it has one, and gives it a number.
    pub(crate) fn new(
        location: Location,
        config: PortConfig,
        number: impl FnOnce(Scheduler) -> u32,
    ) -> Self {
        let has_extras = config.shaper.is_some() || !config.losses.is_empty();
        let (discipline, release, kind) = match config.queueing {
            Queueing::Fifo {
                discipline,
                release,
            } => {
                let is_drop_tail = matches!(discipline, Discipline::DropTail(_));
                let is_plain = is_drop_tail && !has_extras && config.departure_first;
                let kind = if is_plain { Kind::Plain } else { Kind::Fifo };
                (discipline, release, kind)
            }
            // this discipline is never used
            Queueing::Scheduled(scheduler) => (
                Discipline::DropTail(DropTail::packets(0)),
                BufferRelease::StartOfService,
                Kind::Scheduled(number(*scheduler)),
            ),
        };
        let extras = Extras {
            shaper: config.shaper,
            busy: BusyTime::default(),
            losses: config.losses,
        };
        Self {
            link: LinkQueue::default(),
            location,
            kind,
            serializer: Serializer::new(config.rate, config.clock_error_ppb),
            free_at: Instant::ZERO,
            // A packet that counts, or is decided about, a picosecond late must not have arrived by then.
            latency: config
                .latency
                .max(Duration::from_ps(u64::from(!config.departure_first))),
            discipline,
            extras: has_extras.then(|| Box::new(extras)),
            release,
            arrivals_first: !config.departure_first,
            waits: false,
            totals: PortTotals::default(),
            observed: S::default(),
            backlog_integral: 0,
            last_arrival: Instant::ZERO,
            far_processing: config.far_processing.map(Box::new),
        }
    }

    /// The backlog at `now` of a port that serves first in, first out.
    #[inline]
    pub(crate) fn backlog(&mut self, now: Instant, transits: &[Transit]) -> Backlog {
        self.link.release(now, transits);
        self.link.backlog()
    }

    /// When the line has sent all packets that it was given.
    pub(crate) fn free_at(&self) -> Instant {
        self.free_at
    }

    /// How long after its departure a packet still counts: one picosecond where an arrival of the
    /// same instant comes first.
    #[inline]
    fn departure_lag(&self) -> Duration {
        Duration::from_ps(u64::from(self.arrivals_first))
    }

    /// When its scheduler chooses the next of the packets that wait.
    #[inline]
    pub(crate) fn next_departure(&self) -> Instant {
        self.free_at + self.departure_lag()
    }

    /// Whether a packet that arrives at `now` finds the line free.
    #[inline]
    pub(crate) fn is_line_free(&self, now: Instant) -> bool {
        self.next_departure() <= now
    }

    /// Whether its scheduler has yet to make a choice that was due by `now`.
    #[inline]
    pub(crate) fn is_behind(&self, now: Instant) -> bool {
        self.waits && self.is_line_free(now)
    }

    /// Where the packets from an ingress port of this number at its node are counted.
    #[inline]
    pub(crate) fn ingress_slot(&self, ingress_number: u16) -> usize {
        self.location.ingress_base as usize + ingress_number as usize
    }

    /// The running counts, with those of the arriving packet's ingress port and flow.
    #[inline]
    pub(crate) fn counts(&self, ingress_arrival: u64, flow_arrival: u64) -> Counts {
        Counts {
            port_arrival: self.totals.arrivals,
            ingress_arrival,
            flow_arrival,
            port_accepted: self.totals.accepted,
        }
    }

    /// Counts a packet that arrives at `now`.
    #[inline]
    pub(crate) fn count_arrival(&mut self, now: Instant) {
        assert!(now >= self.last_arrival, "time went back at a port");
        self.last_arrival = now;
        self.totals.arrivals += 1;
    }

    /// Whether a plain port has room for a packet that takes `frame_bytes`.
    #[inline]
    fn has_room(&self, backlog: Backlog, frame_bytes: u32) -> bool {
        let Discipline::DropTail(drop_tail) = &self.discipline else {
            unreachable!("a plain port has a drop-tail discipline");
        };
        drop_tail.fits(backlog, frame_bytes)
    }

    /// A plain port's decision about a packet that takes `frame_bytes`.
    #[inline]
    fn plain_admission(&self, backlog: Backlog, frame_bytes: u32) -> Admission {
        if self.has_room(backlog, frame_bytes) {
            Admission::Accepted
        } else {
            Admission::Dropped(Reason::Full)
        }
    }

    /// Whether the packet that arrives at `now` is lost in front of the queue.
    #[inline]
    pub(crate) fn loses(&mut self, now: Instant) -> bool {
        match &mut self.extras {
            None => false,
            // each counts every packet, whatever the others lose
            Some(extras) => extras
                .losses
                .iter_mut()
                .fold(false, |lost, loss| loss.takes(now) | lost),
        }
    }

    /// Counts an accepted packet; `backlog_bytes` is the backlog with this packet.
    #[inline]
    pub(crate) fn count_accepted(&mut self, frame_bytes: u32, backlog_bytes: u32) {
        let totals = &mut self.totals;
        totals.accepted += 1;
        totals.accepted_bytes += u64::from(frame_bytes);
        totals.backlog_max_bytes = totals.backlog_max_bytes.max(backlog_bytes);
    }

    /// Decides about a packet that arrives at `now` and takes `frame_bytes` in the buffer.
    #[inline(always)]
    pub(crate) fn admit<const PLAIN: bool>(
        &mut self,
        now: Instant,
        backlog: Backlog,
        frame_bytes: u32,
        ingress_number: u16,
        header: &Header,
    ) -> Admission {
        self.count_arrival(now);
        if PLAIN {
            return self.plain_admission(backlog, frame_bytes);
        }
        if self.loses(now) {
            return Admission::Dropped(Reason::Loss);
        }
        let queue = QueueView {
            now,
            backlog,
            idle_at: self.free_at,
        };
        self.discipline
            .admit(&queue, &header.view(frame_bytes, ingress_number))
    }

    /// Takes an accepted packet; returns when its last bit is sent, and when the next node
    /// decides about it if it is now the first on the link.
    #[inline(always)]
    pub(crate) fn accept<const PLAIN: bool>(
        &mut self,
        now: Instant,
        frame_bytes: u32,
        wire_bytes: u32,
        packet: Handle,
        transits: &mut [Transit],
    ) -> (Instant, Option<Instant>) {
        let (leaves, due) = self.transmit::<PLAIN>(now, frame_bytes, wire_bytes);
        let first = self.link.is_empty();
        self.link.push(due, leaves, frame_bytes, packet, transits);
        self.count_accepted(frame_bytes, self.link.backlog().bytes);
        (self.free_at, first.then_some(due))
    }

    /// Schedules the transmission of a packet that is accepted at `now`, after all packets before it. Returns when it
    /// stops counting against the buffer's limit, and when the next node decides about it.
    #[inline(always)]
    pub(crate) fn transmit<const PLAIN: bool>(
        &mut self,
        now: Instant,
        frame_bytes: u32,
        wire_bytes: u32,
    ) -> (Instant, Instant) {
        // A work-conserving port: it starts at once, or as soon as it has sent what it holds.
        let begin = now.max(self.free_at);
        let finds_line_free = self.is_line_free(now);
        let (start, due) = self.serialize::<PLAIN>(begin, frame_bytes, wire_bytes);
        let leaves = match self.release {
            BufferRelease::EndOfService => self.free_at,
            BufferRelease::StartOfService => start,
        };
        // `leaves` is not before `now`, so this cannot underflow. Release builds do not check it, which
        // would cost half a percent of a whole run's instructions.
        let waits_ps = leaves.as_ps() - now.as_ps();
        self.backlog_integral += u128::from(waits_ps) * u128::from(frame_bytes);
        if PLAIN {
            return (leaves, due);
        }
        let goes_at_once = finds_line_free && leaves == now;
        let counts_until = if goes_at_once {
            leaves
        } else {
            leaves + self.departure_lag()
        };
        self.discipline.on_accepted(counts_until);
        (counts_until, due)
    }

    /// Gives the next packet to the line, which is free at `begin`. Returns when the packet's first bit is
    /// sent, and when the next node decides about it.
    #[inline(always)]
    pub(crate) fn serialize<const PLAIN: bool>(
        &mut self,
        begin: Instant,
        frame_bytes: u32,
        wire_bytes: u32,
    ) -> (Instant, Instant) {
        let mut start = begin;
        if !PLAIN
            && let Some(extras) = &mut self.extras
            && let Some(shaper) = &mut extras.shaper
        {
            start = shaper.release(start, frame_bytes);
            self.free_at = start + self.serializer.take(wire_bytes);
            extras.busy.add(begin, self.free_at);
        } else {
            self.free_at = start + self.serializer.take(wire_bytes);
        }
        let mut due = self.free_at + self.latency;
        if let Some(server) = &mut self.far_processing {
            due = server.serve(due);
        }
        (start, due)
    }
}
