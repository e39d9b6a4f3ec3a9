//! Whether the congestion window limits the sender, and what happens to a window that is not used (RFC 2861, RFC 7661;
//! Linux's `tcp_cwnd_validate`, `tcp_is_cwnd_limited`, `tcp_slow_start_after_idle_check`).

use fairport_units::Instant;

use super::Sender;
use crate::recovery::State;
use crate::settings::Settings;

/// How the window was used lately.
#[derive(Debug)]
pub(super) struct WindowUse {
    /// the window was full when the sender last stopped; with `by_round`: at any time in this round
    limited: bool,
    by_round: bool,
    /// the most data outstanding in this round, if the window was never full in it
    most_out: u64,
    /// the round ends when this position is acknowledged
    round_end: u64,
    /// `SND.NXT` at the last check
    seen: u64,
    /// when a timer last sent something
    timer_at: Instant,
    /// an unused window shrinks
    pub(super) shrinks: bool,
    /// the most data outstanding since the window was last used, and when that was
    used: u64,
    used_at: Instant,
    /// when data was last sent, or the handshake was completed
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
            timer_at: Instant::NEVER,
            shrinks: settings.slow_start_after_idle && !sets_window,
            used: 0,
            used_at: Instant::ZERO,
            sent_at: Instant::ZERO,
        }
    }

    /// The handshake is complete: no time before it was idle (`tcp_finish_connect`, `tcp_init_transfer`).
    pub(super) fn begin(&mut self, now: Instant) {
        self.sent_at = now;
        self.used_at = now;
    }
}

impl Sender {
    /// The sender stops sending. `open`: the window has room left.
    #[inline]
    pub(super) fn note_use(&mut self, now: Instant, open: bool) {
        let nxt = self.board.nxt();
        let it = &mut self.usage;
        if !it.by_round {
            it.limited = !open;
            return;
        }
        if it.seen == nxt && (open || self.stream.write_end <= nxt) {
            // nothing was sent since the last check, and not because of the window
            return;
        }
        if it.timer_at == now {
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

    /// A timer sends something. The use of the window is not checked then (only `tcp_write_xmit` calls
    /// `tcp_cwnd_validate`).
    pub(super) fn note_timer(&mut self, now: Instant) {
        self.usage.timer_at = now;
    }

    /// The sender waits for the pacer. `uses`: the window counts as used meanwhile.
    pub(super) fn note_paced(&mut self, now: Instant, uses: bool) {
        if self.usage.by_round {
            let window = self.congestion.window();
            let open = self.recovery.pipe(&self.board) + window.unit() <= window.cwnd;
            self.note_use(now, open);
        } else {
            self.usage.limited = uses;
        }
    }

    /// Whether the window may grow for the data that an ACK acknowledges now. In slow start it also may if more than
    /// half of it was outstanding, so that it can reach twice the acknowledged data.
    #[inline]
    pub(super) fn is_window_limited(&self) -> bool {
        let it = &self.usage;
        if it.limited || !it.by_round {
            return it.limited;
        }
        let window = self.congestion.window();
        window.cwnd < window.ssthresh && window.cwnd < 2 * it.most_out
    }

    /// The window grew for an ACK, so its use was checked at `now`.
    #[inline]
    pub(super) fn note_growth(&mut self, now: Instant) {
        self.usage.used_at = now;
    }

    /// If the window was not fully used for the length of a timeout, reduces it halfway to what was used
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

    /// New data is sent while nothing is outstanding: halves the window for each timeout since data was last sent, down
    /// to the initial window (RFC 2861 3.1; `tcp_cwnd_restart`).
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

    /// Data is sent.
    #[inline]
    pub(super) fn note_sent(&mut self, now: Instant) {
        self.usage.sent_at = now;
    }
}
