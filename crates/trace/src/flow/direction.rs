//! One direction of a connection: what its sender sent, and what happened to it. Positions are sequence numbers of 64
//! bits, which do not wrap.

mod acks;
mod order;
mod outstanding;
mod retransmissions;
mod stalls;
mod timer;
mod window;

use fairport_tcp::Flags;

use acks::Acks;
use order::Order;
use outstanding::{Outstanding, Sent};
use retransmissions::Retransmissions;
use timer::Timer;
use window::Window;

use super::events::{Outcome, Seen};
use super::legs::Leg;
use super::ranges::{Arrived, position};
use super::report::{Counts, Expiry};

/// One direction of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Direction {
    pub(crate) counts: Counts,
    /// this end's timestamps, and the time from the tap to this end and back
    pub(crate) leg: Leg,
    /// bits by which this end's windows are shifted, if its handshake was seen
    pub(crate) window_scale: Option<u8>,
    /// whether a segment with data, SYN or FIN was seen; all positions below are undefined before that
    is_known: bool,
    /// the first position that was seen
    base: u64,
    /// the position after the last byte that was sent
    next: u64,
    /// the first position that is not acknowledged
    una: u64,
    /// segments that were seen, dropped or not
    sent: Arrived,
    /// segments that reached the receiver
    arrived: Arrived,
    order: Order,
    outstanding: Outstanding,
    acks: Acks,
    last_sent_ns: u64,
    timer: Timer,
    /// a loss beyond this position starts a new recovery
    recover: u64,
    retransmissions: Retransmissions,
    window: Window,
    pub(crate) srtt_ns: f64,
}

impl Direction {
    /// Reads data that the next packet needs, one word per cache line; see [`Tracker::warm`](super::Tracker::warm).
    #[inline]
    pub(crate) fn warm(&self) -> u64 {
        let sums = self.counts.packets ^ self.counts.duplicate_acks ^ self.counts.stalled_ns[3];
        let stamps = self.leg.stamped_ns();
        sums ^ stamps ^ self.next ^ self.sent.to() ^ self.arrived.to() ^ self.window.closed_ns()
    }

    /// When the first segment that waits for its ACK passed the tap.
    #[inline]
    pub(crate) fn oldest_ns(&self) -> u64 {
        self.outstanding.oldest_ns()
    }

    /// Bytes sent and not acknowledged; 0 until an ACK was seen.
    pub(crate) fn in_flight(&self) -> u64 {
        if self.acks.has_any {
            self.next - self.una
        } else {
            0
        }
    }

    /// When the last segment was sent, if everything was acknowledged, or without ACKs, if everything arrived.
    pub(crate) fn done_ns(&self) -> Option<u64> {
        let to = if self.acks.has_any {
            self.una
        } else {
            self.arrived.to()
        };
        (self.is_known && to >= self.next).then_some(self.last_sent_ns)
    }

    /// The position with these low 32 bits that is nearest to what was sent last.
    #[inline]
    pub(crate) fn position(&self, wire: u32) -> u64 {
        position(self.next, wire)
    }

    #[cold]
    fn begin(&mut self, seen: &Seen<'_>) {
        // the low 32 bits are those on the wire, and earlier positions do not go below zero
        let first = 1 << 32 | u64::from(seen.packet.seq);
        self.is_known = true;
        (self.base, self.next, self.una, self.recover) = (first, first, first, first);
        self.sent = Arrived::before(first);
        self.arrived = Arrived::before(first);
        self.last_sent_ns = seen.time_ns;
        self.timer.start(seen.time_ns);
        self.acks.last_ns = self.acks.last_ns.max(seen.time_ns);
    }

    /// Processes a segment with data, SYN or FIN.
    #[inline]
    pub(crate) fn on_segment(&mut self, seen: &Seen<'_>, other_leg_ns: Option<u64>) -> Outcome {
        if !self.is_known {
            self.begin(seen);
        }
        let (packet, now) = (seen.packet, seen.time_ns);
        let length = packet.sequence_length();
        let start = self.position(packet.seq);
        let end = start + u64::from(length);
        let mut expiry = None;
        self.counts.segments += u64::from(packet.payload > 0);
        self.counts.merged += u64::from(packet.is_merged);
        if start < self.next && self.is_retransmission(seen, start, end.min(self.next)) {
            expiry = self.on_retransmission(seen, start, end.min(self.next), other_leg_ns);
        }
        if end > self.next {
            self.note_silence(now, false);
            self.note_pause(now);
            if self.una == self.next {
                self.timer.start(now);
            }
            if start > self.next {
                self.order.note_hole(seen);
                self.counts.gap_bytes += start - self.next;
            }
            // the answer to a SYN arrives before anything is known about the path to the sender
            if !packet.flags.contains(Flags::SYN) {
                self.outstanding.add(Sent {
                    end,
                    time_ns: now,
                    is_retransmission: start < self.next,
                });
            }
            self.next = end;
            self.last_sent_ns = now;
        }
        self.order.note(packet);
        self.sent.add(start, end);
        self.counts.fins += u64::from(packet.flags.contains(Flags::FIN));
        self.counts.in_flight_max_bytes = self.counts.in_flight_max_bytes.max(self.in_flight());
        let new_bytes = if seen.left_ns.is_none() {
            0
        } else {
            let flags = u64::from(length - packet.payload);
            self.arrived.add(start, end).saturating_sub(flags)
        };
        self.counts.delivered_bytes += new_bytes;
        Outcome { new_bytes, expiry }
    }

    /// Whether old data was sent again, or was only reordered.
    fn is_retransmission(&mut self, seen: &Seen<'_>, start: u64, end: u64) -> bool {
        if end <= start || end <= self.base {
            return false;
        }
        if self.order.is_captured_late(start, end, seen.time_ns) {
            self.counts.unseen_bytes = self.counts.unseen_bytes.saturating_sub(end - start);
            return false;
        }
        let is_overtaken = self
            .order
            .is_overtaken(seen.packet, self.leg.newest_stamp());
        let is_late = if self.sent.has_any(start, end) {
            // a single byte before the next expected one is a keep-alive (RFC 9293 3.8.4)
            let is_probe = seen.packet.payload <= 1 && end == self.next && self.una >= end;
            if is_probe {
                return false;
            }
            is_overtaken == Some(true)
        } else {
            is_overtaken.unwrap_or_else(|| self.order.is_soon(seen.time_ns, self.srtt_ns))
        };
        self.counts.out_of_order += u64::from(is_late);
        !is_late
    }

    fn on_retransmission(
        &mut self,
        seen: &Seen<'_>,
        start: u64,
        end: u64,
        other_leg_ns: Option<u64>,
    ) -> Option<Expiry> {
        let now = seen.time_ns;
        self.counts.retransmits += u64::from(seen.packet.payload > 0);
        self.outstanding.sent_again(start, end, now);
        let expiry = self
            .is_by_timer(seen, start, other_leg_ns)
            .then(|| self.expire(now, start));
        if expiry.is_some() {
            self.note_silence(now, true);
        } else if start >= self.recover {
            self.counts.fast_recoveries += 1;
            self.recover = self.next;
        }
        if start <= self.una.max(self.arrived.to()) {
            self.timer.note_head(start, now);
        }
        if end <= self.una {
            // its ACK has passed already
            self.counts.spurious += u64::from(seen.packet.payload > 0);
        } else if seen.packet.payload > 0 {
            self.retransmissions.add(start, end, seen.packet.stamp());
        }
        self.last_sent_ns = now;
        expiry
    }
}
