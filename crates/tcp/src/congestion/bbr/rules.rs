//! Single rules of `tcp_bbr.c`, worked out by hand on a path of 1000 segments per second and 40 ms. The product is 40
//! segments, and bursts are of two.

use super::*;
use crate::settings::Settings;

pub(super) const RTT: Duration = Duration::from_ms(40);

/// A sender, and the totals of its connection.
pub(super) struct Sender {
    pub(super) bbr: Bbr,
    pub(super) window: Window,
    pub(super) now: Instant,
    pub(super) totals: Totals,
}

pub(super) fn sender_of(unit: u64, rtt: Option<Duration>) -> Sender {
    let mut settings = Settings::preset("linux-6").unwrap();
    if unit > 1 {
        settings.window_unit = crate::settings::WindowUnit::Bytes;
    }
    let mut window = Window::new(&settings, 1448);
    let mut bbr = Bbr::new(&Setup {
        settings: &settings,
        segment_bytes: 1448,
        unit,
    });
    let now = Instant::from_secs(1);
    let start = Start {
        now,
        rtt,
        seed: 1,
        flow: 0,
        size_bytes: None,
    };
    bbr.on_established(&mut window, &start);
    let totals = Totals {
        delivered_at: now,
        ..Totals::default()
    };
    Sender {
        bbr,
        window,
        now,
        totals,
    }
}

/// A sender that knows its path, in a phase of the cycle.
pub(super) fn probing(phase: usize) -> Sender {
    let mut it = sender_of(1, Some(RTT));
    let bandwidth = Bandwidth::of(1000, Duration::from_secs(1));
    it.bbr.bandwidth.update(1, bandwidth);
    (it.bbr.mode, it.bbr.full_pipe.reached) = (Mode::ProbeBandwidth, true);
    it.bbr.cycle.phase = phase;
    it.bbr.cycle.since = it.now;
    it.bbr.update_gains();
    it.bbr.set_rate(UNIT_GAIN);
    it
}

impl Sender {
    pub(super) fn sample(&self) -> RateSample {
        RateSample {
            newly_delivered: 0,
            newly_lost: 0,
            delivered: 0,
            interval: None,
            prior_delivered: self.totals.delivered,
            app_limited: false,
            rtt: None,
            ack_delayed: false,
            totals: self.totals,
            prior_in_flight: 0,
            in_flight: 0,
            next_departure: self.now,
        }
    }

    /// A round as a single ACK, with the data delivered and lost in 100 ms.
    pub(super) fn round(&mut self, delivered: u64, lost: u64) {
        let before = self.totals.delivered;
        self.now += Duration::from_ms(100);
        self.totals.delivered += delivered;
        self.totals.lost += lost;
        self.totals.delivered_at = self.now;
        let sample = RateSample {
            newly_delivered: delivered,
            newly_lost: lost,
            delivered,
            interval: Some(Duration::from_ms(100)),
            prior_delivered: before,
            rtt: Some(RTT),
            in_flight: 40,
            prior_in_flight: 40,
            ..self.sample()
        };
        self.acks(&sample, State::Open);
    }

    pub(super) fn acks(&mut self, sample: &RateSample, state: State) {
        let ack = AckSample {
            now: self.now,
            acked: sample.newly_delivered,
            segments: sample.newly_delivered as u32,
            marked: 0,
            rtt: sample.rtt,
            srtt: sample.rtt,
            una: 0,
            nxt: 0,
            state,
            limited: true,
        };
        self.bbr.on_rate_sample(&mut self.window, &ack, sample);
    }
}

#[test]
fn the_gains_are_those_of_the_kernel() {
    // in 256ths: 2/ln 2 rounded up, its inverse, and the gains of the cycle
    assert_eq!((HIGH_GAIN, DRAIN_GAIN, WINDOW_GAIN), (739, 88, 512));
    assert_eq!(CYCLE, [320, 192, 256, 256, 256, 256, 256, 256]);
    assert_eq!((BANDWIDTH_ROUNDS, FULL_GROWTH), (10, 320));
}

/// `bbr_is_next_cycle_phase`: a gain of 5/4 takes 58 segments in flight, three bursts and two segments included; one
/// burst of them is just being sent. The product itself, with the bursts, is 46.
#[test]
fn a_phase_is_over_after_a_round_trip_if_it_has_done_its_work() {
    let (short, long) = (RTT, RTT + Duration::from_ps(1));
    for (phase, spent, in_flight, lost, over) in [
        (0, long, 55, 0, false),
        (0, long, 56, 0, true),
        (0, long, 57, 0, true),
        (0, short, 57, 0, false),
        (0, long, 55, 1, true),
        (0, short, 55, 1, false),
        (1, short, 47, 0, false),
        (1, short, 46, 0, true),
        (1, short, 45, 0, true),
        (1, long, 60, 0, true),
        (2, short, 10, 1, false),
        (2, long, 10, 0, true),
    ] {
        let mut it = probing(phase);
        it.now += spent;
        it.bbr.totals.delivered_at = it.now;
        let sample = RateSample {
            prior_in_flight: in_flight,
            newly_lost: lost,
            ..it.sample()
        };
        it.bbr.update_phase(it.now, &sample);
        let next = if over { phase + 1 } else { phase };
        assert_eq!(
            it.bbr.cycle.phase, next,
            "{phase}: {in_flight} after {spent}"
        );
    }
    // in another mode there are no phases
    let mut it = probing(2);
    it.bbr.mode = Mode::ProbeRtt;
    it.now += long;
    it.bbr.totals.delivered_at = it.now;
    it.bbr.update_phase(it.now, &it.sample());
    assert_eq!(it.bbr.cycle.phase, 2);
}

/// `bbr_update_bw`: samples that are limited by the application count only if they are larger.
#[test]
fn a_lower_bandwidth_is_believed_after_ten_rounds_and_a_higher_one_at_once() {
    let per_second = |segments| Bandwidth::of(segments, Duration::from_secs(1));
    let mut it = sender_of(1, Some(RTT));
    it.round(100, 0);
    assert_eq!(it.bbr.estimate(), per_second(1000));
    for _ in 0..10 {
        it.round(60, 0);
        assert_eq!(it.bbr.estimate(), per_second(1000));
    }
    it.round(60, 0);
    assert_eq!(it.bbr.estimate(), per_second(600));
    let sample = RateSample {
        newly_delivered: 9,
        delivered: 9,
        interval: Some(Duration::from_ms(10)),
        app_limited: true,
        ..it.sample()
    };
    it.acks(&sample, State::Open);
    assert_eq!(it.bbr.estimate(), per_second(900));
}

/// `bbr_init_pacing_rate_from_rtt`: 2.885 windows per round trip, less one percent. An unknown round trip counts as a
/// millisecond.
#[test]
fn the_first_rate_is_a_window_per_round_trip_once_one_is_known() {
    let rate = |over: Duration| {
        let bytes = Bandwidth::of(10, over).bytes_per_second(739, 1448, 1);
        bytes * 99 / 100
    };
    let mut it = sender_of(1, None);
    assert_eq!(it.bbr.pacing_rate(), Some(rate(Duration::from_ms(1))));
    let sample = RateSample {
        newly_delivered: 1,
        delivered: 1,
        interval: Some(RTT),
        rtt: Some(RTT),
        ..it.sample()
    };
    it.acks(&sample, State::Open);
    assert_eq!(it.bbr.pacing_rate(), Some(rate(RTT)));
    // from then on it only rises, whatever the round trip and the window are
    it.window.cwnd = 10;
    let slow = RateSample {
        rtt: Some(RTT * 2),
        ..sample
    };
    it.acks(&slow, State::Open);
    assert_eq!(it.bbr.pacing_rate(), Some(rate(RTT)));
    // round-trip times below a microsecond count as one
    let it = sender_of(1, Some(Duration::from_ns(1)));
    assert_eq!(it.bbr.pacing_rate(), Some(rate(Duration::from_us(1))));
}

/// `bbr_lt_bw_sampling`: while a policer's rate is used, nothing is probed; after 48 rounds the cycle begins anew.
#[test]
fn a_policed_rate_is_kept_for_48_rounds_without_probing() {
    let mut it = probing(2);
    let mut rounds = 0;
    while it.bbr.long_term.rate().is_none() {
        it.round(50, 30);
        rounds += 1;
    }
    assert_eq!(rounds, 8);
    let policed = it.bbr.long_term.rate().unwrap();
    assert_eq!(it.bbr.estimate(), policed);
    for round in 1..48 {
        it.round(50, 0);
        assert_eq!(it.bbr.pace.gain, UNIT_GAIN, "round {round}");
        assert_eq!(it.bbr.long_term.rate(), Some(policed));
    }
    // rounds outside of bandwidth probing do not count
    it.bbr.mode = Mode::Drain;
    it.bbr.totals = it.totals;
    let signs = |it: &Sender| Signs {
        totals: it.totals,
        losses: false,
        app_limited: false,
        round_starts: true,
        probes: it.bbr.mode == Mode::ProbeBandwidth,
    };
    let drains = signs(&it);
    it.bbr.detect_policer(&mut it.window, it.now, drains);
    assert_eq!(it.bbr.long_term.rate(), Some(policed));
    it.bbr.mode = Mode::ProbeBandwidth;
    it.bbr.cycle.since = Instant::ZERO;
    it.round(50, 0);
    assert_eq!(it.bbr.long_term.rate(), None);
    assert_eq!(it.bbr.cycle.since, it.now);
}

/// `bbr_set_state`: in Loss the search for the full pipe starts again, and the timeout counts as the end of a round
/// with losses.
#[test]
fn a_timeout_looks_for_the_full_pipe_anew_and_counts_for_the_policer() {
    let mut it = probing(2);
    for _ in 0..7 {
        it.round(50, 30);
    }
    assert_eq!(it.bbr.long_term.rate(), None);
    it.bbr.full_pipe.bandwidth = it.bbr.estimate();
    it.totals.delivered += 50;
    it.totals.lost += 30;
    it.totals.delivered_at += Duration::from_ms(100);
    it.bbr.on_all_lost(&mut it.window, it.now, it.totals);
    assert_eq!(it.bbr.full_pipe.bandwidth, Bandwidth::ZERO);
    assert_eq!(it.bbr.recovery.state, State::Loss);
    let policed = it.bbr.long_term.rate();
    assert!(policed.is_some());
    // a timeout in the last of the 48 rounds ends the use of the policed rate
    for _ in 0..47 {
        it.round(50, 0);
    }
    assert_eq!(it.bbr.long_term.rate(), policed);
    it.bbr.on_all_lost(&mut it.window, it.now, it.totals);
    assert_eq!(it.bbr.long_term.rate(), None);
}

/// `bbr_undo_cwnd`
#[test]
fn a_needless_recovery_forgets_the_full_pipe_and_the_policer() {
    let mut it = probing(2);
    for _ in 0..8 {
        it.round(50, 30);
    }
    (it.bbr.full_pipe.bandwidth, it.bbr.full_pipe.rounds) = (it.bbr.estimate(), 2);
    it.bbr.on_undo();
    assert_eq!(it.bbr.full_pipe.bandwidth, Bandwidth::ZERO);
    assert_eq!(it.bbr.full_pipe.rounds, 0);
    assert_eq!(it.bbr.long_term.rate(), None);
}

/// `bbr_cwnd_event`
#[test]
fn after_a_gap_it_sends_at_the_bandwidth_and_not_at_a_gain() {
    let mut it = probing(0);
    it.bbr.set_rate(it.bbr.pace.gain);
    let raised = it.bbr.pace.rate;
    it.bbr.on_resume(&mut it.window, it.now);
    assert!(it.bbr.restarts);
    // 1000 segments of 1448 bytes per second, in the kernel's unit
    assert_eq!(it.bbr.pace.rate, 1_447_981 * 99 / 100);
    assert!(raised > it.bbr.pace.rate);
    // startup continues as before
    let mut it = sender_of(1, Some(RTT));
    let rate = it.bbr.pace.rate;
    it.bbr.on_resume(&mut it.window, it.now);
    assert_eq!((it.bbr.pace.rate, it.bbr.mode), (rate, Mode::Startup));
}

/// `bbr_check_full_bw_reached`: three rounds with less than a quarter more; rounds limited by the
/// application do not count.
#[test]
fn the_pipe_is_full_after_three_rounds_with_less_than_a_quarter_more() {
    for (deliveries, full) in [
        (&[100, 124, 124, 124][..], true),
        (&[100, 124, 124], false),
        (&[100, 125, 125, 125], false),
        (&[100, 125, 125, 125, 125], true),
        (&[100, 110, 120, 130, 130, 130], false),
    ] {
        let mut it = sender_of(1, Some(RTT));
        for delivered in deliveries {
            it.round(*delivered, 0);
        }
        assert_eq!(it.bbr.full_pipe.reached, full, "{deliveries:?}");
    }
}

#[test]
fn only_probing_for_bandwidth_begins_a_cycle() {
    for (mode, begins) in [
        (Mode::Startup, false),
        (Mode::Drain, false),
        (Mode::ProbeRtt, false),
        (Mode::ProbeBandwidth, true),
    ] {
        let mut it = sender_of(1, Some(RTT));
        it.bbr.totals.delivered_at = Instant::from_secs(9);
        let cause = DecisionCause::PipeFull;
        it.bbr.enter(&mut it.window, it.now, mode, cause);
        let began = it.bbr.cycle.since == Instant::from_secs(9);
        assert_eq!((it.bbr.mode, began), (mode, begins));
    }
}

/// `bbr_update_min_rtt` and `bbr_check_probe_rtt_done` compare jiffies. Ticks are 1 ms apart here.
#[test]
fn the_ten_seconds_and_the_200_ms_are_over_at_the_tick_after_them() {
    let mut it = probing(2);
    let seen = RateSample {
        rtt: Some(RTT - Duration::from_us(1)),
        ..it.sample()
    };
    for (sample, now_us, mode) in [
        // 0.7 ms after a tick the round-trip time is lower than before
        (seen, 1_000_700, Mode::ProbeBandwidth),
        (it.sample(), 11_000_999, Mode::ProbeBandwidth),
        (it.sample(), 11_001_600, Mode::ProbeRtt),
        (it.sample(), 11_201_999, Mode::ProbeRtt),
        (it.sample(), 11_202_000, Mode::ProbeBandwidth),
    ] {
        it.bbr.round.starts = true;
        let now = Instant::from_us(now_us);
        it.bbr.update_min_rtt(now, &mut it.window, &sample);
        assert_eq!(it.bbr.mode, mode, "{now}");
    }
}
