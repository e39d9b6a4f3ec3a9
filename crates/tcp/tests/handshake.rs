//! The first flight after a handshake in which segments were lost.

use crate::pair::{Fate, Pair};
use fairport_tcp::{Flags, Settings};
use fairport_units::{Duration, Instant};

/// Segments that the client sends at once after its first `lost` SYNs, or the server after its first `lost`
/// SYN-ACKs.
fn first_flight(stack: &str, lost: usize, from_client: bool) -> usize {
    // Only the sender's handshake times out.
    let settings = |sends: bool| {
        let mut settings = Settings::preset(stack).unwrap();
        settings.rto_initial_ps = Duration::from_secs(if sends { 1 } else { 50 });
        settings
    };
    let mut syns = 0;
    let mut pair = Pair::new(
        &settings(from_client),
        &settings(!from_client),
        Duration::from_us(100),
    )
    .through(move |sent| {
        let is_syn = sent.forward == from_client && sent.segment.flags.contains(Flags::SYN);
        syns += usize::from(is_syn);
        if is_syn && syns <= lost {
            Fate::Lose
        } else {
            Fate::Arrive
        }
    });
    if from_client {
        pair.client.write(30_000);
    } else {
        pair.server.write(30_000);
    }
    pair.run_until(Instant::from_secs(40));
    let times: Vec<Instant> = pair
        .sent
        .iter()
        .filter(|sent| sent.forward == from_client && sent.segment.payload > 0)
        .map(|sent| sent.at)
        .collect();
    times.iter().filter(|at| **at == times[0]).count()
}

/// RFC 5681 3.1 has one segment after the first, Linux since 3.1 after the second (`tcp_init_transfer`),
/// older kernels and ns-3 never.
#[test]
fn lost_syns_and_syn_acks_reduce_the_first_flight_as_the_stack_has_it() {
    for (stack, expected) in [
        ("rfc", [10, 1, 1, 1]),
        ("linux-2.6", [10, 10, 1, 1]),
        ("linux-3.0", [10, 10, 10, 10]),
        ("linux-6", [10, 10, 1, 1]),
        ("ns2", [2, 1, 1, 1]),
        ("ns3", [10, 10, 10, 10]),
    ] {
        for from_client in [true, false] {
            let flights = [0, 1, 2, 3].map(|lost| first_flight(stack, lost, from_client));
            assert_eq!(flights, expected, "{stack}, from the client: {from_client}");
        }
    }
}
