//! What an endpoint sends: data, acknowledgements and probes, with the ECN codepoint of each packet.

use fairport_units::Instant;

use super::Connection;
use super::handshake::Phase;
use crate::ecn::Ecn;
use crate::scoreboard::Chunk;
use crate::segment::{Flags, Segment, Timestamps};
use crate::sender::Outgoing;
use crate::seq;

impl Connection {
    /// From now on, segments that are sent again are not joined, whatever `joins_retransmissions` says. For data with
    /// `MSG_EOR`, whose end lies at the end of a segment.
    pub fn keep_boundaries(&mut self) {
        self.sender.keep_boundaries();
    }

    /// The next segment to send at `now`. Call it until it returns `None`. [`Self::codepoint`] gives the ECN codepoint
    /// of the segment's packet.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if self.plain {
            self.poll_segment(now)
        } else {
            self.poll_otherwise(now)
        }
    }

    /// Whether the segment that [`Self::poll_transmit`] returned last belongs to the burst of the one before it, so
    /// that the host need not process it separately (`segmentation_offload`).
    #[inline]
    pub fn continues_burst(&self) -> bool {
        self.sender.continues_burst()
    }

    /// Says that the packet of the last segment from [`Self::poll_transmit`] will have left this host at `departs`. A
    /// host without a queue of its own need not call it.
    #[inline]
    pub fn queued_until(&mut self, departs: Instant, segment: &Segment) {
        if segment.payload > 0 && departs != Instant::NEVER {
            self.sender.queued(departs, segment);
        }
    }

    /// The host's queue has no room for another packet. Returns whether the connection waits; if not, poll it anyway,
    /// and the packet is lost.
    #[cold]
    pub fn yields_to_host(&mut self, now: Instant) -> bool {
        self.phase == Phase::Established && self.sender.yields_to_host(&mut self.timers, now)
    }

    /// The ECN codepoint of the segment that [`Self::poll_transmit`] returned last.
    #[inline]
    pub fn codepoint(&self) -> Ecn {
        self.ecn.codepoint
    }

    /// Polls a connection that uses ECN, or whose released segments wait.
    #[inline(never)]
    fn poll_otherwise(&mut self, now: Instant) -> Option<Segment> {
        if let Some((segment, codepoint)) = self.released.pop_front() {
            self.ecn.codepoint = codepoint;
            return Some(segment);
        }
        if !self.ecn.on {
            // ECN is agreed on in the handshake or never
            self.plain = true;
            return self.poll_transmit(now);
        }
        let opens = self.phase != Phase::Established;
        let nxt = self.sender.nxt();
        let (segment, echoes) = match self.earlier_ack(now) {
            Some(earlier) => earlier,
            None => (self.poll_segment(now)?, self.receiver.echoes()),
        };
        let is_new = !opens && segment.payload > 0 && segment.seq == seq::wire(nxt);
        Some(self.with_ecn(segment, is_new, echoes))
    }

    /// Sets the flags of ECN and the codepoint: new data is ECN-capable, and nothing else unless the stack says so
    /// (RFC 3168 6.1).
    #[inline]
    fn with_ecn(&mut self, mut segment: Segment, is_new: bool, echoes: bool) -> Segment {
        if echoes {
            segment.flags |= Flags::ECE;
        }
        if is_new && self.sender.take_cwr() {
            segment.flags |= Flags::CWR;
        }
        self.ecn.codepoint = if is_new || self.ecn.on_all {
            Ecn::Ect0
        } else {
            Ecn::NotEct
        };
        segment
    }

    /// The ACK of what came before a change of the echo, and whether it carries ECE.
    fn earlier_ack(&mut self, now: Instant) -> Option<(Segment, bool)> {
        let (ack, echoes) = self.receiver.take_earlier()?;
        let mut segment = self.segment(now, self.sender.nxt());
        segment.ack = seq::wire(ack);
        Some((segment, echoes))
    }

    /// Lets the next poll return `segment`, after those that were released before.
    fn release(&mut self, mut segment: Segment, is_new: bool, echoes: bool) {
        if self.ecn.on {
            segment = self.with_ecn(segment, is_new, echoes);
        }
        self.released.push_back((segment, self.ecn.codepoint));
        self.plain = false;
    }

    /// Acknowledges the peer's FIN by itself, before data or a FIN that waits (`tcp_fin` in FIN-WAIT-1).
    #[cold]
    pub(crate) fn acknowledge_fin(&mut self, now: Instant) {
        if let Some((segment, echoes)) = self.earlier_ack(now) {
            self.release(segment, false, echoes);
        }
        let segment = self.acknowledgement(now);
        self.release(segment, false, self.receiver.echoes());
    }

    /// Sends what the ACK of `segment` releases in loss recovery. That comes before the segment's own data and FIN are
    /// taken in, so it does not acknowledge them (`tcp_xmit_recovery` in `tcp_ack`).
    #[cold]
    pub(crate) fn send_released(&mut self, now: Instant, segment: &Segment) {
        if self.is_predicted(segment) {
            return;
        }
        loop {
            let nxt = self.sender.nxt();
            let Some(chunk) = self.sender.poll_released(&mut self.timers, now) else {
                break;
            };
            let released = if chunk.payload == 0 {
                self.bare_fin(now, chunk.start)
            } else {
                self.data_segment(now, chunk)
            };
            let is_new = chunk.payload > 0 && chunk.start == nxt;
            self.release(released, is_new, self.receiver.echoes());
        }
    }

    /// Whether Linux takes in the data of a segment before its ACK: data in order, while neither end has closed and
    /// nothing else is unusual (header prediction in `tcp_rcv_established`).
    fn is_predicted(&self, segment: &Segment) -> bool {
        let unusual = Flags::FIN | Flags::ECE | Flags::CWR;
        segment.seq == seq::wire(self.receiver.nxt())
            && !segment.flags.intersects(unusual)
            && !segment.options.has_sacks()
            && !self.receiver.has_gap()
            && !self.receiver.is_closed()
            && !self.sender.is_closing()
    }

    #[expect(clippy::inline_always, reason = "as `Sender::poll`")]
    #[inline(always)]
    fn poll_segment(&mut self, now: Instant) -> Option<Segment> {
        if self.phase != Phase::Established {
            return self.poll_handshake(now);
        }
        // data out of order is reported in an ACK of its own, so data segments never need room for SACK blocks (with
        // data on it, the ACK would not count as a duplicate, RFC 5681 2)
        let ack_is_due = self.receiver.acks.is_due();
        let outgoing = if ack_is_due && self.receiver.has_report() {
            None
        } else {
            self.sender.poll(&mut self.timers, now)
        };
        match outgoing {
            Some(Outgoing::Data(chunk)) if chunk.payload == 0 => {
                Some(self.bare_fin(now, chunk.start))
            }
            Some(Outgoing::Data(chunk)) => Some(self.data_segment(now, chunk)),
            Some(Outgoing::Probe) => {
                let below = self.sender.nxt() - 1;
                Some(self.segment(now, below))
            }
            None if ack_is_due => Some(self.acknowledgement(now)),
            None => None,
        }
    }

    /// A segment with data, and with a FIN if that follows it.
    #[expect(clippy::inline_always, reason = "as [`Self::poll_segment`]")]
    #[inline(always)]
    fn data_segment(&mut self, now: Instant, chunk: Chunk) -> Segment {
        self.receiver.on_acknowledged(&mut self.timers, now, true);
        let mut segment = self.segment(now, chunk.start);
        segment.payload = chunk.payload;
        if chunk.fin {
            segment.flags |= Flags::FIN;
        }
        segment
    }

    /// A FIN without data: an ACK with SACK blocks, if there are any. It is no sign that data flows both ways
    /// (`__tcp_transmit_skb` calls `tcp_event_data_sent` for data alone).
    #[cold]
    fn bare_fin(&mut self, now: Instant, at: u64) -> Segment {
        let mut segment = self.segment(now, at);
        segment.flags |= Flags::FIN;
        if self.sack {
            self.receiver.report(&mut segment.options);
        }
        self.receiver.on_acknowledged(&mut self.timers, now, false);
        segment
    }

    /// An empty segment that acknowledges, with SACK blocks if there are any.
    #[expect(clippy::inline_always, reason = "as [`Self::poll_segment`]")]
    #[inline(always)]
    pub(crate) fn acknowledgement(&mut self, now: Instant) -> Segment {
        let mut segment = self.segment(now, self.sender.acceptable_nxt());
        if self.sack {
            self.receiver.report(&mut segment.options);
        }
        self.receiver.on_acknowledged(&mut self.timers, now, false);
        segment
    }

    /// A segment at `position`, with the fields that every segment carries.
    #[inline]
    pub(crate) fn segment(&self, now: Instant, position: u64) -> Segment {
        let mut segment = Segment {
            seq: seq::wire(position),
            ack: seq::wire(self.receiver.nxt()),
            window: (self.receiver.window() >> self.window_scale).min(u64::from(u16::MAX)) as u16,
            flags: Flags::ACK,
            fixed_header: self.fixed_header,
            ..Segment::default()
        };
        if self.timestamps {
            segment.options.set_timestamps(Timestamps {
                val: self.sender.timestamp(now),
                ecr: self.receiver.ts_recent(),
            });
        }
        segment
    }
}
