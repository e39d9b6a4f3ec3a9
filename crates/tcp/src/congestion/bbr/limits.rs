//! How much may be in flight: examples worked out by hand, on the path of [`super::rules`].

use super::rules::{RTT, Sender, probing, sender_of};
use super::*;

/// `bbr_save_cwnd`
#[test]
fn the_window_before_a_recovery_is_kept_and_in_one_the_largest() {
    for (state, mode, cwnd, kept) in [
        (State::Open, Mode::ProbeBandwidth, 30, 30),
        (State::Open, Mode::Startup, 30, 30),
        (State::Fast, Mode::ProbeBandwidth, 30, 50),
        (State::Loss, Mode::Startup, 30, 50),
        (State::Open, Mode::ProbeRtt, 30, 50),
        (State::Fast, Mode::ProbeRtt, 30, 50),
        (State::Fast, Mode::ProbeBandwidth, 60, 60),
    ] {
        let mut it = probing(2);
        (it.bbr.recovery.state, it.bbr.mode) = (state, mode);
        it.bbr.recovery.window_before = 50;
        it.window.cwnd = cwnd;
        it.bbr.on_loss(&mut it.window);
        assert_eq!(it.bbr.recovery.window_before, kept, "{state:?} {mode:?}");
    }
}

#[test]
fn what_leaves_by_the_next_departure_is_not_in_the_network_then() {
    let it = probing(2);
    // a segment per millisecond, or a little less: the kernel's unit rounds down
    let later = |ms| it.now + Duration::from_ms(ms) + Duration::from_us(1);
    for (ms, in_flight, expected) in [(0, 50, 50), (3, 50, 47), (60, 50, 0)] {
        assert_eq!(it.bbr.in_network(it.now, in_flight, later(ms)), expected);
    }
    // while probing for more, a burst of two is being sent
    let it = probing(0);
    assert_eq!(it.bbr.in_network(it.now, 50, it.now), 52);
    let it = probing(1);
    assert_eq!(it.bbr.in_network(it.now, 50, it.now), 50);
}

/// `bbr_tso_segs_goal`: 1/1024 s at the pacing rate, at least one segment below 1.2 Mbit/s and two above, and at most
/// 64 KB less headers or 127 segments.
#[test]
fn a_burst_is_a_millisecond_of_the_pacing_rate() {
    let mut it = probing(2);
    for (rate, segments) in [
        (0, 1),
        (149_999, 1),
        (150_000, 2),
        (1024 * 1448 * 3 - 1, 2),
        (1024 * 1448 * 3, 3),
        (1024 * 1448 * 44, 44),
        (1 << 40, 45),
    ] {
        it.bbr.pace.rate = rate;
        // the product is 40, and the sum is even
        let flight = it.bbr.flight(it.bbr.estimate(), UNIT_GAIN);
        assert_eq!(
            flight,
            (40_u64 + 3 * segments).next_multiple_of(2),
            "{rate}"
        );
    }
    it.bbr.segment_bytes = 100;
    it.bbr.pace.rate = 1 << 40;
    assert_eq!(
        it.bbr.flight(it.bbr.estimate(), UNIT_GAIN),
        40 + 3 * 127 + 1
    );
    // 65215 bytes
    (it.bbr.segment_bytes, it.bbr.pace.rate) = (65_215, 1 << 40);
    assert_eq!(it.bbr.flight(it.bbr.estimate(), UNIT_GAIN), 46);
    it.bbr.segment_bytes = 521;
    assert_eq!(
        it.bbr.flight(it.bbr.estimate(), UNIT_GAIN),
        40 + 3 * 125 + 1
    );
    it.bbr.segment_bytes = 522;
    assert_eq!(it.bbr.flight(it.bbr.estimate(), UNIT_GAIN), 40 + 3 * 124);
}

#[test]
fn without_a_round_trip_the_flight_is_ten_segments_and_bursts() {
    for unit in [1, 1448] {
        let mut it = sender_of(unit, None);
        it.bbr.pace.rate = 200_000;
        assert_eq!(it.bbr.flight(Bandwidth::ZERO, UNIT_GAIN), 16 * unit);
        // bytes are rounded up to segments
        it.bbr.min_rtt.value = Some(Duration::from_ms(1));
        let bandwidth = Bandwidth::of(5 * unit - unit / 2, Duration::from_ms(1));
        assert_eq!(it.bbr.flight(bandwidth, UNIT_GAIN), 12 * unit);
    }
}

#[test]
fn bunches_of_acks_widen_the_window_and_nothing_delivered_leaves_them_known() {
    let mut it = probing(2);
    let target = it.bbr.target();
    it.window.cwnd = 100;
    // twenty segments are delivered at once, where one was expected
    it.totals.delivered += 20;
    it.now += Duration::from_ms(1);
    it.totals.delivered_at = it.now;
    it.bbr.aggregation.restart(it.now);
    let bunch = RateSample {
        newly_delivered: 20,
        delivered: 20,
        interval: Some(RTT),
        prior_delivered: 0,
        ..it.sample()
    };
    it.bbr.update_bandwidth(&mut it.window, it.now, &bunch);
    assert_eq!(it.bbr.target(), target + 20);
    // rounds in which nothing is delivered do not make the maximum expire
    for _ in 0..20 {
        let nothing = RateSample {
            newly_delivered: 0,
            interval: Some(RTT),
            prior_delivered: it.bbr.round.end,
            ..it.sample()
        };
        it.bbr.update_bandwidth(&mut it.window, it.now, &nothing);
    }
    let bandwidth = Bandwidth::of(1000, Duration::from_secs(1));
    assert_eq!(it.bbr.aggregation.allowance(bandwidth), 20);
}

/// An ACK that delivers `newly`, and leaves 30 in flight.
fn acks(it: &mut Sender, newly: u64, lost: u64, state: State) {
    it.totals.delivered += newly;
    let sample = RateSample {
        newly_delivered: newly,
        newly_lost: lost,
        in_flight: 30,
        ..it.sample()
    };
    it.bbr.set_window(&mut it.window, state, &sample);
}

/// `bbr_set_cwnd`
#[test]
fn the_window_grows_by_what_is_delivered_up_to_its_target() {
    // twice the product of 40 and three bursts of two
    for (cwnd, newly, then) in [
        (10, 5, 15),
        (80, 5, 85),
        (83, 5, 86),
        (90, 1, 86),
        (1, 1, 4),
    ] {
        let mut it = probing(2);
        it.window.cwnd = cwnd;
        acks(&mut it, newly, 0, State::Open);
        assert_eq!(it.window.cwnd, then, "{cwnd} and {newly}");
    }
}

/// Startup's window grows freely while it is below its target, 116 and 6 with a gain of 2.885, and without any limit
/// until ten segments are delivered, the SYN among them.
#[test]
fn in_startup_the_window_grows_while_it_is_below_its_target() {
    for (delivered, cwnd, then) in [
        (100, 121, 122),
        (100, 122, 122),
        (100, 300, 300),
        (7, 300, 301),
        (8, 300, 300),
    ] {
        for unit in [1, 1448] {
            let mut it = sender_of(unit, Some(RTT));
            let bandwidth = Bandwidth::of(1000 * unit, Duration::from_secs(1));
            it.bbr.bandwidth.update(1, bandwidth);
            it.bbr.pace.rate = 1_000_000;
            it.window.cwnd = cwnd * unit;
            it.totals.delivered = delivered * unit;
            acks(&mut it, unit, 0, State::Open);
            assert_eq!(it.window.cwnd, then * unit, "{cwnd} after {delivered}");
        }
    }
}

#[test]
fn the_window_is_four_segments_at_least_and_at_most_when_the_round_trip_is_measured() {
    for unit in [1, 1448] {
        let mut it = sender_of(unit, Some(RTT));
        it.bbr.mode = Mode::ProbeRtt;
        it.window.cwnd = 50 * unit;
        acks(&mut it, unit, 0, State::Open);
        assert_eq!(it.window.cwnd, 4 * unit);
        it.bbr.mode = Mode::Startup;
        it.totals.delivered = 100 * unit;
        it.window.cwnd = unit;
        acks(&mut it, unit, 0, State::Open);
        assert_eq!(it.window.cwnd, 4 * unit);
        // the round trip is measured once no more than that is in flight
        for (in_flight, measures) in [(4 * unit + 1, false), (4 * unit, true)] {
            it.bbr.mode = Mode::ProbeRtt;
            let sample = RateSample {
                in_flight,
                ..it.sample()
            };
            it.bbr.update_min_rtt(it.now, &mut it.window, &sample);
            assert_eq!(it.bbr.min_rtt.probe_end.is_some(), measures);
        }
    }
}

/// `bbr_set_cwnd_to_recover_or_restore`
#[test]
fn a_loss_takes_its_segments_from_the_window_and_leaves_one() {
    for (cwnd, lost, then) in [(50, 0, 51), (50, 3, 48), (3, 3, 4), (3, 9, 4)] {
        let mut it = probing(2);
        it.bbr.recovery.state = State::Loss;
        it.window.cwnd = cwnd;
        acks(&mut it, 1, lost, State::Loss);
        assert_eq!(it.window.cwnd, then, "{cwnd} less {lost}");
    }
}

#[test]
fn a_recovery_begins_with_what_is_in_flight_and_ends_with_the_window_before() {
    let mut it = probing(2);
    it.window.cwnd = 70;
    it.bbr.on_loss(&mut it.window);
    acks(&mut it, 2, 1, State::Fast);
    assert_eq!((it.window.cwnd, it.bbr.recovery.conserves), (32, true));
    // an ACK that delivers nothing changes nothing
    acks(&mut it, 0, 5, State::Open);
    assert_eq!((it.window.cwnd, it.bbr.recovery.state), (32, State::Fast));
    // the same recovery goes on: it does not begin again
    it.window.cwnd = 50;
    acks(&mut it, 2, 0, State::Fast);
    assert_eq!((it.window.cwnd, it.bbr.recovery.conserves), (50, true));
    acks(&mut it, 1, 0, State::Open);
    assert_eq!((it.window.cwnd, it.bbr.recovery.conserves), (71, false));
    // outside of a recovery, the window before it does not matter
    it.window.cwnd = 20;
    acks(&mut it, 1, 0, State::Open);
    assert_eq!(it.window.cwnd, 21);
    // nor does it while a timeout is repaired
    it.bbr.recovery.state = State::Loss;
    acks(&mut it, 1, 0, State::Loss);
    assert_eq!(it.window.cwnd, 22);
}
