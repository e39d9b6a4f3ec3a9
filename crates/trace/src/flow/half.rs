//! One direction of a connection: what its sender sent, and what came of it.

mod acks;

use std::collections::VecDeque;

use super::events::{Outcome, Segment};
use super::legs::Leg;
use super::ranges::Arrived;
use super::report::{Cause, Counts, Expiry};

/// Segments whose ACK is waited for, at most: more than any window holds.
const MOST_OUTSTANDING: usize = 1 << 16;
/// Without any sample of the round-trip time, a silence of so long ends in a timeout.
const UNKNOWN_RTT_NS: u64 = 3_000_000;
/// What fills a hole sooner than this came out of order (as Wireshark has it), and is not sent again.
const REORDERED_NS: u64 = 3_000_000;
/// A silence shorter than this is no stall.
const SHORTEST_STALL_NS: u64 = 1_000_000;

/// A segment that was sent and not yet acknowledged.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    end: u64,
    time_ns: u64,
    is_again: bool,
}

/// The last segment that was sent again.
#[derive(Clone, Copy, Debug)]
struct Again {
    start: u64,
    end: u64,
    stamp: Option<u32>,
}

/// One direction of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Half {
    pub(crate) counts: Counts,
    /// this end's timestamps, and the way from the tap to this end and back
    pub(crate) leg: Leg,
    pub(crate) window_scale: u8,
    is_known: bool,
    base: u64,
    next: u64,
    una: u64,
    /// what was seen of it, dropped or not
    sent: Arrived,
    /// what reached the receiver
    pub(crate) arrived: Arrived,
    /// when a hole appeared last in what was sent
    hole_ns: u64,
    outstanding: VecDeque<Outstanding>,
    last_sent_ns: u64,
    last_ack_ns: u64,
    has_acks: bool,
    /// since when the sender's retransmission timer runs
    timer_ns: u64,
    /// the first outstanding segment, when it was sent again last
    head: (u64, u64),
    duplicates: u32,
    /// beyond this, a loss is a new one
    recover: u64,
    again: Option<Again>,
    window: Option<u32>,
    closed_since_ns: Option<u64>,
    /// when the receiver's window was closed last
    closed_ns: u64,
    in_a_row: u32,
    pub(crate) srtt_ns: f64,
}

impl Half {
    pub(crate) fn new() -> Self {
        Self {
            counts: Counts::default(),
            leg: Leg::default(),
            window_scale: 0,
            is_known: false,
            base: 0,
            next: 0,
            una: 0,
            sent: Arrived::default(),
            arrived: Arrived::default(),
            hole_ns: 0,
            outstanding: VecDeque::new(),
            last_sent_ns: 0,
            last_ack_ns: 0,
            has_acks: false,
            timer_ns: 0,
            head: (0, 0),
            duplicates: 0,
            recover: 0,
            again: None,
            window: None,
            closed_since_ns: None,
            closed_ns: 0,
            in_a_row: 0,
            srtt_ns: 0.0,
        }
    }

    /// Reads what the next packet needs, a word of each cache line; see
    /// [`Tracker::warm`](super::Tracker::warm).
    #[inline]
    pub(crate) fn warm(&self) -> u64 {
        let sums = self.counts.packets ^ self.counts.duplicate_acks ^ self.counts.stalled_ns[3];
        let stamps = self.leg.stamped_ns();
        sums ^ stamps ^ self.next ^ self.sent.to() ^ self.arrived.to() ^ self.closed_ns
    }

    /// When the first segment that waits for its ACK passed.
    #[inline]
    pub(crate) fn oldest_ns(&self) -> u64 {
        self.outstanding.front().map_or(0, |one| one.time_ns)
    }

    /// A sample of the way from the tap to this end and back.
    #[inline]
    pub(crate) fn leg_of_answers(&mut self, sample_ns: u64) {
        self.leg.add(sample_ns);
    }

    /// The typical time of late from the tap to this end and back.
    #[inline]
    pub(crate) fn answers_ns(&self) -> Option<u64> {
        self.leg.typical_ns()
    }

    /// Sent and not acknowledged.
    pub(crate) fn in_flight(&self) -> u64 {
        if self.has_acks {
            self.next - self.una
        } else {
            0
        }
    }

    /// The position nearest to what was sent last that a number on the wire means.
    #[inline]
    pub(crate) fn position(&self, wire: u32) -> u64 {
        let distance = wire.wrapping_sub(self.next as u32).cast_signed();
        self.next.wrapping_add_signed(i64::from(distance))
    }

    #[cold]
    fn begin(&mut self, segment: &Segment) {
        // the low 32 bits are the wire's, and what lies before does not go below zero
        let first = 1 << 32 | u64::from(segment.seq);
        self.is_known = true;
        (self.base, self.next, self.una, self.recover) = (first, first, first, first);
        self.sent = Arrived::before(first);
        self.arrived = Arrived::before(first);
        self.last_sent_ns = segment.time_ns;
        self.timer_ns = segment.time_ns;
        self.last_ack_ns = self.last_ack_ns.max(segment.time_ns);
    }

    /// A segment with data, SYN or FIN passes.
    #[inline]
    pub(crate) fn on_segment(&mut self, segment: &Segment, other_leg_ns: Option<u64>) -> Outcome {
        if !self.is_known {
            self.begin(segment);
        }
        let now = segment.time_ns;
        let start = self.position(segment.seq);
        let end = start + u64::from(segment.length);
        let mut expiry = None;
        self.counts.segments += u64::from(segment.payload > 0);
        if end > self.next {
            self.note_silence(now, false);
            if self.una == self.next {
                self.timer_ns = now;
            }
            if start > self.next {
                self.hole_ns = now;
                self.counts.gap_bytes += start - self.next;
            }
            // the answer to a SYN comes before anything is known of the way to the sender
            if self.outstanding.len() < MOST_OUTSTANDING && !segment.is_syn {
                self.outstanding.push_back(Outstanding {
                    end,
                    time_ns: now,
                    is_again: start < self.next,
                });
            }
            self.next = end;
            self.last_sent_ns = now;
        } else if self.is_again(segment, start, end) {
            expiry = self.on_again(segment, start, end, other_leg_ns);
        }
        self.sent.add(start, end);
        self.counts.fins += u64::from(segment.is_fin);
        self.counts.in_flight_max_bytes = self.counts.in_flight_max_bytes.max(self.in_flight());
        let new_bytes = if segment.left_ns.is_none() {
            0
        } else {
            let flags = u64::from(segment.length - segment.payload);
            self.arrived.add(start, end).saturating_sub(flags)
        };
        self.counts.delivered_bytes += new_bytes;
        Outcome { new_bytes, expiry }
    }

    /// Whether something old was sent again, or only came out of order.
    fn is_again(&mut self, segment: &Segment, start: u64, end: u64) -> bool {
        if end <= start || end <= self.base {
            return false;
        }
        if self.sent.has_any(start, end) {
            // one byte before what is expected asks whether the other end is still there (RFC 9293 3.8.4)
            let is_probe = segment.payload <= 1 && end == self.next && self.una >= end;
            return !is_probe;
        }
        let is_late = segment.time_ns.saturating_sub(self.hole_ns) >= self.reordering_ns();
        self.counts.out_of_order += u64::from(!is_late);
        is_late
    }

    fn reordering_ns(&self) -> u64 {
        match self.srtt_ns {
            0.0 => REORDERED_NS,
            srtt => REORDERED_NS.min((srtt / 2.0) as u64),
        }
    }

    fn on_again(
        &mut self,
        segment: &Segment,
        start: u64,
        end: u64,
        other_leg_ns: Option<u64>,
    ) -> Option<Expiry> {
        let now = segment.time_ns;
        self.counts.retransmits += u64::from(segment.payload > 0);
        let first = self.outstanding.partition_point(|one| one.end <= start);
        for one in self.outstanding.range_mut(first..) {
            if one.end > end {
                break;
            }
            one.is_again = true;
        }
        let expiry = self
            .is_by_timer(segment, start, other_leg_ns)
            .then(|| self.expire(segment, start));
        if expiry.is_some() {
            self.note_silence(now, true);
        } else if start >= self.recover {
            self.counts.fast_recoveries += 1;
            self.recover = self.next;
        }
        if start <= self.una.max(self.arrived.to()) {
            self.head = (start, now);
        }
        self.again = Some(Again {
            start,
            end,
            stamp: segment.stamp,
        });
        self.last_sent_ns = now;
        expiry
    }

    /// Whether the retransmission timer was the reason to send this segment again: it is the first
    /// outstanding one, and either nothing had passed for long, or it had been sent again long before and was
    /// lost again, while ACKs of others kept coming.
    fn is_by_timer(&self, segment: &Segment, start: u64, other_leg_ns: Option<u64>) -> bool {
        if segment.is_syn {
            return true;
        }
        if start > self.una.max(self.arrived.to()) {
            return false;
        }
        let now = segment.time_ns;
        let silence = now.saturating_sub(self.last_sent_ns.max(self.last_ack_ns));
        let answer_ns = self.longest_answer_ns(other_leg_ns);
        let (head, head_ns) = self.head;
        silence >= answer_ns || (head == start && now.saturating_sub(head_ns) >= 2 * answer_ns)
    }

    fn expire(&mut self, segment: &Segment, start: u64) -> Expiry {
        let now = segment.time_ns;
        let since_ns = if self.has_acks {
            self.timer_ns
        } else {
            self.last_sent_ns
        };
        let expiry = Expiry {
            since_ns,
            at_ns: now,
            backoff: self.in_a_row,
            seq: start as u32,
        };
        self.in_a_row += 1;
        self.counts.timeouts += 1;
        self.counts.timeout_ns += now.saturating_sub(since_ns);
        self.recover = self.next;
        self.timer_ns = now;
        expiry
    }

    /// After more silence than this, no ACK was the reason to send something again, but a timer. A sender
    /// answers an ACK within the way to it and back. The timer waits for longer than a round-trip
    /// time (RFC 6298 2.3), though ACKs that do not restart it may come meanwhile.
    fn longest_answer_ns(&self, other_leg_ns: Option<u64>) -> u64 {
        let own = self.leg.typical_ns();
        let round_trip = match (own, other_leg_ns) {
            _ if self.srtt_ns > 0.0 => self.srtt_ns as u64,
            (Some(own), Some(other)) => own + other,
            (Some(one), None) | (None, Some(one)) => 2 * one,
            (None, None) => UNKNOWN_RTT_NS,
        };
        round_trip + round_trip / 4
    }

    /// Adds up silences of this sender, by their causes.
    #[inline]
    fn note_silence(&mut self, now: u64, by_timer: bool) {
        let silence = now.saturating_sub(self.last_sent_ns);
        if silence < SHORTEST_STALL_NS || (silence as f64) < 2.0 * self.srtt_ns {
            return;
        }
        let is_full = self.window.is_some_and(|window| {
            self.next + u64::from(self.counts.mss) > self.una + u64::from(window)
        });
        let cause = if by_timer {
            Cause::Timeout
        } else if self.counts.segments <= 1 {
            return; // before the first data
        } else if self.closed_ns > self.last_sent_ns || (is_full && self.una < self.next) {
            Cause::Window
        } else if self.has_acks && self.una == self.next {
            Cause::Idle
        } else {
            Cause::Network
        };
        self.counts.stalled_ns[cause as usize] += silence;
        self.counts.stalls[cause as usize] += 1;
    }
}
