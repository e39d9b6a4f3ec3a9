//! Window growth under random ACKs, losses, timeouts and pauses, compared with a second implementation of the kernel's
//! functions: `tcp_slow_start` and `tcp_cong_avoid_ai` here, `bictcp_update` of BIC and of CUBIC in the files beside
//! this one.

mod bic;
mod cubic;

use fairport_units::{Duration, Instant};
use proptest::prelude::*;

use super::Congestion;
use crate::AckSample;
use crate::recovery::State;
use crate::settings::{Settings, WindowUnit};

/// What happens to a sender.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Ack(Ack),
    Loss,
    Timeout,
    Pause(Duration),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    /// time since the last event
    gap: Duration,
    segments: u32,
    rtt: Option<Duration>,
    /// the ACK only SACKs, so the window does not change
    sacks: bool,
    /// the window limited the sender
    limited: bool,
    state: State,
}

/// Gaps around the limits in the rules: 1/32 s, for which a rate is kept, and one second after a loss.
fn any_gap() -> impl Strategy<Value = Duration> {
    prop_oneof![
        4 => Just(Duration::ZERO),
        8 => (0_u64..3_000).prop_map(Duration::from_us),
        2 => (20_u64..60).prop_map(Duration::from_ms),
        1 => Just(Duration::from_us(31_250)),
        1 => Just(Duration::from_ps(31_250_000_001)),
        1 => Just(Duration::from_ms(500)),
        1 => Just(Duration::from_secs(1)),
        1 => (0_u64..4_000).prop_map(Duration::from_ms),
    ]
}

fn any_event() -> impl Strategy<Value = Event> {
    let rtt = prop::option::of((1_u64..200_000).prop_map(Duration::from_us));
    let state = prop_oneof![8 => Just(State::Open), 1 => Just(State::Fast), 1 => Just(State::Loss)];
    let sacks = prop::bool::weighted(0.05);
    let ack = (
        any_gap(),
        1_u32..5,
        rtt,
        sacks,
        prop::bool::weighted(0.9),
        state,
    )
        .prop_map(|(gap, segments, rtt, sacks, limited, state)| {
            Event::Ack(Ack {
                gap,
                segments,
                rtt,
                sacks,
                limited,
                state,
            })
        });
    prop_oneof![
        60 => ack,
        2 => Just(Event::Loss),
        1 => Just(Event::Timeout),
        1 => (0_u64..3_000).prop_map(|ms| Event::Pause(Duration::from_ms(ms))),
    ]
}

/// A sender's window and threshold at the beginning, and the events that follow.
pub(super) fn any_course() -> impl Strategy<Value = (u64, u64, Vec<Event>)> {
    let window = prop_oneof![1_u64..20, 10_u64..60, 50_u64..3_000];
    let threshold = prop_oneof![Just(1), 1_u64..100, Just(u64::MAX)];
    let events = prop::collection::vec(any_event(), 1..300);
    (window, threshold, events)
}

/// A kernel's congestion control. Windows are in segments.
pub(super) trait Kernel {
    /// `pkts_acked`
    fn sees(&mut self, now: Instant, ack: &Ack);
    /// `cong_avoid` above the threshold: segments to be acknowledged for one segment of growth.
    fn count(&mut self, now: Instant, cwnd: u64, acked: u64) -> u64;
    /// `ssthresh`
    fn threshold(&mut self, cwnd: u64) -> u64;
    /// `set_state` to Loss
    fn reset(&mut self);
    /// `cwnd_event` of the first segment after a pause
    fn paused(&mut self, _now: Instant, _pause: Duration) {}
}

/// Settings of a stack that counts segments, or ACKs as kernels before 3.13 did.
pub(super) fn settings(control: &str, counts_acks: bool, unit: u64) -> Settings {
    let overrides = serde_json::json!({
        "congestion_control": control, "abc": !counts_acks, "hystart": false,
    });
    let mut settings = Settings::preset("linux-6")
        .unwrap()
        .with(overrides.as_object().unwrap())
        .unwrap();
    if unit > 1 {
        settings.window_unit = WindowUnit::Bytes;
    }
    settings
}

/// The window after each event, of the sender and of the kernel's functions, both in segments.
pub(super) fn compare(
    settings: &Settings,
    course: &(u64, u64, Vec<Event>),
    kernel: &mut impl Kernel,
) -> Result<(), TestCaseError> {
    let mut congestion = Congestion::new(settings, 1448);
    let unit = congestion.window.unit();
    let (mut cwnd, mut threshold, ref events) = *course;
    congestion.window.cwnd = cwnd * unit;
    congestion.window.ssthresh = threshold.saturating_mul(unit);
    let mut counted = 0;
    let mut now = Instant::from_secs(100);
    for (number, event) in events.iter().enumerate() {
        match event {
            Event::Ack(ack) => {
                now += ack.gap;
                let segments = u64::from(ack.segments);
                let sample = AckSample {
                    now,
                    acked: segments * unit,
                    segments: ack.segments,
                    marked: 0,
                    rtt: ack.rtt,
                    srtt: None,
                    una: 0,
                    nxt: 0,
                    state: ack.state,
                    limited: ack.limited,
                };
                if ack.sacks {
                    congestion.on_sack_rtt(&sample);
                } else {
                    congestion.on_ack(&sample);
                }
                kernel.sees(now, ack);
                if ack.limited && ack.state != State::Fast && !ack.sacks {
                    let left = slow_start(settings, &mut cwnd, threshold, segments);
                    if left > 0 {
                        let count = kernel.count(now, cwnd, left);
                        avoid_congestion(settings, &mut cwnd, &mut counted, count, left);
                    }
                }
            }
            Event::Loss => {
                congestion.on_loss();
                threshold = kernel.threshold(cwnd).max(2);
                (cwnd, counted) = (threshold, 0);
            }
            Event::Timeout => {
                congestion.on_timeout(true, now, 0);
                threshold = kernel.threshold(cwnd).max(2);
                (cwnd, counted) = (1, 0);
                kernel.reset();
            }
            Event::Pause(pause) => {
                now += *pause;
                congestion.on_idle(now, *pause);
                kernel.paused(now, *pause);
            }
        }
        let window = congestion.window();
        prop_assert_eq!(window.cwnd, cwnd * unit, "event {} is {:?}", number, event);
        prop_assert_eq!(window.ssthresh, threshold.saturating_mul(unit));
    }
    Ok(())
}

/// The part of an ACK that slow start leaves for congestion avoidance.
fn slow_start(settings: &Settings, cwnd: &mut u64, threshold: u64, acked: u64) -> u64 {
    if *cwnd >= threshold {
        return acked;
    }
    if !settings.abc {
        *cwnd += 1;
        return 0;
    }
    let grown = threshold.min(*cwnd + acked);
    let used = grown - *cwnd;
    *cwnd = grown;
    acked - used
}

/// `tcp_cong_avoid_ai`, as in 3.13 and later or as before.
fn avoid_congestion(
    settings: &Settings,
    cwnd: &mut u64,
    counted: &mut u64,
    count: u64,
    acked: u64,
) {
    if *counted >= count {
        *counted = 0;
        *cwnd += 1;
        if !settings.abc {
            return;
        }
    }
    if !settings.abc {
        *counted += 1;
        return;
    }
    *counted += acked;
    *cwnd += *counted / count;
    *counted %= count;
}
