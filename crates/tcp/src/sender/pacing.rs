//! Pacing: when the next segment may leave. The windows decide how many may be outstanding.
//!
//! - [`Pacing::Window`]: cwnd over the round-trip time (Aggarwal, Savage and Anderson, INFOCOM 2000).
//! - [`Pacing::Linux`]: the window over `srtt`, times 200 % while the window is below half of the threshold and 120 %
//!   above, as they were at the last ACK. There is no gap after the first nine segments. A sender that is late makes up
//!   for at most half of each gap (`tcp_update_pacing_rate`, `tcp_update_skb_after_send`).
//! - BBR sets a rate of its own, which is paced in the same way as Linux's.
//! - A random gap, uniform up to `send_gap_max_ps`, after each segment, with or without one of the above: the
//!   randomised sending times with which `TCPRand` is compared (Lee et al. 2017).
//!
//! A host's timer has a granularity. Segments that become due between two ticks leave together at the later one, so
//! with a tick of 1 ms a paced gigabit is a train of 80 segments per millisecond. An ACK that arrives in between
//! releases the segments that are due by then.
//!
//! Segments with data are paced, including retransmissions; acknowledgements and probes are not.

use fairport_units::{Duration, Instant};

use crate::random::Random;
use crate::settings::{Pacing, Settings};
use crate::timers::{Timer, Timers};

/// Separates this random sequence from others with the same seed ([`Random::new`]).
const PURPOSE: u64 = 2;

/// Linux begins with the gap after the tenth segment (`data_segs_out`).
const LINUX_PACED_FROM: u64 = 10;

/// What the pacing rate depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// the congestion window in bytes
    pub(crate) cwnd_bytes: u64,
    /// outstanding data in bytes
    pub(crate) out_bytes: u64,
    /// the congestion window is below half of the threshold, in whole segments
    pub(crate) rises: bool,
    pub(crate) srtt: Option<Duration>,
    /// pacing rate in bytes per second, if congestion control sets it
    pub(crate) rate: Option<u64>,
    /// data segments sent so far, with the present one
    pub(crate) sent: u64,
    /// `SND.UNA` and `SND.NXT`
    pub(crate) una: u64,
    pub(crate) nxt: u64,
}

impl Load {
    /// The window that Linux spreads over a round-trip time, and the percentage of that rate
    /// (`tcp_update_pacing_rate`).
    fn linux_rate(&self) -> (u64, u128) {
        let percent = if self.rises { 200 } else { 120 };
        (self.cwnd_bytes.max(self.out_bytes), percent)
    }

    /// Bytes that leave in `span` at Linux's pacing rate, which Linux computes whether it paces or not. Without limit
    /// before the first round-trip time.
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
    /// Linux's pacing rate at the last ACK, in bytes per second; what happens later does not change it
    rate: u64,
    /// when the next segment may leave, by an ideal timer
    next: Instant,
    /// a segment has waited for the timer since the sender last had nothing more to send
    late: bool,
    /// the most bytes outstanding in the present round trip, which ends when `round_end` is acknowledged
    peak_bytes: u64,
    round_end: u64,
}

impl Pacer {
    /// None if nothing is paced. `sets_rate`: congestion control sets the pacing rate.
    pub(crate) fn new(settings: &Settings, sets_rate: bool, seed: u64) -> Option<Box<Self>> {
        let rule = if sets_rate {
            // Linux paces at the algorithm's rate
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
            rate: u64::MAX,
            next: Instant::ZERO,
            late: false,
            peak_bytes: 0,
            round_end: 0,
        }))
    }

    /// An ACK of outstanding data was processed (`tcp_cong_control`).
    pub(crate) fn on_ack(&mut self, load: &Load) {
        if self.rule == Pacing::Linux {
            self.rate = load.linux_bytes_in(Duration::from_secs(1));
        }
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

    /// Sets the timer to its first tick at or after `next`.
    fn wait(&self, timers: &mut Timers) {
        let tick = self.granularity.as_ps().max(1);
        let edge = self.next.as_ps().div_ceil(tick).saturating_mul(tick);
        timers.set(Timer::Pacing, Instant::from_ps(edge));
    }

    /// Whether the window counts as used although the pacer delays segments: then the window determines the rate. As in
    /// Linux, half of the window must have been outstanding at some time in the round trip (`tcp_is_cwnd_limited`).
    pub(crate) fn uses(&self, cwnd_bytes: u64) -> bool {
        self.peak_bytes.saturating_mul(2) >= cwnd_bytes
    }

    /// How much longer Linux's retransmission timers wait because of the pacer (`tcp_pacing_delay`).
    pub(crate) fn delay(&self, now: Instant) -> Duration {
        match self.rule {
            Pacing::Linux => self.next.saturating_sub(now),
            Pacing::Off | Pacing::Window => Duration::ZERO,
        }
    }

    /// When the next segment may leave, by an ideal timer.
    pub(crate) fn next_departure(&self) -> Instant {
        self.next
    }

    /// Stops the timer: the next segment waits for something else, or there is none.
    pub(crate) fn rest(&mut self, timers: &mut Timers) {
        timers.stop(Timer::Pacing);
        self.late = false;
    }

    /// A segment with `bytes` of data was sent.
    pub(crate) fn on_sent(&mut self, timers: &mut Timers, now: Instant, bytes: u64, load: &Load) {
        if load.una >= self.round_end {
            self.peak_bytes = 0;
            self.round_end = load.nxt;
        }
        self.peak_bytes = self.peak_bytes.max(load.out_bytes);
        let gap = self.gap(bytes, load);
        // segments that became due while the timer was awaited follow at once
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
        self.next = from + gap + random;
        if timers.is_running(Timer::Pacing) {
            self.wait(timers);
        }
    }

    /// The time that `bytes` take at the pacing rate.
    fn gap(&self, bytes: u64, load: &Load) -> Duration {
        let (bytes, srtt) = (u128::from(bytes), load.srtt.unwrap_or(Duration::ZERO));
        let gap = match self.rule {
            Pacing::Off => 0,
            Pacing::Linux if load.sent < LINUX_PACED_FROM => 0,
            Pacing::Linux => {
                let rate = load.rate.unwrap_or(self.rate).max(1);
                bytes * u128::from(Duration::from_secs(1).as_ps()) / u128::from(rate)
            }
            Pacing::Window => bytes * u128::from(srtt.as_ps()) / u128::from(load.cwnd_bytes.max(1)),
        };
        Duration::from_ps(gap.min(u128::from(u64::MAX)) as u64)
    }
}

#[cfg(test)]
mod tests;
