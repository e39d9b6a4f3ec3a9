//! Rates and gaps, worked out by hand.

use super::*;

const MS: fn(u64) -> Duration = Duration::from_ms;

/// A window of 12 kB in 10 ms, half of which is outstanding.
const LOAD: Load = Load {
    cwnd_bytes: 12_000,
    out_bytes: 6_000,
    rises: false,
    srtt: Some(Duration::from_ms(10)),
    rate: None,
    sent: 100,
    una: 0,
    nxt: 0,
};

fn pacer(rule: Pacing) -> (Pacer, Timers) {
    let mut settings = Settings::preset("linux-6").unwrap();
    settings.pacing = rule;
    let pacer = Pacer::new(&settings, false, 1).unwrap();
    (*pacer, Timers::new(Duration::ZERO))
}

/// `tcp_update_pacing_rate`
#[test]
fn linux_paces_at_twice_the_window_below_half_of_the_threshold_and_at_six_fifths_above() {
    for (rises, percent) in [(true, 200), (false, 120)] {
        let load = Load { rises, ..LOAD };
        assert_eq!(load.linux_bytes_in(MS(10)), 120 * percent);
        assert_eq!(load.linux_bytes_in(MS(5)), 60 * percent);
    }
    // outstanding data counts if it is more than the window
    let load = Load {
        out_bytes: 20_000,
        ..LOAD
    };
    assert_eq!(load.linux_bytes_in(MS(10)), 24_000);
}

#[test]
fn a_rate_of_the_congestion_control_counts_alone_and_no_round_trip_is_no_limit() {
    let load = Load {
        rate: Some(2_500_000),
        ..LOAD
    };
    assert_eq!(load.linux_bytes_in(MS(3)), 7_500);
    let load = Load { srtt: None, ..LOAD };
    assert!(load.linux_bytes_in(Duration::from_ps(1)) >= 1 << 60);
}

/// How long after the first of two segments the second may leave, if the pacer was idle before.
fn gap_after(rule: Pacing, load: &Load) -> Duration {
    let (mut it, mut timers) = pacer(rule);
    let now = Instant::from_secs(1);
    it.on_ack(load);
    it.on_sent(&mut timers, now, 1500, load);
    it.next_departure().saturating_sub(now)
}

#[test]
fn a_paced_window_is_spread_over_its_round_trip() {
    // eight segments in 10 ms
    assert_eq!(gap_after(Pacing::Window, &LOAD), Duration::from_us(1250));
    let load = Load { srtt: None, ..LOAD };
    assert_eq!(gap_after(Pacing::Window, &load), Duration::ZERO);
    // at 120 %; a sender that was idle makes up for half of the gap
    let gap = Duration::from_ps(1_041_666_666);
    assert_eq!(gap_after(Pacing::Linux, &LOAD), gap - gap / 2);
}

#[test]
fn linux_begins_with_the_gap_after_the_tenth_segment() {
    for (sent, paced) in [(1, false), (9, false), (10, true)] {
        for rate in [None, Some(1_000_000)] {
            let load = Load {
                sent,
                rate,
                srtt: rate.map_or(LOAD.srtt, |_| None),
                ..LOAD
            };
            let gap = gap_after(Pacing::Linux, &load);
            assert_eq!(gap > Duration::ZERO, paced, "{sent} sent");
            let by_window = Load {
                srtt: LOAD.srtt,
                rate: None,
                ..load
            };
            assert!(gap_after(Pacing::Window, &by_window) > Duration::ZERO);
        }
    }
}

/// `tcp_update_pacing_rate` has one caller for established connections, `tcp_cong_control`.
#[test]
fn linux_paces_at_the_rate_of_the_last_ack_whatever_the_window_is_since() {
    let (mut it, mut timers) = pacer(Pacing::Linux);
    let now = Instant::from_secs(1);
    it.on_ack(&LOAD);
    let idle = Load {
        cwnd_bytes: 1_500,
        ..LOAD
    };
    it.on_sent(&mut timers, now, 1500, &idle);
    let gap = gap_after(Pacing::Linux, &LOAD);
    assert_eq!(it.next_departure(), now + gap);
}

#[test]
fn a_rate_of_the_congestion_control_sets_the_gap() {
    let mut settings = Settings::preset("linux-6").unwrap();
    settings.pacing = Pacing::Off;
    assert!(Pacer::new(&settings, false, 1).is_none());
    let mut it = Pacer::new(&settings, true, 1).unwrap();
    let mut timers = Timers::new(Duration::ZERO);
    let load = Load {
        rate: Some(1_500_000),
        ..LOAD
    };
    // a millisecond per segment: the first two leave half a gap apart
    let now = Instant::from_secs(1);
    it.on_sent(&mut timers, now, 1500, &load);
    assert_eq!(it.next_departure(), now + Duration::from_us(500));
    it.on_sent(&mut timers, now + Duration::from_us(500), 1500, &load);
    assert_eq!(it.next_departure(), now + Duration::from_us(1500));
}

/// A timer with ticks of 1 ms releases a segment late; segments that became due by then follow at once.
#[test]
fn what_came_due_between_two_ticks_leaves_at_the_later_one() {
    let (mut it, mut timers) = pacer(Pacing::Window);
    it.granularity = MS(1);
    let load = Load {
        cwnd_bytes: 60_000,
        ..LOAD
    };
    // 40 segments in 10 ms: one every 250 us
    let mut now = Instant::from_us(1_000_100);
    assert!(it.allows(&mut timers, now));
    it.on_sent(&mut timers, now, 1500, &load);
    assert_eq!(it.next_departure(), now + Duration::from_us(250));
    assert!(!it.allows(&mut timers, now));
    assert_eq!(timers.deadline(Timer::Pacing), Instant::from_us(1_001_000));
    // at the tick, the segments due at 350, 600 and 850 us may leave; the next is due at 1100 us
    now = Instant::from_us(1_001_000);
    for _ in 0..3 {
        assert!(it.allows(&mut timers, now));
        it.on_sent(&mut timers, now, 1500, &load);
    }
    assert_eq!(it.next_departure(), Instant::from_us(1_001_100));
    assert!(!it.allows(&mut timers, now));
    assert_eq!(timers.deadline(Timer::Pacing), Instant::from_us(1_002_000));
    // once everything has left, nothing is made up for
    it.rest(&mut timers);
    assert_eq!(timers.next(), Instant::NEVER);
    now = Instant::from_us(1_009_000);
    it.on_sent(&mut timers, now, 1500, &load);
    assert_eq!(it.next_departure(), now + Duration::from_us(250));
}

/// `tcp_is_cwnd_limited`: half of the window was outstanding at some time in the round trip.
#[test]
fn a_paced_window_is_used_if_half_of_it_was_out_in_the_round_trip() {
    let (mut it, mut timers) = pacer(Pacing::Linux);
    let mut sends = |out_bytes, una, nxt| {
        let load = Load {
            out_bytes,
            una,
            nxt,
            ..LOAD
        };
        it.on_sent(&mut timers, Instant::from_secs(1), 1500, &load);
        (it.uses(2 * out_bytes), it.uses(2 * out_bytes + 1))
    };
    assert_eq!(sends(6_000, 0, 10), (true, false));
    // less later in the same round trip changes nothing, but it does in the next one
    assert_eq!(sends(3_000, 9, 15), (true, true));
    assert_eq!(sends(3_000, 10, 20), (true, false));
    assert_eq!(sends(2_000, 19, 25), (true, true));
    assert_eq!(sends(2_000, 20, 30), (true, false));
}

#[test]
fn random_gaps_are_uniform_up_to_their_limit() {
    let mut settings = Settings::preset("linux-6").unwrap();
    settings.send_gap_max_ps = Duration::from_us(10);
    let mut it = Pacer::new(&settings, false, 1).unwrap();
    let mut timers = Timers::new(Duration::ZERO);
    let mut gaps = Vec::new();
    for number in 0..2000 {
        let now = Instant::from_ms(number);
        it.on_sent(&mut timers, now, 1500, &LOAD);
        gaps.push(it.next_departure().saturating_sub(now).as_ps());
    }
    assert!(*gaps.iter().max().unwrap() <= 10_000_000 && *gaps.iter().min().unwrap() < 100_000);
    let mean = gaps.iter().sum::<u64>() / 2000;
    assert!((4_800_000..5_200_000).contains(&mean), "{mean}");
}
