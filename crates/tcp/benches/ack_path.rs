//! What a segment costs: ns for an ACK at the sender (with the data that it lets out), for a data
//! segment at the receiver (with the ACK that it causes), and for an ACK with SACK blocks.
//!
//! `cargo bench -p fairport-tcp`. A figure, never a test.

use std::hint::black_box;
use std::time;

use fairport_tcp::{Connection, Flags, SackBlock, Segment, Settings, Timestamps};
use fairport_units::{Duration, Instant};
use serde_json::{Value, json};

const STEP: Duration = Duration::from_us(12);
const PAYLOAD: u32 = 1448;

fn stack(preset: &str, overrides: &Value) -> Settings {
    let overrides = overrides.as_object().expect("an object");
    Settings::preset(preset)
        .and_then(|settings| settings.with(overrides).ok())
        .expect("valid settings")
}

fn connected(settings: &Settings) -> (Connection, Connection, Instant) {
    let mut client = Connection::active(settings);
    let mut server = Connection::passive(settings);
    let mut now = Instant::ZERO;
    for _ in 0..4 {
        now += STEP;
        while let Some(segment) = client.poll_transmit(now) {
            server.on_segment(now + STEP, &segment, &mut ());
        }
        now += STEP;
        while let Some(segment) = server.poll_transmit(now) {
            client.on_segment(now + STEP, &segment, &mut ());
        }
    }
    assert!(client.is_established() && server.is_established());
    (client, server, now + STEP)
}

fn ack(number: u32, window: u16) -> Segment {
    let mut ack = Segment {
        seq: 1,
        ack: number,
        window,
        flags: Flags::ACK,
        ..Segment::default()
    };
    ack.options.set_timestamps(Timestamps { val: 100, ecr: 1 });
    ack
}

/// The best of many short rounds: the others were disturbed.
fn best(rounds: usize, mut round: impl FnMut() -> f64) -> f64 {
    (0..rounds).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn sender(preset: &str, control: &str, segments: u32) -> f64 {
    best(200, || {
        let (mut client, _server, mut now) = connected(&stack(
            preset,
            &json!({
                "congestion_control": control, "window_scale": 0, "receive_buffer_bytes": 65535
            }),
        ));
        client.write_endless();
        let window = (segments * PAYLOAD) as u16;
        let mut sent = 0_u64;
        while client.poll_transmit(now).is_some() {
            sent += 1;
        }
        let mut acked = 1_u32;
        let count = 20_000;
        let start = time::Instant::now();
        for _ in 0..count {
            now += STEP;
            acked = acked.wrapping_add(PAYLOAD);
            client.on_segment(now, &ack(acked, window), &mut ());
            while let Some(segment) = client.poll_transmit(now) {
                black_box(segment);
                sent += 1;
            }
            black_box(client.poll_timer());
        }
        assert!(sent >= count);
        start.elapsed().as_nanos() as f64 / count as f64
    })
}

fn receiver(policy: &str) -> f64 {
    best(200, || {
        let (_client, mut server, mut now) =
            connected(&stack("linux-2.6", &json!({"ack_policy": policy})));
        let mut data = ack(1, 1000);
        data.payload = PAYLOAD as u16;
        let count = 20_000_u32;
        let start = time::Instant::now();
        for _ in 0..count {
            now += STEP;
            server.on_segment(now, &data, &mut ());
            data.seq = data.seq.wrapping_add(PAYLOAD);
            while let Some(segment) = server.poll_transmit(now) {
                black_box(segment);
            }
            black_box(server.poll_timer());
        }
        assert_eq!(
            server.delivered_bytes(),
            u64::from(count) * u64::from(PAYLOAD)
        );
        start.elapsed().as_nanos() as f64 / f64::from(count)
    })
}

/// Every `gap`-th segment of a window of `segments` is lost: ns an ACK until all the others are SACKed.
fn sack(preset: &str, segments: u32, gap: u32) -> f64 {
    best((1_000_000 / segments as usize).clamp(5, 500), || {
        let (mut client, _server, mut now) = connected(&stack(
            preset,
            &json!({
                "initial_window_segments": segments,
                "window_scale": 14, "receive_buffer_bytes": 1_000_000_000_u64
            }),
        ));
        client.write_endless();
        client.on_segment(now, &ack(1, u16::MAX), &mut ());
        let mut sent = 0;
        while client.poll_transmit(now).is_some() {
            sent += 1;
        }
        assert_eq!(sent, segments);
        let mut blocks: Vec<SackBlock> = Vec::new();
        let acks = segments - segments.div_ceil(gap);
        let start = time::Instant::now();
        for number in 0..segments {
            let from = 1 + number * PAYLOAD;
            if number % gap == 0 {
                blocks.push(SackBlock {
                    start: from + PAYLOAD,
                    end: from + PAYLOAD,
                });
                continue;
            }
            blocks.last_mut().expect("a block").end = from + PAYLOAD;
            let mut segment = ack(1, u16::MAX);
            for block in blocks.iter().rev().take(3) {
                segment.options.push_sack(*block);
            }
            now += STEP;
            client.on_segment(now, &segment, &mut ());
            while let Some(segment) = client.poll_transmit(now) {
                black_box(segment);
            }
        }
        start.elapsed().as_nanos() as f64 / f64::from(acks)
    })
}

fn main() {
    println!(
        "segment: {} bytes, connection: {} bytes",
        size_of::<Segment>(),
        size_of::<Connection>()
    );
    let stacks = [
        ("linux-2.6", "newreno"),
        ("linux-2.6", "bic"),
        ("linux-2.6", "cubic"),
        ("linux-6", "cubic"),
    ];
    for (preset, control) in stacks {
        for segments in [5, 20] {
            println!(
                "ACK at the sender, {preset}, {control}, window {segments}: {:.1} ns",
                sender(preset, control, segments)
            );
        }
    }
    for policy in ["every-segment", "delayed", "quick-ack"] {
        println!("data at the receiver, {policy}: {:.1} ns", receiver(policy));
    }
    for (segments, gap) in [
        (20, 5),
        (1000, 10),
        (100_000, 10),
        (100_000, 100_000),
        (100_000, 2),
    ] {
        for preset in ["linux-2.6", "linux-6"] {
            println!(
                "SACK, {preset}, window {segments}, every {gap}th lost: {:.1} ns",
                sack(preset, segments, gap)
            );
        }
    }
}
