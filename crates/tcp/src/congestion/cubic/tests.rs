//! How CUBIC's window grows: examples worked out by hand, and the function itself in floating point.

use super::super::Congestion;
use super::*;
use crate::settings::Settings;

fn cubic() -> Cubic {
    Cubic::new(&Setup {
        settings: &Settings::preset("linux-2.6").unwrap(),
        segment_bytes: 1448,
        unit: 1,
    })
}

#[test]
fn the_constants_are_those_of_the_kernel() {
    assert_eq!(FRIENDLY_SCALE, 15);
    assert_eq!(CUBE_FACTOR, 2_681_735_677);
}

#[test]
fn the_plateau_is_reached_after_k() {
    // W_max 1000, fallen to 700: K = cbrt(300 / 0.4) = 9.086 s
    let epoch = Epoch::new(Instant::from_secs(5), 700, 1000);
    assert_eq!(epoch.k, 9300);
    // K is rounded down
    assert_eq!(epoch.target(Duration::ZERO), 701);
    assert_eq!(epoch.target(Duration::from_secs(9)), 1000);
    // 5 s after: 0.4 * 125 more
    assert_eq!(epoch.target(Duration::from_ms(14_082)), 1050);
}

/// RFC 9438 4.7: a second loss below the last maximum means that other flows want more, so the next plateau is at
/// 0.85 of the window.
#[test]
fn a_loss_below_the_last_maximum_lowers_the_plateau() {
    let settings = Settings::preset("linux-6").unwrap();
    let plateau = |fast_convergence: bool, windows: [u64; 2]| {
        let mut cubic = cubic();
        cubic.fast_convergence = fast_convergence;
        for cwnd in windows {
            let mut window = Window::new(&settings, 1448);
            window.cwnd = cwnd;
            cubic.on_loss(&mut window);
            assert_eq!(window.ssthresh, cwnd * BETA / BETA_SCALE);
        }
        cubic.last_max
    };
    assert_eq!(plateau(true, [100, 80]), 68);
    assert_eq!(plateau(false, [100, 80]), 80);
    assert_eq!(plateau(true, [80, 80]), 80);
    assert_eq!(plateau(true, [80, 100]), 100);
}

/// A window that fell from `before` segments and whose data is then acknowledged evenly.
struct Path {
    congestion: Congestion,
    now: Instant,
    rtt: Duration,
}

impl Path {
    fn after_loss(before: u64, rtt: Duration) -> Self {
        let overrides = serde_json::json!({"congestion_control": "cubic", "abc": true});
        let settings = Settings::preset("linux-2.6")
            .unwrap()
            .with(overrides.as_object().unwrap())
            .unwrap();
        let mut congestion = Congestion::new(&settings, 1448);
        congestion.window.cwnd = before;
        congestion.on_loss();
        Self {
            congestion,
            now: Instant::from_secs(100),
            rtt,
        }
    }

    /// One ACK; returns the window.
    fn step(&mut self) -> u64 {
        self.congestion.on_ack(&AckSample {
            now: self.now,
            acked: 1,
            segments: 1,
            marked: 0,
            rtt: Some(self.rtt),
            srtt: Some(self.rtt),
            una: 1,
            nxt: 2,
            state: State::Open,
            limited: true,
        });
        let cwnd = self.congestion.window.cwnd;
        self.now += self.rtt / cwnd;
        cwnd
    }
}

#[test]
fn the_window_follows_the_cubic_function_within_a_segment() {
    // 1000 segments fall to 700 on a path of 100 ms; Reno would reach 750 in that time
    let mut path = Path::after_loss(1000, Duration::from_ms(100));
    let epoch = path.now;
    let c = C as f64 / 1024.0;
    let k = (300.0 / c).cbrt();
    while path.now < epoch + Duration::from_secs(14) {
        let t = (path.now - epoch).as_secs_f64();
        let cwnd = path.step() as f64;
        let expected = c * (t - k).powi(3) + 1000.0;
        // windows are whole segments
        let band = (expected - 1.0).floor()..=(expected + 1.0).ceil();
        assert!(band.contains(&cwnd), "{cwnd} not in {band:?} after {t} s");
    }
}

#[test]
fn on_a_short_path_it_grows_as_reno_with_the_same_share_would() {
    // 20 segments fall to 14; 3 * 307 / 1741 = 0.53 segments per round trip, where the cubic
    // function has not come back to 20 after a second
    let mut path = Path::after_loss(20, Duration::from_ms(10));
    let end = path.now + Duration::from_secs(1);
    let mut cwnd = 0;
    while path.now < end {
        cwnd = path.step();
    }
    assert!((62..=68).contains(&cwnd), "{cwnd}");
}

/// Segments may be short, as with payload sizing: in bytes the data counts, and not the number of segments.
#[test]
fn half_segments_grow_a_window_in_bytes_as_far_as_whole_ones() {
    let grown = |parts: u64| {
        let mut congestion = Congestion::new(&Settings::preset("ns3").unwrap(), 1448);
        congestion.window.cwnd = 20 * 1448;
        congestion.on_loss();
        for number in 0..1000 * parts {
            congestion.on_ack(&AckSample {
                now: Instant::from_secs(100) + Duration::from_us(600) * number / parts,
                acked: 1448 / parts,
                segments: 1,
                marked: 0,
                rtt: Some(Duration::from_ms(10)),
                srtt: None,
                una: 1,
                nxt: 2,
                state: State::Open,
                limited: true,
            });
        }
        congestion.window.segments()
    };
    // from 14; the cubic function alone would bring one segment
    assert_eq!((grown(1), grown(2), grown(4)), (35, 35, 35));
}

/// The rate is computed for the present window: once the window has caught up, it grows slowly again.
#[test]
fn the_window_never_grows_beyond_what_its_rate_was_made_for() {
    // 31 round trips pass between two evaluations while the window does not change
    let mut path = Path::after_loss(20, Duration::from_ms(1));
    let begin = path.now;
    while path.now < begin + Duration::from_ms(100) {
        let renos = 14.0 + 0.53 * (path.now - begin).as_secs_f64() / 1e-3;
        let cwnd = path.step() as f64;
        assert!(
            (renos - 18.0..renos + 2.0).contains(&cwnd),
            "{cwnd} for {renos}"
        );
    }
}

/// `bictcp_update` returns first if it saw this window less than HZ/32 ago, whether an epoch has begun since or not.
#[test]
fn a_loss_that_leaves_the_window_as_it_was_begins_no_epoch_at_once() {
    let settings = Settings::preset("linux-6").unwrap();
    let mut cubic = Cubic::new(&Setup {
        settings: &settings,
        segment_bytes: 1448,
        unit: 1,
    });
    let mut window = Window::new(&settings, 1448);
    let ack = |cubic: &mut Cubic, window: &mut Window, ms| {
        let sample = AckSample {
            now: Instant::from_ms(ms),
            acked: 1,
            segments: 1,
            marked: 0,
            rtt: None,
            srtt: None,
            una: 1,
            nxt: 2,
            state: State::Open,
            limited: true,
        };
        cubic.on_ack(window, &sample);
        cubic.epoch.map(|epoch| epoch.begin)
    };
    (window.cwnd, window.ssthresh) = (2, 2);
    let begin = Some(Instant::from_ms(100));
    assert_eq!(ack(&mut cubic, &mut window, 100), begin);
    cubic.on_loss(&mut window);
    assert_eq!((window.cwnd, window.ssthresh), (2, 2));
    assert_eq!(ack(&mut cubic, &mut window, 131), None);
    let begin = Some(Instant::from_ms(132));
    assert_eq!(ack(&mut cubic, &mut window, 132), begin);
    // another window begins one at once
    cubic.on_loss(&mut window);
    window.cwnd = 3;
    let begin = Some(Instant::from_ms(133));
    assert_eq!(ack(&mut cubic, &mut window, 133), begin);
    // and so does a timeout
    cubic.on_loss(&mut window);
    cubic.on_timeout(&mut window, Instant::from_ms(133), 2);
    (window.cwnd, window.ssthresh) = (3, 3);
    let begin = Some(Instant::from_ms(134));
    assert_eq!(ack(&mut cubic, &mut window, 134), begin);
}

/// `bictcp_cwnd_event`: idle time is the difference of two readings of a clock in ticks.
#[test]
fn idle_time_moves_the_epoch_by_whole_ticks() {
    let settings = Settings::preset("linux-6").unwrap();
    let mut cubic = Cubic::new(&Setup {
        settings: &settings,
        segment_bytes: 1448,
        unit: 1,
    });
    let us = Duration::from_us;
    for (now, idle, moved) in [(5_100, 900, 1_000), (5_900, 800, 0), (5_100, 2_050, 2_000)] {
        cubic.epoch = Some(Epoch::new(Instant::from_ms(1), 10, 20));
        cubic.on_idle(Instant::from_us(now), us(idle));
        assert_eq!(cubic.epoch.unwrap().begin, Instant::from_ms(1) + us(moved));
    }
}
