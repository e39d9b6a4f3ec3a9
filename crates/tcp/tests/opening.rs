//! Opening a connection and what may come in its stead, segment by segment (RFC 9293 3.5 and 3.10.7, RFC 5961,
//! RFC 7323, RFC 3168 6.1.1).

use crate::peer::{Peer, all, ms, today};
use fairport_tcp::{Connection, Ecn, Flags, Segment, SynOptions, Timestamps};
use fairport_units::Instant;
use serde_json::json;

const NOW: Instant = Instant::from_ms(1);
const NO_OPTIONS: SynOptions = SynOptions {
    mss: 1000,
    window_scale: None,
    sack_permitted: false,
};

fn segment(seq: u32, ack: u32, flags: Flags) -> Segment {
    Segment {
        seq,
        ack,
        flags,
        window: 60_000,
        ..Segment::default()
    }
}

fn syn(options: SynOptions) -> Segment {
    let mut syn = segment(700, 0, Flags::SYN);
    syn.options.set_syn(options);
    syn
}

fn answers(end: &mut Connection, segment: &Segment) -> Vec<Segment> {
    end.on_segment(NOW, segment, &mut ());
    std::iter::from_fn(|| end.poll_transmit(NOW)).collect()
}

/// A server that has sent its SYN-ACK, and that.
fn half_open(overrides: &serde_json::Value, syn: &Segment) -> (Connection, Segment) {
    let mut server = Connection::passive(&today(overrides));
    let answer = answers(&mut server, syn);
    assert_eq!(answer.len(), 1);
    (server, answer[0])
}

#[test]
fn a_syn_is_answered_with_what_both_have() {
    let settings = json!({"receive_buffer_bytes": 1_000_000, "timestamps": true});
    for (scale, sack) in [(Some(3), true), (None, true), (Some(0), false)] {
        let offered = SynOptions {
            window_scale: scale,
            sack_permitted: sack,
            ..NO_OPTIONS
        };
        let (mut server, answer) = half_open(&settings, &syn(offered));
        assert_eq!(answer.flags, Flags::SYN | Flags::ACK);
        assert_eq!((answer.seq, answer.ack), (0, 701));
        // never scaled
        assert_eq!(answer.window, 65_535);
        let said = answer.options.syn().unwrap();
        assert_eq!(said.window_scale, scale.map(|_| 7));
        assert_eq!((said.mss, said.sack_permitted), (1000, sack));
        assert_eq!(answer.options.timestamps(), None, "it was not offered");
        // the windows that follow are scaled where both do
        let data = Segment {
            payload: 10,
            ..segment(701, 1, Flags::ACK)
        };
        let ack = answers(&mut server, &data)[0];
        assert!(server.is_established());
        let expected = if scale.is_some() {
            7812 // 1,000,000 / 128
        } else {
            65_535
        };
        assert_eq!((ack.ack, ack.window), (711, expected));
    }
}

/// RFC 7323 2.2 and 2.3: the window of a SYN is not scaled, and a shift of more than 14 counts as 14.
#[test]
fn the_peers_shift_counts_after_its_syn_and_up_to_14() {
    for (scale, fits) in [(15, 16), (14, 16), (13, 8), (0, 0)] {
        let mut client = Connection::active(&today(&json!({"initial_window_segments": 40})));
        client.write(40_000);
        client.poll_transmit(Instant::ZERO).unwrap();
        let mut answer = segment(700, 1, Flags::SYN | Flags::ACK);
        answer.window = 3000;
        answer.options.set_syn(SynOptions {
            window_scale: Some(scale),
            ..NO_OPTIONS
        });
        let first = answers(&mut client, &answer);
        let sent = first.iter().filter(|it| it.payload > 0).count();
        assert_eq!(sent, 3, "{scale}");
        let mut ack = segment(701, 3001, Flags::ACK);
        ack.window = 1;
        let then = answers(&mut client, &ack);
        assert_eq!(then.len(), fits, "{scale}");
    }
    // and for a server with the ACK that opens it
    let scaled = syn(SynOptions {
        window_scale: Some(4),
        ..NO_OPTIONS
    });
    let (mut server, _) = half_open(&json!({}), &scaled);
    server.write(40_000);
    let mut ack = segment(701, 1, Flags::ACK);
    ack.window = 250;
    assert_eq!(answers(&mut server, &ack).len(), 4);
}

#[test]
fn segments_are_as_long_as_the_shorter_of_both_says_less_the_timestamps() {
    for (theirs, stamped, payload) in [(500, false, 500), (4000, false, 1000), (500, true, 488)] {
        let mut offer = syn(SynOptions {
            mss: theirs,
            ..NO_OPTIONS
        });
        let stamps = Timestamps { val: 5, ecr: 0 };
        if stamped {
            offer.options.set_timestamps(stamps);
        }
        let (mut server, answer) = half_open(&json!({"timestamps": true}), &offer);
        assert_eq!(
            answer.options.timestamps().map(|it| it.ecr),
            stamped.then_some(5)
        );
        server.write(10_000);
        let mut ack = segment(701, 1, Flags::ACK);
        if stamped {
            ack.options.set_timestamps(stamps);
        }
        let sent = answers(&mut server, &ack);
        assert_eq!(sent[0].payload, payload);
    }
}

#[test]
fn what_is_no_syn_opens_no_server() {
    for flags in [Flags::RST, Flags::SYN | Flags::RST, Flags::FIN, Flags::NONE] {
        let mut server = Connection::passive(&today(&json!({})));
        assert_eq!(answers(&mut server, &segment(700, 0, flags)), []);
        assert_eq!(
            answers(&mut server, &syn(NO_OPTIONS)).len(),
            1,
            "it still listens"
        );
    }
    let mut server = Connection::passive(&today(&json!({})));
    let rst = answers(&mut server, &segment(700, 9, Flags::SYN | Flags::ACK));
    assert_eq!((rst[0].seq, rst[0].flags), (9, Flags::RST));
}

/// RFC 9293 3.10.7.3.
#[test]
fn a_client_opens_with_a_syn_that_acknowledges_its_own() {
    let opening = || {
        let mut client = Connection::active(&today(&json!({})));
        client.poll_transmit(NOW).unwrap();
        client
    };
    let mut client = opening();
    for flags in [Flags::ACK, Flags::SYN, Flags::RST] {
        assert_eq!(answers(&mut client, &segment(700, 1, flags)), []);
        assert!(!client.is_established() && !client.is_reset());
    }
    // a reset that acknowledges something else is of another connection
    assert_eq!(
        answers(&mut client, &segment(700, 2, Flags::RST | Flags::ACK)),
        []
    );
    assert!(!client.is_reset());
    let mut answer = segment(700, 1, Flags::SYN | Flags::ACK);
    answer.options.set_syn(NO_OPTIONS);
    let ack = answers(&mut client, &answer);
    assert!(client.is_established());
    assert_eq!((ack.len(), ack[0].seq, ack[0].ack), (1, 1, 701));
    let mut client = opening();
    assert_eq!(
        answers(&mut client, &segment(700, 1, Flags::RST | Flags::ACK)),
        []
    );
    assert!(client.is_reset());
    assert_eq!(client.poll_timer(), None);
}

/// RFC 9293 3.10.7.4 in SYN-RECEIVED.
#[test]
fn a_half_open_server_waits_for_the_ack_of_its_syn() {
    let (mut server, first) = half_open(&json!({}), &syn(NO_OPTIONS));
    assert_eq!(
        answers(&mut server, &syn(NO_OPTIONS)),
        [first],
        "its answer was lost"
    );
    for (seq, ack, flags, answer) in [
        // an acknowledgement of something else is of another connection
        (701, 2, Flags::ACK, Some((2, Flags::RST))),
        (701, 0, Flags::ACK, Some((0, Flags::RST))),
        (701, 1, Flags::NONE, None),
        // below and beyond the window; the answer to the SYN was less than half a second ago
        (600, 1, Flags::ACK, None),
        (701 + 7_000_000, 1, Flags::ACK, None),
        // a reset that is not in place
        (702, 1, Flags::RST, None),
        (700, 1, Flags::RST, None),
    ] {
        let sent = answers(&mut server, &segment(seq, ack, flags));
        let sent: Vec<_> = sent.iter().map(|it| (it.seq, it.flags)).collect();
        assert_eq!(sent, Vec::from_iter(answer), "{seq} {ack}");
        assert!(
            !server.is_established() && !server.is_reset(),
            "{seq} {ack}"
        );
    }
    answers(&mut server, &segment(701, 1, Flags::ACK));
    assert!(server.is_established());
    let (mut server, _) = half_open(&json!({}), &syn(NO_OPTIONS));
    answers(&mut server, &segment(701, 1, Flags::RST));
    assert!(server.is_reset());
    // what is not in the window is answered with what is expected
    let (mut server, _) = half_open(&json!({}), &syn(NO_OPTIONS));
    let sent = answers(&mut server, &segment(600, 1, Flags::ACK));
    assert_eq!(
        (sent.len(), sent[0].seq, sent[0].ack, sent[0].flags),
        (1, 1, 701, Flags::ACK)
    );
    assert!(!server.is_established());
}

/// RFC 5961 3.2 and 4.2: what may be forged is answered with an ACK, which the true peer answers in place.
#[test]
fn a_reset_amid_the_window_and_any_syn_are_challenged() {
    let opened = || {
        let (mut server, _) = half_open(
            &json!({"receive_buffer_bytes": 5000, "window_scale": 0}),
            &syn(NO_OPTIONS),
        );
        answers(&mut server, &segment(701, 1, Flags::ACK));
        server
    };
    for (seq, flags, challenged) in [
        (702, Flags::RST, true),
        (5701, Flags::RST, true),
        (5702, Flags::RST, false),
        (700, Flags::RST, false),
        (701, Flags::SYN, true),
        (9999, Flags::SYN, true),
    ] {
        let mut server = opened();
        let sent = answers(&mut server, &segment(seq, 1, flags));
        assert_eq!(sent.len(), usize::from(challenged), "{seq}");
        assert!(
            sent.iter()
                .all(|it| it.flags == Flags::ACK && it.ack == 701)
        );
        assert!(server.is_established());
    }
    let mut server = opened();
    assert_eq!(answers(&mut server, &segment(701, 1, Flags::RST)), []);
    assert!(server.is_reset() && !server.is_established());
}

#[test]
fn who_gives_up_resets_an_open_connection_and_sends_no_more() {
    let mut peer = Peer::opened(&today(&json!({})));
    peer.writes(3);
    let rst = peer.end.abort(peer.now).unwrap();
    assert_eq!((rst.seq, rst.flags), (3001, Flags::RST | Flags::ACK));
    assert!(peer.end.is_reset());
    assert_eq!(peer.end.poll_timer(), None);
    peer.end.write(10);
    assert_eq!(peer.polls(), []);
    let mut unopened = Connection::active(&today(&json!({})));
    unopened.poll_transmit(NOW).unwrap();
    assert_eq!(unopened.abort(NOW), None);
    assert_eq!(unopened.poll_transmit(NOW), None);
}

/// RFC 3168 6.1.1: a SYN offers with ECE and CWR, its answer agrees with ECE alone.
#[test]
fn ecn_is_agreed_on_by_the_flags_of_both_syns() {
    let both = Flags::ECE | Flags::CWR;
    for (on, flags, agreed) in [
        (true, both, true),
        (true, Flags::ECE, false),
        (true, Flags::CWR, false),
        (false, both, false),
    ] {
        let mut offer = syn(NO_OPTIONS);
        offer.flags |= flags;
        let (_, answer) = half_open(&json!({"ecn": on}), &offer);
        assert_eq!(answer.flags.contains(Flags::ECE), agreed);
        assert!(!answer.flags.contains(Flags::CWR));
    }
    for (flags, agreed) in [(Flags::ECE, true), (both, false), (Flags::NONE, false)] {
        let mut client = Connection::active(&today(&json!({"ecn": true})));
        client.write(1000);
        let offer = client.poll_transmit(NOW).unwrap();
        assert!(offer.flags.contains(both));
        let mut answer = segment(700, 1, Flags::SYN | Flags::ACK | flags);
        answer.options.set_syn(NO_OPTIONS);
        client.on_segment(NOW, &answer, &mut ());
        assert_eq!(client.poll_transmit(NOW).unwrap().payload, 1000);
        assert_eq!(client.codepoint() == Ecn::Ect0, agreed);
    }
}

#[test]
fn the_handshake_measures_the_first_round_trip_unless_a_syn_was_sent_twice() {
    let peer = Peer::opened(&today(&json!({})));
    assert_eq!(
        (peer.info().rtt, peer.info().min_rtt),
        (Some(ms(100)), Some(ms(100)))
    );
    assert_eq!(peer.info().rto, ms(300));
    let mut client = Connection::active(&today(&json!({})));
    client.poll_transmit(Instant::ZERO).unwrap();
    let second = client.poll_timer().unwrap();
    client.on_timer(second, &mut ());
    client.poll_transmit(second).unwrap();
    let mut answer = segment(700, 1, Flags::SYN | Flags::ACK);
    answer.options.set_syn(NO_OPTIONS);
    client.on_segment(second + ms(100), &answer, &mut ());
    assert!(client.is_established());
    assert_eq!(client.info().rtt, None);
}

/// RFC 7323 5.3 R1; `tcp_oow_rate_limited`: twice per second at most. A duplicate ACK may have been overtaken
/// (`tcp_disordered_ack`).
#[test]
fn an_ack_with_an_old_stamp_is_dropped_and_answered_twice_per_second() {
    let stamped = json!({"timestamps": true, "mss_bytes": 1012, "paws": true});
    let mut peer = Peer::opened(&today(&stamped));
    assert_eq!(peer.writes(4), all(0..4));
    let ack = |peer: &mut Peer, number: u32, val: u32| {
        let mut segment = peer.segment(1000 * number);
        segment.options.set_timestamps(Timestamps { val, ecr: 101 });
        peer.gets(&segment);
        let sent = peer.polls();
        (
            peer.info().unacked,
            sent.iter().filter(|it| it.payload == 0).count(),
        )
    };
    assert_eq!(ack(peer.at(100), 1, 50), (3, 0));
    assert_eq!(ack(&mut peer, 2, 49), (2, 0), "one tick is let through");
    assert_eq!(ack(&mut peer, 3, 48), (2, 1));
    assert_eq!(ack(peer.at(150), 3, 48), (2, 0));
    peer.at(200);
    // a duplicate
    assert_eq!(ack(&mut peer, 2, 40), (2, 0));
    assert_eq!(ack(&mut peer, 2, 60), (2, 0));
    // half a second after the first answer
    let mut peer = Peer::opened(&today(&stamped));
    peer.writes(2);
    assert_eq!(ack(peer.at(100), 2, 50), (0, 0));
    peer.writes(1);
    peer.at(200);
    assert_eq!(ack(&mut peer, 3, 48), (1, 1));
    peer.now += ms(499);
    peer.end.on_timer(peer.now, &mut ());
    peer.polls();
    assert_eq!(ack(&mut peer, 3, 48), (1, 0));
    peer.now += ms(1);
    assert_eq!(ack(&mut peer, 3, 48), (1, 1));
    assert_eq!(ack(&mut peer, 3, 48), (1, 0));
    // what would close the window is no mere duplicate
    peer.now += ms(500);
    peer.window = 0;
    assert_eq!(ack(&mut peer, 2, 40), (1, 1));
}
