//! What an endpoint sends: data, acknowledgements and probes, with the ECN codepoint of each packet.

use fairport_units::Instant;

use super::Connection;
use super::handshake::Phase;
use crate::ecn::Ecn;
use crate::segment::{Flags, Segment, Timestamps};
use crate::sender::Outgoing;
use crate::seq;

impl Connection {
    /// The next segment to send at `now`. Call it until it returns `None`. [`Self::codepoint`] gives the ECN codepoint
    /// of the segment's packet.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if self.ecn.on {
            self.poll_with_ecn(now)
        } else {
            self.poll_segment(now)
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

    /// Polls, and sets the codepoint: new data is ECN-capable, and nothing else unless the stack says so (RFC 3168
    /// 6.1).
    #[inline(never)]
    fn poll_with_ecn(&mut self, now: Instant) -> Option<Segment> {
        let opens = self.phase != Phase::Established;
        let nxt = self.sender.nxt();
        let (mut segment, echoes) = match self.receiver.take_earlier() {
            Some((ack, echoes)) => {
                let mut segment = self.segment(now, nxt);
                segment.ack = seq::wire(ack);
                (segment, echoes)
            }
            None => (self.poll_segment(now)?, self.receiver.echoes()),
        };
        if echoes {
            segment.flags |= Flags::ECE;
        }
        let is_new = !opens && segment.payload > 0 && segment.seq == seq::wire(nxt);
        if is_new && self.sender.take_cwr() {
            segment.flags |= Flags::CWR;
        }
        self.ecn.codepoint = if is_new || self.ecn.on_all {
            Ecn::Ect0
        } else {
            Ecn::NotEct
        };
        Some(segment)
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
            Some(Outgoing::Data(chunk)) => {
                self.receiver.on_acknowledged(&mut self.timers, now, true);
                let mut segment = self.segment(now, chunk.start);
                segment.payload = chunk.payload;
                if chunk.fin {
                    segment.flags |= Flags::FIN;
                }
                Some(segment)
            }
            Some(Outgoing::Probe) => {
                let below = self.sender.nxt() - 1;
                Some(self.segment(now, below))
            }
            None if ack_is_due => Some(self.acknowledgement(now)),
            None => None,
        }
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
