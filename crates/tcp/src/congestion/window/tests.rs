//! The growth rules that algorithms share: examples worked out by hand.

use super::*;

fn window() -> Window {
    Window::new(&Settings::preset("linux-6").unwrap(), 1448)
}

fn ack(acked: u64) -> AckSample {
    AckSample {
        now: Instant::ZERO,
        acked,
        segments: acked as u32,
        marked: 0,
        rtt: None,
        srtt: None,
        una: 0,
        nxt: 0,
        state: State::Open,
        limited: true,
    }
}

#[test]
fn the_threshold_is_two_segments_at_least() {
    // RFC 5681 equation 4
    let mut window = window();
    for (asked, set) in [(0, 2), (1, 2), (2, 2), (3, 3)] {
        window.lower_threshold(asked);
        assert_eq!(window.ssthresh, set);
    }
}

#[test]
fn a_window_in_bytes_counts_segments_of_their_size() {
    let mut settings = Settings::preset("linux-6").unwrap();
    settings.window_unit = WindowUnit::Bytes;
    let mut window = Window::new(&settings, 1448);
    assert_eq!((window.unit(), window.segments()), (1448, 10));
    window.cwnd -= 1;
    assert_eq!((window.segments(), window.bytes(100)), (9, 100));
    window.lower_threshold(0);
    assert_eq!(window.ssthresh, 2 * 1448);
    assert_eq!(self::window().bytes(100), 144_800);
    assert_eq!(self::window().initial(), 10);
}

/// RFC 3465 2.2 and 2.3: L = 2 in the first slow start, 1 in that after a timeout. Linux has no limit
/// in either.
#[test]
fn an_ack_of_five_segments_counts_for_at_most_two_and_after_a_timeout_for_one() {
    for (limit, state, grows) in [
        (2, State::Open, 2),
        (2, State::Loss, 1),
        (4, State::Loss, 1),
        (9, State::Open, 5),
        (0, State::Open, 5),
        (0, State::Loss, 5),
    ] {
        for unit in [WindowUnit::Segments, WindowUnit::Bytes] {
            let mut settings = Settings::preset("linux-6").unwrap();
            settings.abc_limit_segments = limit;
            settings.window_unit = unit;
            let mut window = Window::new(&settings, 1448);
            let unit = window.unit();
            let sample = AckSample {
                state,
                ..ack(5 * unit)
            };
            window.grow_as_newreno(&sample);
            assert_eq!(window.cwnd, (10 + grows) * unit, "{limit} in {state:?}");
        }
    }
}

/// The part of an ACK beyond the threshold counts in congestion avoidance only if there is no limit.
#[test]
fn a_limit_of_slow_start_leaves_nothing_for_congestion_avoidance() {
    for (limit, cwnd) in [(0, 12), (8, 11)] {
        let mut settings = Settings::preset("linux-6").unwrap();
        settings.abc_limit_segments = limit;
        let mut window = Window::new(&settings, 1448);
        window.ssthresh = 11;
        window.grow_as_newreno(&ack(12));
        assert_eq!(window.cwnd, cwnd);
    }
}

#[test]
fn without_abc_each_ack_counts_as_one_segment() {
    let mut settings = Settings::preset("linux-2.6").unwrap();
    settings.window_unit = WindowUnit::Bytes;
    let mut window = Window::new(&settings, 1448);
    // in slow start an ACK of any size brings one segment
    window.grow_as_newreno(&ack(3 * 1448));
    assert_eq!(window.cwnd, 11 * 1448);
    // above the threshold, eleven ACKs fill the count, and the next one grows the window (Linux before 3.13)
    window.ssthresh = 0;
    for number in 1..=12 {
        assert_eq!(window.cwnd, 11 * 1448, "ACK {number}");
        window.grow_as_newreno(&ack(3 * 1448));
    }
    assert_eq!(window.cwnd, 12 * 1448);
}

/// `tcp_cong_avoid_ai`: credit from a time when a larger amount was needed is worth one segment.
#[test]
fn credit_of_a_larger_count_is_worth_one_segment() {
    let mut window = window();
    window.ssthresh = 0;
    window.grow_one_per(100, &ack(50));
    window.grow_one_per(10, &ack(3));
    assert_eq!((window.cwnd, window.count), (11, 3));
}

#[test]
fn a_threshold_keeps_three_quarters_of_a_window_that_was_in_use() {
    for (cwnd, before, after) in [(40, 2, 30), (43, 2, 31), (40, 35, 35), (3, 1, 1)] {
        let mut window = window();
        (window.cwnd, window.ssthresh) = (cwnd, before);
        window.remember_in_threshold();
        assert_eq!(window.ssthresh, after);
    }
}

#[test]
fn a_timeout_leaves_one_segment_and_no_credit() {
    let mut window = window();
    window.count = 5;
    window.collapse();
    assert_eq!((window.cwnd, window.count), (1, 0));
}

#[test]
fn four_decisions_of_an_event_are_published_and_more_are_dropped() {
    #[derive(Default)]
    struct Count(usize);
    impl Events for Count {
        fn decision(&mut self, _now: Instant, _decision: Decision) {
            self.0 += 1;
        }
    }
    for (made, kept) in [(0, 0), (1, 1), (4, 4), (5, 4)] {
        let mut window = window();
        for _ in 0..made {
            window.note(DecisionKind::Custom, DecisionCause::Custom);
        }
        assert_eq!(window.has_pending(), made > 0);
        let mut count = Count::default();
        window.pass_pending(Instant::ZERO, &mut count);
        assert_eq!(count.0, kept);
    }
}

#[test]
fn what_slow_start_does_not_use_counts_in_congestion_avoidance() {
    // of twelve segments, two take the window from 8 to the threshold of 10; the other ten are a whole window
    let mut window = window();
    (window.cwnd, window.ssthresh) = (8, 10);
    window.grow_as_newreno(&ack(12));
    assert_eq!(window.cwnd, 11);
    // of six segments, two take the window from 2 to 4; the other four are a whole window
    (window.cwnd, window.ssthresh, window.count) = (2, 4, 0);
    window.grow_as_newreno(&ack(6));
    assert_eq!(window.cwnd, 5);
    // the next ACK counts in full again
    window.grow_as_newreno(&ack(5));
    assert_eq!(window.cwnd, 6);
}
