//! The tables of packets: drops, marks, the trace around the longest blackouts, and chosen ports' packets.

use crate::common::{ACCEPTED, END, FRAME_BYTES, FULL, Watched, numbers, times_us};
use fairport_net::discipline::{Admission, Reason};
use fairport_record::Losses;
use fairport_units::{Duration, Instant};

#[test]
fn a_drop_and_a_mark_are_rows_with_what_was_counted_at_their_arrival() {
    let mut port = Watched::new();
    let later = Instant::from_us(50);
    port.arrive(1, ACCEPTED, later);
    port.arrive(2, FULL, Instant::NEVER);
    port.arrive(3, Admission::Marked, later);
    port.arrive(2, Admission::Dropped(Reason::Share), Instant::NEVER);
    let (one, two) = (port.ingress[1].0, port.ingress[2].0);
    assert_ne!(one, two);
    let of_flow = |drops, marks| Losses {
        drops,
        marks,
        late_drops: 0,
    };
    assert_eq!(port.recorder.losses(1), of_flow(0, 0));
    assert_eq!(port.recorder.losses(2), of_flow(2, 0));
    assert_eq!(port.recorder.losses(3), of_flow(0, 1));
    let three = port.ingress[3].0;
    let at = port.port.0;
    let [drops, marks, _] = port.recorder.into_tables();
    for (name, wanted) in [
        ("time_s", [2, 4]),
        ("port", [at.into(); 2]),
        ("ingress_port", [two.into(); 2]),
        ("flow", [2; 2]),
        ("seq", [1002, 1004]),
        ("size_bytes", [FRAME_BYTES.into(); 2]),
        ("reason", [Reason::Full as u64, Reason::Share as u64]),
        ("port_arrival", [2, 4]),
        ("ingress_arrival", [22, 24]),
        ("flow_arrival", [42, 44]),
        ("port_accepted", [1, 2]),
        ("is_backward", [0, 0]),
        ("is_pure_ack", [0, 0]),
    ] {
        assert_eq!(numbers(&drops, name), wanted, "{name}");
    }
    for (name, wanted) in [
        ("time_s", 3),
        ("port", at.into()),
        ("ingress_port", three.into()),
        ("flow", 3),
        ("seq", 1003),
    ] {
        assert_eq!(numbers(&marks, name), [wanted], "{name}");
    }
}

#[test]
fn what_a_nic_drops_after_the_end_has_not_happened() {
    let mut port = Watched::new();
    port.now = END - Duration::from_us(1);
    port.arrive(1, FULL, Instant::NEVER);
    port.now = END - Duration::from_us(1) + Duration::from_ps(1);
    port.arrive(1, FULL, Instant::NEVER);
    let losses = port.recorder.losses(1);
    assert_eq!((losses.drops, losses.late_drops), (1, 1));
    let [drops, _, _] = port.recorder.into_tables();
    assert_eq!(numbers(&drops, "port_arrival"), [1]);
}

/// Four drops from host 1; between each two a packet of host 2 gets in.
const BLACKOUT: [(usize, Admission); 8] = [
    (1, FULL),
    (2, ACCEPTED),
    (1, FULL),
    (2, ACCEPTED),
    (1, FULL),
    (2, ACCEPTED),
    (1, FULL),
    (2, ACCEPTED),
];

#[test]
fn the_trace_has_a_blackout_and_eight_packets_before_and_after_it() {
    let mut port = Watched::new();
    port.all(&[(1, ACCEPTED); 10]);
    port.all(&BLACKOUT);
    port.all(&[(2, ACCEPTED); 20]);
    let one = u64::from(port.ingress[1].0);
    let trace = port.trace();
    // the run is from the 11th arrival to the 17th
    let wanted: Vec<u64> = (3..=25).collect();
    assert_eq!(numbers(&trace, "time_s"), wanted);
    let seqs: Vec<u64> = wanted.iter().map(|n| 1000 + n).collect();
    assert_eq!(numbers(&trace, "seq"), seqs);
    assert_eq!(numbers(&trace, "blackout_of"), vec![one; 23]);
    let dropped: Vec<u64> = wanted
        .iter()
        .map(|n| u64::from([11, 13, 15, 17].contains(n)))
        .collect();
    assert_eq!(numbers(&trace, "fate"), dropped);
    let ingress = numbers(&trace, "ingress_port");
    assert_eq!(ingress.iter().filter(|of| **of == one).count(), 8 + 4);
}

#[test]
fn drops_among_which_nobody_else_gets_in_are_no_blackout() {
    let mut port = Watched::new();
    port.all(&[
        (2, ACCEPTED),
        (1, FULL),
        (1, FULL),
        (1, FULL),
        (2, ACCEPTED),
        (1, FULL),
        (2, ACCEPTED),
    ]);
    assert_eq!(port.trace().rows(), 0);
    // with two drops none has to: between any two drops, on average, is one less than the drops
    let mut port = Watched::new();
    port.all(&[(1, FULL), (2, ACCEPTED), (1, FULL)]);
    assert_eq!(port.trace().rows(), 3);
    let mut port = Watched::new();
    port.all(&[(1, FULL), (1, FULL)]);
    assert_eq!(port.trace().rows(), 0);
    // a packet of its own that gets in ends a run
    let mut port = Watched::new();
    port.all(&[(1, FULL), (2, ACCEPTED), (1, ACCEPTED), (1, FULL)]);
    assert_eq!(port.trace().rows(), 0);
}

#[test]
fn each_ingress_port_has_its_longest_blackout_and_the_longest_comes_first() {
    let mut port = Watched::new();
    let of_three = [
        (3, FULL),
        (2, ACCEPTED),
        (3, FULL),
        (2, ACCEPTED),
        (3, FULL),
        (3, ACCEPTED),
    ];
    port.all(&of_three);
    port.all(&[(1, ACCEPTED); 30]);
    port.all(&BLACKOUT);
    port.all(&[(1, ACCEPTED); 30]);
    // a shorter one of host 3 than before, and a longer one of host 1
    port.all(&of_three[2..]);
    port.all(&[(1, ACCEPTED); 30]);
    port.all(&[BLACKOUT, BLACKOUT].concat());
    let (one, three) = (u64::from(port.ingress[1].0), u64::from(port.ingress[3].0));
    let trace = port.trace();
    let of = numbers(&trace, "blackout_of");
    let times = numbers(&trace, "time_s");
    // of host 1 the last run, of eight drops; then of host 3 the first
    let (first, second): (Vec<_>, Vec<_>) = of.iter().zip(&times).partition(|(of, _)| **of == one);
    assert!(of[..first.len()].iter().all(|of| *of == one));
    let ends = |rows: &[(&u64, &u64)]| (*rows[0].1, *rows[rows.len() - 1].1);
    // arrivals: 6, 30, 8, 30, 4, 30, then 16 of which the last drop is the 15th
    assert_eq!(ends(&first), (109 - 8, 124));
    assert!(second.iter().all(|(of, _)| **of == three));
    assert_eq!(ends(&second), (1, 5 + 8));
}

#[test]
fn of_blackouts_of_equal_length_the_first_is_traced() {
    let mut port = Watched::new();
    port.all(&BLACKOUT);
    port.all(&[(1, ACCEPTED); 30]);
    port.all(&BLACKOUT);
    let wanted: Vec<u64> = (1..=15).collect();
    assert_eq!(numbers(&port.trace(), "time_s"), wanted);
}

#[test]
fn a_trace_has_the_newest_packets_when_more_came_than_are_kept() {
    let mut port = Watched::new();
    // of 64 that are kept, the 65th takes the place of the first
    port.all(&[(2, ACCEPTED); 60]);
    port.all(&BLACKOUT);
    port.all(&[(2, ACCEPTED); 8]);
    let wanted: Vec<u64> = (53..=75).collect();
    assert_eq!(numbers(&port.trace(), "time_s"), wanted);
}

#[test]
fn what_recorders_of_two_regions_hold_is_together_in_one() {
    // of the port that is traced, one region has the packets
    for with_packets in [0, 1] {
        let mut regions = [Watched::new(), Watched::new()];
        regions[with_packets].all(&BLACKOUT);
        let other = 1 - with_packets;
        regions[other].port = regions[other].ingress[3];
        regions[other].all(&[(1, FULL), (1, FULL)]);
        let [mut one, another] = regions;
        one.recorder.absorb(another.recorder);
        assert_eq!(one.recorder.losses(1).drops, 4 + 2);
        assert_eq!(one.trace().rows(), BLACKOUT.len());
    }
}

#[test]
fn a_trace_ends_eight_packets_after_its_blackout_while_another_goes_on() {
    let mut port = Watched::new();
    port.all(&BLACKOUT);
    port.all(&[
        (3, FULL),
        (2, ACCEPTED),
        (3, FULL),
        (2, ACCEPTED),
        (3, FULL),
    ]);
    port.all(&[(2, ACCEPTED); 20]);
    let one = u64::from(port.ingress[1].0);
    let trace = port.trace();
    let (of, times) = (numbers(&trace, "blackout_of"), numbers(&trace, "time_s"));
    // the last drop of host 1 is the 7th arrival, that of host 3 the 13th
    let last = |own: bool| {
        of.iter()
            .zip(&times)
            .filter(|(of, _)| (**of == one) == own)
            .map(|(_, n)| *n)
            .max()
    };
    assert_eq!((last(true), last(false)), (Some(7 + 8), Some(13 + 8)));
}

#[test]
fn packets_of_other_ports_and_after_the_end_are_not_traced() {
    let mut port = Watched::new();
    let traced = std::mem::replace(&mut port.port, port.ingress[3]);
    port.all(&BLACKOUT);
    port.port = traced;
    port.now = END;
    port.all(&BLACKOUT);
    assert_eq!(port.trace().rows(), 0);
}

#[test]
fn a_measurement_begins_without_the_blackouts_before_it() {
    let mut port = Watched::new();
    port.all(&BLACKOUT);
    port.recorder.begin_measurement();
    port.all(&[(1, FULL), (2, ACCEPTED)]); // one drop of a new run
    assert_eq!(port.trace().rows(), 0);
}

#[test]
fn a_traced_packet_leaves_when_its_scheduler_says_and_may_be_dropped_before() {
    let mut port = Watched::new();
    port.arrive(2, ACCEPTED, Instant::NEVER);
    port.departs(1, Instant::from_us(40)); // before there is a blackout
    port.all(&BLACKOUT);
    port.arrive(2, ACCEPTED, Instant::NEVER);
    port.arrive(2, ACCEPTED, Instant::NEVER);
    port.arrive(2, ACCEPTED, Instant::NEVER);
    port.departs(10, END);
    port.departs(11, END + Duration::from_ps(1));
    port.report(2, FULL, Instant::NEVER, 12, true);
    let trace = port.trace();
    let departures = times_us(&trace, "depart_s");
    assert_eq!(departures.len(), 12);
    assert_eq!(departures[0], Some(40));
    assert_eq!(departures[9..], [Some(1000), None, None]);
    assert_eq!(numbers(&trace, "fate")[9..], [0, 0, 1]);
}

#[test]
fn a_packet_log_has_what_arrives_within_its_time_and_what_became_of_it() {
    let mut port = Watched::new();
    assert!(port.log.watches(port.port));
    assert!(!port.log.watches(port.ingress[1]));
    for host in [1, 1, 2, 3, 1, 1] {
        port.arrive(host, ACCEPTED, Instant::NEVER);
    }
    // the 3rd to the 5th arrive from 3 to 5 us
    port.departs(2, Instant::from_us(20));
    port.departs(4, Instant::from_us(30));
    port.report(1, Admission::Marked, Instant::NEVER, 4, true);
    port.report(1, FULL, Instant::NEVER, 5, true);
    let table = port.log.into_table(END);
    // waiting, marked, dropped
    assert_eq!(numbers(&table, "fate"), [0, 2, 3]);
    assert_eq!(numbers(&table, "seq"), [1003, 1004, 1005]);
    assert_eq!(numbers(&table, "time_s"), [3, 4, 5]);
    assert_eq!(times_us(&table, "depart_s"), [None, Some(30), None]);
    assert_eq!(
        numbers(&table, "queue_bytes"),
        [u64::from(3 * FRAME_BYTES); 3]
    );
    let full = Reason::Full as u64;
    assert_eq!(numbers(&table, "reason"), [255, 255, full]);
}

#[test]
fn what_would_leave_after_the_end_still_waits() {
    for (depart, fate) in [(END, 1), (END + Duration::from_ps(1), 0)] {
        let mut port = Watched::new();
        port.now = Instant::from_us(2);
        port.arrive(1, ACCEPTED, depart);
        let table = port.log.into_table(END);
        assert_eq!(numbers(&table, "fate"), [fate]);
        assert_eq!(times_us(&table, "depart_s"), [(fate == 1).then_some(1000)]);
    }
}
