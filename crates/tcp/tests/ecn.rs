//! ECN and DCTCP against a scripted marker.

use crate::pair::{Fate, Pair, Sent, stack};
use crate::peer::{Peer, all, today};
use fairport_tcp::{Ecn, Flags};
use fairport_units::{Duration, Instant};
use serde_json::{Value, json};

const ONE_WAY: Duration = Duration::from_ms(5);
const PAYLOAD: u64 = 1448;

fn pair(client: &Value, server: &Value) -> Pair {
    Pair::new(&stack("rfc", client), &stack("rfc", server), ONE_WAY)
}

/// The client's data segments of these numbers are marked.
fn marking(numbers: &'static [usize]) -> impl FnMut(&Sent) -> Fate {
    move |sent| match sent.data {
        Some(number) if numbers.contains(&number) => Fate::Mark,
        _ => Fate::Arrive,
    }
}

fn transfer(overrides: &Value, marked: &'static [usize], segments: u64) -> Pair {
    let mut pair = pair(overrides, overrides).through(marking(marked));
    pair.client.write(segments * PAYLOAD);
    pair.run();
    assert_eq!(pair.server.delivered_bytes(), segments * PAYLOAD);
    assert_eq!(pair.client.counters().retransmits, 0);
    pair
}

fn has(sent: &Sent, flags: Flags) -> bool {
    sent.segment.flags.contains(flags)
}

#[test]
fn ecn_is_used_where_both_sides_offer_it() {
    let (on, off) = (json!({"ecn": true}), json!({}));
    for (client, server, agreed) in [
        (&on, &on, true),
        (&on, &off, false),
        (&off, &on, false),
        (&off, &off, false),
    ] {
        let mut pair = pair(client, server);
        pair.client.write(10 * PAYLOAD);
        pair.run();
        let both = Flags::ECE | Flags::CWR;
        assert_eq!(has(&pair.sent[0], both), client == &on);
        assert_eq!(has(&pair.sent[1], Flags::ECE), agreed);
        assert!(!has(&pair.sent[1], Flags::CWR));
        for sent in &pair.sent {
            let capable = agreed && sent.segment.payload > 0;
            assert_eq!(sent.ecn == Ecn::Ect0, capable, "{sent:?}");
        }
    }
}

/// Which SYNs and SYN-ACKs carry ECE when the first SYN is lost.
fn offers_around_a_lost_syn(fallback: bool) -> Vec<bool> {
    let on = json!({"ecn": true, "ecn_fallback": fallback});
    let mut count = 0;
    let mut pair = pair(&on, &on).through(move |sent| {
        count += usize::from(sent.forward);
        if count == 1 { Fate::Lose } else { Fate::Arrive }
    });
    pair.client.write(PAYLOAD);
    pair.run();
    let syns = pair.sent.iter().filter(|sent| has(sent, Flags::SYN));
    syns.map(|sent| has(sent, Flags::ECE)).collect()
}

#[test]
fn a_syn_that_is_sent_again_offers_no_ecn_with_the_fallback() {
    assert_eq!(offers_around_a_lost_syn(true), [true, false, false]);
}

#[test]
fn a_syn_that_is_sent_again_offers_ecn_again_without_the_fallback() {
    assert_eq!(offers_around_a_lost_syn(false), [true, true, true]);
}

#[test]
fn retransmissions_are_not_ecn_capable() {
    let on = json!({"ecn": true});
    let mut pair = pair(&on, &on).losing(&[12]);
    pair.client.write(60 * PAYLOAD);
    pair.run();
    let lost = pair.sent.iter().find(|sent| sent.data == Some(12)).unwrap();
    let again: Vec<&Sent> = pair
        .sent
        .iter()
        .filter(|sent| sent.forward && sent.segment.seq == lost.segment.seq)
        .filter(|sent| sent.segment.payload > 0)
        .collect();
    let codepoints: Vec<Ecn> = again.iter().map(|sent| sent.ecn).collect();
    assert_eq!(codepoints, [Ecn::Ect0, Ecn::NotEct]);
}

#[test]
fn a_mark_is_echoed_until_cwr_and_halves_the_window_once() {
    // all that is out after two round trips is marked
    const MARKED: &[usize] = &[
        12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
    ];
    let pair = transfer(
        &json!({"ecn": true, "ack_policy": "every-segment"}),
        MARKED,
        200,
    );
    let echoed = |sent: &&Sent| !sent.forward && has(sent, Flags::ECE) && !has(sent, Flags::SYN);
    let first = pair.sent.iter().find(echoed).unwrap().at;
    let last = pair.sent.iter().rfind(echoed).unwrap().at;
    let cwrs: Vec<Instant> = pair
        .sent
        .iter()
        .filter(|sent| has(sent, Flags::CWR) && !has(sent, Flags::SYN))
        .map(|sent| sent.at)
        .collect();
    assert_eq!(cwrs.len(), 1, "{cwrs:?}");
    assert!(first < cwrs[0] && last < cwrs[0] + ONE_WAY + ONE_WAY);
    // slow start had come to 12 or a little more
    let ssthresh = pair.client.gauges().ssthresh_bytes / PAYLOAD;
    assert!((5..=12).contains(&ssthresh), "{ssthresh}");
    assert_eq!(pair.client.counters().fast_recoveries, 0);
}

#[test]
fn after_a_mark_the_window_grows_again_wherever_acknowledgements_fall() {
    let settings = stack("linux-6", &json!({"ecn": true, "ack_policy": "delayed"}));
    for marked in [&[30], &[31], &[32], &[33]] {
        let mut pair = Pair::same(&settings, ONE_WAY).through(marking(marked));
        pair.client.write(400 * PAYLOAD);
        pair.run();
        let found = pair.client.gauges();
        assert!(found.ssthresh_bytes < 100 * PAYLOAD, "{marked:?}");
        assert!(found.cwnd_bytes > found.ssthresh_bytes, "{marked:?}");
    }
}

#[test]
fn a_loss_in_the_round_trip_of_a_mark_lowers_the_window_no_further() {
    let threshold = |lost: Option<usize>| {
        let on = json!({"ecn": true, "ack_policy": "every-segment"});
        let mut pair = pair(&on, &on).through(move |sent| match sent.data {
            Some(30) => Fate::Mark,
            number if number.is_some() && number == lost => Fate::Lose,
            _ => Fate::Arrive,
        });
        pair.client.write(200 * PAYLOAD);
        pair.run();
        assert_eq!(pair.server.delivered_bytes(), 200 * PAYLOAD);
        pair.client.gauges().ssthresh_bytes
    };
    assert_eq!(threshold(Some(34)), threshold(None));
}

#[test]
fn dctcp_echoes_exactly_what_was_marked_through_delayed_acks() {
    const MARKED: &[usize] = &[3, 4, 5, 11, 20, 21, 40, 41, 42, 43, 44, 60];
    for policy in ["every-segment", "delayed", "quick-ack"] {
        let overrides = json!({"congestion_control": "dctcp", "ack_policy": policy});
        let pair = transfer(&overrides, MARKED, 100);
        let (mut reached, mut echoed) = (1, 0);
        for sent in pair.sent.iter().filter(|sent| !sent.forward) {
            let advance = sent.segment.ack.wrapping_sub(reached);
            if has(sent, Flags::SYN) || advance > u32::MAX / 2 {
                continue;
            }
            reached = sent.segment.ack;
            if has(sent, Flags::ECE) {
                echoed += advance;
            }
        }
        assert_eq!(u64::from(echoed), MARKED.len() as u64 * PAYLOAD, "{policy}");
    }
}

#[test]
fn all_segments_of_dctcp_are_ecn_capable() {
    let pair = transfer(&json!({"congestion_control": "dctcp"}), &[], 20);
    assert!(pair.sent.iter().all(|sent| sent.ecn == Ecn::Ect0));
}

#[test]
fn dctcp_gives_up_little_of_its_window_for_few_marks() {
    // once alpha has come down from 1: 60 round trips without a mark
    let after_mark = |control: &str| {
        let overrides = json!({"congestion_control": control, "ecn": true});
        let settings = stack("rfc", &overrides);
        let mut pair = Pair::same(&settings, ONE_WAY).through(marking(&[3, 20_000]));
        pair.client.write(40_000 * PAYLOAD);
        pair.run_while(|pair| !matches!(pair.sent.last().and_then(|s| s.data), Some(20_000..)));
        let before = pair.client.gauges().cwnd_bytes;
        let until = pair.now + Duration::from_ms(15);
        pair.run_until(until);
        pair.client.gauges().cwnd_bytes as f64 / before as f64
    };
    let (newreno, dctcp) = (after_mark("newreno"), after_mark("dctcp"));
    assert!((0.45..0.6).contains(&newreno), "{newreno}");
    assert!(dctcp > 0.9, "{dctcp}");
}

#[test]
fn dctcp_learns_again_that_all_is_marked() {
    // alpha has fallen to 0 when from segment 20,000 on all is marked; after 64 windows it is 0.98
    // (RFC 8257 3.3), and each window is half of the one before
    let settings = stack("rfc", &json!({"congestion_control": "dctcp"}));
    let mut pair = Pair::same(&settings, ONE_WAY).through(|sent| match sent.data {
        Some(3 | 20_000..) => Fate::Mark,
        _ => Fate::Arrive,
    });
    pair.client.write(40_000 * PAYLOAD);
    pair.run_while(|pair| !matches!(pair.sent.last().and_then(|s| s.data), Some(20_000..)));
    assert!(pair.client.gauges().cwnd_bytes > 100 * PAYLOAD);
    pair.run_until(pair.now + ONE_WAY * 2 * 64);
    let window = pair.client.gauges().cwnd_bytes / PAYLOAD;
    assert!(window <= 4, "{window}");
}

/// `tcp_ack` calls `tcp_in_ack_event` once the ACK's data is counted (since 6.15): alpha, which is 960 after a round trip
/// without a mark, is 964 once a second one was marked, and the window of 20 falls by 9.
#[test]
fn dctcp_counts_an_ack_in_the_round_trip_that_it_ends() {
    let mut peer = Peer::opened(&today(&json!({"congestion_control": "dctcp"})));
    assert_eq!(peer.writes(60), all(0..10));
    peer.at(100).acks(10);
    assert_eq!(peer.window().0, 20);
    peer.flags |= Flags::ECE;
    peer.at(200).acks(20);
    assert_eq!(peer.info().snd_ssthresh, Some(11));
}

#[test]
fn dctcp_without_ecn_at_the_other_end_is_newreno() {
    let mut pair = pair(&json!({"congestion_control": "dctcp"}), &json!({})).losing(&[30]);
    pair.client.write(200 * PAYLOAD);
    pair.run();
    assert_eq!(pair.client.counters().fast_recoveries, 1);
    assert!(
        pair.sent[2..]
            .iter()
            .all(|sent| sent.ecn == Ecn::NotEct || has(sent, Flags::SYN))
    );
}
