//! What goes out: lost segments first, then new data, as far as both windows allow.

use fairport_units::Time;

use super::{Outgoing, Sender};
use crate::recovery::State;
use crate::scoreboard::Chunk;
use crate::timers::{Timer, Timers};

impl Sender {
    /// The next segment to send now, if any. Asked again and again at each event, it sends back
    /// to back what the windows allow.
    #[inline]
    pub(crate) fn poll(&mut self, timers: &mut Timers, now: Time) -> Option<Outgoing> {
        if self.probe {
            return self.probe_window(timers, now);
        }
        if self.board.is_empty() && !self.has_unsent() {
            if let Some(pacer) = &mut self.pacer {
                pacer.rest(timers);
            }
            return None;
        }
        if self.is_held(timers, now) {
            return None;
        }
        let window = self.congestion.window();
        let open = self.recovery.pipe(&self.board) + window.unit() <= window.cwnd;
        if self.recovery.state() != State::Open && self.prefers_new() {
            let chunk = self.poll_new_first(timers, now, open);
            if chunk.is_some() || self.prefers_new() {
                self.note_use(now, open);
                return chunk.map(Outgoing::Data);
            }
        }
        if self.recovery.state() != State::Open
            && let Some(ordinal) = self.recovery.next_lost(&mut self.board, open)
            && let Some(chunk) = self.retransmit(timers, now, ordinal)
        {
            return Some(Outgoing::Data(chunk));
        }
        if open {
            if let Some(chunk) = self.next_new() {
                if self.offload.is_some() && self.waits_for_burst(now) {
                    return None;
                }
                self.send_new(timers, now, chunk);
                return Some(Outgoing::Data(chunk));
            }
            if let Some(ordinal) = self.recovery.next_speculative(&mut self.board)
                && let Some(chunk) = self.retransmit(timers, now, ordinal)
            {
                return Some(Outgoing::Data(chunk));
            }
        }
        if let Some(pacer) = &mut self.pacer {
            pacer.rest(timers);
        }
        if let Some(offload) = &mut self.offload {
            offload.end();
        }
        self.note_use(now, open);
        if self.board.is_empty() && !timers.is_running(Timer::Persist) {
            // the congestion window lets one segment out always: it is the peer's that does not
            self.probes = 0;
            self.await_window(timers, now);
        }
        None
    }

    /// The next new segment, if the peer's window takes it whole (RFC 9293 3.8.6.2.1: no silly
    /// windows) and Nagle's rule does not hold it (RFC 896; RFC 9293 3.7.4). The end of
    /// the stream is never held: nothing more would come to fill the segment.
    #[inline]
    pub(super) fn next_new(&mut self) -> Option<Chunk> {
        let start = self.board.nxt();
        let unsent = self.write_end - start.min(self.write_end);
        let mut full = self.peer.segment_limit(self.payload);
        if let Some(sizing) = &mut self.sizing {
            full = sizing.payload(start, full, self.congestion.window().cwnd);
        }
        let full = u64::from(full);
        let payload = unsent.min(full);
        let room = self.peer.room(start);
        let fin = self.closing && !self.fin_sent && payload == unsent && payload < room;
        if (payload == 0 && !fin) || payload > room {
            return None;
        }
        if payload < full && self.nagle && !fin && self.is_unacknowledged() {
            return None;
        }
        Some(Chunk {
            start,
            payload: payload as u16,
            fin,
        })
    }

    /// Whether what Nagle's rule waits for is unacknowledged: anything, or a short segment.
    fn is_unacknowledged(&self) -> bool {
        if self.minshall {
            self.short_end > self.board.una()
        } else {
            !self.board.is_empty()
        }
    }

    #[inline]
    pub(super) fn send_new(&mut self, timers: &mut Timers, now: Time, chunk: Chunk) {
        // RFC 6298 5.1
        if self.repair.is_none() && !timers.is_running(Timer::Retransmission) {
            timers.start(Timer::Retransmission, now, self.rtt.rto());
        }
        if self.board.is_empty() {
            self.restart_after_idle(now);
        }
        self.note_sent(now);
        self.fin_sent |= chunk.fin;
        if chunk.payload < self.payload && self.sizing.is_none() {
            // a drawn size counts as a full one
            self.short_end = chunk.start + u64::from(chunk.payload);
        }
        self.board.push(now, chunk);
        if let Some(offload) = &mut self.offload {
            offload.on_sent(now, u64::from(chunk.payload));
        }
        if self.pacer.is_some() {
            // who asks for rates paces
            self.board.note_sent_last(now);
            self.pace(timers, now, chunk.payload);
        }
        self.counters.segments_sent += 1;
        if self.repair.is_some() {
            self.on_sent_repaired(timers, now, chunk, false);
        }
    }

    /// Sends a segment again, unless the peer took back the window that it lies in; the first one
    /// goes out even so (RFC 9293 3.8.6).
    fn retransmit(&mut self, timers: &mut Timers, now: Time, ordinal: u64) -> Option<Chunk> {
        let chunk = self.board.chunk(ordinal);
        let is_head = chunk.start == self.board.una();
        let length = chunk.end() - chunk.start;
        if !is_head && length > self.peer.room(chunk.start) {
            return None;
        }
        self.board.retransmit(now, ordinal);
        if let Some(offload) = &mut self.offload {
            offload.end();
        }
        self.note_sent(now);
        if self.pacer.is_some() {
            self.pace(timers, now, chunk.payload);
        }
        self.counters.segments_sent += 1;
        self.counters.retransmits += 1;
        if is_head && self.restart_on_head && !timers.is_running(Timer::Reordering) {
            timers.start(Timer::Retransmission, now, self.rtt.rto());
        }
        if self.repair.is_some() {
            self.on_sent_repaired(timers, now, chunk, true);
        } else if let Some(undo) = &mut self.eifel {
            undo.on_retransmit(self.clock.value(now));
        }
        Some(chunk)
    }

    /// The persist timer fired: send what little fits, or else a segment that must be answered.
    /// Like Linux's, the probe is empty and lies just below the window (RFC 9293 3.8.6.1 sends an
    /// octet).
    #[cold]
    fn probe_window(&mut self, timers: &mut Timers, now: Time) -> Option<Outgoing> {
        self.probe = false;
        if let Some(chunk) = self.tail_probe(timers, now) {
            return Some(Outgoing::Data(chunk));
        }
        if !self.board.is_empty() || !self.has_unsent() {
            return self.poll(timers, now);
        }
        let start = self.board.nxt();
        let fits = self.peer.room(start).min(self.write_end - start);
        let chunk = self.next_new().or((fits > 0).then_some(Chunk {
            start,
            payload: fits.min(u64::from(self.payload)) as u16,
            fin: false,
        }));
        if let Some(chunk) = chunk {
            self.send_new(timers, now, chunk);
            return Some(Outgoing::Data(chunk));
        }
        Some(Outgoing::Probe)
    }
}
