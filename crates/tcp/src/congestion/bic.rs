//! BIC (Xu, Harfoush and Rhee, INFOCOM 2004) with the constants and the integer arithmetic of
//! Linux (`tcp_bic.c`).
//!
//! At 14 segments and below it is Reno. Above it the window goes in a quarter of the
//! distance a round trip towards the last maximum, in steps of 16 segments at most, slowly past
//! it, and then faster again.

use fairport_units::Time;

use super::{AckRatio, AckSample, RATE_HOLDS, Window};
use crate::recovery::State;
use crate::settings::Settings;

/// beta of 1024: 0.8
const BETA: u64 = 819;
const BETA_SCALE: u64 = 1024;
/// a quarter of the distance a round trip
const SEARCH_PART: u64 = 4;
/// segments a round trip at most
const MAX_INCREMENT: u64 = 16;
/// Reno up to here
const LOW_WINDOW: u64 = 14;
/// round trips from `SEARCH_PART` segments below the maximum up to it
const SMOOTH_PART: u64 = 20;
/// 5 % a round trip at least, before the first loss
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
    at: Time,
    /// one segment more for so much acknowledged, in the window's unit
    every: u64,
}

impl Bic {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            fast_convergence: settings.fast_convergence,
            counts_acks: !settings.abc,
            ack_ratio: AckRatio::new(),
            last_max: 0,
            lost_before: false,
            at_cwnd: 0,
            at: Time::ZERO,
            every: 0,
        }
    }

    /// A timeout forgets everything (`bictcp_reset`).
    pub(super) fn reset(&mut self) {
        self.ack_ratio = AckRatio::new();
        self.last_max = 0;
        self.lost_before = false;
        self.at_cwnd = 0;
    }

    #[inline]
    pub(super) fn on_acked(&mut self, sample: &AckSample) {
        if self.counts_acks && sample.state == State::Open {
            self.ack_ratio.sample(sample.segments);
        }
    }

    #[inline]
    pub(super) fn avoid(&mut self, window: &mut Window, sample: &AckSample) {
        if self.at_cwnd != window.cwnd || sample.now.saturating_sub(self.at) > RATE_HOLDS {
            self.at_cwnd = window.cwnd;
            self.at = sample.now;
            self.every = self.segments_per_increase(window.segments()) * window.unit();
        }
        window.grow_one_per(self.every, sample);
    }

    /// Segments (or ACKs, where these are counted) after which the window grows by one.
    fn segments_per_increase(&self, cwnd: u64) -> u64 {
        if cwnd <= LOW_WINDOW {
            return cwnd;
        }
        let max = self.last_max;
        let mut every = if cwnd < max {
            match (max - cwnd) / SEARCH_PART {
                0..=1 => cwnd * SMOOTH_PART / SEARCH_PART,
                distance if distance > MAX_INCREMENT => cwnd / MAX_INCREMENT,
                distance => cwnd / distance,
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

    /// The window was too large: remember it as the maximum, or a little less where the last one was
    /// not reached again (fast convergence), and fall to beta of it.
    pub(super) fn reduce(&mut self, window: &mut Window) {
        let cwnd = window.segments();
        self.last_max = if cwnd < self.last_max && self.fast_convergence {
            cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            cwnd
        };
        self.lost_before = true;
        self.at_cwnd = 0;
        window.fall_to(if cwnd <= LOW_WINDOW {
            cwnd / 2
        } else {
            cwnd * BETA / BETA_SCALE
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            ..Bic::new(&settings)
        }
    }

    #[test]
    fn the_binary_search_goes_a_quarter_of_the_distance_a_round_trip() {
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
    fn before_the_first_loss_it_grows_5_percent_a_round_trip_at_least() {
        assert_eq!(bic(0, false).segments_per_increase(1000), 20);
        assert_eq!(bic(0, true).segments_per_increase(1000), 62);
    }

    #[test]
    fn fast_convergence_aims_below_a_maximum_that_was_not_reached() {
        let settings = Settings::preset("linux-2.6").unwrap();
        let mut bic = bic(200, true);
        let mut window = Window::new(&settings, 1448);
        window.cwnd = 150;
        bic.reduce(&mut window);
        // 150*1843/2048 and 150*819/1024
        assert_eq!((bic.last_max, window.ssthresh), (134, 119));
        window.cwnd = 14;
        bic.reduce(&mut window);
        assert_eq!(window.ssthresh, 7);
        window.cwnd = 3;
        bic.reduce(&mut window);
        assert_eq!(window.ssthresh, 2);
    }
}
