//! What a congestion control gets from the sender, and what the sender does with the window itself.

use std::sync::{Arc, Mutex};

use super::*;
use crate::decision::Decision;
use crate::recovery::State;
use crate::settings::WindowUnit;

type Calls = Arc<Mutex<Vec<String>>>;

/// Records what is reported to it, and answers `true` to every question.
#[derive(Debug)]
struct Spy {
    calls: Calls,
    yes: bool,
}

impl Spy {
    fn heard(&self, call: impl Into<String>) {
        self.calls.lock().unwrap().push(call.into());
    }
}

impl Controller for Spy {
    fn on_established(&mut self, _window: &mut Window, start: &Start) {
        self.heard(format!("established, seed {}", start.seed));
    }
    fn on_ack(&mut self, _window: &mut Window, ack: &AckSample) {
        self.heard(format!("ack of {}", ack.acked));
    }
    fn on_sack_rtt(&mut self, _window: &mut Window, ack: &AckSample) {
        self.heard(format!("sack, {}", ack.rtt.unwrap()));
    }
    fn on_rate_sample(&mut self, _window: &mut Window, _ack: &AckSample, rate: &RateSample) {
        self.heard(format!("rate of {}", rate.delivered));
    }
    fn on_loss(&mut self, window: &mut Window) {
        self.heard(format!("loss at {}", window.cwnd));
        window.lower_threshold(window.cwnd / 2);
    }
    fn on_mark(&mut self, window: &mut Window) {
        self.heard("mark");
        window.lower_threshold(7);
    }
    fn on_timeout(&mut self, window: &mut Window, now: Instant, nxt: u64) {
        self.heard(format!(
            "timeout at {now}, window {}, next {nxt}",
            window.cwnd
        ));
    }
    fn on_undo(&mut self) {
        self.heard("undo");
    }
    fn on_idle(&mut self, _now: Instant, idle: Duration) {
        self.heard(format!("idle for {idle}"));
    }
    fn on_resume(&mut self, _window: &mut Window, _now: Instant) {
        self.heard("resume");
    }
    fn use_ecn(&mut self) {
        self.heard("ecn");
    }
    fn on_ecn_ack(&mut self, ack: &EcnAck) {
        self.heard(format!("ecn ack {} of {}", ack.una, ack.nxt));
    }
    fn reduces_after_mark(&self) -> bool {
        self.yes
    }
    fn needs_ecn(&self) -> bool {
        self.yes
    }
    fn least_window(&self, window: &Window) -> u64 {
        window.ssthresh / 3
    }
    fn sets_window(&self) -> bool {
        self.yes
    }
    fn wants_rate_samples(&self) -> bool {
        self.yes
    }
    fn is_probing_rtt(&self) -> bool {
        self.yes
    }
    fn pacing_rate(&self) -> Option<u64> {
        self.yes.then_some(1234)
    }
}

/// A congestion control of another crate, in a sender with a window of 20 segments.
fn spied(yes: bool) -> (Congestion, Calls) {
    let calls = Calls::default();
    let heard = Arc::clone(&calls);
    let mut settings = Settings::preset("linux-6").unwrap();
    settings.congestion_control = CongestionControl::custom("spy", move |_| {
        let calls = Arc::clone(&heard);
        Box::new(Spy { calls, yes })
    });
    let mut congestion = Congestion::new(&settings, 1448);
    congestion.set_window(20);
    (congestion, calls)
}

fn ack(acked: u64) -> AckSample {
    AckSample {
        now: Instant::from_secs(1),
        acked,
        segments: acked as u32,
        marked: 0,
        rtt: Some(Duration::from_ms(7)),
        srtt: None,
        una: 0,
        nxt: 0,
        state: State::Open,
        limited: true,
    }
}

#[test]
fn a_congestion_control_is_told_everything_once() {
    let (mut it, calls) = spied(false);
    let now = Instant::from_secs(1);
    it.on_established(&Start {
        now,
        rtt: None,
        seed: 5,
        flow: 0,
        size_bytes: None,
    });
    it.on_ack(&ack(3));
    it.on_sack_rtt(&ack(1));
    it.on_rate_sample(&ack(1), &rate(4));
    it.on_loss();
    it.on_mark();
    it.on_timeout(true, now, 30);
    it.on_timeout(false, now, 30);
    it.undo(20, 10);
    it.on_idle(now, Duration::from_ms(9));
    it.on_resume(now);
    it.use_ecn();
    it.on_ecn_ack(&EcnAck {
        una: 10,
        nxt: 20,
        delivered: 9,
        marked: 3,
    });
    let expected = [
        "established, seed 5",
        "ack of 3",
        "sack, 7 ms",
        "rate of 4",
        "loss at 20",
        "mark",
        "loss at 7",
        "timeout at 1 s, window 1, next 30",
        "timeout at 1 s, window 1, next 30",
        "undo",
        "idle for 9 ms",
        "resume",
        "ecn",
        "ecn ack 10 of 20",
    ];
    assert_eq!(*calls.lock().unwrap(), expected);
}

fn rate(delivered: u64) -> RateSample {
    RateSample {
        newly_delivered: delivered,
        newly_lost: 0,
        delivered,
        interval: None,
        prior_delivered: 0,
        app_limited: false,
        rtt: None,
        ack_delayed: false,
        totals: Totals::default(),
        prior_in_flight: 0,
        in_flight: 0,
        next_departure: Instant::ZERO,
    }
}

#[test]
fn a_congestion_control_is_asked_what_it_needs() {
    for yes in [false, true] {
        let (it, _) = spied(yes);
        let answers = [
            it.reduces_after_mark(),
            it.needs_ecn(),
            it.sets_window(),
            it.wants_rate_samples(),
            it.is_probing_rtt(),
            it.pacing_rate() == Some(1234),
        ];
        assert_eq!(answers, [yes; 6]);
    }
    let (mut it, _) = spied(false);
    it.on_loss();
    assert_eq!(it.least_window(), 3);
}

#[test]
fn newreno_needs_nothing() {
    let mut settings = Settings::preset("linux-6").unwrap();
    settings.congestion_control = CongestionControl::NewReno;
    let it = Congestion::new(&settings, 1448);
    let answers = [
        it.reduces_after_mark(),
        it.needs_ecn(),
        it.sets_window(),
        it.wants_rate_samples(),
        it.is_probing_rtt(),
        it.pacing_rate().is_some(),
    ];
    assert_eq!(answers, [false; 6]);
}

/// Where it does not set the window alone, as BBR does, recovery and undo set it.
#[test]
fn only_a_congestion_control_that_sets_the_window_alone_keeps_it_in_recovery() {
    for (alone, kept, undone) in [(false, 10, 30), (true, 20, 20)] {
        let (mut it, _) = spied(alone);
        it.on_loss();
        assert_eq!((it.window().cwnd, it.window().ssthresh), (kept, 10));
        it.undo(30, 40);
        assert_eq!((it.window().cwnd, it.window().ssthresh), (undone, 40));
        // a larger window does not change
        it.undo(5, 5);
        assert_eq!((it.window().cwnd, it.window().ssthresh), (undone, 40));
    }
}

/// The decisions that an endpoint published.
#[derive(Default)]
struct Published(Vec<(Instant, Decision)>);

impl Events for Published {
    fn decision(&mut self, now: Instant, decision: Decision) {
        self.0.push((now, decision));
    }
}

fn published(it: &mut Congestion, now: Instant) -> Vec<(Instant, Decision)> {
    let mut all = Published::default();
    it.pass_decisions(now, &mut all);
    assert!(!it.has_decisions());
    all.0
}

/// RFC 2861 3.2: the window falls halfway to what was used, and the threshold keeps three quarters of the window. The
/// initial window counts as used.
#[test]
fn an_unused_window_comes_half_of_the_way_down_to_its_use() {
    for (cwnd, used, then, threshold) in [
        (40, 20, 30, 30),
        (41, 20, 30, 30),
        (43, 12, 27, 31),
        (40, 0, 25, 30),
        (40, 39, 39, 30),
    ] {
        let (mut it, _) = spied(false);
        it.set_window(cwnd);
        it.window.lower_threshold(2);
        it.reduce_unused(Instant::from_secs(1), used);
        let window = it.window();
        assert_eq!((window.cwnd, window.ssthresh), (then, threshold));
        assert!(it.has_decisions());
        let all = published(&mut it, Instant::from_secs(2));
        let (at, decision) = all[0];
        // published with the time when it was made
        assert_eq!((all.len(), at), (1, Instant::from_secs(1)));
        assert_eq!(decision.what, DecisionKind::UnusedWindow);
        assert_eq!(decision.cwnd_before_bytes, cwnd * 1448);
        assert_eq!(decision.cwnd_after_bytes, then * 1448);
        assert_eq!(decision.ssthresh_bytes, threshold * 1448);
    }
    // a window that was used or that is the initial one does not change, nor does the threshold
    for (cwnd, used) in [(40, 40), (40, 41), (10, 3), (9, 0)] {
        let (mut it, _) = spied(false);
        it.set_window(cwnd);
        it.window.lower_threshold(2);
        it.reduce_unused(Instant::from_secs(1), used);
        assert_eq!((it.window().cwnd, it.window().ssthresh), (cwnd, 2));
        assert!(!it.has_decisions());
    }
}

/// RFC 2861 3.1 and `tcp_cwnd_restart`.
#[test]
fn an_idle_window_is_halved_per_timeout_down_to_the_initial_one() {
    for (cwnd, halvings, then, threshold) in [
        (80, 0, 80, 60),
        (80, 1, 40, 60),
        (80, 3, 10, 60),
        (80, 4, 10, 60),
        (80, 64, 10, 60),
        (80, 1 << 40, 10, 60),
        (10, 1, 10, 7),
        (6, 1, 6, 4),
    ] {
        let (mut it, _) = spied(false);
        it.set_window(cwnd);
        it.window.lower_threshold(2);
        it.reduce_idle(Instant::from_secs(1), halvings);
        let window = it.window();
        assert_eq!(
            (window.cwnd, window.ssthresh),
            (then, threshold),
            "{cwnd} halved {halvings} times"
        );
        let all = published(&mut it, Instant::from_secs(1));
        let kinds: Vec<DecisionKind> = all.iter().map(|(_, it)| it.what).collect();
        let expected: &[DecisionKind] = if then < cwnd {
            &[DecisionKind::IdleRestart]
        } else {
            &[]
        };
        assert_eq!(kinds, expected, "{cwnd} halved {halvings} times");
    }
    // a larger threshold does not change
    let (mut it, _) = spied(false);
    it.reduce_idle(Instant::ZERO, 1);
    assert_eq!(it.window().ssthresh, u64::MAX);
}

#[test]
fn a_lost_syn_starts_with_one_segment() {
    let mut settings = Settings::preset("linux-6").unwrap();
    settings.window_unit = WindowUnit::Bytes;
    let mut it = Congestion::new(&settings, 1448);
    assert_eq!(it.window().cwnd, 10 * 1448);
    it.start_with_one_segment();
    assert_eq!(it.window().cwnd, 1448);
}

/// The end of slow start is published with its cause. After it, a loss or a mark is no such end.
#[test]
fn a_loss_in_slow_start_ends_it_and_one_later_does_not() {
    let causes = |it: &mut Congestion| -> Vec<_> {
        published(it, Instant::ZERO)
            .iter()
            .map(|(_, it)| (it.what, it.cause))
            .collect()
    };
    let (end, mark) = (DecisionKind::SlowStartEnd, DecisionKind::EcnReduction);
    let (mut it, _) = spied(false);
    it.on_loss();
    assert_eq!(causes(&mut it), [(end, DecisionCause::Loss)]);
    it.on_loss();
    assert_eq!(causes(&mut it), []);
    let (mut it, _) = spied(false);
    it.on_mark();
    let both = [(end, DecisionCause::Mark), (mark, DecisionCause::Mark)];
    assert_eq!(causes(&mut it), both);
    it.on_mark();
    assert_eq!(causes(&mut it), both[1..]);
    // an algorithm that sets the window alone has no slow start of this kind
    let (mut it, _) = spied(true);
    it.on_loss();
    assert_eq!(causes(&mut it), []);
}

/// A window in bytes may briefly be below one segment. It grows like any other, and nothing is divided by zero.
#[test]
fn a_window_below_one_segment_grows() {
    let mut settings = Settings::preset("linux-6").unwrap();
    (settings.window_unit, settings.hystart) = (WindowUnit::Bytes, false);
    for control in [CongestionControl::Cubic, CongestionControl::Bic] {
        settings.congestion_control = control;
        let mut it = Congestion::new(&settings, 1448);
        (it.window.cwnd, it.window.ssthresh) = (700, 0);
        for _ in 0..4 {
            it.on_ack(&ack(1448));
        }
        assert!(it.window.cwnd > 700 + 1448);
    }
}
