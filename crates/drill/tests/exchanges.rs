//! Random exchanges: what is written as a script is a script, and holds for the stack that wrote it.

#[path = "../examples/exchanges/exchange/mod.rs"]
mod exchange;

use std::collections::BTreeSet;

use fairport_drill::{Options, parse, run};
use fairport_units::Duration;

use exchange::{Machine, Side, Theme, exchange};

/// As `linux-6` has it.
const MACHINE: Machine = Machine {
    hz: 1000,
    within_write: Duration::ZERO,
};

#[test]
fn an_exchange_holds_for_the_stack_that_it_was_written_from() {
    let themes = [
        Theme::Bulk,
        Theme::Ecn,
        Theme::Pauses,
        Theme::Windows,
        Theme::Outages,
        Theme::Handshakes,
        Theme::Stalls,
        Theme::Mixed,
    ];
    let of_senders = [Theme::Paced, Theme::Rests].map(|theme| (Side::Sender, theme));
    for (side, theme) in [Side::Sender, Side::Receiver]
        .into_iter()
        .flat_map(|side| themes.map(|theme| (side, theme)))
        .chain(of_senders)
    {
        for seed in 0..100 {
            let what = format!("{side:?}, {theme:?}, seed {seed}");
            let (text, _) = exchange(side, theme, seed, MACHINE);
            let script = parse(&text).unwrap_or_else(|error| panic!("{what}: {error}"));
            let outcome = run(&script, &Options::default()).unwrap();
            assert_eq!(outcome.failure, None, "{what}\n{text}");
        }
    }
}

#[test]
fn with_ecn_the_path_marks_and_the_ends_say_so() {
    let texts: Vec<String> = [Side::Sender, Side::Receiver]
        .into_iter()
        .flat_map(|side| (0..20).map(move |seed| exchange(side, Theme::Ecn, seed, MACHINE).0))
        .collect();
    // offered and agreed to; capable and marked; echoed, and reported by a sender and by a peer
    for sign in [
        "< [noecn] SEW",
        "> [noecn] SE.",
        "> [ect0]",
        "< [ce]",
        "> [noecn] E.",
        "> [ect0] W.",
        "< [ect0] W.",
        "// Cwr: ",
    ] {
        assert!(texts.iter().any(|text| text.contains(sign)), "{sign}");
    }
}

#[test]
fn a_seed_is_one_exchange_and_another_seed_another() {
    assert_eq!(
        exchange(Side::Sender, Theme::Bulk, 7, MACHINE),
        exchange(Side::Sender, Theme::Bulk, 7, MACHINE)
    );
    assert_ne!(
        exchange(Side::Sender, Theme::Bulk, 7, MACHINE).0,
        exchange(Side::Sender, Theme::Bulk, 8, MACHINE).0
    );
}

#[test]
fn both_algorithms_run_with_and_without_sack_and_lose_segments() {
    let texts: Vec<String> = (0..40)
        .map(|seed| exchange(Side::Sender, Theme::Bulk, seed, MACHINE).0)
        .collect();
    for algorithm in ["reno", "cubic"] {
        for sack in ["on", "off"] {
            let what = format!("{algorithm}, SACK {sack}");
            let mut of_class = texts.iter().filter(|text| text.contains(&what));
            assert!(of_class.clone().count() > 3, "{what}");
            assert!(of_class.any(|text| text.contains("Recovery")), "{what}");
        }
    }
    assert!(texts.iter().any(|text| text.contains("Loss")));
}

/// RFC 2018 4, RFC 2883: gaps, several blocks, and data that came twice.
#[test]
fn a_receiver_reports_what_came_behind_gaps_and_what_came_twice() {
    let texts: Vec<String> = (0..120)
        .map(|seed| exchange(Side::Receiver, Theme::Bulk, seed, MACHINE).0)
        .collect();
    let mut numbers = BTreeSet::new();
    let mut duplicates = 0;
    for line in texts.iter().flat_map(|text| text.lines()) {
        let Some((ack, blocks)) = line.split_once("sack ") else {
            continue;
        };
        if !ack.contains("> . ") {
            continue;
        }
        let number = |text: &str| text.split([' ', ':']).next()?.parse::<u32>().ok();
        let acknowledged = ack.split("ack ").nth(1).and_then(number).unwrap();
        numbers.insert(blocks.split(' ').count());
        duplicates += u32::from(number(blocks).unwrap() < acknowledged);
    }
    assert!(numbers.is_superset(&BTreeSet::from([1, 2, 3])));
    assert!(duplicates > 10, "{duplicates}");
}
