//! The socket's side of sending, above TCP: what is held back by `TCP_CORK` and `MSG_MORE`, and the
//! ends of records (`MSG_EOR`) across which no segment reaches. As Linux's `tcp.c` has it.

use std::collections::VecDeque;

use fairport_tcp::{Connection, Segment};
use fairport_units::Instant;

/// What the application has written and TCP does not have yet.
#[derive(Debug)]
pub(super) struct Outbox {
    /// bytes up to each end of a record; the last is open
    records: VecDeque<u64>,
    /// the last of `records` is closed: the next byte begins another
    closed: bool,
    /// bytes that TCP has
    handed: u64,
    /// bytes that TCP has sent
    sent: u64,
    /// TCP has a whole record, whose end it must reach before it gets more
    at_boundary: bool,
    first: u32,
    pub(super) nagle: bool,
    pub(super) cork: bool,
    /// the last call said that more follows
    more: bool,
    /// what is held is to go out as soon as it can
    push: bool,
    /// when what is held goes out anyhow
    deadline: Option<Instant>,
    pub(super) closing: bool,
    closed_at_tcp: bool,
}

impl Outbox {
    pub(super) fn new(isn: u32, nagle: bool) -> Self {
        Self {
            records: VecDeque::new(),
            closed: true,
            handed: 0,
            sent: 0,
            at_boundary: false,
            first: isn.wrapping_add(1),
            nagle,
            cork: false,
            more: false,
            push: false,
            deadline: None,
            closing: false,
            closed_at_tcp: false,
        }
    }

    /// The application writes `bytes`.
    pub(super) fn write(&mut self, bytes: u64, more: bool, end_of_record: bool) {
        if bytes > 0 {
            match self.records.back_mut() {
                Some(open) if !self.closed => *open += bytes,
                _ => self.records.push_back(bytes),
            }
            self.closed = end_of_record;
        }
        self.more = more;
        self.push = false;
    }

    /// What is held back goes out (`TCP_NODELAY`, the end of `TCP_CORK`).
    pub(super) fn push(&mut self) {
        self.push = true;
        self.more = false;
    }

    /// The application is done.
    pub(super) fn close(&mut self) {
        self.closing = true;
        self.push();
    }

    /// The end of a record with more behind it is sent whatever its size: Nagle's rule is for the
    /// last segment only.
    pub(super) fn nagle_now(&self) -> bool {
        self.nagle && (!self.at_boundary || self.records.is_empty())
    }

    /// Bytes that were sent, and bytes that are not.
    pub(super) fn progress(&self) -> (u64, u64) {
        let held: u64 = self.records.iter().sum();
        (self.sent, self.handed.saturating_sub(self.sent) + held)
    }

    /// When what is held goes out anyhow.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// With nothing on the way, Linux's probe timer sends what `MSG_MORE` or `TCP_CORK` holds.
    pub(super) fn watch(&mut self, now: Instant, connection: &Connection) {
        let info = connection.info();
        if self.records.is_empty() || info.unacked > 0 || !connection.is_established() {
            self.deadline = None;
        } else if self.deadline.is_none() {
            self.deadline = Some(now + info.rto);
        }
    }

    pub(super) fn on_timer(&mut self, now: Instant) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.deadline = None;
            self.push = true;
        }
    }

    /// A segment of the peer's makes TCP look for something to send: `MSG_MORE` holds no longer.
    pub(super) fn on_segment(&mut self) {
        self.more = false;
    }

    /// TCP sent this.
    pub(super) fn on_sent(&mut self, segment: &Segment) {
        if segment.payload > 0 {
            let end = segment.seq.wrapping_sub(self.first);
            let end = u64::from(end) + u64::from(segment.payload);
            self.sent = self.sent.max(end);
        }
    }

    /// Hands over what may go; true if there was any.
    pub(super) fn feed(&mut self, connection: &mut Connection) -> bool {
        if self.at_boundary && self.sent < self.handed {
            return false;
        }
        let Some(&record) = self.records.front() else {
            if self.closing && !self.closed_at_tcp {
                self.closed_at_tcp = true;
                connection.close();
                return true;
            }
            return false;
        };
        let is_last = self.records.len() == 1;
        let held = is_last && !self.closed && (self.cork || self.more) && !self.push;
        let payload = u64::from(connection.info().snd_mss.max(1));
        let bytes = if held {
            // full segments go: those only, with what TCP still has
            let unsent = self.handed.saturating_sub(self.sent);
            let part = (unsent + record) % payload;
            record.saturating_sub(part)
        } else {
            record
        };
        if bytes == 0 {
            return false;
        }
        connection.write(bytes);
        self.handed += bytes;
        let whole = bytes == record;
        self.at_boundary = whole && (!is_last || self.closed);
        if whole {
            self.records.pop_front();
            self.closed |= is_last;
        } else if let Some(front) = self.records.front_mut() {
            *front -= bytes;
        }
        true
    }
}
