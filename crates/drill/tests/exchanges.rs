//! Random exchanges: what is written as a script is a script, and holds for the stack that wrote it.

use fairport_drill::{Machine, Options, exchange, parse, run};
use fairport_units::Duration;

/// As `linux-6` has it.
const MACHINE: Machine = Machine {
    hz: 1000,
    within_write: Duration::ZERO,
};

#[test]
fn an_exchange_holds_for_the_stack_that_it_was_written_from() {
    for seed in 0..100 {
        let (text, _) = exchange(seed, MACHINE);
        let script = parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let outcome = run(&script, &Options::default()).unwrap();
        assert_eq!(outcome.failure, None, "seed {seed}\n{text}");
    }
}

#[test]
fn a_seed_is_one_exchange_and_another_seed_another() {
    assert_eq!(exchange(7, MACHINE), exchange(7, MACHINE));
    assert_ne!(exchange(7, MACHINE).0, exchange(8, MACHINE).0);
}

#[test]
fn both_algorithms_run_with_and_without_sack_and_lose_segments() {
    let texts: Vec<String> = (0..40).map(|seed| exchange(seed, MACHINE).0).collect();
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
