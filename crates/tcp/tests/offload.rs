//! Segmentation offload: in what bursts data leaves, where without it each ACK lets out what it covers.

use crate::pair::{Pair, stack};
use fairport_units::{Duration, Instant};
use serde_json::json;

/// Lengths of the bursts in segments, once the window has come to the peer's `window_bytes`, over a
/// round trip of twice `one_way` on a link that takes `spacing` for a segment.
fn bursts(offload: bool, window_bytes: u32, one_way: Duration, spacing: Duration) -> Vec<usize> {
    let overrides = json!({
        "segmentation_offload": offload, "hystart": false, "receive_buffer_bytes": window_bytes,
        "ack_policy": "every-segment",
    });
    let settings = stack("linux-6", &overrides);
    let mut pair = Pair::same(&settings, one_way).spaced(spacing);
    pair.client.write(6_000_000);
    pair.run();
    assert_eq!(pair.server.delivered_bytes(), 6_000_000);
    assert_eq!(pair.client.counters().retransmits, 0);
    let mut lengths = Vec::new();
    let mut last = Instant::NEVER;
    for sent in pair
        .sent
        .iter()
        .filter(|sent| sent.segment.payload > 0)
        .skip(1000)
    {
        if sent.at != last {
            lengths.push(0);
        }
        *lengths.last_mut().unwrap() += 1;
        last = sent.at;
    }
    // without the ends
    lengths[1..lengths.len() - 50].to_vec()
}

fn mean(lengths: &[usize]) -> f64 {
    lengths.iter().sum::<usize>() as f64 / lengths.len() as f64
}

#[test]
fn without_it_each_ack_lets_one_segment_out() {
    let lengths = bursts(
        false,
        60 * 1448,
        Duration::from_ms(5),
        Duration::from_us(100),
    );
    assert!(mean(&lengths) < 1.05, "{lengths:?}");
}

#[test]
fn on_a_long_path_a_burst_is_at_most_what_leaves_in_a_millisecond() {
    // 60 segments in 10 ms and some are 6 a millisecond; Linux paces at 200 % in slow start, which
    // nothing ever ended: 10 to 12. While the oldest segment is younger than half a round trip,
    // none wait.
    let lengths = bursts(
        true,
        60 * 1448,
        Duration::from_ms(5),
        Duration::from_us(100),
    );
    let longest = *lengths.iter().max().unwrap();
    assert!((10..=12).contains(&longest), "{longest}: {lengths:?}");
    let in_bursts: usize = lengths
        .iter()
        .filter(|length| **length >= longest - 1)
        .sum();
    let all: usize = lengths.iter().sum();
    assert!(in_bursts > all * 3 / 4, "{in_bursts} of {all}");
}

#[test]
fn on_a_short_path_a_burst_is_a_third_of_the_window_or_64_kb() {
    let lengths = bursts(
        true,
        60 * 1448,
        Duration::from_us(100),
        Duration::from_us(5),
    );
    let small = mean(&lengths);
    assert!((18.0..=23.0).contains(&small), "{small}: {lengths:?}");
    let lengths = bursts(
        true,
        300 * 1448,
        Duration::from_us(100),
        Duration::from_us(1),
    );
    let large = mean(&lengths);
    assert!((44.0..=46.0).contains(&large), "{large}: {lengths:?}");
}
