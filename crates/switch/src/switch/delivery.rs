//! Frames that have reached their hosts.

use std::mem::take;

use fairport_tcp::Ecn;
use fairport_units::Instant;
use fairport_wire::{Captured, Frame, SackList, TcpOption, Transport, mark_ce};

use super::Switch;
use crate::clock::Clock;
use crate::edge::{Due, PacketObserver};
use crate::frames::FrameId;

impl Switch {
    /// Advances the network to `now`, and sends the frames that have reached a host.
    pub(super) fn forward(&mut self, now: Instant, clock: &mut Clock) {
        while self.queue.next_at() <= now {
            let next = self.queue.next_at();
            self.network.advance(next, u64::MAX / 2, &mut self.exits);
            self.queue.sample(|port, at| self.network.backlog(port, at));
        }
        self.network.advance(now, u64::MAX / 2, &mut self.exits);
        self.release_frames();
        let mut due = take(&mut self.exits.due);
        for one in due.drain(..) {
            if one.ecn == Ecn::Ce {
                self.mark(one.content.frame);
            }
            if one.content.has_ack {
                let direction = one.acknowledged_direction();
                self.finders
                    .timeouts
                    .acknowledged(one.at, direction, one.content.ack);
            }
            self.deliver(&one, clock.now());
        }
        self.exits.due = due;
    }

    /// Sends a frame to its host.
    fn deliver(&mut self, one: &Due, now: Instant) {
        let (host, interface) = self.hosts.at_node(one.host);
        self.health.sent(one.host, one.at, now);
        self.finders
            .answers
            .delivered(one.at, now, host, one.content.numbers(one.flow));
        self.measure(one, now);
        let frame = one.content.frame;
        match self.outlet.send(interface, self.frames.bytes(frame)) {
            Ok(()) => self.health.frames_out += 1,
            Err(_) => self.health.send_errors += 1,
        }
        self.frames.free(frame);
    }

    /// Takes the round-trip time that an ACK shows, or the delay of a datagram.
    fn measure(&mut self, one: &Due, now: Instant) {
        let frame = one.content.frame;
        let round_trips = &mut self.finders.round_trips;
        if one.content.is_backward && one.content.has_ack {
            let sacks = sacks(self.frames.bytes(frame));
            round_trips.acknowledged(now, one.flow, one.content.ack, &sacks);
        } else if !one.content.is_backward && self.flows.is_udp(one.flow) {
            let left_at = self.frames.left_at(frame);
            round_trips.delivered(now, one.flow, left_at);
        }
    }

    /// Marks a packet's frame, because the network has marked the packet.
    fn mark(&mut self, frame: FrameId) {
        let bytes = self.frames.bytes_mut(frame);
        let parsed = Frame::parse(Captured::whole(bytes)).map(|parsed| parsed.network_offset());
        if let Ok(offset) = parsed {
            // a frame that was parsed before begins with a valid IP header
            let _ = mark_ce(&mut bytes[offset..]);
        }
    }

    /// Passes packets at captured ports on to the captures while their frames still exist. Then frees the frames of
    /// dropped packets.
    pub(super) fn release_frames(&mut self) {
        let PacketObserver { seen, dropped, .. } = self.network.observer_mut();
        if let Some(capturing) = &mut self.capturing {
            for one in seen.drain(..) {
                capturing.push(one, self.frames.bytes(one.frame));
            }
        }
        for frame in dropped.drain(..) {
            self.frames.free(frame);
        }
    }
}

/// The SACK blocks of an ACK.
fn sacks(frame: &[u8]) -> SackList {
    let parsed = Frame::parse(Captured::whole(frame)).ok();
    match parsed.and_then(|it| it.network.transport().ok().flatten()) {
        Some(Transport::Tcp(tcp)) => tcp
            .options()
            .find_map(|option| match option {
                Ok(TcpOption::Sack(blocks)) => Some(blocks),
                _ => None,
            })
            .unwrap_or_default(),
        _ => SackList::default(),
    }
}
