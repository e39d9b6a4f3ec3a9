//! The path of a random exchange: it loses, reorders and delays segments, and hands over what comes back at
//! multiples of a time only, so that few arrivals are close to a timer.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use fairport_tcp::Segment;
use fairport_units::{Duration, Instant};

use super::draw::{Dice, Draw};

/// Between two arrivals at the stack: what it sends for one is older than what it sends for the next,
/// which loss detection by time (RACK) depends on.
const APART: Duration = Duration::from_ms(1);

/// What happens at a time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    ToPeer(Segment),
    ToStack(Segment),
    /// The application writes so many bytes.
    Write(u64),
}

/// What is under way.
pub(super) struct Path {
    draw: Draw,
    /// due times, and places in `items`
    order: BinaryHeap<Reverse<(Instant, usize)>>,
    items: Vec<Item>,
    /// when the last segment will have gone through
    free_at: Instant,
    lost_before: bool,
    /// when something reaches the stack
    arrivals: BTreeSet<Instant>,
}

impl Path {
    pub(super) fn new(draw: &Draw) -> Self {
        Self {
            draw: draw.clone(),
            order: BinaryHeap::new(),
            items: Vec::new(),
            free_at: Instant::ZERO,
            lost_before: false,
            arrivals: BTreeSet::new(),
        }
    }

    pub(super) fn schedule(&mut self, at: Instant, item: Item) {
        self.order.push(Reverse((at, self.items.len())));
        self.items.push(item);
    }

    /// When something is due next.
    pub(super) fn next_time(&self) -> Instant {
        self.order
            .peek()
            .map_or(Instant::NEVER, |Reverse((at, _))| *at)
    }

    /// What is due next; at one time in the order in which it was sent.
    pub(super) fn pop(&mut self) -> Item {
        let Reverse((_, place)) = self.order.pop().expect("something is due");
        self.items[place]
    }

    /// The stack sends a segment.
    pub(super) fn forward(&mut self, now: Instant, segment: Segment, dice: &mut Dice) {
        self.free_at = self.free_at.max(now) + self.draw.spacing;
        let after_loss = self.lost_before && dice.chance(self.draw.burst_percent);
        self.lost_before = after_loss || dice.chance(self.draw.loss_percent);
        if !self.lost_before {
            let at = self.free_at + self.draw.round_trip / 2 + self.detour(dice);
            self.schedule(at, Item::ToPeer(segment));
        }
    }

    /// The peer sends a segment.
    pub(super) fn back(&mut self, now: Instant, segment: Segment, dice: &mut Dice) {
        if dice.chance(self.draw.ack_loss_percent) {
            return;
        }
        let at = now + self.draw.round_trip / 2 + self.detour(dice);
        let clump = self.draw.clump.as_ps();
        let mut at = Instant::from_ps(at.as_ps().div_ceil(clump) * clump);
        while !self.arrivals.insert(at) {
            at += APART;
        }
        self.schedule(at, Item::ToStack(segment));
    }

    /// What a reordered segment needs longer.
    fn detour(&self, dice: &mut Dice) -> Duration {
        if dice.chance(self.draw.reorder_percent) {
            Duration::from_ms(dice.between(2, 30))
        } else {
            Duration::ZERO
        }
    }
}
