//! What holds whatever the network does, and whatever arrives.

use crate::pair::{Fate, Pair, stack};
use fairport_tcp::{
    Connection, Ecn, Flags, Options, SackBlock, Segment, Settings, SynOptions, Timestamps,
};
use fairport_units::{Duration, Instant};
use proptest::prelude::*;
use serde_json::json;

fn any_stack() -> impl Strategy<Value = Settings> {
    (
        prop::sample::select(Settings::PRESETS),
        prop::sample::select(&["newreno", "bic", "cubic", "dctcp", "bbr"][..]),
        prop::sample::select(&["segments", "bytes"][..]),
        prop::sample::select(&["every-segment", "delayed", "quick-ack"][..]),
        any::<[bool; 6]>(),
        prop::sample::select(&[1460_u32, 3000, 20_000, 1_000_000][..]),
        prop::sample::select(&["full", "full", "static", "adaptive"][..]),
        prop::sample::select(&["off", "off", "window", "linux"][..]),
        prop::sample::select(&[0_u64, 1_000_000, 1_000_000_000][..]),
        prop_oneof![Just([false; 6]), Just([true; 6]), any::<[bool; 6]>()],
    )
        .prop_map(|(preset, control, unit, acks, on, buffer, sizing, pacing, tick_ps, repair)| {
            // the one pair that is refused
            let pacing = if control == "bbr" { "off" } else { pacing };
            stack(
                preset,
                &json!({
                    "congestion_control": control, "window_unit": unit, "ack_policy": acks,
                    "sack": on[0], "timestamps": on[1], "nagle": on[2], "abc": on[3],
                    "limited_transmit": on[4], "ecn": on[5], "receive_buffer_bytes": buffer, "window_scale": 5,
                    "rto_min_ps": 2_000_000_000_u64, "mss_bytes": 1400,
                    "payload_sizing": sizing, "pacing": pacing, "pacing_granularity_ps": tick_ps,
                    "send_gap_max_ps": tick_ps / 10,
                    "rack": repair[0], "tail_loss_probe": repair[1],
                    "window_reduction": if !repair[2] { "at-once" } else if repair[3] { "prr" } else { "rate-halving" },
                    "dsack": repair[3], "undo": repair[4], "frto": repair[5],
                    "early_retransmit": repair[0] != repair[1], "fack": repair[1] != repair[2]
                }),
            )
        })
}

/// Settings at and near the limits that validation sets.
fn any_extreme_stack() -> impl Strategy<Value = Settings> {
    const HOUR: u64 = 3_600_000_000_000_000;
    let span = || prop::sample::select(vec![1, 1_000_000, 200_000_000_000, HOUR]);
    let tick = || prop::sample::select(vec![0, 1, 1_000_000, 4_000_000_000, HOUR]);
    (
        prop::sample::select(Settings::PRESETS),
        prop::sample::select(&["newreno", "bic", "cubic", "dctcp", "bbr"][..]),
        prop::sample::select(&["segments", "bytes"][..]),
        prop::sample::select(&[64_u16, 65, 1460, 65_495][..]),
        prop::sample::select(&[1_u32, 10, u32::MAX][..]),
        prop::sample::select(&[(0_u8, 65_535_u64), (14, 65_535 << 14)][..]),
        [span(), span(), span()],
        [tick(), tick(), tick()],
        prop::sample::select(&["full", "static", "adaptive"][..]),
        prop::sample::select(&["off", "window", "linux"][..]),
        any::<[bool; 4]>(),
    )
        .prop_map(|(preset, control, unit, mss, initial, window, spans, ticks, sizing, pacing, on)| {
            let pacing = if control == "bbr" { "off" } else { pacing };
            let second = 1_000_000_000_000;
            stack(
                preset,
                &json!({
                    "congestion_control": control, "window_unit": unit, "mss_bytes": mss,
                    "initial_window_segments": initial, "abc_limit_segments": initial,
                    "window_scale": window.0, "receive_buffer_bytes": window.1,
                    "rto_min_ps": spans[0], "rto_initial_ps": spans[1], "rto_max_ps": HOUR,
                    "delayed_ack_min_ps": spans[2].min(second / 5), "delayed_ack_max_ps": spans[2],
                    // with timestamps that wrap soon, PAWS takes what is new for old
                    "paws": false, "clock_granularity_ps": spans[2],
                    "rtt_tick_ps": ticks[0], "clock_tick_ps": ticks[1], "timer_slack_ps": ticks[2],
                    "pacing": pacing, "pacing_granularity_ps": ticks[2].min(second),
                    "send_gap_max_ps": ticks[0].min(second), "receive_offload_ps": ticks[1].min(second),
                    "payload_sizing": sizing, "payload_min_bytes": 1,
                    "sack": on[0], "timestamps": on[1], "ecn": on[2], "segmentation_offload": on[3]
                }),
            )
        })
}

fn any_fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        6 => Just(Fate::Arrive),
        2 => Just(Fate::Lose),
        1 => Just(Fate::Twice),
        1 => Just(Fate::Mark),
        1 => (1_u64..3000).prop_map(|us| Fate::Late(Duration::from_us(us))),
    ]
}

fn any_segment() -> impl Strategy<Value = Segment> {
    // near the numbers in use as well as anywhere
    let number = || prop_oneof![3 => 0_u32..20_000, 1 => any::<u32>(), 1 => (0_u32..9000).prop_map(|n| 0_u32.wrapping_sub(n))];
    let blocks = prop::collection::vec((number(), number()), 0..=Options::MAX_SACKS);
    let flags = prop_oneof![4 => Just(Flags::ACK), 1 => any::<u8>().prop_map(Flags::from_bits)];
    let payload = prop_oneof![Just(0), 0_u16..1500, any::<u16>()];
    let syn = (any::<u16>(), any::<Option<u8>>(), any::<bool>());
    (
        (number(), number(), payload, any::<u16>(), flags),
        (blocks, any::<Option<(u32, u32)>>(), syn),
    )
        .prop_map(
            |((seq, ack, payload, window, flags), (blocks, stamps, syn))| {
                let mut segment = Segment {
                    seq,
                    ack,
                    payload,
                    window,
                    flags,
                    ..Segment::default()
                };
                if let Some((val, ecr)) = stamps {
                    segment.options.set_timestamps(Timestamps { val, ecr });
                }
                if flags.contains(Flags::SYN) {
                    let (mss, window_scale, sack_permitted) = syn;
                    segment.options.set_syn(SynOptions {
                        mss,
                        window_scale,
                        sack_permitted,
                    });
                } else {
                    let room = segment.options.sack_room();
                    for (start, end) in blocks.into_iter().take(room) {
                        segment.options.push_sack(SackBlock { start, end });
                    }
                }
                segment
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(400)
    })]

    #[test]
    fn every_byte_arrives_once_and_in_order_and_the_connection_ends(
        client in any_stack(),
        server in any_stack(),
        size in 0_u64..120_000,
        fates in prop::collection::vec(any_fate(), 0..300),
    ) {
        let mut fates = fates.into_iter();
        let mut pair = Pair::new(&client, &server, Duration::from_us(100))
            .spaced(Duration::from_us(5))
            .through(move |_| fates.next().unwrap_or(Fate::Arrive));
        pair.client.write(size);
        pair.client.close();
        let mut before = 0;
        pair.run_while(|pair| {
            let delivered = pair.server.delivered_bytes();
            assert!(before <= delivered && delivered <= size);
            before = delivered;
            true
        });
        prop_assert_eq!(pair.server.delivered_bytes(), size);
        prop_assert!(pair.client.is_finished() && pair.server.is_finished());
        prop_assert_eq!(pair.client.gauges().in_flight_bytes, 0);
        prop_assert_eq!(pair.client.gauges().acked_bytes, size);
        let counters = pair.client.counters();
        prop_assert_eq!(counters.timeouts as usize, pair.client_log.timeouts.len());
        prop_assert!(counters.retransmits <= counters.segments_sent);
    }

    #[test]
    fn at_the_limits_of_the_settings_and_of_the_path_every_byte_arrives(
        client in any_extreme_stack(),
        server in any_extreme_stack(),
        one_way in prop::sample::select(&[0_u64, 1, 1_000_000, 50_000_000_000, 10_000_000_000_000_000][..]),
        spacing in prop::sample::select(&[0_u64, 1, 1_000_000, 1_000_000_000_000][..]),
        size in 0_u64..5_000,
        fates in prop::collection::vec(any_fate(), 0..30),
    ) {
        let mut fates = fates.into_iter();
        let mut pair = Pair::new(&client, &server, Duration::from_ps(one_way))
            .spaced(Duration::from_ps(spacing))
            .through(move |_| fates.next().unwrap_or(Fate::Arrive));
        pair.client.write(size);
        pair.client.close();
        let mut steps = 0;
        pair.run_while(|_| {
            steps += 1;
            steps < 100_000
        });
        prop_assert_eq!(pair.server.delivered_bytes(), size);
        prop_assert!(pair.client.is_finished() && pair.server.is_finished());
    }

    #[test]
    fn both_sides_may_send_at_once(
        client in any_stack(),
        server in any_stack(),
        sizes in (0_u64..40_000, 0_u64..40_000),
        fates in prop::collection::vec(any_fate(), 0..200),
    ) {
        let mut fates = fates.into_iter();
        let mut pair = Pair::new(&client, &server, Duration::from_us(100))
            .through(move |_| fates.next().unwrap_or(Fate::Arrive));
        pair.client.write(sizes.0);
        pair.server.write(sizes.1);
        pair.client.close();
        pair.server.close();
        pair.run();
        prop_assert_eq!(pair.server.delivered_bytes(), sizes.0);
        prop_assert_eq!(pair.client.delivered_bytes(), sizes.1);
        prop_assert!(pair.client.is_finished() && pair.server.is_finished());
    }

    #[test]
    fn whatever_arrives_nothing_is_sent_beyond_the_window_and_nothing_panics(
        settings in any_stack(),
        active in any::<bool>(),
        opens in any::<bool>(),
        steps in prop::collection::vec((any_segment(), 0_u64..5_000_000, any::<bool>()), 1..120),
    ) {
        let mut end = if active { Connection::active(&settings) } else { Connection::passive(&settings) };
        end.write(50_000);
        let mut now = Instant::ZERO;
        let mut window_end = 0_u64;
        if opens {
            end.poll_transmit(now);
            let mut syn = Segment {
                ack: 1,
                window: 10_000,
                flags: if active { Flags::SYN | Flags::ACK } else { Flags::SYN },
                ..Segment::default()
            };
            syn.options.set_syn(SynOptions { mss: 1460, window_scale: Some(0), sack_permitted: true });
            end.on_segment(now, &syn, &mut ());
            window_end = 10_001;
        }
        for (segment, wait_ns, fires) in steps {
            now += Duration::from_ns(wait_ns);
            if fires && let Some(at) = end.poll_timer() {
                now = now.max(at.min(now + Duration::from_secs(1)));
                end.on_timer(now, &mut ());
            }
            end.on_packet(now, &segment, Ecn::from_bits(segment.window as u8), &mut ());
            // the loosest reading of what the peer has ever allowed
            let scale = settings.window_scale.max(14);
            window_end = window_end.max(u64::from(segment.ack) + (u64::from(segment.window) << scale));
            for _ in 0..200 {
                let Some(sent) = end.poll_transmit(now) else { break };
                if sent.payload > 0 {
                    prop_assert!(u64::from(sent.seq) + u64::from(sent.payload) <= window_end);
                }
            }
            prop_assert!(end.poll_transmit(now).is_none(), "it never stops sending");
            end.gauges();
            end.delivered_bytes();
        }
    }
}
