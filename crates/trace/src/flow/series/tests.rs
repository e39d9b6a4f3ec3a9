use fairport_record::{Column, Table};
use proptest::prelude::*;

use super::*;

const PRESENT: Present = Present {
    in_flight_bytes: 0,
    srtt_ns: 0.0,
};

#[test]
fn an_interval_holds_more_than_four_gigabytes() {
    let mut series = Series::new(1_000_000_000);
    for time_ns in 0..10 {
        series.add(0, time_ns, 1_000_000_000, PRESENT);
    }
    assert_eq!(series.bytes_between(0, 0, u64::MAX), 10_000_000_000);
    let table = series.into_rows(&[0]).into_table();
    let column = |name: &str| table.column(name).unwrap();
    assert_eq!(*column("goodput_bps"), Column::F64(vec![80e9]));
    assert_eq!(
        *column("delivered_bytes"),
        Column::U64(vec![10_000_000_000])
    );
}

#[test]
fn the_mean_of_many_samples_is_that_of_each() {
    let mut series = Series::new(1_000_000_000);
    for time_ns in 0..5_000_000 {
        series.add_rtt(0, time_ns, 25_300);
    }
    let table = series.into_rows(&[0]).into_table();
    let Some(Column::F64(means)) = table.column("rtt_mean_s") else {
        panic!("no column of numbers")
    };
    assert!((means[0] - 25.3e-6).abs() < 1e-11, "{means:?}");
}

/// Data that arrives, with an RTT sample.
#[derive(Clone, Copy, Debug)]
struct Event {
    direction: u32,
    time_ns: u64,
    bytes: u64,
    in_flight_bytes: u64,
    rtt_us: u32,
}

/// Events in order of time. A few are hours after the one before.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let gap_ns =
        prop_oneof![8 => 0..3_000_000_u64, 4 => 0..300_000_000_u64, 1 => 0..10_000_000_000_000_u64];
    let event = (
        0..3_u32,
        gap_ns,
        1..100_000_u64,
        0..1_000_000_u64,
        1..1_000_000_u32,
    );
    prop::collection::vec(event, 1..40).prop_map(|drawn| {
        let mut time_ns = 0;
        let event = |(direction, gap_ns, bytes, in_flight_bytes, rtt_us)| {
            time_ns += gap_ns;
            Event {
                direction,
                time_ns,
                bytes,
                in_flight_bytes,
                rtt_us,
            }
        };
        drawn.into_iter().map(event).collect()
    })
}

/// The numbers of a table's column.
fn numbers(table: &Table, name: &str) -> Vec<f64> {
    match table.column(name).unwrap() {
        Column::U8(values) => values.iter().map(|one| f64::from(*one)).collect(),
        Column::U32(values) => values.iter().map(|one| f64::from(*one)).collect(),
        Column::U64(values) => values.iter().map(|one| *one as f64).collect(),
        Column::F64(values) => values.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn rows_are_those_of_a_list_of_all_events(events in events()) {
        let mut series = Series::new(1_000_000);
        for one in &events {
            let srtt_ns = f64::from(one.rtt_us) * 1e3;
            let present = Present { in_flight_bytes: one.in_flight_bytes, srtt_ns };
            series.add(one.direction, one.time_ns, one.bytes, present);
            series.add_rtt(one.direction, one.time_ns, u64::from(one.rtt_us) * 1000);
        }
        let of = |flow: u32| events.iter().filter(move |one| one.direction == flow);
        let span = |flow: u32, interval_ns: u64| {
            let (first, last) = (of(flow).next()?.time_ns, of(flow).next_back()?.time_ns);
            Some(first / interval_ns..=last / interval_ns)
        };
        // intervals become longer until the table is not too long
        let rows = |interval_ns| -> usize {
            (0..3).filter_map(|flow| span(flow, interval_ns)).map(Iterator::count).sum()
        };
        let mut interval_ns = 1_000_000;
        while rows(interval_ns) > MOST_CELLS {
            interval_ns *= 2;
        }
        let table = series.into_rows(&[0, 1, 2]).into_table();
        let found = [
            "time_s", "flow", "goodput_bps", "delivered_bytes", "in_flight_bytes", "srtt_s", "rtt_min_s",
            "rtt_mean_s", "rtt_max_s",
        ].map(|name| numbers(&table, name));
        prop_assert_eq!(found[0].len(), rows(interval_ns));
        let mut expected: Vec<(u64, u32)> = (0..3)
            .filter_map(|flow| Some(span(flow, interval_ns)?.map(move |interval| (interval, flow))))
            .flatten()
            .collect();
        expected.sort_unstable();
        for (row, (interval, flow)) in expected.into_iter().enumerate() {
            let end_ns = (interval + 1) * interval_ns;
            let before = of(flow).take_while(|one| one.time_ns < end_ns);
            let within = before.clone().filter(|one| one.time_ns >= end_ns - interval_ns);
            let newest = before.clone().last().unwrap();
            let bytes: u64 = within.clone().map(|one| one.bytes).sum();
            let rtts = within.map(|one| f64::from(one.rtt_us) / 1e6);
            let count = rtts.clone().count() as f64;
            let values = [
                end_ns as f64 / 1e9,
                f64::from(flow),
                bytes as f64 * 8e9 / interval_ns as f64,
                before.map(|one| one.bytes).sum::<u64>() as f64,
                newest.in_flight_bytes as f64,
                f64::from(newest.rtt_us) / 1e6,
                rtts.clone().fold(f64::NAN, f64::min),
                rtts.clone().sum::<f64>() / count,
                rtts.fold(f64::NAN, f64::max),
            ];
            for (column, value) in found.iter().zip(values) {
                let found = column[row];
                let is_equal = (found - value).abs() <= value * 1e-6 || found.is_nan() && value.is_nan();
                prop_assert!(is_equal, "row {row}: {found}, not {value}");
            }
        }
    }
}
