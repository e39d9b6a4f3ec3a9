//! What makes the next ACKs quick.

use super::*;
use crate::settings::AckPolicy;

/// `tcp_send_dupack`: only data below `RCV.NXT` that came again makes the next ACKs quick.
#[test]
fn what_is_not_accepted_is_answered_and_makes_acks_quick_only_if_an_ack_was_lost() {
    let mut settings = settings();
    settings.ack_policy = AckPolicy::QuickAck;
    for (from, payload, quick) in [
        (-5, 3, true),
        (-5, 0, false),
        (0, 3, false),
        (2_000, 3, false),
    ] {
        let mut timers = Timers::new(Duration::ZERO);
        let mut receiver = connected(&settings, 0);
        let mut is_acknowledged_at_once = |receiver: &mut Receiver| {
            let next = data(receiver.nxt(), FULL, Flags::NONE);
            receiver.on_data(&mut timers, Instant::ZERO, &next, OWN);
            let due = receiver.acks.is_due();
            receiver.on_acknowledged(&mut timers, Instant::ZERO, false);
            due
        };
        // the quick ACKs of the start
        while is_acknowledged_at_once(&mut receiver) {}
        let position = receiver.nxt().saturating_add_signed(from);
        receiver.on_unacceptable(&data(position, payload, Flags::NONE));
        assert!(receiver.acks.is_due());
        receiver.on_acknowledged(&mut Timers::new(Duration::ZERO), Instant::ZERO, false);
        assert_eq!(
            is_acknowledged_at_once(&mut receiver),
            quick,
            "{from}, {payload} bytes"
        );
    }
}
