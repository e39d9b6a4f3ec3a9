//! The connection, the segments that it has sent, and the data that its application still has to hand over.

use std::collections::VecDeque;

use fairport_tcp::{Connection, Ecn, Flags, Segment};
use fairport_units::Instant;

use super::chronograph::Chronograph;
use super::outbox::Outbox;

/// The number of steps after which a stack counts as running without end.
pub(super) const STEPS_MAX: u32 = 1_000_000;

/// A segment that the stack sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) at: Instant,
    pub(super) segment: Segment,
    pub(super) ecn: Ecn,
    /// if the segment is the rest of one of which the script expected only a part: the script's line
    pub(super) rest_of: Option<u32>,
}

/// The stack's end of the connection.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) connection: Connection,
    pub(super) outbox: Outbox,
    pub(super) chronograph: Chronograph,
    /// segments that were sent and are not yet compared with the script
    pub(super) sent: VecDeque<Sent>,
    /// time at which the handshake was complete
    pub(super) established: Option<Instant>,
    /// time of the last new data in order, or of the handshake's completion if none has come yet
    pub(super) last_data: Instant,
    /// number of bytes that the application has read
    pub(super) read: u64,
    /// the application has seen the peer's FIN, or has shut its own reading side
    pub(super) reads_end: bool,
    /// the peer's RST was reported to the application
    pub(super) reset_reported: bool,
    /// the host's queue below the connection is full
    pub(super) host_queue_full: bool,
    fin_seq: Option<u32>,
}

impl Endpoint {
    pub(super) fn new(mut connection: Connection, isn: u32, nagle: bool) -> Self {
        // a script says when the application closes
        connection.set_closes_with_peer(false);
        Self {
            connection,
            outbox: Outbox::new(isn, nagle),
            chronograph: Chronograph::new(isn),
            sent: VecDeque::new(),
            established: None,
            last_data: Instant::ZERO,
            read: 0,
            reads_end: false,
            reset_reported: false,
            host_queue_full: false,
            fin_seq: None,
        }
    }

    /// The time of the next timer, of the connection or of the outbox.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        let deadlines = [self.connection.poll_timer(), self.outbox.deadline()];
        deadlines.into_iter().flatten().min()
    }

    /// Runs the timers that are due before `until`, and those due at `until` if `inclusive`. Returns false if they do
    /// not end.
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

    /// Runs the timers that are due at `now`.
    pub(super) fn tick(&mut self, now: Instant) {
        self.connection.on_timer(now, &mut ());
        self.outbox.on_timer(now);
        self.pump(now);
    }

    /// Processes a segment from the peer.
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

    /// Hands the application's data to TCP and takes the segments that TCP sends.
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
                    // the stack does not notice the full queue, which drops the packet
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

    /// The application leaves without closing the connection, and TCP sends a RST.
    pub(super) fn abort(&mut self, now: Instant) {
        let rst = self.connection.abort(now);
        self.sent.extend(rst.map(|segment| Sent {
            at: now,
            segment,
            ecn: Ecn::NotEct,
            rest_of: None,
        }));
    }

    /// The application has seen the peer's FIN once an acknowledgement covers it.
    fn note_peer_fin(&mut self, segment: &Segment) {
        if let Some(fin) = self.fin_seq {
            self.reads_end |= segment.ack == fin.wrapping_add(1);
        }
    }
}
