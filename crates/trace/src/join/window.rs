//! The window in which packets wait for their copies.

use std::collections::VecDeque;

use fairport_net::discipline::Reason;
use rustc_hash::{FxHashMap, FxHashSet};

use super::direction::{Direction, position};
use super::emitted::{Completeness, Emitted, Side};
use super::packets::numbered_key;
use super::port::Fate;
use crate::packet::Packet;

/// Packets in the window, at most; with more, it is shorter.
const MOST_WAITING: usize = 1 << 19;
/// A packet may be seen at the egress so much before the ingress: what is left of the clocks' difference.
const EARLY_NS: u64 = 200_000;
/// Ranges that were acknowledged and not seen, kept by direction.
const MOST_UNSEEN: usize = 64;
const NONE: u64 = u64::MAX;
const CE: u8 = 3;

#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: Packet,
    direction: u32,
    side: Side,
    time_ns: u64,
    left_ns: u64,
    is_marked: bool,
    is_gone: bool,
    reason: Option<Reason>,
    key: u64,
    /// the next one of the same key
    next: u64,
}

/// Joins the packets of all taps, given in order of time.
pub struct Join {
    window_ns: u64,
    waiting: VecDeque<Waiting>,
    /// number of the first one that waits
    first: u64,
    /// by key: the first and the last that waits for its copy
    by_key: FxHashMap<u64, (u64, u64)>,
    /// packets seen going out only, by the time at which they will have come in
    missed: VecDeque<Waiting>,
    missed_first: u64,
    missed_by_key: FxHashMap<u64, u64>,
    directions: Vec<Direction>,
    destinations: FxHashSet<u128>,
    /// by ingress tap: when the last packet came that was forwarded
    last_forwarded_ns: Vec<u64>,
    last_delay_ns: u64,
    first_joined_ns: Option<u64>,
    egress_last_ns: u64,
    /// how complete the captures are, so far
    pub completeness: Completeness,
}

impl Join {
    /// With this window, for so many ingress taps.
    pub fn new(window_ns: u64, ingress: u32) -> Self {
        Self {
            window_ns,
            waiting: VecDeque::new(),
            first: 0,
            by_key: FxHashMap::default(),
            missed: VecDeque::new(),
            missed_first: 0,
            missed_by_key: FxHashMap::default(),
            directions: Vec::new(),
            destinations: FxHashSet::default(),
            last_forwarded_ns: vec![0; ingress as usize],
            last_delay_ns: 0,
            first_joined_ns: None,
            egress_last_ns: 0,
            completeness: Completeness {
                delay_min_ns: u64::MAX,
                ..Completeness::default()
            },
        }
    }

    fn direction(&mut self, direction: u32) -> &mut Direction {
        let place = direction as usize;
        if self.directions.len() <= place {
            self.directions
                .resize((place + 2) & !1, Direction::default());
        }
        &mut self.directions[place]
    }

    /// A packet was seen; `emit` is called with those whose fate is decided by now.
    pub fn add(
        &mut self,
        packet: &Packet,
        direction: u32,
        side: Side,
        time_ns: u64,
        reason: Option<Reason>,
        emit: impl FnMut(&Emitted),
    ) {
        self.direction(direction);
        self.note_ack(packet, direction);
        let waiting = Waiting {
            packet: *packet,
            direction,
            side,
            time_ns,
            left_ns: NONE,
            is_marked: false,
            is_gone: false,
            reason,
            key: numbered_key(direction, packet),
            next: NONE,
        };
        match side {
            Side::Ingress(tap) => self.came_in(waiting, tap),
            Side::Egress => self.went_out(waiting),
            Side::Other(_) => self.waiting.push_back(waiting),
        }
        let until_ns = time_ns.saturating_sub(self.window_ns);
        self.emit_until(until_ns, MOST_WAITING, emit);
    }

    fn came_in(&mut self, mut waiting: Waiting, tap: u32) {
        self.directions[waiting.direction as usize].ingress = Some(tap);
        let number = self.first + self.waiting.len() as u64;
        if let Some(missed) = self.missed_by_key.remove(&waiting.key) {
            let out = &mut self.missed[(missed - self.missed_first) as usize];
            out.is_gone = true;
            let (left_ns, ecn) = (out.left_ns, out.packet.ecn);
            let direction = &mut self.directions[waiting.direction as usize];
            if left_ns + EARLY_NS < waiting.time_ns {
                direction.backward += 1;
            } else {
                direction.forward += 1;
            }
            waiting.left_ns = left_ns.max(waiting.time_ns);
            waiting.is_marked = ecn == CE && waiting.packet.ecn != CE;
            self.note_joined(&waiting);
            self.waiting.push_back(waiting);
            return;
        }
        let key = waiting.key;
        self.waiting.push_back(waiting);
        match self.by_key.get_mut(&key) {
            None => {
                self.by_key.insert(key, (number, number));
            }
            Some((_, last)) => {
                let before = std::mem::replace(last, number);
                self.waiting[(before - self.first) as usize].next = number;
            }
        }
    }

    fn note_joined(&mut self, waiting: &Waiting) {
        let delay_ns = waiting.left_ns - waiting.time_ns;
        self.last_delay_ns = delay_ns;
        self.first_joined_ns.get_or_insert(waiting.time_ns);
        let completeness = &mut self.completeness;
        completeness.delay_min_ns = completeness.delay_min_ns.min(delay_ns);
        completeness.delay_max_ns = completeness.delay_max_ns.max(delay_ns);
    }

    fn went_out(&mut self, waiting: Waiting) {
        let Waiting {
            packet,
            direction,
            time_ns,
            key,
            ..
        } = waiting;
        self.egress_last_ns = time_ns;
        self.destinations.insert(packet.key.destination);
        let of = &mut self.directions[direction as usize];
        of.is_at_egress = true;
        of.pass(&packet);
        if let Some((number, last)) = self.by_key.get(&key).copied() {
            of.forward += 1;
            let found = &mut self.waiting[(number - self.first) as usize];
            found.left_ns = time_ns.max(found.time_ns);
            found.is_marked = packet.ecn == CE && found.packet.ecn != CE;
            let (next, found) = (found.next, *found);
            if next == NONE {
                self.by_key.remove(&key);
            } else {
                self.by_key.insert(key, (next, last));
            }
            self.note_joined(&found);
            return;
        }
        let number = self.missed_first + self.missed.len() as u64;
        self.missed_by_key.insert(key, number);
        self.missed.push_back(Waiting {
            time_ns: time_ns.saturating_sub(self.last_delay_ns),
            left_ns: time_ns,
            ..waiting
        });
    }

    /// What an ACK shows to have arrived without having been seen at the egress.
    fn note_ack(&mut self, packet: &Packet, direction: u32) {
        if !packet.flags.contains(fairport_tcp::Flags::ACK) {
            return;
        }
        let other = &mut self.directions[(direction ^ 1) as usize];
        let Some(passed) = &mut other.passed else {
            return;
        };
        let to = position(other.next, packet.ack);
        if to <= passed.to() || to > passed.to() + (1 << 30) {
            return;
        }
        let from = passed.to();
        if passed.advance(to) > 0 {
            if other.unseen.len() >= MOST_UNSEEN {
                other.unseen.remove(0);
            }
            other.unseen.push((from, to));
        }
    }

    /// Calls `emit` with the packets that came before `until_ns`, or are too many.
    fn emit_until(&mut self, until_ns: u64, most: usize, mut emit: impl FnMut(&Emitted)) {
        loop {
            let in_ns = self.waiting.front().map(|one| one.time_ns);
            let out_ns = self.missed.front().map(|one| one.time_ns);
            let is_missed = match (in_ns, out_ns) {
                (None, None) => return,
                (Some(in_ns), Some(out_ns)) => out_ns < in_ns,
                (None, Some(_)) => true,
                (Some(_), None) => false,
            };
            let time_ns = if is_missed { out_ns } else { in_ns };
            let is_due = time_ns.is_some_and(|time_ns| time_ns < until_ns);
            if !is_due && self.waiting.len() + self.missed.len() <= most {
                return;
            }
            if let Some(emitted) = self.take_first(is_missed) {
                emit(&emitted);
            }
        }
    }

    fn take_first(&mut self, is_missed: bool) -> Option<Emitted> {
        if is_missed {
            let one = self.missed.pop_front()?;
            self.missed_first += 1;
            if one.is_gone {
                return None;
            }
            self.missed_by_key.remove(&one.key);
            return Some(self.missed_packet(&one));
        }
        let one = self.waiting.pop_front()?;
        let number = self.first;
        self.first += 1;
        if let Side::Ingress(_) = one.side
            && one.left_ns == NONE
            && let Some((head, last)) = self.by_key.get(&one.key).copied()
            && head == number
        {
            if one.next == NONE {
                self.by_key.remove(&one.key);
            } else {
                self.by_key.insert(one.key, (one.next, last));
            }
        }
        self.decided(&one)
    }

    fn decided(&mut self, one: &Waiting) -> Option<Emitted> {
        let is_for_output = self.destinations.contains(&one.packet.key.destination);
        let direction = &mut self.directions[one.direction as usize];
        let tap = match one.side {
            Side::Ingress(tap)
                if direction.is_forward() || (is_for_output && direction.backward == 0) =>
            {
                tap
            }
            // other sights of what is joined are copies
            _ if direction.is_forward() => return None,
            _ => return direction.at_home(one.side).then(|| emitted(one, None)),
        };
        let completeness = &mut self.completeness;
        completeness.arrived += 1;
        let mut is_apart = false;
        let fate = if one.left_ns != NONE {
            completeness.joined += 1;
            self.last_forwarded_ns[tap as usize] = one.time_ns;
            Fate::Forwarded {
                left_ns: one.left_ns,
                is_marked: one.is_marked,
            }
        } else if direction.was_unseen(&one.packet) {
            completeness.missed_at_egress += 1;
            Fate::Unseen
        } else if self.is_open(one.time_ns) {
            self.completeness.open += 1;
            return Some(emitted(one, None));
        } else {
            is_apart = self.has_missed_neighbour(tap, one.time_ns);
            Fate::Dropped(one.reason)
        };
        Some(Emitted {
            is_apart,
            ..emitted(one, Some((tap, fate)))
        })
    }

    /// Whether the egress capture does not show what became of a packet that came now.
    fn is_open(&self, time_ns: u64) -> bool {
        let is_before = self
            .first_joined_ns
            .is_none_or(|first_ns| time_ns < first_ns);
        let longest_ns = self.completeness.delay_max_ns;
        is_before || time_ns + longest_ns >= self.egress_last_ns
    }

    /// Whether a packet that the ingress capture missed came by the same port between the packets that were
    /// forwarded before and after this moment.
    fn has_missed_neighbour(&self, tap: u32, time_ns: u64) -> bool {
        if self.missed.is_empty() {
            return false;
        }
        let margin_ns = self.last_delay_ns / 4;
        let from_ns = self.last_forwarded_ns[tap as usize].saturating_sub(margin_ns);
        let is_next = |one: &&Waiting| one.side == Side::Ingress(tap) && one.left_ns != NONE;
        let to_ns = self
            .waiting
            .iter()
            .find(is_next)
            .map_or(u64::MAX, |one| one.time_ns + margin_ns);
        debug_assert!(from_ns <= time_ns);
        let of_tap = |one: &Waiting| {
            let ingress = self.directions[one.direction as usize].ingress;
            ingress.is_none_or(|ingress| ingress == tap)
        };
        let mut missed = self.missed.iter().take_while(|one| one.time_ns <= to_ns);
        missed.any(|one| !one.is_gone && one.time_ns >= from_ns && of_tap(one))
    }

    /// A packet that was seen going out only.
    fn missed_packet(&mut self, one: &Waiting) -> Emitted {
        let direction = &mut self.directions[one.direction as usize];
        let Some(tap) = direction
            .ingress
            .filter(|_| direction.backward <= direction.forward)
        else {
            self.completeness.without_ingress += u64::from(!self.goes_back(one.direction));
            let seen = Waiting {
                time_ns: one.left_ns,
                ..*one
            };
            return emitted(&seen, None);
        };
        self.completeness.missed_at_ingress += 1;
        let fate = Fate::Forwarded {
            left_ns: one.left_ns,
            is_marked: false,
        };
        emitted(one, Some((tap, fate)))
    }

    /// Whether packets of this direction answer what goes to the output: where the output was captured in both
    /// directions, they come in there.
    pub fn goes_back(&self, direction: u32) -> bool {
        let of = |direction: u32| self.directions.get(direction as usize);
        let is_forward = |direction| of(direction).is_some_and(Direction::is_joined);
        is_forward(direction ^ 1) && !is_forward(direction)
    }

    /// Decides about everything that is left.
    pub fn finish(&mut self, emit: impl FnMut(&Emitted)) {
        self.emit_until(u64::MAX, 0, emit);
    }
}

fn emitted(one: &Waiting, joined: Option<(u32, Fate)>) -> Emitted {
    Emitted {
        packet: one.packet,
        direction: one.direction,
        time_ns: one.time_ns,
        joined,
        is_apart: false,
    }
}
