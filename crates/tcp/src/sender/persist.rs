//! Probes of a peer whose window is closed, at growing intervals (RFC 9293 3.8.6.1).

use fairport_units::Instant;

use super::{Outgoing, Sender};
use crate::scoreboard::Chunk;
use crate::timers::{Timer, Timers};

/// Probes that a timer has requested.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Persist {
    /// the peer's window or the tail of the flight is probed at the next poll
    pub(super) due: bool,
    /// consecutive probes of the window
    pub(super) probes: u32,
}

impl Sender {
    /// The peer's window is closed: waits for a timeout until the first probe (`tcp_check_probe_timer`).
    #[cold]
    pub(super) fn await_window(&mut self, timers: &mut Timers, now: Instant) {
        self.persist.probes = 0;
        self.start_timer(timers, Timer::Persist, now, self.rtt.rto());
    }

    /// The window is closed still: waits again, longer after each probe. Timeouts before that count twice, since Linux
    /// doubles what they have doubled already (`tcp_probe0_when`).
    #[cold]
    pub(super) fn await_window_again(&mut self, timers: &mut Timers, now: Instant) {
        let doublings = 2 * self.rtt.backoff() + self.persist.probes;
        self.start_timer(timers, Timer::Persist, now, self.rtt.backed_off(doublings));
    }

    /// The persist timer fired: sends the little data that fits, or otherwise a segment that must be acknowledged. As
    /// in Linux this probe is empty and lies just below the window (RFC 9293 3.8.6.1 sends a byte).
    #[cold]
    pub(super) fn probe_window(&mut self, timers: &mut Timers, now: Instant) -> Option<Outgoing> {
        self.persist.due = false;
        if let Some(chunk) = self.tail_probe(timers, now) {
            return Some(Outgoing::Data(chunk));
        }
        if !self.board.is_empty() || !self.has_unsent() {
            return self.poll(timers, now);
        }
        let start = self.board.nxt();
        let fits = self.peer.room(start).min(self.stream.write_end - start);
        let chunk = self.next_new().or((fits > 0).then_some(Chunk {
            start,
            payload: fits.min(u64::from(self.stream.payload)) as u16,
            fin: false,
        }));
        if let Some(chunk) = chunk {
            // the kernel restarts an idle window for a write or an update of the window only (`tcp_write_wakeup`)
            let shrinks = std::mem::replace(&mut self.usage.shrinks, false);
            self.send_new(timers, now, chunk);
            self.usage.shrinks = shrinks;
            return Some(Outgoing::Data(chunk));
        }
        Some(Outgoing::Probe)
    }
}
