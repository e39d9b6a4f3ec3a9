//! Pacing: when the next segment may leave, apart from how many may be out.
//!
//! - [`Pacing::Window`]: cwnd over the round-trip time (Aggarwal, Savage and Anderson, INFOCOM 2000).
//! - [`Pacing::Linux`]: the window over `srtt`, times 200 % while the window is below half of the
//!   threshold and 120 % above; the first ten segments are not paced, and a sender that comes late
//!   makes up for at most half of each gap (`tcp_update_pacing_rate`, `tcp_update_skb_after_send`).
//! - BBR sets a rate of its own, which is kept in the same way.
//! - A random gap, uniform up to `send_gap_max_ps`, after each segment, with or without the above: the
//!   randomised sending times that `TCPRand` is compared with (Lee et al. 2017).
//!
//! A host's timer has a granularity. Segments that become due between two of its ticks leave
//! together at the later one, so at a tick of 1 ms a paced gigabit is a train of 80 segments per millisecond.
//! An ACK that comes between them lets out what is due by then.
//!
//! Segments with data are paced, sent again or not; acknowledgements and probes are not.

use fairport_units::{Duration, Instant};

use crate::random::Random;
use crate::settings::{Pacing, Settings};
use crate::timers::{Timer, Timers};

/// The purpose of the random sequence ([`Random::new`]).
const PURPOSE: u64 = 2;

/// Linux does not pace the first `TCP_INIT_CWND` segments.
const LINUX_UNPACED: u64 = 10;

/// What decides the rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// the congestion window in bytes
    pub(crate) cwnd_bytes: u64,
    /// outstanding data in bytes
    pub(crate) out_bytes: u64,
    pub(crate) ssthresh_bytes: u64,
    pub(crate) srtt: Option<Duration>,
    /// bytes per second, where congestion control sets the pace
    pub(crate) rate: Option<u64>,
    /// data segments sent so far
    pub(crate) sent: u64,
    /// `SND.UNA` and `SND.NXT`
    pub(crate) una: u64,
    pub(crate) nxt: u64,
}

impl Load {
    /// The window over whose round-trip time Linux paces, and at how many percent of that
    /// (`tcp_update_pacing_rate`).
    fn linux_rate(&self) -> (u64, u128) {
        let rises = self.cwnd_bytes < self.ssthresh_bytes / 2;
        let percent = if rises { 200 } else { 120 };
        (self.cwnd_bytes.max(self.out_bytes), percent)
    }

    /// What leaves in `span` at Linux's pacing rate, which Linux computes whether it paces or not. There is
    /// no limit before the first round-trip time.
    pub(crate) fn linux_bytes_in(&self, span: Duration) -> u64 {
        if let Some(rate) = self.rate {
            let bytes = u128::from(rate) * u128::from(span.as_ps());
            return (bytes / u128::from(Duration::from_secs(1).as_ps())) as u64;
        }
        let Some(srtt) = self.srtt else {
            return u64::MAX / 4;
        };
        let (window, percent) = self.linux_rate();
        let bytes = u128::from(window) * percent * u128::from(span.as_ps());
        let bytes = bytes / (100 * u128::from(srtt.as_ps().max(1)));
        bytes.min(u128::from(u64::MAX / 4)) as u64
    }
}

/// The pacer of one sender.
#[derive(Debug)]
pub(crate) struct Pacer {
    rule: Pacing,
    granularity: Duration,
    gap_max: Duration,
    random: Random,
    /// when the next segment may leave, by a perfect timer
    next: Instant,
    /// something waited for the timer, and all that was to be sent has not left since
    late: bool,
    /// the most bytes that were out in the present round trip, which ends when `round_end` is
    /// acknowledged
    peak_bytes: u64,
    round_end: u64,
}

impl Pacer {
    /// None where nothing is paced. `sets_rate`: congestion control sets the pacing rate.
    pub(crate) fn new(settings: &Settings, sets_rate: bool, seed: u64) -> Option<Box<Self>> {
        let rule = if sets_rate {
            // as Linux paces at the algorithm's rate
            Pacing::Linux
        } else {
            settings.pacing
        };
        if rule == Pacing::Off && settings.send_gap_max_ps == Duration::ZERO {
            return None;
        }
        Some(Box::new(Self {
            rule,
            granularity: settings.pacing_granularity_ps,
            gap_max: settings.send_gap_max_ps,
            random: Random::new(seed, PURPOSE),
            next: Instant::ZERO,
            late: false,
            peak_bytes: 0,
            round_end: 0,
        }))
    }

    /// Whether a segment may leave now; if not, the timer fires when it may.
    pub(crate) fn allows(&mut self, timers: &mut Timers, now: Instant) -> bool {
        let waits = self.next > now;
        self.late |= waits;
        if waits {
            self.wait(timers);
        } else {
            timers.stop(Timer::Pacing);
        }
        !waits
    }

    /// What waits may leave at the first tick of the timer from `next` on.
    fn wait(&self, timers: &mut Timers) {
        let tick = self.granularity.as_ps().max(1);
        let edge = self.next.as_ps().div_ceil(tick).saturating_mul(tick);
        timers.set(Timer::Pacing, Instant::from_ps(edge));
    }

    /// Whether a window counts as used while the pacer holds segments back: the window sets the pace.
    /// As in Linux, half of it has to be out at some time in the round trip
    /// (`tcp_is_cwnd_limited`).
    pub(crate) fn uses(&self, cwnd_bytes: u64) -> bool {
        self.peak_bytes.saturating_mul(2) >= cwnd_bytes
    }

    /// When the next segment may leave, by a perfect timer.
    pub(crate) fn next_departure(&self) -> Instant {
        self.next
    }

    /// What is to be sent waits for something else, or there is nothing.
    pub(crate) fn rest(&mut self, timers: &mut Timers) {
        timers.stop(Timer::Pacing);
        self.late = false;
    }

    /// A segment with `bytes` of data left.
    pub(crate) fn on_sent(&mut self, timers: &mut Timers, now: Instant, bytes: u64, load: &Load) {
        if load.una >= self.round_end {
            self.peak_bytes = 0;
            self.round_end = load.nxt;
        }
        self.peak_bytes = self.peak_bytes.max(load.out_bytes);
        let gap = self.gap(bytes, load);
        // what came due while it waited for the timer follows at once
        let late = if self.late {
            self.granularity
        } else {
            Duration::ZERO
        };
        let slack = match self.rule {
            Pacing::Linux => late.max(gap / 2),
            Pacing::Off | Pacing::Window => late,
        };
        let from = self.next.max(now.earlier_by(slack));
        let random = Duration::from_ps(self.random.up_to(self.gap_max.as_ps()));
        self.next = from.saturating_add(gap).saturating_add(random);
        if timers.is_running(Timer::Pacing) {
            self.wait(timers);
        }
    }

    /// The time that `bytes` take at the paced rate.
    fn gap(&self, bytes: u64, load: &Load) -> Duration {
        let unpaced = self.rule == Pacing::Linux && load.sent < LINUX_UNPACED;
        if let Some(rate) = load.rate
            && !unpaced
        {
            let gap = u128::from(bytes) * u128::from(Duration::from_secs(1).as_ps());
            return Duration::from_ps((gap / u128::from(rate.max(1))) as u64);
        }
        let Some(srtt) = load.srtt else {
            return Duration::ZERO;
        };
        let (window, percent) = match self.rule {
            Pacing::Off => return Duration::ZERO,
            Pacing::Window => (load.cwnd_bytes, 100),
            Pacing::Linux if unpaced => return Duration::ZERO,
            Pacing::Linux => load.linux_rate(),
        };
        let gap = u128::from(srtt.as_ps()) * u128::from(bytes) * 100;
        let gap = gap / (u128::from(window.max(1)) * percent);
        Duration::from_ps(gap.min(u128::from(u64::MAX)) as u64)
    }
}

#[cfg(test)]
mod tests;
