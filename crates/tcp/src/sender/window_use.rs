//! Whether the congestion window is what holds the sender back, and what becomes of one that was not
//! used (RFC 2861, RFC 7661; Linux's `tcp_cwnd_validate`, `tcp_is_cwnd_limited`,
//! `tcp_slow_start_after_idle_check`).

use fairport_units::Instant;

use super::Sender;
use crate::recovery::State;
use crate::settings::Settings;

/// What is known of the use of the window.
#[derive(Debug)]
pub(super) struct WindowUse {
    /// the window was full when the sender last stopped, or, by rounds, at one time in this round
    limited: bool,
    by_round: bool,
    /// the most that was outstanding in this round, if the window never was full
    most_out: u64,
    /// the round ends when this is acknowledged
    round_end: u64,
    /// `SND.NXT` when this was last looked at
    seen: u64,
    /// a window that is not used shrinks
    shrinks: bool,
    /// the most that was outstanding since the window was last used, and when that was
    used: u64,
    used_at: Instant,
    /// data was last sent
    sent_at: Instant,
}

impl WindowUse {
    pub(super) fn new(settings: &Settings, sets_window: bool) -> Self {
        Self {
            limited: false,
            by_round: settings.window_use_by_round,
            most_out: 0,
            round_end: 0,
            seen: 0,
            shrinks: settings.slow_start_after_idle && !sets_window,
            used: 0,
            used_at: Instant::ZERO,
            sent_at: Instant::ZERO,
        }
    }
}

impl Sender {
    /// The sender stops, with the window `open` or full.
    #[inline]
    pub(super) fn note_use(&mut self, now: Instant, open: bool) {
        let nxt = self.board.nxt();
        let it = &mut self.usage;
        if !it.by_round {
            it.limited = !open;
            return;
        }
        if it.seen == nxt && (open || self.stream.write_end <= nxt) {
            // it did not try
            return;
        }
        it.seen = nxt;
        let out = self.board.outstanding();
        if !open || self.board.una() >= it.round_end || (!it.limited && out > it.most_out) {
            it.limited = !open;
            it.most_out = out;
            it.round_end = nxt;
        }
        if self.usage.shrinks {
            self.shrink_unused(now, out);
        }
    }

    /// The sender waits for the pacer, which `uses` the window or leaves it idle.
    pub(super) fn note_paced(&mut self, now: Instant, uses: bool) {
        if self.usage.by_round {
            let window = self.congestion.window();
            let open = self.recovery.pipe(&self.board) + window.unit() <= window.cwnd;
            self.note_use(now, open);
        } else {
            self.usage.limited = uses;
        }
    }

    /// Whether the window may grow for what an ACK acknowledges now: in slow start also where more
    /// than half of it was under way, so that it comes to twice of what was acknowledged.
    #[inline]
    pub(super) fn is_window_limited(&self) -> bool {
        let it = &self.usage;
        if it.limited || !it.by_round {
            return it.limited;
        }
        let window = self.congestion.window();
        window.cwnd < window.ssthresh && window.cwnd < 2 * it.most_out
    }

    /// The window grew for an ACK, so that its use was just checked.
    #[inline]
    pub(super) fn note_growth(&mut self, now: Instant) {
        self.usage.used_at = now;
    }

    /// A window that was not used for a timeout's time comes half the way down to what was used
    /// (`tcp_cwnd_application_limited`, RFC 2861 3.2).
    fn shrink_unused(&mut self, now: Instant, out: u64) {
        if self.is_window_limited() {
            self.usage.used = 0;
            self.usage.used_at = now;
            return;
        }
        self.usage.used = self.usage.used.max(out);
        if now.saturating_sub(self.usage.used_at) < self.rtt.rto() {
            return;
        }
        if self.recovery.state() == State::Open {
            self.congestion.reduce_unused(now, self.usage.used);
            self.usage.used = 0;
        }
        self.usage.used_at = now;
    }

    /// New data goes out and nothing is outstanding: each timeout's time since data was last sent
    /// halves the window, down to the initial one (RFC 2861 3.1; `tcp_cwnd_restart`).
    #[cold]
    pub(super) fn restart_after_idle(&mut self, now: Instant) {
        let idle = now.saturating_sub(self.usage.sent_at);
        let rto = self.rtt.rto();
        self.congestion.on_idle(now, idle);
        if self.usage.shrinks && idle > rto {
            let halvings = (idle.as_ps() - 1) / rto.as_ps().max(1);
            self.congestion.reduce_idle(now, halvings);
            self.usage.used = 0;
            self.usage.used_at = now;
        }
    }

    /// Data goes out.
    #[inline]
    pub(super) fn note_sent(&mut self, now: Instant) {
        self.usage.sent_at = now;
    }
}
