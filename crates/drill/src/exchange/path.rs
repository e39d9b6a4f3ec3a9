//! The path of a random exchange: it loses, reorders and delays segments, and hands over what comes back at
//! multiples of a time only, so that few arrivals are close to a timer.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use fairport_tcp::Segment;
use fairport_units::{Duration, Instant};

use super::draw::{Dice, Draw, Side};

/// What happens at a time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    ToPeer(Segment),
    ToStack(Segment),
    /// The sender's application writes so many bytes.
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
        if let Some(at) = self.passes(now, Side::Sender, dice) {
            self.schedule(at, Item::ToPeer(segment));
        }
    }

    /// The peer sends a segment.
    pub(super) fn back(&mut self, now: Instant, segment: Segment, dice: &mut Dice) {
        if let Some(at) = self.passes(now, Side::Receiver, dice) {
            let at = self.slot(at);
            self.arrivals.insert(at);
            self.schedule(at, Item::ToStack(segment));
        }
    }

    /// When a segment reaches the other end, if it does. It is one of data if the stack is on this `side`.
    fn passes(&mut self, now: Instant, side: Side, dice: &mut Dice) -> Option<Instant> {
        let mut leaves = now;
        if self.draw.side == side {
            self.free_at = self.free_at.max(now) + self.draw.spacing;
            leaves = self.free_at;
            let after_loss = self.lost_before && dice.chance(self.draw.burst_percent);
            self.lost_before = after_loss || dice.chance(self.draw.loss_percent);
            if self.lost_before {
                return None;
            }
        } else if dice.chance(self.draw.ack_loss_percent) {
            return None;
        }
        Some(leaves + self.draw.round_trip / 2 + self.detour(dice))
    }

    /// When something that comes at `at` is handed over.
    fn slot(&self, at: Instant) -> Instant {
        let (clump, apart) = (self.draw.clump.as_ps(), self.draw.apart.as_ps());
        let slots = (clump / apart).min(self.draw.clump_most);
        let mut number = at.as_ps().div_ceil(clump) * slots;
        loop {
            let at = Instant::from_ps(number / slots * clump + number % slots * apart);
            if !self.arrivals.contains(&at) {
                return at;
            }
            number += 1;
        }
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
