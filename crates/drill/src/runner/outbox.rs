//! The socket's side of sending, above TCP, as in Linux's `tcp.c`: data that `TCP_CORK` and `MSG_MORE` hold back, and
//! the ends of records (`MSG_EOR`), which no segment crosses.

use std::collections::VecDeque;

use fairport_tcp::{Connection, Segment};
use fairport_units::Instant;

/// The data that the application has written and TCP does not have yet.
#[derive(Debug)]
pub(super) struct Outbox {
    /// length of each record in bytes; the last one may still grow
    records: VecDeque<u64>,
    /// the last record is complete, and the next byte begins another
    closed: bool,
    /// number of bytes handed to TCP
    handed: u64,
    /// number of bytes that TCP has sent
    sent: u64,
    /// TCP has a whole record and gets more data only after it has sent that record's end
    at_boundary: bool,
    first: u32,
    pub(super) nagle: bool,
    pub(super) cork: bool,
    /// the last call announced more data
    more: bool,
    /// data that is held back may be sent as soon as TCP allows it
    push: bool,
    /// time at which data that is held back is sent anyway
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

    /// Releases the data that is held back (`TCP_NODELAY`, the end of `TCP_CORK`).
    pub(super) fn push(&mut self) {
        self.push = true;
        self.more = false;
    }

    /// The application has written its last data.
    pub(super) fn close(&mut self) {
        self.closing = true;
        self.push();
    }

    /// Whether Nagle's rule applies now. It applies only to the last segment: the end of a record is sent whatever its
    /// size if more records follow.
    pub(super) fn nagle_now(&self) -> bool {
        self.nagle && (!self.at_boundary || self.records.is_empty())
    }

    /// The number of bytes that were sent, and of those that were not sent yet.
    pub(super) fn progress(&self) -> (u64, u64) {
        let held: u64 = self.records.iter().sum();
        (self.sent, self.handed.saturating_sub(self.sent) + held)
    }

    /// The time at which data that is held back is sent anyway.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Sets the deadline: if nothing is in flight, Linux's probe timer sends the data that `MSG_MORE` or `TCP_CORK`
    /// holds back.
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

    /// A segment from the peer makes TCP look for data to send, which ends the effect of `MSG_MORE`.
    pub(super) fn on_segment(&mut self) {
        self.more = false;
    }

    /// Notes a segment that TCP sent.
    pub(super) fn on_sent(&mut self, segment: &Segment) {
        if segment.payload > 0 {
            let end = segment.seq.wrapping_sub(self.first);
            let end = u64::from(end) + u64::from(segment.payload);
            self.sent = self.sent.max(end);
        }
    }

    /// Hands to TCP what may be sent now. Returns whether there was any.
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
            // only full segments are sent, counted with the data that TCP has not sent yet
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
        if self.at_boundary {
            connection.keep_boundaries();
        }
        if whole {
            self.records.pop_front();
            self.closed |= is_last;
        } else if let Some(front) = self.records.front_mut() {
            *front -= bytes;
        }
        true
    }
}
