//! Payloads drawn at random (`TCPRand`), seen on the wire.

use std::collections::BTreeMap;

use crate::pair::{Pair, stack};
use fairport_units::Duration;
use serde_json::{Value, json};

const ONE_WAY: Duration = Duration::from_us(100);

fn transfer(preset: &str, overrides: &Value, lost: &'static [usize]) -> Pair {
    let settings = stack(preset, overrides);
    let mut pair = Pair::same(&settings, ONE_WAY).connected().losing(lost);
    pair.client.write(1_000_000);
    pair.run();
    assert_eq!(pair.server.delivered_bytes(), 1_000_000);
    pair
}

/// Payloads by their first byte.
fn payloads(pair: &Pair) -> Vec<(u32, u16)> {
    let data = pair.sent.iter().filter(|sent| sent.data.is_some());
    data.map(|sent| (sent.segment.seq, sent.segment.payload))
        .collect()
}

#[test]
fn static_sizes_spread_from_the_minimum_to_the_segment_size_whatever_nagle_says() {
    let overrides = json!({"payload_sizing": "static", "payload_min_bytes": 100, "nagle": true});
    let pair = transfer("rfc", &overrides, &[]);
    let mut sizes = payloads(&pair);
    // 1448 with timestamps: 774 on average
    assert!((1200..1400).contains(&sizes.len()), "{}", sizes.len());
    // what is left at the end is shorter
    sizes.pop();
    assert!(sizes.iter().all(|(_, size)| (100..=1448).contains(size)));
    // the initial window of 10 full segments leaves at once
    let first = pair.data()[0].0;
    assert!(pair.data().iter().filter(|(at, _)| *at == first).count() >= 10);
}

#[test]
fn retransmissions_keep_their_boundaries() {
    let overrides = json!({"payload_sizing": "static", "payload_min_bytes": 1});
    let pair = transfer("linux-2.6", &overrides, &[20, 21, 40, 90, 91, 92]);
    assert!(pair.client.counters().retransmits >= 6);
    let mut known = BTreeMap::new();
    for (byte, size) in payloads(&pair) {
        assert_eq!(*known.entry(byte).or_insert(size), size);
    }
}

#[test]
fn adaptive_sizes_are_full_until_the_first_loss() {
    let overrides = json!({"payload_sizing": "adaptive", "tcprand": "aggressive"});
    let unhurt = transfer("linux-2.6", &overrides, &[]);
    let mut sizes = payloads(&unhurt);
    sizes.pop();
    assert!(sizes.iter().all(|(_, size)| *size == 1448));
    let hurt = transfer("linux-2.6", &overrides, &[20]);
    let short = payloads(&hurt)
        .iter()
        .filter(|(_, size)| *size < 1448)
        .count();
    assert!(short > 100, "{short}");
}

#[test]
fn the_seed_alone_decides_the_sizes() {
    let settings = stack("rfc", &json!({"payload_sizing": "static"}));
    let run = |seed| {
        let mut pair = Pair::same(&settings, ONE_WAY);
        pair.client = fairport_tcp::Connection::active(&settings).with_seed(seed);
        pair.client.write(100_000);
        pair.run();
        payloads(&pair)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
