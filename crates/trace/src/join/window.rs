//! The window in which packets wait for their copies.

use std::collections::VecDeque;

use fairport_net::discipline::Reason;
use fairport_tcp::Flags;
use rustc_hash::FxHashMap;

use super::direction::Direction;
use super::emitted::{Completeness, Emitted, Fate, Joined, Side};
use super::output::Output;
use super::packets::numbered_key;
use super::waiting::{Missed, Waiting};
use crate::flow::position;
use crate::packet::Packet;

/// Maximum number of packets in the window. If there would be more, the window becomes shorter.
const MOST_WAITING: usize = 1 << 19;
/// A packet may be seen at the egress this much before the ingress, because of the remaining difference of the clocks.
const EARLY_NS: u64 = 200_000;
/// Maximum number of ranges per direction that were acknowledged and not seen.
const MOST_UNSEEN: usize = 64;

/// Joins the packets of all taps. They must be given in order of time.
pub struct Join {
    window_ns: u64,
    waiting: VecDeque<Waiting>,
    /// number of the first waiting packet
    first: u64,
    /// by key: the first and the last packet that waits for its copy
    by_key: FxHashMap<u64, (u64, u64)>,
    outputs: Vec<Output>,
    /// by key: packets that were only seen going out, as the output and their number there
    missed_by_key: FxHashMap<u64, (u32, u64)>,
    directions: Vec<Direction>,
    /// by address: the output that leads to it
    destinations: FxHashMap<u128, u32>,
}

impl Join {
    /// A join with this window, for the given numbers of ingress taps and outputs.
    pub fn new(window_ns: u64, ingress: u32, egress: u32) -> Self {
        Self {
            window_ns,
            waiting: VecDeque::new(),
            first: 0,
            by_key: FxHashMap::default(),
            outputs: (0..egress).map(|_| Output::new(ingress)).collect(),
            missed_by_key: FxHashMap::default(),
            directions: Vec::new(),
            destinations: FxHashMap::default(),
        }
    }

    /// The completeness of the captures so far, by output.
    pub fn completeness(&self) -> impl Iterator<Item = Completeness> {
        self.outputs.iter().map(Output::completeness)
    }

    fn direction(&mut self, direction: u32) -> &mut Direction {
        let place = direction as usize;
        if self.directions.len() <= place {
            self.directions
                .resize((place + 2) & !1, Direction::default());
        }
        &mut self.directions[place]
    }

    /// Adds a packet that was seen. Calls `emit` with every packet whose fate is decided now.
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
            left: None,
            reason,
            key: numbered_key(direction, packet),
            next: None,
        };
        match side {
            Side::Ingress(tap) => self.came_in(waiting, tap),
            Side::Egress(output) => self.went_out(&waiting, output),
            Side::Other(_) => self.waiting.push_back(waiting),
        }
        let until_ns = time_ns.saturating_sub(self.window_ns);
        self.emit_until(until_ns, MOST_WAITING, emit);
    }

    fn came_in(&mut self, mut waiting: Waiting, tap: u32) {
        self.directions[waiting.direction as usize].ingress = Some(tap);
        let number = self.first + self.waiting.len() as u64;
        if let Some((egress, missed)) = self.missed_by_key.remove(&waiting.key) {
            let output = &mut self.outputs[egress as usize];
            let out = output.take_missed(missed);
            let direction = &mut self.directions[waiting.direction as usize];
            if out.left_ns + EARLY_NS < waiting.time_ns {
                direction.backward += 1;
            } else {
                direction.forward += 1;
            }
            let left_ns = waiting.leaves(egress, out.left_ns, out.packet.ecn);
            output.note_joined(waiting.time_ns, left_ns);
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
                self.waiting[(before - self.first) as usize].next = Some(number);
            }
        }
    }

    /// The first packet with this key no longer waits for its copy. `next` is the next one, `last` the last.
    fn unlink(&mut self, key: u64, next: Option<u64>, last: u64) {
        match next {
            Some(next) => self.by_key.insert(key, (next, last)),
            None => self.by_key.remove(&key),
        };
    }

    fn went_out(&mut self, seen: &Waiting, egress: u32) {
        let Waiting {
            packet,
            direction,
            time_ns,
            key,
            ..
        } = *seen;
        let output = &mut self.outputs[egress as usize];
        output.last_ns = time_ns;
        self.destinations.insert(packet.key.destination, egress);
        let of = &mut self.directions[direction as usize];
        of.output.get_or_insert(egress);
        of.pass(&packet);
        if let Some((number, last)) = self.by_key.get(&key).copied() {
            of.forward += 1;
            let found = &mut self.waiting[(number - self.first) as usize];
            let left_ns = found.leaves(egress, time_ns, packet.ecn);
            output.note_joined(found.time_ns, left_ns);
            let next = found.next;
            self.unlink(key, next, last);
            return;
        }
        let number = output.missed_first + output.missed.len() as u64;
        output.missed.push_back(Missed {
            packet,
            direction,
            came_ns: time_ns.saturating_sub(output.last_delay_ns),
            left_ns: time_ns,
            key,
            is_gone: false,
        });
        let before = self.missed_by_key.insert(key, (egress, number));
        if let Some((other, number)) = before.filter(|(other, _)| *other != egress) {
            // another output's capture has both directions, and saw the packet come in there
            self.outputs[other as usize].take_missed(number);
            self.directions[direction as usize].output = Some(egress);
        }
    }

    /// Records data that an ACK shows to have arrived without being seen at the egress.
    fn note_ack(&mut self, packet: &Packet, direction: u32) {
        if !packet.flags.contains(Flags::ACK) {
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

    /// Calls `emit` with the packets that came before `until_ns`, and with the oldest of those that exceed `most`.
    fn emit_until(&mut self, until_ns: u64, most: usize, mut emit: impl FnMut(&Emitted)) {
        loop {
            let came_in = self.waiting.front().map(|one| (one.time_ns, None));
            let firsts = (0..).zip(&self.outputs);
            let went_out = firsts
                .filter_map(|(egress, output)| Some((output.missed.front()?.came_ns, Some(egress))))
                .min();
            // at equal times, packets that came in are first
            let Some((time_ns, output)) = came_in.into_iter().chain(went_out).min() else {
                return;
            };
            if time_ns >= until_ns && self.held() <= most {
                return;
            }
            let emitted = match output {
                Some(egress) => self.take_missed(egress),
                None => self.take_waiting(),
            };
            if let Some(emitted) = emitted {
                emit(&emitted);
            }
        }
    }

    /// Number of packets in the window.
    fn held(&self) -> usize {
        let missed = self.outputs.iter().map(|output| output.missed.len());
        self.waiting.len() + missed.sum::<usize>()
    }

    fn take_missed(&mut self, egress: u32) -> Option<Emitted> {
        let output = &mut self.outputs[egress as usize];
        let one = output.missed.pop_front()?;
        output.missed_first += 1;
        if one.is_gone {
            return None;
        }
        self.missed_by_key.remove(&one.key);
        Some(self.missed_packet(&one, egress))
    }

    fn take_waiting(&mut self) -> Option<Emitted> {
        let one = self.waiting.pop_front()?;
        let number = self.first;
        self.first += 1;
        if let Side::Ingress(_) = one.side
            && one.left.is_none()
            && let Some((head, last)) = self.by_key.get(&one.key).copied()
            && head == number
        {
            self.unlink(one.key, one.next, last);
        }
        self.decided(&one)
    }

    fn decided(&mut self, one: &Waiting) -> Option<Emitted> {
        let direction = &mut self.directions[one.direction as usize];
        let way = match one.side {
            Side::Ingress(tap) if direction.is_forward() => direction.output.map(|it| (tap, it)),
            Side::Ingress(tap) if direction.backward == 0 => {
                let output = self.destinations.get(&one.packet.key.destination);
                output.map(|output| (tap, *output))
            }
            _ => None,
        };
        let Some((ingress, mut egress)) = way else {
            // packets of a joined direction at other taps are copies
            let is_copy = direction.is_forward() || !direction.at_home(one.side);
            return (!is_copy).then(|| one.emitted(None));
        };
        if let Some((output, _)) = one.left {
            egress = output;
            direction.output = Some(output);
        }
        let output = &mut self.outputs[egress as usize];
        let completeness = &mut output.completeness;
        completeness.arrived += 1;
        let mut is_apart = false;
        let fate = if let Some((_, fate)) = one.left {
            completeness.joined += 1;
            output.last_forwarded_ns[ingress as usize] = one.time_ns;
            fate
        } else if direction.was_unseen(&one.packet) {
            completeness.missed_at_egress += 1;
            Fate::Unseen
        } else if output.is_open(one.time_ns) {
            output.note_open(one.time_ns);
            Fate::Open
        } else {
            is_apart = self.has_missed_neighbour(ingress, egress, one.time_ns);
            Fate::Dropped(one.reason)
        };
        let joined = Joined {
            ingress,
            egress,
            fate,
        };
        Some(Emitted {
            is_apart,
            ..one.emitted(Some(joined))
        })
    }

    /// Whether the ingress capture missed a packet from the same port for the same output, between the packets that
    /// were forwarded before and after this time.
    fn has_missed_neighbour(&self, tap: u32, egress: u32, time_ns: u64) -> bool {
        let output = &self.outputs[egress as usize];
        if output.missed.is_empty() {
            return false;
        }
        let margin_ns = output.last_delay_ns / 4;
        let from_ns = output.last_forwarded_ns[tap as usize].saturating_sub(margin_ns);
        // after a clock was set back, that packet has a later timestamp than this one
        let from_ns = from_ns.min(time_ns);
        let next = self.waiting.iter().find(|one| one.passed(tap, egress));
        let to_ns = next.map_or(u64::MAX, |one| one.time_ns + margin_ns);
        // what came in by the output, which was captured in both directions, came in by no other port
        let of_tap = |one: &Missed| {
            let ingress = self.directions[one.direction as usize].ingress;
            ingress.map_or_else(|| !self.goes_back(one.direction), |ingress| ingress == tap)
        };
        let mut missed = output.missed.iter().take_while(|one| one.came_ns <= to_ns);
        missed.any(|one| !one.is_gone && one.came_ns >= from_ns && of_tap(one))
    }

    /// The result for a packet that was only seen going out.
    fn missed_packet(&mut self, one: &Missed, egress: u32) -> Emitted {
        let direction = &self.directions[one.direction as usize];
        let ingress = direction
            .ingress
            .filter(|_| direction.backward <= direction.forward);
        let goes_back = self.goes_back(one.direction);
        let completeness = &mut self.outputs[egress as usize].completeness;
        match ingress {
            Some(_) => completeness.missed_at_ingress += 1,
            None => completeness.without_ingress += u64::from(!goes_back),
        }
        let fate = Fate::Forwarded {
            left_ns: one.left_ns,
            is_marked: false,
        };
        Emitted {
            packet: one.packet,
            direction: one.direction,
            time_ns: ingress.map_or(one.left_ns, |_| one.came_ns),
            joined: ingress.map(|ingress| Joined {
                ingress,
                egress,
                fate,
            }),
            is_apart: false,
        }
    }

    /// Whether packets of this direction are known to leave by another output.
    pub(crate) fn leaves_elsewhere(&self, direction: u32, egress: u32) -> bool {
        let of = self.directions.get(direction as usize);
        of.and_then(|of| of.output).is_some_and(|it| it != egress)
    }

    /// Whether packets of this direction answer those that go to the output. If the output was captured in both
    /// directions, they come in there.
    pub(crate) fn goes_back(&self, direction: u32) -> bool {
        let of = |direction: u32| self.directions.get(direction as usize);
        let is_forward = |direction| of(direction).is_some_and(Direction::is_joined);
        is_forward(direction ^ 1) && !is_forward(direction)
    }

    /// Decides about all packets that are left.
    pub fn finish(&mut self, emit: impl FnMut(&Emitted)) {
        self.emit_until(u64::MAX, 0, emit);
    }
}
