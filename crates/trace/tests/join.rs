//! Ingress and egress of a drop-tail port, joined: of complete captures every fate is found; of an ingress
//! capture that lost packets no drop and no drop run is made up.

use std::collections::VecDeque;

use fairport_tcp::Flags;
use fairport_trace::join::{Completeness, Fate, Join, Side};
use fairport_trace::{Key, Packet};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// What a full-size packet takes at 1 Gbit/s.
const PACKET_NS: u64 = 12_304;
const WINDOW_NS: u64 = 100_000_000;

/// A packet at the port, and what became of it.
#[derive(Clone, Copy, Debug)]
struct Passed {
    tap: u32,
    packet: Packet,
    /// none: it was dropped
    left_ns: Option<u64>,
}

/// The traffic of a case, by `SplitMix64`.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % most
    }
}

fn packet(flow: u32, number: u32, time_ns: u64) -> Packet {
    let key = Key {
        source: u128::from(flow) + 10,
        destination: 1,
        ports: [1000, 80],
        protocol: 6,
    };
    Packet {
        payload: 1448,
        seq: number.wrapping_mul(1448),
        ack: 1,
        window: 60_000,
        identification: number as u16,
        ttl: 64,
        flags: Flags::ACK,
        ..Packet::new(key, time_ns, 1514)
    }
}

/// A port with room for so many packets, and bursts that come in by several others, a little more than it
/// sends.
fn port(seed: u64, taps: u32, limit: usize, packets: u32) -> Vec<Passed> {
    let mut draw = Draw(seed);
    let mut arrivals: Vec<(u64, u32, u32)> = Vec::new();
    for tap in 0..taps {
        let mut now = draw.below(1_000_000);
        for number in 0..packets / taps {
            // within a burst packets follow each other on their own line
            let gap = match draw.below(8) {
                0 => draw.below(16 * u64::from(taps) * PACKET_NS),
                _ => draw.below(200),
            };
            now += PACKET_NS + gap;
            arrivals.push((now, tap, number));
        }
    }
    arrivals.sort_unstable();
    let mut waiting: VecDeque<u64> = VecDeque::new();
    let mut free_ns = 0;
    let passed = arrivals.into_iter().map(|(now, tap, number)| {
        while waiting.front().is_some_and(|left_ns| *left_ns <= now) {
            waiting.pop_front();
        }
        let left_ns = (waiting.len() < limit).then(|| {
            free_ns = now.max(free_ns) + PACKET_NS;
            waiting.push_back(free_ns);
            free_ns
        });
        Passed {
            tap,
            packet: packet(tap, number, now),
            left_ns,
        }
    });
    passed.collect()
}

/// A drop as the join has it: its number among the packets that came, and the count of its ingress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Drop {
    tap: u32,
    number: u32,
    ingress_arrival: u64,
}

/// Joins captures of both sides; the ingress capture without the packets of which `is_lost` says so.
fn joined(passed: &[Passed], is_lost: impl Fn(usize) -> bool) -> (Vec<Drop>, u64, Completeness) {
    let taps = passed.iter().map(|one| one.tap + 1).max().unwrap_or(0);
    let ingress = passed
        .iter()
        .enumerate()
        .filter(|(place, _)| !is_lost(*place));
    let mut seen: Vec<(u64, Side, Packet)> = ingress
        .map(|(_, one)| (one.packet.time_ns, Side::Ingress(one.tap), one.packet))
        .collect();
    let egress = passed
        .iter()
        .filter_map(|one| Some((one.left_ns?, Side::Egress(0), one.packet)));
    seen.extend(egress.map(|(left_ns, side, packet)| {
        (
            left_ns,
            side,
            Packet {
                time_ns: left_ns,
                ..packet
            },
        )
    }));
    seen.sort_by_key(|(time_ns, side, _)| (*time_ns, *side == Side::Egress(0)));

    let mut join = Join::new(WINDOW_NS, taps, 1);
    let mut arrivals = vec![0_u64; taps as usize];
    let (mut drops, mut forwarded) = (Vec::new(), 0);
    let mut take = |emitted: &fairport_trace::join::Emitted| {
        let Some(joined) = emitted.joined.filter(|one| one.fate != Fate::Open) else {
            return;
        };
        let tap = joined.ingress;
        let count = &mut arrivals[tap as usize];
        *count += 1 + u64::from(emitted.is_apart);
        match joined.fate {
            Fate::Dropped(_) => drops.push(Drop {
                tap,
                number: emitted.packet.seq / 1448,
                ingress_arrival: *count,
            }),
            Fate::Forwarded { left_ns, .. } => {
                assert!(left_ns >= emitted.time_ns, "it left before it came");
                forwarded += 1;
            }
            Fate::Unseen | Fate::Open => panic!("nothing was acknowledged"),
        }
    };
    for (time_ns, side, packet) in &seen {
        let direction = 2 * (packet.key.source - 10) as u32;
        join.add(packet, direction, *side, *time_ns, None, &mut take);
    }
    join.finish(&mut take);
    let completeness = join.completeness().next();
    (drops, forwarded, completeness.expect("an output"))
}

/// The drops of which the egress capture shows that they are some.
fn true_drops(passed: &[Passed], is_lost: impl Fn(usize) -> bool) -> Vec<(u32, u32)> {
    let dropped = passed
        .iter()
        .enumerate()
        .filter(|(place, one)| one.left_ns.is_none() && !is_lost(*place));
    dropped
        .map(|(_, one)| (one.tap, one.packet.seq / 1448))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn of_complete_captures_every_fate_is_found(
        seed: u64, taps in 1_u32..6, limit in 1_usize..64,
    ) {
        let passed = port(seed, taps, limit, 2000);
        let (drops, forwarded, complete) = joined(&passed, |_| false);
        let truth = true_drops(&passed, |_| false);
        let left = passed.iter().filter(|one| one.left_ns.is_some()).count() as u64;
        prop_assert_eq!(forwarded, left);
        prop_assert_eq!(complete.joined, left);
        prop_assert_eq!((complete.missed_at_ingress, complete.without_ingress), (0, 0));
        // the last ones may still have been queued
        prop_assert_eq!(drops.len() as u64 + complete.open, truth.len() as u64);
        for (drop, (tap, number)) in drops.iter().zip(&truth) {
            prop_assert_eq!((drop.tap, drop.number), (*tap, *number));
            prop_assert_eq!(drop.ingress_arrival, u64::from(*number) + 1);
        }
    }

    #[test]
    fn an_ingress_capture_with_gaps_makes_no_drop_and_no_drop_run(
        seed: u64, taps in 2_u32..6, limit in 4_usize..64, per_mille in 1_u64..=50,
    ) {
        let passed = port(seed, taps, limit, 4000);
        let mut draw = Draw(!seed);
        let lost: Vec<bool> = passed.iter().map(|_| draw.below(1000) < per_mille).collect();
        let (drops, _, complete) = joined(&passed, |place| lost[place]);
        let truth = true_drops(&passed, |place| lost[place]);
        // every drop that the capture holds is found, none is made up
        let found: Vec<(u32, u32)> = drops.iter().map(|drop| (drop.tap, drop.number)).collect();
        prop_assert_eq!(found.as_slice(), &truth[..found.len()]);
        prop_assert_eq!(found.len() as u64 + complete.open, truth.len() as u64);
        // what left without having been seen coming in is counted as such
        let missed = passed.iter().zip(&lost).filter(|(one, lost)| **lost && one.left_ns.is_some());
        prop_assert_eq!(complete.missed_at_ingress, missed.count() as u64);
        // between drops that count as consecutive no packet of the same port was accepted
        let (mut counted, mut true_pairs) = (0_u64, 0_u64);
        for tap in 0..taps {
            let of_tap: Vec<&Drop> = drops.iter().filter(|drop| drop.tap == tap).collect();
            for two in of_tap.windows(2) {
                let mut between = passed.iter().filter(|one| {
                    let number = one.packet.seq / 1448;
                    one.tap == tap && (two[0].number..two[1].number).contains(&number)
                });
                let is_run = between.all(|one| one.left_ns.is_none());
                let is_counted = two[1].ingress_arrival == two[0].ingress_arrival + 1;
                prop_assert!(is_run || !is_counted, "{two:?}");
                counted += u64::from(is_counted);
                true_pairs += u64::from(is_run);
            }
        }
        // and most of the runs are still there
        let least = true_pairs as f64 * (1.0 - 10.0 * per_mille as f64 / 1000.0) - 5.0;
        prop_assert!(counted as f64 >= least, "{counted} of {true_pairs}");
    }
}

/// Joins sights of packets at one ingress and two outputs; the fates by output, and how often any was decided.
fn at_two_outputs(sights: &[(u64, Side, Packet)]) -> (Vec<(u32, Fate)>, u64) {
    let mut join = Join::new(WINDOW_NS, 1, 2);
    let (mut fates, mut decided) = (Vec::new(), 0);
    let mut take = |emitted: &fairport_trace::join::Emitted| {
        decided += 1;
        fates.extend(emitted.joined.map(|joined| (joined.egress, joined.fate)));
    };
    for (time_ns, side, packet) in sights {
        join.add(packet, 0, *side, *time_ns, None, &mut take);
    }
    join.finish(&mut take);
    (fates, decided)
}

#[test]
fn a_packet_that_left_by_another_output_is_no_drop() {
    let mut sights = Vec::new();
    for number in 0..1000_u32 {
        let time_ns = u64::from(number) * PACKET_NS;
        let packet = packet(0, number, time_ns);
        sights.push((time_ns, Side::Ingress(0), packet));
        // a flow that is spread over two outputs; one packet in a hundred is dropped
        if number % 100 != 50 {
            sights.push((time_ns + 1000, Side::Egress(number / 10 % 2), packet));
        }
    }
    let (fates, _) = at_two_outputs(&sights);
    let of = |output: u32, is_drop: bool| {
        let is = |(egress, fate): &&(u32, Fate)| {
            *egress == output && matches!(fate, Fate::Dropped(_)) == is_drop
        };
        fates.iter().filter(is).count()
    };
    // packets 50, 150 .. follow those that left by output 0, and would have left by output 1
    assert_eq!((of(0, true), of(1, true)), (10, 0));
    assert_eq!((of(0, false), of(1, false)), (500, 490));
}

#[test]
fn a_packet_that_came_in_by_an_output_is_one_packet() {
    let sight = |number: u32| {
        let time_ns = u64::from(number) * PACKET_NS;
        let packet = packet(0, number, time_ns);
        let came_in = (time_ns, Side::Egress(0), packet);
        [came_in, (time_ns + 1000, Side::Egress(1), packet)]
    };
    let sights: Vec<_> = (0..100).flat_map(sight).collect();
    assert_eq!(at_two_outputs(&sights), (Vec::new(), 100));
}

#[test]
fn a_drop_after_a_clock_was_set_back_is_found() {
    let at = |number: u32, time_ms: u64, side: Side| {
        let time_ns = time_ms * 1_000_000;
        (time_ns, side, packet(0, number, time_ns))
    };
    let (came_in, went_out) = (Side::Ingress(0), Side::Egress(0));
    let (fates, decided) = at_two_outputs(&[
        at(0, 40, came_in),
        at(0, 41, went_out),
        at(1, 100, came_in),
        at(1, 101, went_out),
        // the ingress capture lost this one
        at(2, 102, went_out),
        at(3, 50, came_in),
        at(4, 51, came_in),
        at(4, 55, went_out),
    ]);
    let dropped = fates
        .iter()
        .filter(|(_, fate)| matches!(fate, Fate::Dropped(_)));
    assert_eq!((fates.len(), dropped.count(), decided), (5, 1, 5));
}

#[test]
fn data_that_was_acknowledged_but_not_seen_leaving_was_not_dropped() {
    let mut sights = Vec::new();
    let mut see = |direction: u32, time_ns: u64, side: Side, packet: Packet| {
        sights.push((direction, time_ns, side, packet));
    };
    let ack = |number: u32| {
        let data = packet(0, 0, 0);
        Packet {
            key: data.key.reversed(),
            payload: 0,
            seq: 1,
            ack: 1448 * number,
            ..data
        }
    };
    for number in 0..12_u32 {
        let time_ns = 1_000_000 * u64::from(number);
        let mut sent = packet(0, number, time_ns);
        if number == 10 {
            sent.seq = 6 * 1448;
        }
        see(0, time_ns, Side::Ingress(0), sent);
        // the capture of the output lost number 4; the switch dropped number 6, which is sent again as number 10
        if number != 4 && number != 6 {
            see(0, time_ns + 1000, Side::Egress(0), sent);
        }
        if number < 6 || number == 10 {
            let acked = if number == 10 { 10 } else { number + 1 };
            see(1, time_ns + 2000, Side::Other(0), ack(acked));
        }
    }
    let mut join = Join::new(WINDOW_NS, 1, 1);
    let mut fates = Vec::new();
    let mut take = |emitted: &fairport_trace::join::Emitted| {
        fates.extend(emitted.joined.map(|joined| joined.fate));
    };
    for (direction, time_ns, side, packet) in sights {
        join.add(&packet, direction, side, time_ns, None, &mut take);
    }
    join.finish(&mut take);
    assert_eq!(fates[4], Fate::Unseen);
    assert_eq!(fates[6], Fate::Dropped(None));
    let forwarded = |fate: &&Fate| matches!(fate, Fate::Forwarded { .. });
    assert_eq!(
        (fates.len(), fates.iter().filter(forwarded).count()),
        (12, 10)
    );
    let completeness = join.completeness().next().unwrap();
    assert_eq!(
        (completeness.missed_at_egress, completeness.joined),
        (1, 10)
    );
}
