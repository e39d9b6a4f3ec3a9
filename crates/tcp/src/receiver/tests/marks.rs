//! What a receiver reports of ECN's codepoints, and when.

use super::*;

/// RFC 8257 3.2: when the marks change, an ACK for the earlier data is sent at once, with the earlier ECE.
#[test]
fn for_dctcp_no_ack_speaks_for_marked_and_unmarked_segments() {
    let mut timers = Timers::new(Duration::ZERO);
    let mut receiver = connected(&settings(), 0);
    let start = receiver.nxt();
    assert!(!receiver.echoes());
    receiver.note_codepoint(Ecn::Ce, false);
    assert!(!receiver.echoes(), "ECN is not agreed on");
    receiver.use_ecn(true);
    receiver.note_codepoint(Ecn::Ect0, false);
    receiver.on_data(
        &mut timers,
        Instant::ZERO,
        &data(start, 4, Flags::NONE),
        OWN,
    );
    assert_eq!(
        (receiver.take_earlier(), receiver.acks.is_due()),
        (None, false)
    );
    receiver.note_codepoint(Ecn::Ce, false);
    assert_eq!(receiver.take_earlier(), Some((start + 4, false)));
    assert_eq!(receiver.take_earlier(), None);
    assert!(receiver.echoes() && receiver.acks.is_due());
    receiver.on_data(
        &mut timers,
        Instant::ZERO,
        &data(start + 4, 4, Flags::NONE),
        OWN,
    );
    receiver.on_acknowledged(&mut timers, Instant::ZERO, false);
    // all data is acknowledged, so there is nothing earlier to report
    receiver.note_codepoint(Ecn::Ect0, false);
    assert_eq!(receiver.take_earlier(), None);
    assert!(!receiver.echoes() && receiver.acks.is_due());

    // by RFC 3168 one ACK covers everything
    let mut receiver = connected(&settings(), 0);
    receiver.use_ecn(false);
    receiver.on_data(
        &mut timers,
        Instant::ZERO,
        &data(start, 4, Flags::NONE),
        OWN,
    );
    receiver.note_codepoint(Ecn::Ce, false);
    assert_eq!(receiver.take_earlier(), None);
    assert!(receiver.echoes() && receiver.acks.is_due());
}

/// Linux since 4.19; RFC 8257 3.2 has only the change of the marks.
#[test]
fn where_dctcp_reports_a_reduction_linux_acknowledges_at_once() {
    for (preset, at_once) in [("linux-6", true), ("linux-2.6", false), ("rfc", false)] {
        let mut settings = Settings::preset(preset).unwrap();
        settings.window_scale = 0;
        let mut receiver = connected(&settings, 0);
        receiver.use_ecn(true);
        receiver.note_codepoint(Ecn::Ect0, true);
        assert_eq!(receiver.acks.is_due(), at_once, "{preset}");
        assert_eq!(receiver.take_earlier(), None);
    }
}

#[test]
fn a_receiver_that_is_gone_has_nothing_to_acknowledge() {
    let mut timers = Timers::new(Duration::ZERO);
    let mut receiver = connected(&settings(), 0);
    receiver.use_ecn(true);
    receiver.on_data(
        &mut timers,
        Instant::ZERO,
        &data(receiver.nxt(), 4, Flags::NONE),
        OWN,
    );
    receiver.note_codepoint(Ecn::Ce, false);
    receiver.abort();
    assert!(!receiver.acks.is_due());
    assert_eq!(receiver.take_earlier(), None);
}
