//! Quick and delayed ACKs, with the numbers of `tcp_input.c` and `tcp_timer.c`.

use super::super::OwnRtt;
use super::*;

const MS: fn(u64) -> Duration = Duration::from_ms;
const FULL: u16 = 1460;

/// A receiver that has seen full segments and estimates a gap of `ato` between segments.
struct Receiver {
    acks: AckSchedule,
    timers: Timers,
    now: Instant,
}

impl Receiver {
    fn new(ato: Duration) -> Self {
        let mut settings = Settings::preset("linux-2.6").unwrap();
        settings.quick_acks_within_estimate = false;
        let mut acks = AckSchedule::new(&settings);
        acks.ato = ato;
        acks.full.takes(FULL);
        let now = Instant::from_secs(1);
        acks.last_data = now;
        let timers = Timers::new(Duration::ZERO);
        Self { acks, timers, now }
    }

    /// A full segment arrives `gap` after the last one, at a host with this timeout and round-trip time.
    fn takes_at(&mut self, gap: Duration, rto: Duration, srtt: Option<Duration>) {
        self.now += gap;
        self.fills(u64::from(FULL), 20 * u64::from(FULL), rto, srtt);
    }

    /// A full segment arrives now. With it so many bytes are unacknowledged.
    fn fills(&mut self, unacknowledged: u64, window: u64, rto: Duration, srtt: Option<Duration>) {
        let data = InOrder {
            payload: FULL,
            unacknowledged,
            gap: false,
            window,
            own: OwnRtt { rto, srtt },
        };
        self.acks.on_in_order(&mut self.timers, self.now, &data);
    }

    fn takes(&mut self, gap: Duration) {
        self.takes_at(gap, Duration::from_secs(1), None);
    }

    fn sends(&mut self, with_data: bool) {
        self.acks.on_sent(&mut self.timers, self.now, with_data);
    }

    /// How long the ACK still waits; none if it is due.
    fn waits(&self) -> Option<Duration> {
        let at = self.timers.deadline(Timer::DelayedAck);
        (!self.acks.is_due()).then(|| at - self.now)
    }
}

/// `tcp_incr_quickack`: window / (2 `rcv_mss`), of 2 to 16.
#[test]
fn a_connection_begins_with_quick_acks_for_half_a_window() {
    for (window, quick) in [
        (0, 2),
        (2919, 2),
        (2 * 2920, 2),
        (3 * 2920 - 1, 2),
        (3 * 2920, 3),
        (10 * 2920, 10),
        (16 * 2920, 16),
        (17 * 2920, 16),
        (1 << 30, 16),
    ] {
        let mut it = Receiver::new(Duration::ZERO);
        let mut count = 0;
        loop {
            it.now += MS(1);
            it.fills(u64::from(FULL), window, MS(200), None);
            if !it.acks.is_due() {
                break;
            }
            it.sends(false);
            count += 1;
        }
        assert_eq!(count, quick, "window {window}");
    }
}

/// `tcp_event_data_recv`, with `TCP_ATO_MIN` of 40 ms.
#[test]
fn the_estimate_moves_half_of_the_way_to_a_gap_and_ignores_one_that_is_longer() {
    for (ato, gap, then) in [
        (40, 0, 40),
        (100, 0, 70),
        (100, 20, 70),
        (100, 21, 71),
        (100, 99, 149),
        (100, 100, 100),
        (100, 101, 100),
        (100, 5000, 100),
        // no gap is both longer than the estimate and shorter than half of the minimum
        (10, 20, 25),
        (10, 21, 10),
    ] {
        let mut it = Receiver::new(MS(ato));
        it.takes(MS(gap));
        assert_eq!(it.acks.ato, MS(then), "{ato} ms, then {gap}");
    }
    // at most the timeout
    let mut it = Receiver::new(MS(100));
    it.takes_at(MS(99), MS(120), None);
    assert_eq!(it.acks.ato, MS(120));
}

/// `icsk_ack.lrcvtime`, which `tcp_finish_connect` and `tcp_create_openreq_child` set.
#[test]
fn the_first_gap_begins_when_the_connection_is_established() {
    let mut settings = Settings::preset("linux-2.6").unwrap();
    settings.mss_bytes = FULL;
    let mut it = Receiver::new(Duration::ZERO);
    it.acks = AckSchedule::new(&settings);
    it.acks.begin(it.now, FULL, 0);
    // the first segment was lost, and 15 of 16 quick ACKs are left when it comes again
    it.acks.on_out_of_place(1 << 30);
    it.sends(false);
    it.takes_at(MS(1), MS(200), None);
    assert_eq!(it.acks.quick, 15);
}

#[test]
fn a_silence_longer_than_estimate_and_timeout_brings_quick_acks_back() {
    // a gap of 300 ms is within an estimate of 400 ms, which counts only in the papers' preset
    for (ato, gap, within_counts, quick) in [
        (40, 299, false, 0),
        (40, 300, false, 0),
        (40, 301, false, 10),
        (400, 301, false, 0),
        (400, 301, true, 10),
        (400, 299, true, 0),
        (40, 301, true, 10),
    ] {
        let mut it = Receiver::new(MS(ato));
        it.acks.quick_rules.within_ato = within_counts;
        it.takes_at(MS(gap), MS(300), None);
        assert_eq!(it.acks.quick, quick, "{gap} ms, expected {ato}");
    }
}

/// `tcp_send_delayed_ack`: an estimate above the minimum is limited to the round-trip time, which counts as at least 40
/// ms, and to 200 ms.
#[test]
fn an_ack_waits_for_the_estimate_but_no_longer_than_a_round_trip() {
    for (ato, srtt, waits) in [
        (30, Some(10), 30),
        (40, Some(10), 40),
        (41, Some(10), 40),
        (100, Some(10), 40),
        (100, Some(60), 60),
        (100, Some(150), 100),
        (100, None, 100),
        (190, None, 190),
        (500, None, 199),
        (500, Some(300), 199),
    ] {
        let mut it = Receiver::new(MS(ato));
        // a round trip longer than the estimate does not change it; the cap is a minimum RTO of 200 ms, less a tick
        it.acks.delay_cap = MS(199);
        it.takes_at(MS(ato), Duration::from_secs(1), srtt.map(MS));
        assert_eq!(it.waits(), Some(MS(waits)), "{ato} ms, {srtt:?}");
    }
}

/// `tcp_send_delayed_ack`: a timer that fires within a quarter of the delay is not worth waiting for.
#[test]
fn an_ack_that_was_nearly_due_goes_out_at_once() {
    for (left, at_once) in [(9, true), (10, true), (11, false), (39, false)] {
        let mut it = Receiver::new(MS(40));
        let fires = it.now + MS(40) + MS(left);
        it.timers.set(Timer::DelayedAck, fires);
        it.takes(MS(40));
        assert_eq!(it.waits().is_none(), at_once, "{left} ms are left");
    }
}

#[test]
fn more_than_a_full_segment_is_acknowledged_at_once() {
    for (unacknowledged, at_once) in [(1460, false), (1461, true), (2920, true)] {
        let mut it = Receiver::new(MS(40));
        it.fills(unacknowledged, 0, MS(200), None);
        assert_eq!(it.acks.is_due(), at_once, "{unacknowledged} bytes");
    }
}

/// `tcp_delack_timer`: the estimate was too short, so it doubles, up to the timeout. If data flowed both ways, it
/// becomes the minimum again.
#[test]
fn a_delayed_ack_that_had_to_go_doubles_the_estimate() {
    for (ato, interactive, then) in [
        (40, false, 80),
        (100, false, 200),
        (150, false, 250),
        (150, true, 40),
    ] {
        let mut it = Receiver::new(MS(ato));
        it.acks.interactive = interactive;
        it.takes(MS(ato));
        it.now = it.timers.deadline(Timer::DelayedAck);
        let early = it.now.earlier_by(MS(1));
        it.acks.on_timer(&mut it.timers, early, MS(250));
        assert!(!it.acks.is_due());
        it.acks.on_timer(&mut it.timers, it.now, MS(250));
        assert!(it.acks.is_due() && !it.acks.interactive);
        assert_eq!(it.acks.ato, MS(then), "{ato} ms");
    }
}

/// `tcp_event_data_sent` and `tcp_dec_quickack_mode`.
#[test]
fn data_soon_after_data_makes_a_connection_interactive_which_ends_quick_acks() {
    for (after, with_data, interactive) in [
        (39, true, true),
        (40, true, false),
        (41, true, false),
        (39, false, false),
    ] {
        let mut it = Receiver::new(MS(40));
        it.acks.quick = 2;
        it.now += MS(after);
        it.sends(with_data);
        assert_eq!((it.acks.interactive, it.acks.quick), (interactive, 1));
        assert_eq!(it.acks.is_quick(), !interactive, "{after} ms");
    }
    // before any data arrived, the connection is not interactive
    let mut it = Receiver::new(Duration::ZERO);
    it.sends(true);
    assert!(!it.acks.interactive);
}

#[test]
fn the_estimate_is_the_minimum_again_after_the_last_quick_ack() {
    let mut it = Receiver::new(MS(90));
    it.acks.quick = 2;
    it.sends(false);
    assert_eq!((it.acks.quick, it.acks.ato), (1, MS(90)));
    it.sends(false);
    assert_eq!((it.acks.quick, it.acks.ato), (0, MS(40)));
    it.acks.ato = MS(90);
    it.sends(false);
    assert_eq!(it.acks.ato, MS(90));
}

/// `__tcp_ack_snd_check` since 4.18: after a gap was filled in part, its three prompt ACKs start again. The ACK of the
/// filling segment is one of them, unless it was due anyway: two segments were unacknowledged, or it was a quick ACK, as
/// after a segment that is probably a retransmission. Nor is any other ACK that is due anyway.
#[test]
fn a_partly_filled_gap_has_two_more_prompt_acks() {
    let nothing: fn(&mut AckSchedule) = |_| ();
    for (unacknowledged, before, after, prompt) in [
        (1460, nothing, nothing, 2),
        (1461, nothing, nothing, 3),
        (1460, |it| it.quick = 1, nothing, 1 + 3),
        (1460, AckSchedule::quick_for_ecn, nothing, 2 + 3),
        (1460, nothing, AckSchedule::at_once, 1 + 2),
    ] {
        let mut it = Receiver::new(MS(40));
        it.acks.quick_rules.after_gap = false;
        it.acks.compression = SackCompression::new(44);
        before(&mut it.acks);
        it.acks.on_partly_filled(5000, unacknowledged);
        after(&mut it.acks);
        let mut count = 0;
        loop {
            let (timers, now) = (&mut it.timers, it.now);
            it.acks.on_out_of_order(timers, now, 5000, 1 << 20, None);
            if !it.acks.is_due() {
                break;
            }
            it.sends(false);
            count += 1;
        }
        assert_eq!(count, prompt);
    }
}

#[test]
fn a_connection_that_is_gone_acknowledges_nothing() {
    let mut it = Receiver::new(MS(40));
    it.acks.at_once();
    it.acks.abort();
    assert!(!it.acks.is_due());
}

/// Merged segments are acknowledged when the adapter's time is over, and not earlier.
#[test]
fn a_merge_is_acknowledged_at_its_end_as_one_segment() {
    let mut it = Receiver::new(MS(40));
    it.acks.policy = AckPolicy::EverySegment;
    it.acks.merge = Merge::new(Duration::from_us(20));
    it.takes(MS(40));
    it.takes(Duration::from_us(5));
    assert!(!it.acks.is_due());
    let end = it.now + Duration::from_us(15);
    it.acks.on_timer(
        &mut it.timers,
        end.earlier_by(Duration::from_ps(1)),
        MS(200),
    );
    assert!(!it.acks.is_due());
    it.acks.on_timer(&mut it.timers, end, MS(200));
    assert!(it.acks.is_due());
}

/// `tcp_gro_receive`: a FIN is merged with the data before it, and nothing after it.
#[test]
fn a_fin_ends_a_merge() {
    let mut it = Receiver::new(MS(40));
    it.acks.merge = Merge::new(Duration::from_us(20));
    it.takes(MS(40));
    it.takes(Duration::from_us(5));
    let (rto, srtt) = (MS(200), None);
    let fin = InOrder {
        payload: 0,
        unacknowledged: 2 * u64::from(FULL) + 1,
        gap: false,
        window: 0,
        own: OwnRtt { rto, srtt },
    };
    it.acks.on_fin(&mut it.timers, it.now, &fin);
    assert!(it.acks.is_due());
    assert_eq!(it.timers.next(), Instant::NEVER);
}

/// `tcp_dec_quickack_mode`: since 6.6 it counts ACKs of new data, before that every segment sent.
#[test]
fn what_acknowledges_nothing_new_uses_up_a_quick_ack_in_older_kernels_only() {
    for (for_data_only, arrived, left) in [
        (true, false, 2),
        (true, true, 1),
        (false, false, 1),
        (false, true, 1),
    ] {
        let mut it = Receiver::new(MS(40));
        it.acks.quick_rules.for_data_only = for_data_only;
        it.acks.quick = 2;
        if arrived {
            it.acks.on_data();
        }
        it.sends(false);
        assert_eq!(it.acks.quick, left, "{for_data_only}, {arrived}");
        // everything is acknowledged, so the next segment acknowledges nothing new
        it.sends(false);
        assert_eq!(it.acks.quick, left - u8::from(!for_data_only));
    }
}

/// `tcp_event_data_recv` counts in `tcp_jiffies32`, here of 4 ms. A gap is a number of ticks, and half of eleven ticks
/// is five.
#[test]
fn a_kernel_estimates_the_gap_in_whole_ticks() {
    for (at_us, after_us, ato, then) in [
        // from one edge to the next, one tick, however short or long
        (3_999, 2, 44, 40),
        (0, 7_999, 44, 40),
        // 28 ms are seven ticks, 27.9 ms from just before an edge are seven as well, and 31.9 ms from an edge
        (0, 28_000, 44, 48),
        (3_950, 27_900, 44, 48),
        (0, 31_900, 44, 48),
        // a gap of 20.1 ms is six ticks: more than half of the minimum, which is five ticks
        (3_950, 20_100, 44, 44),
        (0, 20_100, 44, 40),
    ] {
        let mut it = Receiver::new(Duration::ZERO);
        it.timers = Timers::new(MS(4));
        let second = Instant::from_secs(1);
        it.now = second + Duration::from_us(at_us);
        it.takes(Duration::ZERO);
        it.acks.ato = MS(ato);
        it.takes(Duration::from_us(after_us));
        assert_eq!(it.acks.ato, MS(then), "{after_us} us from {at_us} us on");
    }
}

/// `tcp_send_delayed_ack` compares the end of the timer's span, which is one tick before the timer fires, with the
/// present tick plus a quarter of the estimate.
#[test]
fn an_ack_that_is_nearly_due_is_found_in_whole_ticks() {
    // a quarter of 44 ms is 11 ms: two ticks
    for (fires_ms, at_once) in [(1012, true), (1016, false)] {
        let mut it = Receiver::new(MS(44));
        it.timers = Timers::new(MS(4));
        it.timers.set(Timer::DelayedAck, Instant::from_ms(fires_ms));
        it.now += Duration::from_us(3_900);
        it.acks.last_data = Instant::from_ms(900);
        it.takes(Duration::ZERO);
        assert_eq!(it.acks.is_due(), at_once, "{fires_ms} ms");
    }
}
