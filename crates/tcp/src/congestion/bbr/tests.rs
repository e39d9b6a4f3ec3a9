//! BBR on paths that are one queue with a fixed rate, one round at a time.

use super::*;
use crate::settings::{Settings, WindowUnit};

/// One segment per millisecond and a round trip of 40 ms: a product of 40 segments.
const SPACING: Duration = Duration::from_ms(1);
const RTT: Duration = Duration::from_ms(40);
const PRODUCT: u64 = 40;

/// A path and a sender that always has data, stepped from ACK to ACK. Segments wait in one queue.
struct Path {
    bbr: Bbr,
    window: Window,
    now: Instant,
    /// sent segments: when each was sent, what had been delivered then and when, and when the latest delivered was sent
    flying: std::collections::VecDeque<(Instant, u64, Instant, Instant)>,
    free_at: Instant,
    arrivals: std::collections::VecDeque<Instant>,
    next_departure: Instant,
    totals: Totals,
    first_sent: Instant,
    state: State,
    lose_next: bool,
}

impl Path {
    fn new(seed: u64) -> Self {
        Self::counting(1, seed)
    }

    /// A sender whose window counts segments (a unit of 1) or bytes (of 1448).
    fn counting(unit: u64, seed: u64) -> Self {
        let mut settings = Settings::preset("linux-6").unwrap();
        if unit > 1 {
            settings.window_unit = WindowUnit::Bytes;
        }
        let mut window = Window::new(&settings, 1448);
        let mut bbr = Bbr::new(&Setup {
            settings: &settings,
            segment_bytes: 1448,
            unit,
        });
        bbr.on_established(
            &mut window,
            &Start {
                now: Instant::ZERO,
                rtt: Some(RTT),
                seed,
                flow: 0,
                size_bytes: None,
            },
        );
        Self {
            bbr,
            window,
            now: Instant::ZERO,
            flying: std::collections::VecDeque::new(),
            free_at: Instant::ZERO,
            arrivals: std::collections::VecDeque::new(),
            next_departure: Instant::ZERO,
            totals: Totals::default(),
            first_sent: Instant::ZERO,
            state: State::Open,
            lose_next: false,
        }
    }

    fn in_flight(&self) -> u64 {
        self.flying.len() as u64
    }

    /// Sends what window and pace allow before the next ACK.
    fn send(&mut self) {
        while self.in_flight() < self.window.cwnd {
            let at = self.now.max(self.next_departure);
            if self.arrivals.front().is_some_and(|ack| *ack <= at) {
                break;
            }
            let delivered_at = if self.flying.is_empty() {
                self.first_sent = at;
                at
            } else {
                self.totals.delivered_at
            };
            self.flying
                .push_back((at, self.totals.delivered, delivered_at, self.first_sent));
            self.free_at = self.free_at.max(at) + SPACING;
            self.arrivals.push_back(self.free_at - SPACING + RTT);
            let gap =
                u128::from(Duration::from_secs(1).as_ps()) * 1448 / u128::from(self.bbr.pace.rate);
            self.next_departure = at + Duration::from_ps(gap as u64);
        }
    }

    /// Delivers the next ACK, which is for one segment.
    fn ack(&mut self) {
        self.send();
        let prior_in_flight = self.in_flight();
        self.now = self.arrivals.pop_front().expect("something is in flight");
        let (sent, delivered, delivered_at, first_sent) = self.flying.pop_front().unwrap();
        let lost = u64::from(std::mem::take(&mut self.lose_next));
        self.totals.delivered += 1;
        self.totals.delivered_at = self.now;
        self.totals.lost += lost;
        self.first_sent = sent;
        let interval = (self.now - delivered_at).max(sent - first_sent);
        let sample = RateSample {
            newly_delivered: 1,
            newly_lost: lost,
            delivered: self.totals.delivered - delivered,
            interval: Some(interval),
            prior_delivered: delivered,
            app_limited: false,
            rtt: Some(self.now - sent),
            ack_delayed: false,
            totals: self.totals,
            prior_in_flight,
            in_flight: self.in_flight(),
            next_departure: self.next_departure,
        };
        let ack = AckSample {
            now: self.now,
            acked: 1,
            segments: 1,
            marked: 0,
            rtt: sample.rtt,
            srtt: None,
            una: 0,
            nxt: 0,
            state: self.state,
            limited: true,
        };
        self.bbr.on_rate_sample(&mut self.window, &ack, &sample);
    }

    /// Continues to the first ACK of another round.
    fn round(&mut self) {
        let round = self.bbr.round.number;
        while self.bbr.round.number == round {
            self.ack();
        }
    }

    fn run_to(&mut self, mode: Mode) {
        for _ in 0..1_000_000 {
            if self.bbr.mode == mode {
                return;
            }
            self.ack();
        }
        panic!("never in {mode:?}");
    }

    fn full_rate() -> Bandwidth {
        Bandwidth::of(1, SPACING)
    }
}

/// The first bandwidth leaves room for three bursts of two segments; while probing, for two segments more.
#[test]
fn a_window_in_bytes_is_that_in_segments_times_their_size() {
    for (mode, segments) in [(Mode::Startup, 6), (Mode::ProbeBandwidth, 8)] {
        for unit in [1, 1448] {
            let mut bbr = Path::counting(unit, 1).bbr;
            (bbr.mode, bbr.cycle.phase) = (mode, 0);
            assert_eq!(bbr.target(), segments * unit);
        }
    }
}

#[test]
fn startup_doubles_the_rate_each_round_until_the_pipe_is_full() {
    let mut path = Path::new(1);
    // the first window of 10 per round trip, with a gain of 2.885
    let first = path.bbr.pace.rate;
    let by_hand = (10 * 1448 * 25 * 739 / 256) * 99 / 100;
    // the kernel's unit rounds down
    assert!(first <= by_hand && by_hand - first < by_hand / 1000);
    path.round();
    let mut rates = Vec::new();
    while !path.bbr.full_pipe.reached {
        path.round();
        rates.push(path.bbr.bandwidth.get());
    }
    let bandwidth = |segments| Bandwidth::of(segments, RTT);
    assert_eq!(rates[..2], [bandwidth(10), bandwidth(20)]);
    assert!(rates[2] > bandwidth(32), "{rates:?}");
    // then three rounds in which the rate grows by less than a quarter
    assert_eq!(rates[3..], [Path::full_rate(); 3]);
}

#[test]
fn drain_takes_the_queue_away_and_sets_the_threshold() {
    let mut path = Path::new(1);
    path.run_to(Mode::Drain);
    assert_eq!(path.bbr.pace.gain, 88);
    let queued = path.in_flight();
    assert!(queued > 2 * PRODUCT, "{queued}");
    // the product, three bursts of 2, an even number
    assert!(
        (44..=48).contains(&path.window.ssthresh),
        "{}",
        path.window.ssthresh
    );
    path.run_to(Mode::ProbeBandwidth);
    // all but what is delivered until the pacer releases the next segment, at most 1.5 ms later
    let left = path.in_flight();
    assert!(left <= path.window.ssthresh + 2, "{left}");
}

#[test]
fn the_cycle_has_eight_phases_of_a_round_trip_and_begins_at_any_but_the_second() {
    let mut first_phases = std::collections::BTreeSet::new();
    for seed in 0..60 {
        let mut path = Path::new(seed);
        path.run_to(Mode::ProbeBandwidth);
        first_phases.insert(path.bbr.cycle.phase);
    }
    assert_eq!(Vec::from_iter(first_phases), [0, 2, 3, 4, 5, 6, 7]);

    let mut path = Path::new(1);
    path.run_to(Mode::ProbeBandwidth);
    while path.bbr.cycle.phase != 0 {
        path.ack();
    }
    let start = path.now;
    let mut gains = Vec::new();
    let mut starts = Vec::new();
    while gains.len() < 8 {
        let phase = path.bbr.cycle.phase;
        gains.push(path.bbr.pace.gain);
        starts.push(path.now);
        while path.bbr.cycle.phase == phase {
            path.ack();
        }
    }
    assert_eq!(gains, [320, 192, 256, 256, 256, 256, 256, 256]);
    for two in starts[2..].windows(2) {
        let took = two[1] - two[0];
        assert!(took > RTT && took <= RTT + SPACING * 2, "{took}");
    }
    assert!(path.now - start < RTT * 11);
    // the rate is known and the window twice the product and what the hosts hold
    assert!(path.bbr.estimate() >= Path::full_rate().times(UNIT_GAIN - 3));
    assert!(
        (2 * PRODUCT..2 * PRODUCT + 16).contains(&path.window.cwnd),
        "{}",
        path.window.cwnd
    );
}

#[test]
fn the_smallest_round_trip_is_measured_anew_every_ten_seconds_with_four_segments_for_200_ms() {
    // the path has become longer by less than its queue, so the first round-trip time is never seen again
    measures_anew(Duration::from_ms(39));
    // it is seen again, which is no smaller one (`bbr_update_min_rtt`, since 5.10)
    measures_anew(RTT);
}

fn measures_anew(known: Duration) {
    let mut path = Path::new(1);
    path.run_to(Mode::ProbeBandwidth);
    path.bbr.min_rtt.value = Some(known);
    path.bbr.min_rtt.at = path.now;
    let from = path.now;
    path.run_to(Mode::ProbeRtt);
    let waited = path.now - from;
    assert!(
        waited > Duration::from_secs(10) && waited < Duration::from_ms(10_010),
        "{waited}"
    );
    let before = path.bbr.recovery.window_before;
    assert!(before > PRODUCT);
    assert_eq!(path.window.cwnd, 4);
    assert!(path.bbr.is_probing_rtt());
    while path.bbr.min_rtt.probe_end.is_none() {
        path.ack();
    }
    let small_from = path.now;
    assert!(path.in_flight() <= 4);
    path.run_to(Mode::ProbeBandwidth);
    let small_for = path.now - small_from;
    assert!(
        small_for > Duration::from_ms(200) && small_for < Duration::from_ms(200) + RTT * 2,
        "{small_for}"
    );
    assert_eq!(path.bbr.min_rtt.value, Some(RTT));
    assert!(path.window.cwnd >= before.min(path.bbr.target()));
}

#[test]
fn a_recovery_keeps_the_flight_for_a_round_and_then_brings_the_window_back() {
    let mut path = Path::new(1);
    path.run_to(Mode::ProbeBandwidth);
    for _ in 0..400 {
        path.ack();
    }
    let (before, rate) = (path.window.cwnd, path.bbr.bandwidth.get());
    path.bbr.on_loss(&mut path.window);
    path.state = State::Fast;
    path.lose_next = true;
    path.ack();
    // in flight, and delivered
    assert_eq!(path.window.cwnd, path.in_flight() + 1);
    assert!(path.bbr.recovery.conserves);
    path.round();
    assert!(!path.bbr.recovery.conserves);
    path.state = State::Open;
    path.ack();
    assert!(
        path.window.cwnd.abs_diff(before) <= 8,
        "{} of {before}",
        path.window.cwnd
    );
    assert!(path.bbr.bandwidth.get() >= rate.times(UNIT_GAIN - 3));
}

#[test]
fn a_gap_of_the_application_leaves_the_bandwidth_as_it_was() {
    let mut path = Path::new(1);
    path.run_to(Mode::ProbeBandwidth);
    let known = path.bbr.bandwidth.get();
    let sample = RateSample {
        newly_delivered: 1,
        newly_lost: 0,
        delivered: 1,
        interval: Some(RTT),
        prior_delivered: path.totals.delivered,
        app_limited: true,
        rtt: Some(RTT),
        ack_delayed: false,
        totals: path.totals,
        prior_in_flight: 1,
        in_flight: 0,
        next_departure: path.now,
    };
    for _ in 0..20 {
        path.bbr
            .update_bandwidth(&mut path.window, path.now, &sample);
    }
    assert_eq!(path.bbr.bandwidth.get(), known);
    path.bbr.on_resume(&mut path.window, path.now);
    assert_eq!(path.bbr.pace.rate, path.bbr.paced(known, UNIT_GAIN));
}
