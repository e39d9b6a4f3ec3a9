//! Losses found by forward acknowledgement, as Linux did before RACK.

use crate::pair::transfer::{PAYLOAD, RTT, losing, losing_twice, sends};
use crate::pair::{self, Fate, stack};
use fairport_tcp::Settings;
use fairport_units::Duration;
use serde_json::{Value, json};

/// Linux 3.0 with CUBIC, an ACK for every segment and every time exact.
fn then(overrides: &Value) -> Settings {
    let mut all = json!({
        "congestion_control": "cubic", "hystart": false, "ack_policy": "every-segment"
    });
    for (key, value) in overrides.as_object().unwrap() {
        all[key] = value.clone();
    }
    stack("linux-3.0", &all)
}

#[test]
fn under_fack_a_segment_is_lost_once_one_three_above_it_is_sacked() {
    let first_again = |fack: bool, lost| {
        let pair = sends(&then(&json!({"fack": fack})), 10, losing(lost));
        let (at, byte) = pair.retransmissions()[0];
        (
            at - pair.data()[0].0,
            byte / PAYLOAD,
            pair.client_log.timeouts.len(),
        )
    };
    // of ten segments the third to fifth are lost: by FACK the sixth shows the loss of the third, by RFC 6675
    // the eighth
    let (with, without) = (
        first_again(true, &[2, 3, 4]),
        first_again(false, &[2, 3, 4]),
    );
    assert_eq!((with.1, with.2, without.1, without.2), (2, 0, 2, 0));
    assert_eq!(without.0 - with.0, Duration::from_us(100) * 2);
    // the seventh and eighth of ten: two SACKed segments are enough
    assert_eq!(first_again(true, &[6, 7]).2, 0);
    assert_eq!(first_again(false, &[6, 7]).2, 1);
}

#[test]
fn under_fack_a_lost_retransmission_is_told_by_data_sent_after_it() {
    let pair = sends(&then(&json!({})), 60, losing_twice(3));
    assert_eq!(pair.client_log.timeouts, []);
    let again = pair.retransmissions();
    assert_eq!(pair.resent_segments(), [3, 3]);
    // a round trip later, when the second segment sent after it is SACKed, or in the next one
    assert!(again[1].0 - again[0].0 < RTT * 2, "{again:?}");
    let pair = sends(&then(&json!({"fack": false})), 60, losing_twice(3));
    assert_eq!(pair.client_log.timeouts.len(), 1);
}

#[test]
fn once_something_came_late_fack_is_off() {
    // the fifth segment comes late without being taken for lost; then two of a flight are lost
    let path = |sent: &pair::Sent| match sent.data {
        Some(4) => Fate::Late(Duration::from_us(150)),
        Some(8 | 9) => Fate::Lose,
        _ => Fate::Arrive,
    };
    // the two segments behind are not enough now
    let pair = sends(&then(&json!({"initial_window_segments": 12})), 12, path);
    assert_eq!(pair.client_log.timeouts.len(), 1);
}
