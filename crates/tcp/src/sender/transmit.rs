//! What the sender sends: lost segments first, then new data, as far as both windows allow.

use std::ops::ControlFlow::{self, Break, Continue};

use fairport_units::Instant;

use super::{Outgoing, Sender};
use crate::recovery::State;
use crate::scoreboard::Chunk;
use crate::timers::{Timer, Timers};

impl Sender {
    /// The next segment to send now, if any. Repeated calls at each event send back to back what the windows allow.
    #[expect(
        clippy::inline_always,
        reason = "the hot path: asked twice per packet received, mostly in vain"
    )]
    #[inline(always)]
    pub(crate) fn poll(&mut self, timers: &mut Timers, now: Instant) -> Option<Outgoing> {
        if self.persist.due {
            return self.probe_window(timers, now);
        }
        if self.board.is_empty() && !self.has_unsent() {
            self.policies.rest(timers);
            return None;
        }
        if self.policies.may_hold() && self.is_held(timers, now) {
            return None;
        }
        let open = self.has_room();
        if self.is_in_episode()
            && let Break(polled) = self.poll_in_episode(timers, now, open)
        {
            return polled;
        }
        if open && let Some(chunk) = self.next_new() {
            if self.policies.offload.is_some() && self.waits_for_burst(now) {
                return None;
            }
            self.send_new(timers, now, chunk);
            return Some(Outgoing::Data(chunk));
        }
        if open
            && let Some(ordinal) = self.recovery.next_speculative(&mut self.board)
            && let Some(chunk) = self.retransmit(timers, now, ordinal)
        {
            return Some(Outgoing::Data(chunk));
        }
        self.policies.rest(timers);
        if let Some(offload) = &mut self.policies.offload {
            offload.end();
        }
        self.note_use(now, open);
        if self.board.is_empty() && !timers.is_running(Timer::Persist) {
            // the congestion window always allows one segment, so it is the peer's window that is closed
            self.await_window(timers, now);
        }
        None
    }

    /// Whether the congestion window allows another segment.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        let window = self.congestion.window();
        self.recovery.pipe(&self.board) + window.unit() <= window.cwnd
    }

    /// Whether loss recovery may have something to send before other data.
    #[inline]
    pub(crate) fn is_in_episode(&self) -> bool {
        self.recovery.state() != State::Open
    }

    /// The next segment that an ACK has released in an episode.
    #[cold]
    pub(crate) fn poll_released(&mut self, timers: &mut Timers, now: Instant) -> Option<Chunk> {
        let waits = self.policies.may_hold() && self.is_held(timers, now);
        if waits || self.board.is_empty() {
            return None;
        }
        match self.poll_in_episode(timers, now, self.has_room()) {
            Break(Some(Outgoing::Data(chunk))) => Some(chunk),
            _ => None,
        }
    }

    /// What is sent before other data during recovery: F-RTO's new data, or lost segments.
    #[inline(never)] // rarely called
    fn poll_in_episode(
        &mut self,
        timers: &mut Timers,
        now: Instant,
        open: bool,
    ) -> ControlFlow<Option<Outgoing>> {
        if self.recovery.prefers_new() {
            let chunk = self.poll_new_first(timers, now, open);
            if chunk.is_some() || self.recovery.prefers_new() {
                self.note_use(now, open);
                return Break(chunk.map(Outgoing::Data));
            }
        }
        if let Some(ordinal) = self.recovery.next_lost(&mut self.board, open)
            && let Some(chunk) = self.retransmit(timers, now, ordinal)
        {
            return Break(Some(Outgoing::Data(chunk)));
        }
        Continue(())
    }

    /// The next new segment, if the peer's window holds all of it (RFC 9293 3.8.6.2.1: no silly windows) and Nagle's
    /// rule does not delay it (RFC 896; RFC 9293 3.7.4). The end of the stream is never delayed, because nothing would
    /// come to fill the segment.
    #[inline]
    pub(super) fn next_new(&mut self) -> Option<Chunk> {
        let start = self.board.nxt();
        let unsent = self.stream.unsent(start);
        let mut full = self.peer.segment_limit(self.stream.payload);
        if let Some(sizing) = &mut self.policies.sizing {
            full = sizing.payload(start, full, self.congestion.window().cwnd);
        }
        let full = u64::from(full);
        let payload = unsent.min(full);
        let room = self.peer.room(start);
        let fin =
            self.stream.closing && !self.stream.fin_sent && payload == unsent && payload < room;
        if (payload == 0 && !fin) || payload > room {
            return None;
        }
        if payload < full
            && !fin
            && self
                .stream
                .holds_short(self.board.una(), self.board.is_empty())
        {
            return None;
        }
        Some(Chunk {
            start,
            payload: payload as u16,
            fin,
        })
    }

    /// Sends new data and starts the timer for its acknowledgement.
    #[expect(clippy::inline_always, reason = "as [`Self::poll`]")]
    #[inline(always)]
    pub(super) fn send_new(&mut self, timers: &mut Timers, now: Instant, chunk: Chunk) {
        self.send_unwatched(timers, now, chunk);
        let waits = timers.is_running(Timer::Retransmission)
            || timers.is_running(Timer::TailProbe)
            || timers.is_running(Timer::Reordering);
        if !waits {
            // RFC 6298 5.1
            self.start_timer(timers, Timer::Retransmission, now, self.rtt.rto());
        }
        if self.recovery.probe().is_some() {
            let head_sent = self.board.head_sent().unwrap_or(now);
            self.await_tail(timers, now, head_sent);
        }
        if self.recovery.state() != State::Open && self.recovery.compares_times() {
            self.board.follow_retransmission(now);
        }
        self.count_in_reduction(chunk);
    }

    /// Sends new data without changing the timers.
    #[expect(clippy::inline_always, reason = "as [`Self::poll`]")]
    #[inline(always)]
    pub(super) fn send_unwatched(&mut self, timers: &mut Timers, now: Instant, chunk: Chunk) {
        if self.board.is_empty() {
            self.restart_after_idle(now);
        }
        self.note_sent(now);
        self.stream.fin_sent |= chunk.fin;
        if chunk.payload < self.stream.payload && self.policies.sizing.is_none() {
            // a payload that was drawn counts as full
            self.stream.short_end = chunk.start + u64::from(chunk.payload);
        }
        self.board.push(now, chunk);
        if let Some(offload) = &mut self.policies.offload {
            offload.on_sent(now, u64::from(chunk.payload));
        }
        if self.policies.notes_sent {
            self.board.note_sent_last(now);
            self.note_segment(timers, now, chunk.payload);
        }
        self.counters.segments_sent += 1;
    }

    /// Counts a segment that was sent while the window is reduced.
    #[inline]
    pub(super) fn count_in_reduction(&mut self, chunk: Chunk) {
        if self.recovery.state() == State::Fast || self.is_in_cwr() {
            let bytes = u64::from(chunk.payload).max(1);
            let amount = if self.board.unit() == 1 { 1 } else { bytes };
            self.recovery.count_sent(amount);
        }
    }

    /// Sends a segment again, or as much of it as the peer's window still holds (`__tcp_retransmit_skb`). If that is
    /// nothing, the first outstanding segment is sent again as a whole (RFC 9293 3.8.6), and no other.
    fn retransmit(&mut self, timers: &mut Timers, now: Instant, ordinal: u64) -> Option<Chunk> {
        let chunk = self.board.chunk(ordinal);
        let is_head = chunk.start == self.board.una();
        let room = self.peer.room(chunk.start);
        if room == 0 && !is_head {
            self.recovery.on_refused(self.clock.value(now));
            return None;
        }
        let chunk = if (1..u64::from(chunk.payload)).contains(&room) {
            self.board.split(ordinal, room as u16);
            self.board.chunk(ordinal)
        } else if self.stream.joins && chunk.payload < self.stream.payload {
            self.join(ordinal, chunk, room)
        } else {
            chunk
        };
        self.board.retransmit(now, ordinal);
        if let Some(offload) = &mut self.policies.offload {
            offload.end();
        }
        self.note_sent(now);
        if self.policies.notes_sent {
            self.note_segment(timers, now, chunk.payload);
        }
        self.counters.segments_sent += 1;
        self.counters.retransmits += 1;
        if is_head && self.rto.restarts_on_head && !timers.is_running(Timer::Reordering) {
            self.start_timer(timers, Timer::Retransmission, now, self.rtt.rto());
        }
        self.recovery.on_retransmit(self.clock.value(now));
        self.count_in_reduction(chunk);
        Some(chunk)
    }

    /// Joins the segments after a short one to it, as far as one segment and the peer's window hold them.
    #[cold]
    fn join(&mut self, ordinal: u64, chunk: Chunk, room: u64) -> Chunk {
        let full = u64::from(self.peer.segment_limit(self.stream.payload)).min(room);
        if u64::from(chunk.payload) >= full {
            return chunk;
        }
        let joined = self.board.join(ordinal, full, room);
        self.recovery.on_joined(joined);
        self.board.chunk(ordinal)
    }

    /// Sends F-RTO's new data, if the window is `open`. If there is none to send, lost segments are sent instead.
    fn poll_new_first(&mut self, timers: &mut Timers, now: Instant, open: bool) -> Option<Chunk> {
        let chunk = if !open {
            None
        } else if self.recovery.pushes_new() {
            self.next_whatever_nagle()
        } else {
            self.next_new()
        };
        if let Some(chunk) = chunk {
            self.send_new(timers, now, chunk);
            return Some(chunk);
        }
        self.recovery.no_new_data(self.board.nxt());
        None
    }

    pub(super) fn next_whatever_nagle(&mut self) -> Option<Chunk> {
        let nagle = std::mem::replace(&mut self.stream.nagle, false);
        let chunk = self.next_new();
        self.stream.nagle = nagle;
        chunk
    }
}
