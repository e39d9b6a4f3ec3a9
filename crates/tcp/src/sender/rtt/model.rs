//! The estimator under random round-trip times, compared with the same rules in floating point.

use proptest::prelude::*;

use super::*;

/// RFC 6298 2.2 to 2.4, in ps.
#[derive(Default)]
struct Rfc {
    srtt: f64,
    rttvar: f64,
}

impl Rfc {
    fn rto(&mut self, rtt: f64, granularity: f64) -> f64 {
        if self.srtt == 0.0 {
            self.srtt = rtt;
            self.rttvar = rtt / 2.0;
        } else {
            self.rttvar = 0.75 * self.rttvar + 0.25 * (self.srtt - rtt).abs();
            self.srtt = 0.875 * self.srtt + 0.125 * rtt;
        }
        self.srtt + granularity.max(4.0 * self.rttvar)
    }
}

/// `tcp_rtt_estimator` and `tcp_set_rto` of Linux: four times the largest mean deviation of a round trip is added to
/// SRTT, and at least the minimum.
#[derive(Default)]
struct Linux {
    srtt: f64,
    mdev: f64,
    peak: f64,
    added: f64,
    round_end: u64,
}

impl Linux {
    fn rto(&mut self, rtt: f64, minimum: f64, una: u64, nxt: u64) -> f64 {
        if self.srtt == 0.0 {
            self.srtt = rtt;
            self.mdev = rtt / 2.0;
            self.peak = minimum.max(4.0 * self.mdev);
            self.added = self.peak;
            self.round_end = nxt;
            return self.srtt + self.added;
        }
        let error = rtt - self.srtt;
        let growth = error.abs() - self.mdev;
        // a sample below the mean raises the deviation with an eighth of the weight
        let weight = if error < 0.0 && growth > 0.0 {
            32.0
        } else {
            4.0
        };
        self.srtt += error / 8.0;
        self.mdev += growth / weight;
        self.peak = self.peak.max(4.0 * self.mdev);
        self.added = self.added.max(self.peak);
        if una > self.round_end {
            self.added -= (self.added - self.peak) / 4.0;
            self.peak = minimum;
            self.round_end = nxt;
        }
        self.srtt + self.added
    }
}

/// Round-trip times in us, each with the number of segments that its ACK acknowledges and of those still outstanding.
fn any_acks() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    let rtt_us = prop_oneof![1_u64..500_000, 90_000_u64..110_000, Just(100_000)];
    prop::collection::vec((rtt_us, 0_u64..4, 1_u64..8), 1..60)
}

/// Integers are rounded down; all steps together may differ by this much, in ps.
const ROUNDING: f64 = 200.0;

fn settings(preset: &str, minimum: Duration) -> Settings {
    let mut settings = Settings::preset(preset).unwrap();
    settings.rto_min_ps = minimum;
    settings.rto_max_ps = Duration::from_ms(1500);
    settings.clock_granularity_ps = Duration::from_ms(70);
    settings.clock_tick_ps = Duration::ZERO;
    settings.rtt_tick_ps = Duration::ZERO;
    settings
}

proptest! {
    #[test]
    fn the_timeout_is_that_of_rfc_6298(acks in any_acks(), minimum_ms in 1_u64..400) {
        let minimum = Duration::from_ms(minimum_ms);
        let mut it = RttEstimator::new(&settings("rfc", minimum));
        let mut model = Rfc::default();
        for (rtt_us, una, out) in acks {
            let rtt = Duration::from_us(rtt_us);
            it.sample(Instant::from_secs(1), rtt, una, una + out);
            let rto = model.rto(rtt.as_ps() as f64, 70e9).clamp(minimum.as_ps() as f64, 1500e9);
            prop_assert!((it.rto().as_ps() as f64 - rto).abs() < ROUNDING, "{} for {rto}", it.rto());
            prop_assert!((it.srtt().unwrap().as_ps() as f64 - model.srtt).abs() < ROUNDING);
        }
    }

    #[test]
    fn the_timeout_is_that_of_linux(acks in any_acks(), minimum_ms in 1_u64..400, tick_ms in 0_u64..5) {
        let minimum = Duration::from_ms(minimum_ms);
        let mut settings = settings("linux-6", minimum);
        settings.clock_tick_ps = Duration::from_ms(tick_ms);
        let mut it = RttEstimator::new(&settings);
        let mut model = Linux::default();
        let (mut acknowledged, mut next) = (0, 0);
        for (rtt_us, una, out) in acks {
            acknowledged += una;
            next = next.max(acknowledged + out);
            let rtt = Duration::from_us(rtt_us);
            it.sample(Instant::from_secs(1), rtt, acknowledged, next);
            let exact = model.rto(rtt.as_ps() as f64, minimum.as_ps() as f64, acknowledged, next);
            let rto = it.rto().as_ps();
            if tick_ms == 0 {
                prop_assert!((rto as f64 - exact.min(1500e9)).abs() < ROUNDING, "{rto} for {exact}");
            } else if rto < Duration::from_ms(1500).as_ps() {
                // the next whole tick
                let tick = Duration::from_ms(tick_ms).as_ps();
                prop_assert_eq!(rto % tick, 0);
                let above = rto as f64 - exact;
                prop_assert!(above > -ROUNDING && above < tick as f64 + ROUNDING, "{rto} for {exact}");
            }
        }
    }
}

/// `tcp_rtt_estimator` asks whether SND.UNA is `after` the end of the round trip.
#[test]
fn a_round_trip_of_linux_ends_when_more_than_its_end_is_acknowledged() {
    for (una, falls) in [(9, false), (10, false), (11, true)] {
        let mut it = RttEstimator::new(&settings("linux-6", Duration::from_ms(1)));
        it.sample(Instant::from_secs(1), Duration::from_ms(100), 1, 10);
        assert_eq!(it.rto(), Duration::from_ms(300));
        // the deviation falls from 50 ms, but the variance falls only at the end of the round trip
        it.sample(Instant::from_secs(2), Duration::from_ms(100), una, 20);
        assert_eq!(it.rto(), Duration::from_ms(300));
        // this sample ends a round trip. If that began with the second sample, its largest deviation is 112.5 ms, and
        // the variance falls from 200 ms by a quarter of the distance; otherwise the largest deviation is still 200 ms
        it.sample(Instant::from_secs(3), Duration::from_ms(100), 21, 30);
        let added = if falls { 178_125 } else { 200_000 };
        let rto = Duration::from_ms(100) + Duration::from_us(added);
        assert_eq!(it.rto(), rto, "up to {una}");
    }
}

#[test]
fn nothing_is_known_before_the_first_sample_and_a_handshake_without_one_raises_the_timeout() {
    let mut it = RttEstimator::new(&settings("linux-6", Duration::from_ms(200)));
    assert_eq!((it.srtt(), it.least()), (None, None));
    assert_eq!(it.rto(), Duration::from_secs(1));
    // a repeated SYN-ACK gives no sample, even if no timer fired (`tcp_init_metrics`); the maximum is 1.5 s here
    it.handshake_done();
    assert_eq!(it.rto(), Duration::from_ms(1500));
}

/// Found by the fuzz target `segments`: the minimum counts in whole ticks, and so does the first timeout.
#[test]
fn what_ticks_raise_beyond_the_maximum_is_the_maximum() {
    let mut settings = Settings::preset("ns2").unwrap();
    settings.rto_initial_ps = Duration::from_secs(1);
    settings.rto_min_ps = Duration::from_secs(1);
    settings.rto_max_ps = Duration::from_secs(1);
    settings.rtt_tick_ps = Duration::from_ms(300);
    settings.clock_tick_ps = Duration::from_ms(300);
    assert_eq!(settings.validate(), Ok(()));
    let mut it = RttEstimator::new(&settings);
    assert_eq!(it.rto(), Duration::from_secs(1));
    it.sample(Instant::from_secs(1), Duration::from_ms(10), 1, 2);
    assert_eq!(it.rto(), Duration::from_secs(1));
}

/// RFC 6298 2.5, 5.5: the doubling ends at the maximum and not before, whatever it begins with.
#[test]
fn from_the_shortest_timeout_the_longest_is_reached() {
    let mut settings = Settings::preset("rfc").unwrap();
    settings.rto_min_ps = Duration::from_ps(1);
    settings.rto_initial_ps = settings.rto_min_ps;
    settings.rto_max_ps = Duration::from_secs(3600);
    let mut it = RttEstimator::new(&settings);
    for _ in 0..60 {
        it.back_off();
    }
    assert_eq!(it.rto(), settings.rto_max_ps);
}
