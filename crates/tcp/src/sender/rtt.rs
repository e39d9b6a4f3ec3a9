//! The retransmission timeout, computed from round-trip times by RFC 6298 or by Linux's rule.

use std::hint::select_unpredictable;

use fairport_units::{Duration, Instant};

use crate::settings::{RtoRule, Settings};

/// Number of doublings after which the timeout is at its maximum with any setting: 2^52 ps are more than an hour.
const BACKOFF_MAX: u32 = 52;

// More than 15 fields: the state of two rules, and the settings that change them.
/// Estimates the round-trip time and the timeout, with backoff. Times are scaled integers in ps, as in RFC and kernel.
#[derive(Clone, Debug)]
#[repr(C)] // what the end that receives data reads as well comes first
pub(crate) struct RttEstimator {
    /// eight times the smoothed round-trip time; 0 before the first sample
    srtt_8: u64,
    /// the timeout in ps, before backoff
    base: u64,
    backoff: u32,
    rule: RtoRule,
    syn_backoff_lasts: bool,
    ack_ends_backoff: bool,
    /// four times the smoothed mean deviation
    deviation_4: u64,
    /// Linux: largest `deviation_4` in the present round trip, at least the minimum
    deviation_peak: u64,
    /// Linux: added to SRTT; rises with the peak at once, and falls once per round trip
    variance: u64,
    /// Linux: the present round trip ends when more than this position is acknowledged
    round_end: u64,
    /// the shortest round-trip time in ps; `u64::MAX` before the first sample
    least: u64,
    /// tick of the clock that measures round-trip times; 0: they are exact
    tick: u64,
    granularity: u64,
    /// tick of the kernel's timers: the timeout is a whole number of ticks; 0: it is exact
    timer_tick: u64,
    minimum: u64,
    maximum: u64,
}

impl RttEstimator {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            rule: settings.rto_rule,
            srtt_8: 0,
            deviation_4: 0,
            deviation_peak: 0,
            variance: 0,
            round_end: 0,
            least: u64::MAX,
            granularity: settings.clock_granularity_ps.as_ps(),
            timer_tick: settings.clock_tick_ps.as_ps(),
            minimum: settings
                .rto_min_ps
                .as_ps()
                .next_multiple_of(settings.rtt_tick_ps.as_ps().max(1))
                .min(settings.rto_max_ps.as_ps()),
            tick: settings.rtt_tick_ps.as_ps(),
            maximum: settings.rto_max_ps.as_ps(),
            // the timeout is a whole number of ticks from the start
            base: settings
                .rto_initial_ps
                .as_ps()
                .next_multiple_of(settings.clock_tick_ps.as_ps().max(1))
                .min(settings.rto_max_ps.as_ps()),
            backoff: 0,
            syn_backoff_lasts: settings.syn_backoff_lasts,
            ack_ends_backoff: settings.ack_ends_backoff,
        }
    }

    /// Takes in a round-trip time that Karn's rule allows. It was measured at `now` by an ACK up to `una`, when `nxt`
    /// was the next position to send. The timeout is no longer backed off (RFC 6298 5.7, note).
    #[inline]
    pub(crate) fn sample(&mut self, now: Instant, rtt: Duration, una: u64, nxt: u64) {
        let rtt = if self.tick == 0 {
            rtt
        } else {
            self.in_ticks(now, rtt)
        };
        let rtt = rtt.as_ps().clamp(1, u64::MAX / 64);
        self.least = self.least.min(rtt);
        match self.rule {
            RtoRule::Rfc6298 => self.sample_rfc6298(rtt),
            RtoRule::Linux => self.sample_linux(rtt, una, nxt),
        }
        self.backoff = 0;
    }

    /// New data was acknowledged, but gave no round-trip time.
    #[inline]
    pub(crate) fn no_sample(&mut self) {
        if self.ack_ends_backoff {
            self.backoff = 0;
        }
    }

    /// The round-trip time as a clock with ticks shows it: the reading at `now` minus the reading at the time of
    /// sending.
    #[inline(never)]
    fn in_ticks(&self, now: Instant, rtt: Duration) -> Duration {
        let ticks = now.as_ps() / self.tick - now.earlier_by(rtt).as_ps() / self.tick;
        Duration::from_ps(ticks.max(1).saturating_mul(self.tick))
    }

    /// RFC 6298 2.2 and 2.3, with alpha = 1/8, beta = 1/4 and K = 4.
    fn sample_rfc6298(&mut self, rtt: u64) {
        if self.srtt_8 == 0 {
            self.srtt_8 = 8 * rtt;
            self.deviation_4 = 2 * rtt;
        } else {
            let error = rtt.abs_diff(self.srtt_8 / 8);
            self.deviation_4 = self.deviation_4 - self.deviation_4 / 4 + error;
            self.srtt_8 = self.srtt_8 - self.srtt_8 / 8 + rtt;
        }
        let rto = self.srtt_8 / 8 + self.granularity.max(self.deviation_4);
        self.base = rto.clamp(self.minimum, self.maximum);
    }

    /// Linux's `tcp_rtt_estimator`. The first deviation is half of the first sample. A sample below the mean raises the
    /// deviation with only an eighth of the usual weight. Linux adds to SRTT the largest deviation of the round trip,
    /// but at least the minimum; once per round trip this decays by a quarter of the difference.
    fn sample_linux(&mut self, rtt: u64, una: u64, nxt: u64) {
        if self.srtt_8 == 0 {
            self.srtt_8 = 8 * rtt;
            self.deviation_4 = 2 * rtt;
            self.variance = self.deviation_4.max(self.minimum);
            self.deviation_peak = self.variance;
            self.round_end = nxt;
        } else {
            let mean = self.srtt_8 / 8;
            let error = rtt.abs_diff(mean);
            let smoothed = self.deviation_4 / 4;
            self.srtt_8 = self.srtt_8 - mean + rtt;
            // a branch here could not be predicted, so there is none
            let is_slow = rtt < mean && error > smoothed;
            let change = error.wrapping_sub(smoothed).cast_signed();
            let change = select_unpredictable(is_slow, change / 8, change);
            self.deviation_4 = self.deviation_4.wrapping_add_signed(change);
            if self.deviation_4 > self.deviation_peak {
                self.deviation_peak = self.deviation_4;
                self.variance = self.variance.max(self.deviation_peak);
            }
            if una > self.round_end {
                if self.deviation_peak < self.variance {
                    self.variance -= (self.variance - self.deviation_peak) / 4;
                }
                self.round_end = nxt;
                self.deviation_peak = self.minimum;
            }
        }
        let rto = self.srtt_8 / 8 + self.variance;
        // mostly the previous timeout still applies, and no division is needed
        if rto > self.base || rto + self.timer_tick <= self.base || self.timer_tick == 0 {
            self.base = self.in_whole_ticks(rto).min(self.maximum);
        }
    }

    /// `usecs_to_jiffies`, in `__tcp_set_rto`
    fn in_whole_ticks(&self, rto: u64) -> u64 {
        match self.timer_tick {
            0 => rto,
            tick => rto.next_multiple_of(tick),
        }
    }

    /// The timeout, with backoff, up to the maximum.
    #[inline]
    pub(crate) fn rto(&self) -> Duration {
        if self.backoff == 0 {
            Duration::from_ps(self.base)
        } else {
            self.backed_off(self.backoff)
        }
    }

    /// The timeout after `backoff` doublings, up to the maximum.
    pub(crate) fn backed_off(&self, backoff: u32) -> Duration {
        let backed_off = u128::from(self.base) << backoff.min(BACKOFF_MAX);
        Duration::from_ps(backed_off.min(u128::from(self.maximum)) as u64)
    }

    /// Doubles the timeout (RFC 6298 5.5).
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(BACKOFF_MAX);
    }

    /// How often [`Self::rto`] is doubled at present.
    pub(crate) fn backoff(&self) -> u32 {
        self.backoff
    }

    /// The handshake is complete. If its SYN or SYN-ACK was sent again and no round-trip time was measured, data starts
    /// with a timeout of at least 3 s (RFC 6298 5.7; `tcp_init_metrics`), or with the SYN's timeout.
    pub(crate) fn handshake_done(&mut self) {
        if self.srtt_8 == 0 {
            if self.syn_backoff_lasts {
                return;
            }
            self.base = self
                .base
                .max(self.in_whole_ticks(Duration::from_secs(3).as_ps()))
                .min(self.maximum);
        }
        self.backoff = 0;
    }

    /// The shortest round-trip time, after the first sample.
    pub(crate) fn least(&self) -> Option<Duration> {
        (self.least < u64::MAX).then(|| Duration::from_ps(self.least))
    }

    /// The smoothed round-trip time, after the first sample.
    #[inline]
    pub(crate) fn srtt(&self) -> Option<Duration> {
        (self.srtt_8 > 0).then(|| Duration::from_ps(self.srtt_8 / 8))
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests {
    use super::*;

    fn estimator(preset: &str, rto_min: Duration) -> RttEstimator {
        let mut settings = Settings::preset(preset).unwrap();
        settings.rto_min_ps = rto_min;
        settings.clock_granularity_ps = Duration::from_us(1);
        RttEstimator::new(&settings)
    }

    /// The timeouts in us after samples in ms, each sample in a round trip of its own.
    fn timeouts(estimator: &mut RttEstimator, samples_ms: &[u64]) -> Vec<u64> {
        (1..)
            .zip(samples_ms)
            .map(|(round, ms)| {
                let rtt = Duration::from_ms(*ms);
                let now = Instant::from_secs(round);
                estimator.sample(now, rtt, 10 * round + 1, 10 * (round + 1));
                estimator.rto().as_ps() / 1_000_000
            })
            .collect()
    }

    #[test]
    fn the_shortest_round_trip_is_known_from_the_first_sample_on() {
        let mut it = estimator("linux-2.6", Duration::from_ms(1));
        assert_eq!(it.least(), None);
        timeouts(&mut it, &[100, 80, 90]);
        assert_eq!(it.least(), Some(Duration::from_ms(80)));
    }

    #[test]
    fn the_first_timeouts_are_whole_ticks_too() {
        let mut settings = Settings::preset("linux-6").unwrap();
        settings.rto_min_ps = Duration::from_ms(1);
        settings.clock_tick_ps = Duration::from_ms(7);
        // 143 ticks are the least that last a second, and 429 the least that last three
        let mut it = RttEstimator::new(&settings);
        assert_eq!(it.rto(), Duration::from_ms(1001));
        it.back_off();
        it.syn_backoff_lasts = false;
        it.handshake_done();
        assert_eq!(it.rto(), Duration::from_ms(3003));
        // three round trips of 332 ms; their sum is below a second by less than a tick
        let mut it = RttEstimator::new(&settings);
        assert_eq!(timeouts(&mut it, &[332]), [1_001_000]);
        settings.clock_tick_ps = Duration::from_ms(3);
        let mut it = RttEstimator::new(&settings);
        it.sample(Instant::from_secs(1), Duration::from_us(332_334), 1, 2);
        assert_eq!(it.rto(), Duration::from_ms(999));
    }

    #[test]
    fn rfc_6298_by_hand() {
        let mut it = estimator("rfc", Duration::from_ms(1));
        assert_eq!(it.rto(), Duration::from_secs(1));
        // SRTT 100, RTTVAR 50: 300 ms. SRTT 112.5, RTTVAR 62.5: 362.5 ms. Then the error is 12.5:
        // SRTT 110.9375, RTTVAR 50: 310.9375 ms
        assert_eq!(
            timeouts(&mut it, &[100, 200, 100]),
            [300_000, 362_500, 310_937]
        );
    }

    #[test]
    fn rfc_6298_has_a_floor_for_the_whole_timeout_and_a_granularity_for_the_deviation() {
        let mut it = estimator("rfc", Duration::from_secs(1));
        assert_eq!(timeouts(&mut it, &[100, 100]), [1_000_000, 1_000_000]);
        let mut it = estimator("rfc", Duration::from_ms(1));
        it.granularity = Duration::from_ms(500).as_ps();
        assert_eq!(timeouts(&mut it, &[100]), [600_000]);
    }

    #[test]
    fn linux_by_hand() {
        let mut it = estimator("linux-2.6", Duration::from_ms(200));
        // the minimum of 200 ms is added to SRTT while four deviations are below it: 80: 4 mdev is 160. 180: the error
        // is 100, 4 mdev becomes 160 - 40 + 100 = 220, SRTT 92.5. 100: the error is 7.5, 4 mdev 220 - 55 + 7.5 = 172.5,
        // SRTT 93.4375; the variance falls by a quarter from 220 towards the peak of its round trip, which is at least
        // 200
        assert_eq!(
            timeouts(&mut it, &[80, 180, 100]),
            [80_000 + 200_000, 92_500 + 220_000, 93_437 + 215_000]
        );
    }

    #[test]
    fn linux_gives_a_shorter_round_trip_an_eighth_of_the_weight() {
        let mut it = estimator("linux-2.6", Duration::from_ms(1));
        timeouts(&mut it, &[100, 100, 100, 100]);
        // 4 mdev: 200, 150, 112.5, 84.375
        assert_eq!(it.deviation_4, 84_375_000_000);
        timeouts(&mut it, &[20]);
        // the error of 80 exceeds mdev = 21.09375 by 58.90625, and an eighth of that counts
        assert_eq!(it.deviation_4, 84_375_000_000 + 58_906_250_000 / 8);
    }

    #[test]
    fn the_timeout_doubles_up_to_its_maximum_and_a_sample_ends_that() {
        let mut it = estimator("linux-2.6", Duration::from_ms(200));
        timeouts(&mut it, &[100]);
        let mut seen = Vec::new();
        for _ in 0..40 {
            it.back_off();
            seen.push(it.rto());
        }
        assert_eq!(
            seen[..3],
            [
                Duration::from_ms(600),
                Duration::from_ms(1200),
                Duration::from_ms(2400)
            ]
        );
        assert_eq!(seen[39], Duration::from_secs(120));
        timeouts(&mut it, &[100]);
        assert_eq!(it.rto(), Duration::from_ms(300));
    }

    #[test]
    fn after_a_lost_syn_data_starts_with_3_s_or_with_its_timeout() {
        for (lasts, rto_ms) in [(false, 3000), (true, 6000)] {
            let mut settings = Settings::preset("ns2").unwrap();
            settings.syn_backoff_lasts = lasts;
            let mut it = RttEstimator::new(&settings);
            it.back_off();
            it.handshake_done();
            assert_eq!(it.rto(), Duration::from_ms(rto_ms));
            // 100 ms, and four times half of it
            assert_eq!(timeouts(&mut it, &[100]), [300_000]);
        }
    }

    /// Timeouts, in us, of a connection with a round trip of 300 us and a minimum of 2 ms: after the first measurement
    /// and after many measurements at times that drift relative to the ticks.
    fn timeouts_of_a_lan(tick: Duration) -> (u64, u64) {
        let mut settings = Settings::preset("linux-2.6").unwrap();
        settings.rto_min_ps = Duration::from_ms(2);
        settings.rtt_tick_ps = tick;
        let mut it = RttEstimator::new(&settings);
        let mut seen = Vec::new();
        for round in 0..200 {
            let now = Instant::from_ms(100) + Duration::from_us(301 * round);
            it.sample(
                now,
                Duration::from_us(300),
                10 * round + 1,
                10 * (round + 1),
            );
            seen.push(it.rto().as_ps() / 1_000_000);
        }
        (seen[0], seen[199])
    }

    #[test]
    fn at_hz_250_a_lan_measures_one_jiffy_and_a_minimum_of_2_ms_is_one_too() {
        // SRTT is one jiffy of 4 ms; at first twice that is added, later the minimum
        assert_eq!(timeouts_of_a_lan(Duration::from_ms(4)), (12_000, 8_000));
        assert_eq!(timeouts_of_a_lan(Duration::from_ms(1)), (3_000, 3_000));
        assert_eq!(timeouts_of_a_lan(Duration::ZERO), (2_300, 2_300));
    }

    #[test]
    fn a_clock_in_ticks_shows_the_difference_of_its_readings() {
        let mut it = estimator("linux-2.6", Duration::from_ms(200));
        it.tick = Duration::from_ms(4).as_ps();
        let shown =
            |now_us, rtt_us| it.in_ticks(Instant::from_us(now_us), Duration::from_us(rtt_us));
        // sent at 3.9 ms and acknowledged at 4.1; sent at 4.1 and acknowledged at 7.9; at 11.9, at 12.1
        assert_eq!(shown(4_100, 200), Duration::from_ms(4));
        assert_eq!(shown(7_900, 3_800), Duration::from_ms(4));
        assert_eq!(shown(11_900, 7_800), Duration::from_ms(4));
        assert_eq!(shown(12_100, 8_000), Duration::from_ms(8));
    }
}
