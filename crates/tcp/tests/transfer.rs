//! Whole transfers between two endpoints.

use crate::pair::{Fate, Pair, stack};
use fairport_tcp::Settings;
use fairport_units::Duration;
use serde_json::json;

#[test]
fn every_stack_delivers_a_file_and_closes() {
    for preset in Settings::PRESETS {
        let settings = stack(preset, &json!({}));
        let mut pair = Pair::same(&settings, Duration::from_us(100));
        pair.client.write(1_000_000);
        pair.client.close();
        pair.run();
        assert_eq!(pair.server.delivered_bytes(), 1_000_000, "{preset}");
        assert!(
            pair.client.is_finished() && pair.server.is_finished(),
            "{preset}"
        );
        assert_eq!(pair.client.counters().retransmits, 0, "{preset}");
        assert!(pair.client_log.finished.is_some() && pair.server_log.finished.is_some());
    }
}

#[test]
fn every_stack_delivers_over_a_path_that_loses_every_tenth_segment() {
    for preset in Settings::PRESETS {
        for control in ["newreno", "bic", "cubic"] {
            let settings = stack(preset, &json!({"congestion_control": control}));
            let mut count = 0;
            let mut pair = Pair::same(&settings, Duration::from_us(100)).through(move |_| {
                count += 1;
                if count % 10 == 0 {
                    Fate::Lose
                } else {
                    Fate::Arrive
                }
            });
            pair.client.write(1_000_000);
            pair.client.close();
            pair.run();
            assert_eq!(
                pair.server.delivered_bytes(),
                1_000_000,
                "{preset} {control}"
            );
            assert!(pair.client.is_finished(), "{preset} {control}");
        }
    }
}
