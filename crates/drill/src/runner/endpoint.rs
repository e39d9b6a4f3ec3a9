//! The connection with its clock, what it has sent, and what its application has yet to say.

use std::collections::VecDeque;

use fairport_tcp::{Connection, Ecn, Flags, Segment};
use fairport_units::Instant;

use super::chronograph::Chronograph;
use super::outbox::Outbox;

/// Events at which a stack without end is recognised.
pub(super) const STEPS_MAX: u32 = 1_000_000;

/// A segment that the stack sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) at: Instant,
    pub(super) segment: Segment,
    pub(super) ecn: Ecn,
    /// what is left of a segment of which the script expected a part, in that line
    pub(super) rest_of: Option<u32>,
}

/// One end of the connection of a script.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) connection: Connection,
    pub(super) outbox: Outbox,
    pub(super) chronograph: Chronograph,
    /// sent and not compared yet
    pub(super) sent: VecDeque<Sent>,
    /// when the handshake was complete
    pub(super) established: Option<Instant>,
    /// when data, or the peer's SYN, last came
    pub(super) last_data: Instant,
    /// bytes that the application read
    pub(super) read: u64,
    /// the peer's FIN was reached
    pub(super) peer_closed: bool,
    /// the application knows of the peer's RST
    pub(super) reset_reported: bool,
    /// the host's queue below the connection has no room
    pub(super) host_queue_full: bool,
    fin_seq: Option<u32>,
}

impl Endpoint {
    pub(super) fn new(mut connection: Connection, isn: u32, nagle: bool) -> Self {
        // scripts say themselves when they close
        connection.set_closes_with_peer(false);
        Self {
            connection,
            outbox: Outbox::new(isn, nagle),
            chronograph: Chronograph::new(isn),
            sent: VecDeque::new(),
            established: None,
            last_data: Instant::ZERO,
            read: 0,
            peer_closed: false,
            reset_reported: false,
            host_queue_full: false,
            fin_seq: None,
        }
    }

    /// When something happens without a segment or a call.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        let of_connection = self.connection.poll_timer();
        match (of_connection, self.outbox.deadline()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Does what is due before `until`, or up to it. False if that has no end.
    pub(super) fn advance(&mut self, now: &mut Instant, until: Instant, inclusive: bool) -> bool {
        for _ in 0..STEPS_MAX {
            let Some(due) = self.next_timer() else {
                return true;
            };
            if due > until || (due == until && !inclusive) {
                return true;
            }
            *now = (*now).max(due);
            self.tick(*now);
        }
        false
    }

    /// Does what is due now.
    pub(super) fn tick(&mut self, now: Instant) {
        self.connection.on_timer(now, &mut ());
        self.outbox.on_timer(now);
        self.pump(now);
    }

    /// A segment of the peer's arrives.
    pub(super) fn arrive(&mut self, now: Instant, segment: &Segment, ecn: Ecn) {
        let delivered = self.connection.delivered_bytes();
        self.connection.on_packet(now, segment, ecn, &mut ());
        if segment.flags.contains(Flags::FIN) {
            self.fin_seq = Some(segment.seq.wrapping_add(u32::from(segment.payload)));
        }
        if self.connection.is_established() && self.established.is_none() {
            self.established = Some(now);
            self.last_data = now;
        }
        if self.connection.delivered_bytes() > delivered {
            self.last_data = now;
        }
        self.outbox.on_segment();
        self.chronograph.on_segment(segment);
        self.pump(now);
    }

    /// Hands over what the application has to say and takes what goes on the wire.
    pub(super) fn pump(&mut self, now: Instant) {
        loop {
            self.connection.set_nagle(self.outbox.nagle_now());
            for _ in 0..STEPS_MAX {
                if self.host_queue_full && self.connection.yields_to_host(now) {
                    break;
                }
                let Some(segment) = self.connection.poll_transmit(now) else {
                    break;
                };
                self.note_peer_fin(&segment);
                self.outbox.on_sent(&segment);
                if self.host_queue_full {
                    // a stack that does not learn of it: the queue drops the packet
                    continue;
                }
                self.sent.push_back(Sent {
                    at: now,
                    segment,
                    ecn: self.connection.codepoint(),
                    rest_of: None,
                });
            }
            if !self.connection.is_established() || !self.outbox.feed(&mut self.connection) {
                break;
            }
        }
        self.outbox.watch(now, &self.connection);
        let info = self.connection.info();
        let (sent, waiting) = self.outbox.progress();
        let next = waiting.min(u64::from(info.snd_mss));
        self.chronograph
            .watch(now, sent, info.unacked == 0, waiting, next);
    }

    /// The application goes away and leaves the connection to a RST.
    pub(super) fn abort(&mut self, now: Instant) {
        let rst = self.connection.abort(now);
        self.sent.extend(rst.map(|segment| Sent {
            at: now,
            segment,
            ecn: Ecn::NotEct,
            rest_of: None,
        }));
    }

    /// Once an acknowledgement covers the peer's FIN, the application has seen its end.
    fn note_peer_fin(&mut self, segment: &Segment) {
        if let Some(fin) = self.fin_seq {
            self.peer_closed |= segment.ack == fin.wrapping_add(1);
        }
    }
}
