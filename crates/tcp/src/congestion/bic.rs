//! BIC (Xu, Harfoush and Rhee, INFOCOM 2004) with the constants and the integer arithmetic of
//! Linux (`tcp_bic.c`).
//!
//! With a window of 14 segments or less it is Reno. Above that, the window grows per round trip by a quarter of its
//! distance to the last maximum, but at most by 16 segments. Past the maximum it grows slowly at first and then faster.

use fairport_units::Instant;

use super::ack_ratio::{AckRatio, RATE_HOLDS};
use super::{AckSample, Controller, Setup, Window};
use crate::recovery::State;

/// beta in 1024ths: 0.8
const BETA: u64 = 819;
const BETA_SCALE: u64 = 1024;
/// a quarter of the distance per round trip
const SEARCH_PART: u64 = 4;
/// segments per round trip at most
const MAX_INCREMENT: u64 = 16;
/// largest window with Reno's growth
const LOW_WINDOW: u64 = 14;
/// round trips for the last `SEARCH_PART` segments up to the maximum
const SMOOTH_PART: u64 = 20;
/// growth of at least 5 % per round trip before the first loss
const COUNT_BEFORE_LOSS: u64 = 20;

#[derive(Debug)]
pub(super) struct Bic {
    fast_convergence: bool,
    counts_acks: bool,
    ack_ratio: AckRatio,
    /// the last maximum in segments; 0: none since the start or the last timeout
    last_max: u64,
    lost_before: bool,
    /// window for which `every` was computed, and when
    at_cwnd: u64,
    at: Instant,
    /// data acknowledged per segment of growth, in the window's unit
    every: u64,
}

impl Bic {
    pub(super) fn new(setup: &Setup<'_>) -> Self {
        let settings = setup.settings;
        Self {
            fast_convergence: settings.fast_convergence,
            counts_acks: !settings.abc,
            ack_ratio: AckRatio::new(),
            last_max: 0,
            lost_before: false,
            at_cwnd: 0,
            at: Instant::ZERO,
            every: 0,
        }
    }

    /// Segments (or ACKs, where these are counted) after which the window grows by one.
    fn segments_per_increase(&self, cwnd: u64) -> u64 {
        if cwnd <= LOW_WINDOW {
            // a window in bytes may be below one segment
            return cwnd.max(1);
        }
        let max = self.last_max;
        let mut every = if cwnd < max {
            match (max - cwnd) / SEARCH_PART {
                0..=1 => cwnd * SMOOTH_PART / SEARCH_PART,
                distance => cwnd / distance.min(MAX_INCREMENT),
            }
        } else if cwnd < max + SEARCH_PART {
            cwnd * SMOOTH_PART / SEARCH_PART
        } else if cwnd < max + MAX_INCREMENT * (SEARCH_PART - 1) {
            cwnd * (SEARCH_PART - 1) / (cwnd - max)
        } else {
            cwnd / MAX_INCREMENT
        };
        if !self.lost_before {
            every = every.min(COUNT_BEFORE_LOSS);
        }
        if self.counts_acks {
            every = self.ack_ratio.correct(every);
        }
        every.max(1)
    }
}

impl Controller for Bic {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if self.counts_acks && ack.state == State::Open {
            self.ack_ratio.sample(ack.segments);
        }
        if !ack.may_grow() || window.slow_start(ack) {
            return;
        }
        if self.at_cwnd != window.cwnd || ack.now.saturating_sub(self.at) > RATE_HOLDS {
            self.at_cwnd = window.cwnd;
            self.at = ack.now;
            self.every = self.segments_per_increase(window.segments()) * window.unit();
        }
        window.grow_one_per(self.every, ack);
    }

    /// Records the window as the maximum, or a little less if it had not reached the last maximum again (fast
    /// convergence). The threshold falls to beta times the window.
    fn on_loss(&mut self, window: &mut Window) {
        let cwnd = window.segments();
        self.last_max = if cwnd < self.last_max && self.fast_convergence {
            cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            cwnd
        };
        self.lost_before = true;
        self.at_cwnd = 0;
        let left = if cwnd <= LOW_WINDOW {
            cwnd / 2
        } else {
            cwnd * BETA / BETA_SCALE
        };
        window.lower_threshold(left * window.unit());
    }

    /// A timeout forgets everything (`bictcp_reset`).
    fn on_timeout(&mut self, _window: &mut Window, _now: Instant, _nxt: u64) {
        self.ack_ratio = AckRatio::new();
        self.last_max = 0;
        self.lost_before = false;
        self.at_cwnd = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use serde_json::json;

    fn bic(last_max: u64, lost_before: bool) -> Bic {
        let overrides = json!({"abc": true});
        let settings = Settings::preset("linux-2.6")
            .unwrap()
            .with(overrides.as_object().unwrap())
            .unwrap();
        Bic {
            last_max,
            lost_before,
            ..Bic::new(&Setup {
                settings: &settings,
                segment_bytes: 1448,
                unit: 1,
            })
        }
    }

    #[test]
    fn the_binary_search_goes_a_quarter_of_the_distance_per_round_trip() {
        let bic = bic(200, true);
        // computed by hand from the kernel's rules: (window, segments for one more)
        for (cwnd, every) in [
            (10, 10),   // Reno
            (14, 14),   // Reno
            (100, 6),   // distance 100/4 = 25 > 16: 100/16
            (136, 8),   // distance 64/4 = 16: 136/16
            (140, 9),   // distance 60/4 = 15: 140/15
            (180, 36),  // distance 20/4 = 5: 180/5
            (192, 96),  // distance 8/4 = 2: 192/2
            (193, 965), // distance 7/4 = 1: 193*20/4
            (199, 995), // the last step: 199*20/4
            (200, 1000),
            (203, 1015),
            (204, 153), // past the maximum: 204*3/4
            (220, 33),  // 220*3/20
            (247, 15),  // 247*3/47
            (248, 15),  // 248/16
            (320, 20),
        ] {
            assert_eq!(bic.segments_per_increase(cwnd), every, "window {cwnd}");
        }
    }

    #[test]
    fn before_the_first_loss_it_grows_5_percent_per_round_trip_at_least() {
        assert_eq!(bic(0, false).segments_per_increase(1000), 20);
        assert_eq!(bic(0, true).segments_per_increase(1000), 62);
    }

    #[test]
    fn fast_convergence_aims_below_a_maximum_that_was_not_reached() {
        let settings = Settings::preset("linux-2.6").unwrap();
        let mut bic = bic(200, true);
        let mut window = Window::new(&settings, 1448);
        window.cwnd = 150;
        bic.on_loss(&mut window);
        // 150*1843/2048 and 150*819/1024
        assert_eq!((bic.last_max, window.ssthresh), (134, 119));
        window.cwnd = 14;
        bic.on_loss(&mut window);
        assert_eq!(window.ssthresh, 7);
        window.cwnd = 3;
        bic.on_loss(&mut window);
        assert_eq!(window.ssthresh, 2);
    }
}
