//! The path of a random exchange. It loses, reorders and delays segments, and delivers segments to the stack only
//! around multiples of a time, so that few arrivals are close to a timer.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use fairport_tcp::{Ecn, Segment};
use fairport_units::{Duration, Instant};

use super::dice::Dice;
use super::draw::{Draw, Side};

/// The distance of segments that the path has held back.
const HELD_APART: Duration = Duration::from_us(200);

/// An event on the path.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    ToPeer(Segment, Ecn),
    ToStack(Segment, Ecn),
    /// The sender's application writes this number of bytes.
    Write(u64),
    /// The application of the sender closes, or that of the receiver.
    Close(Side),
    /// The peer announces a window of this number of bytes from now on.
    Window(u64),
}

/// The drawn properties of a path. Probabilities are in per cent.
#[derive(Clone, Debug)]
pub(super) struct PathProperties {
    pub(super) round_trip: Duration,
    /// The path lets one segment of data through per this time.
    pub(super) spacing: Duration,
    /// The path delivers segments to the stack only at multiples of this time, or shortly after.
    pub(super) clump: Duration,
    /// The distance of segments that are delivered at the same multiple. It makes what the stack sends for one arrival
    /// older than what it sends for the next, which loss detection by time (RACK) depends on.
    pub(super) apart: Duration,
    /// The largest number of segments that are delivered at one multiple.
    pub(super) clump_most: u64,
    /// The probability that a segment of data is lost.
    pub(super) loss_percent: u64,
    /// The probability that the segment after a lost one is lost as well.
    pub(super) burst_percent: u64,
    pub(super) reorder_percent: u64,
    pub(super) ack_loss_percent: u64,
    /// The probability that a segment that may be marked is marked.
    pub(super) mark_percent: u64,
    /// The probability that a segment is lost before the connection is open.
    pub(super) opening_loss_percent: u64,
    /// Times after the handshake between which everything is lost.
    pub(super) outages: Vec<(Duration, Duration)>,
    /// Times after the handshake between which nothing arrives: it does so at the end.
    pub(super) stalls: Vec<(Duration, Duration)>,
    /// The probability that a segment arrives twice.
    pub(super) copy_percent: u64,
    /// From this time after the handshake on, the path takes longer, by this much.
    pub(super) detour: Option<(Duration, Duration)>,
    /// A policer has this many tokens at first, and gets one per this time. Each segment takes one, or is dropped.
    pub(super) policer: Option<(u64, Duration)>,
}

/// The path, with the events to come.
pub(super) struct Path {
    draw: Draw,
    /// time of each event, and its index in `items`
    order: BinaryHeap<Reverse<(Instant, usize)>>,
    items: Vec<Item>,
    /// time at which the last segment of data has passed the bottleneck
    free_at: Instant,
    lost_before: bool,
    /// times at which segments reach the stack
    arrivals: BTreeSet<Instant>,
    /// times between which the path loses everything
    outages: Vec<(Instant, Instant)>,
    /// the connection is open
    is_open: bool,
    /// since when
    opened: Instant,
    /// tokens that the policer has given away
    taken: u64,
}

impl Path {
    /// The path of a connection that is not open yet.
    pub(super) fn new(draw: &Draw) -> Self {
        Self {
            outages: Vec::new(),
            is_open: false,
            draw: draw.clone(),
            order: BinaryHeap::new(),
            items: Vec::new(),
            free_at: Instant::ZERO,
            lost_before: false,
            arrivals: BTreeSet::new(),
            opened: Instant::ZERO,
            taken: 0,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// The connection is open: the applications begin at `now`.
    pub(super) fn open(&mut self, now: Instant) {
        (self.is_open, self.opened) = (true, now);
        let draw = self.draw.clone();
        for write in &draw.writes {
            self.schedule(now + write.at, Item::Write(write.bytes));
        }
        for (side, at) in [
            (Side::Sender, draw.closes_at),
            (Side::Receiver, draw.reader_closes_at),
        ] {
            if let Some(at) = at {
                self.schedule(now + at, Item::Close(side));
            }
        }
        for window in &draw.windows {
            self.schedule(now + window.at, Item::Window(window.bytes));
        }
        let outages = draw.path.outages.iter();
        self.outages = outages.map(|(from, to)| (now + *from, now + *to)).collect();
    }

    pub(super) fn schedule(&mut self, at: Instant, item: Item) {
        self.order.push(Reverse((at, self.items.len())));
        self.items.push(item);
    }

    /// The path holds everything for the stack that arrives before `until` back to then, in order.
    pub(super) fn hold_back(&mut self, until: Instant) {
        let (early, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.order)
            .into_sorted_vec()
            .into_iter()
            .rev()
            .partition(|Reverse((at, place))| {
                *at < until && matches!(self.items[*place], Item::ToStack(..))
            });
        self.order = others.into();
        for (number, Reverse((_, place))) in early.into_iter().enumerate() {
            let at = until + HELD_APART * number as u64;
            self.order.push(Reverse((at, place)));
        }
    }

    /// The time of the next event, or [`Instant::NEVER`].
    pub(super) fn next_time(&self) -> Instant {
        self.order
            .peek()
            .map_or(Instant::NEVER, |Reverse((at, _))| *at)
    }

    /// Whether the next event is an arrival at the stack.
    pub(super) fn next_is_for_stack(&self) -> bool {
        self.order
            .peek()
            .is_some_and(|Reverse((_, place))| matches!(self.items[*place], Item::ToStack(..)))
    }

    /// Takes the next event. Events at the same time come in the order in which they were scheduled.
    pub(super) fn pop(&mut self) -> Item {
        let Reverse((_, place)) = self.order.pop().expect("something is due");
        self.items[place]
    }

    /// The stack sends a segment to the peer.
    pub(super) fn forward(&mut self, now: Instant, segment: Segment, ecn: Ecn, dice: &mut Dice) {
        if let Some(at) = self.passes(now, Side::Sender, dice) {
            let ecn = self.marked(ecn, dice);
            self.schedule(at, Item::ToPeer(segment, ecn));
            if let Some(later) = self.copied(dice) {
                self.schedule(at + later, Item::ToPeer(segment, ecn));
            }
        }
    }

    /// The peer sends a segment to the stack.
    pub(super) fn back(&mut self, now: Instant, segment: Segment, ecn: Ecn, dice: &mut Dice) {
        if let Some(at) = self.passes(now, Side::Receiver, dice) {
            let ecn = self.marked(ecn, dice);
            self.arrives(at, segment, ecn);
            if let Some(later) = self.copied(dice) {
                self.arrives(at + later, segment, ecn);
            }
        }
    }

    /// A segment is to reach the stack at `at`.
    fn arrives(&mut self, at: Instant, segment: Segment, ecn: Ecn) {
        let at = if self.is_open { self.slot(at) } else { at };
        self.arrivals.insert(at);
        self.schedule(at, Item::ToStack(segment, ecn));
    }

    /// How much later a segment arrives a second time, if it does.
    fn copied(&self, dice: &mut Dice) -> Option<Duration> {
        let percent = self.draw.path.copy_percent;
        // without copies nothing is drawn
        let is_copied = self.is_open && percent > 0 && dice.chance(percent);
        is_copied.then(|| Duration::from_ms(dice.between(0, 30)))
    }

    /// The codepoint after the path, which marks some of the packets that may be marked.
    fn marked(&self, ecn: Ecn, dice: &mut Dice) -> Ecn {
        if ecn == Ecn::Ect0 && dice.chance(self.draw.path.mark_percent) {
            Ecn::Ce
        } else {
            ecn
        }
    }

    /// The time at which a segment reaches the other end, or None if it is lost. `side` is the side that the stack has
    /// if the segment is one of data.
    fn passes(&mut self, now: Instant, side: Side, dice: &mut Dice) -> Option<Instant> {
        if !self.is_open {
            // the stack is beside the bottleneck then, and only the peer far away
            let far = Duration::from_ps(
                self.draw.path.round_trip.as_ps() * u64::from(side == Side::Sender),
            );
            let is_lost = dice.chance(self.draw.path.opening_loss_percent);
            return (!is_lost).then_some(now + far);
        }
        let mut leaves = now;
        if self.draw.side == side {
            self.free_at = self.free_at.max(now) + self.draw.path.spacing;
            leaves = self.free_at;
            let after_loss = self.lost_before && dice.chance(self.draw.path.burst_percent);
            self.lost_before = after_loss || dice.chance(self.draw.path.loss_percent);
            if self.lost_before || self.is_policed(now) {
                return None;
            }
            leaves += self.longer_by(now);
        } else if dice.chance(self.draw.path.ack_loss_percent) {
            return None;
        }
        let is_down = self
            .outages
            .iter()
            .any(|(from, to)| (*from..*to).contains(&leaves));
        if is_down {
            return None;
        }
        let at = leaves + self.draw.path.round_trip / 2 + self.detour(dice);
        let stalls = self.draw.path.stalls.iter();
        let stalls = stalls.map(|(from, to)| (self.opened + *from, self.opened + *to));
        let end = stalls.filter(|(from, to)| (*from..*to).contains(&at));
        Some(end.map(|(_, to)| to).max().unwrap_or(at))
    }

    /// Whether the policer has no token left for a segment.
    fn is_policed(&mut self, now: Instant) -> bool {
        let Some((depth, per)) = self.draw.path.policer else {
            return false;
        };
        let got = (now - self.opened).as_ps() / per.as_ps();
        // the bucket holds no more than its depth
        self.taken = self.taken.max(got);
        let is_empty = self.taken >= depth + got;
        self.taken += u64::from(!is_empty);
        is_empty
    }

    fn longer_by(&self, now: Instant) -> Duration {
        match self.draw.path.detour {
            Some((from, by)) if now >= self.opened + from => by,
            _ => Duration::ZERO,
        }
    }

    /// The time at which a segment that arrives at `at` is delivered to the stack.
    fn slot(&self, at: Instant) -> Instant {
        let (clump, apart) = (self.draw.path.clump.as_ps(), self.draw.path.apart.as_ps());
        let slots = (clump / apart).min(self.draw.path.clump_most);
        let mut number = at.as_ps().div_ceil(clump) * slots;
        loop {
            let at = Instant::from_ps(number / slots * clump + number % slots * apart);
            if !self.arrivals.contains(&at) {
                return at;
            }
            number += 1;
        }
    }

    /// The extra delay of a segment, which is zero unless it is reordered.
    fn detour(&self, dice: &mut Dice) -> Duration {
        if dice.chance(self.draw.path.reorder_percent) {
            Duration::from_ms(dice.between(2, 30))
        } else {
            Duration::ZERO
        }
    }
}
