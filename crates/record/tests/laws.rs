//! A record that breaks one law breaks that law alone, and one at the very limit breaks none.

use fairport_record::laws::{Limits, first_difference, violations};
use fairport_record::{Column, Recorded, Table};
use fairport_units::{Duration, Instant};

fn limits() -> Limits {
    Limits {
        payload_bps: vec![80_000.0, 80_000.0],
        queue_bytes: vec![5000.0, 5000.0],
        segment_bytes: 1000.0,
    }
}

/// One second, all measured; two flows into host 0 and two ports, each at its limits: the line carries
/// 10,000 B and a segment counts whole.
fn at_the_limits() -> Recorded {
    let flows = vec![
        ("dst", Column::U32(vec![0, 0])),
        ("start_s", Column::F64(vec![0.0, 7.0])),
        ("end_s", Column::F64(vec![1.0, f64::NAN])),
        ("size_bytes", Column::U64(vec![6000, u64::MAX])),
        ("delivered_bytes", Column::U64(vec![6000, 5000])),
        ("measured_bytes", Column::U64(vec![6000, 5000])),
        ("segments_sent", Column::U64(vec![9, 6])),
        ("retransmits", Column::U64(vec![1, 1])),
        ("timeouts", Column::U64(vec![0, 0])),
        ("drops", Column::U64(vec![1, 0])),
        ("marks", Column::U64(vec![0, 0])),
    ];
    let ports = vec![
        ("busy_share", Column::F64(vec![0.0, 1.0])),
        ("queue_max_bytes", Column::U64(vec![5000, 4000])),
        ("queue_mean_bytes", Column::F64(vec![5000.0, 10.0])),
        ("drops", Column::U64(vec![1, 0])),
        ("marks", Column::U64(vec![0, 0])),
    ];
    let queue = vec![
        ("port", Column::U32(vec![0, 1])),
        ("bytes", Column::U64(vec![5000, 4000])),
    ];
    let tables = [
        ("flows", flows),
        ("ports", ports),
        ("queue", queue),
        ("drops", vec![("time_s", Column::F64(vec![1.0]))]),
        ("marks", vec![("time_s", Column::F64(vec![]))]),
        ("timeouts", vec![("time_s", Column::F64(vec![]))]),
    ];
    Recorded {
        fingerprint: 0,
        port_fingerprints: vec![1, 2],
        packet_hops: 0,
        events: 0,
        measure_from: Instant::ZERO,
        measure_to: Instant::from_ns(1_000_000_000),
        simulated: Duration::from_ns(1_000_000_000),
        decisions_left_out: 0,
        names: Vec::new(),
        tables: tables
            .into_iter()
            .map(|(name, columns)| Table { name, columns })
            .collect(),
    }
}

/// Gives the record another column.
fn replace(recorded: &mut Recorded, table: &str, name: &str, column: &Column) {
    let tables = recorded.tables.iter_mut();
    let columns = tables
        .filter(|one| one.name == table)
        .flat_map(|one| &mut one.columns);
    for (own, values) in columns {
        if *own == name {
            values.clone_from(column);
        }
    }
}

/// The laws that a record breaks.
fn broken(recorded: &Recorded) -> Vec<&'static str> {
    let found = violations(recorded, &limits());
    found.iter().map(|one| one.law).collect()
}

/// The laws that break when one column is another.
fn broken_by(table: &str, name: &str, column: &Column) -> Vec<&'static str> {
    let mut recorded = at_the_limits();
    replace(&mut recorded, table, name, column);
    broken(&recorded)
}

#[test]
fn a_record_at_its_limits_obeys() {
    assert_eq!(violations(&at_the_limits(), &limits()), []);
}

#[test]
fn a_share_above_one_or_below_zero_is_found() {
    for share in [1.001, -0.001, f64::NAN] {
        let found = broken_by("ports", "busy_share", &Column::F64(vec![0.5, share]));
        assert_eq!(found, ["a share is within 0 and 1"], "{share}");
    }
}

#[test]
fn a_date_outside_the_run_is_found_but_not_a_planned_start() {
    let law = "nothing is dated outside the run";
    for time in [1.001, -0.001] {
        let dates = || Column::F64(vec![time]);
        assert_eq!(broken_by("drops", "time_s", &dates()), [law], "{time}");
        let ends = Column::F64(vec![f64::NAN, time]);
        assert_eq!(broken_by("flows", "end_s", &ends), [law], "{time}");
    }
}

#[test]
fn counts_that_differ_between_tables_are_found() {
    let law = "drops, marks and timeouts are as many in every table";
    for name in ["drops", "marks", "timeouts"] {
        let two = || Column::U64(vec![2, 0]);
        assert_eq!(broken_by("flows", name, &two()), [law], "{name}");
        if name != "timeouts" {
            assert_eq!(broken_by("ports", name, &two()), [law], "{name}");
        }
    }
}

#[test]
fn a_byte_delivered_beyond_the_size_or_what_was_sent_is_found() {
    let law = "no flow delivers more than it sent";
    let delivered = |first, second| {
        broken_by(
            "flows",
            "delivered_bytes",
            &Column::U64(vec![first, second]),
        )
    };
    assert_eq!(delivered(6001, 5000), [law], "of 6000");
    assert_eq!(
        delivered(6000, 5001),
        [law],
        "in 5 segments, of which none was sent again"
    );
}

#[test]
fn a_queue_beyond_its_limit_its_mean_or_its_samples_is_found() {
    let law = "no queue exceeds its limit";
    let most = Column::U64(vec![5001, 4000]);
    assert_eq!(broken_by("ports", "queue_max_bytes", &most), [law]);
    let mean = Column::F64(vec![5000.5, 10.0]);
    assert_eq!(broken_by("ports", "queue_mean_bytes", &mean), [law]);
    let samples = Column::U64(vec![5000, 4001]);
    assert_eq!(broken_by("queue", "bytes", &samples), [law]);
}

#[test]
fn goodput_beyond_the_line_and_a_segment_is_found() {
    let measured = Column::U64(vec![6000, 5001]);
    assert_eq!(
        broken_by("flows", "measured_bytes", &measured),
        ["no goodput exceeds the line"]
    );
}

#[test]
fn a_line_carries_half_as_much_in_half_a_second() {
    let mut recorded = at_the_limits();
    recorded.measure_from = Instant::from_ms(500);
    // 5000 B, and a segment counts whole
    for (bytes, laws) in [(6000, &[][..]), (6001, &["no goodput exceeds the line"])] {
        let measured = Column::U64(vec![bytes, 0]);
        replace(&mut recorded, "flows", "measured_bytes", &measured);
        assert_eq!(broken(&recorded), laws, "{bytes}");
    }
}

#[test]
fn two_runs_differ_first_at_the_first_port_that_differs() {
    let (one, mut other) = (at_the_limits(), at_the_limits());
    assert_eq!(first_difference(&one, &other), None);
    other.port_fingerprints[1] = 9;
    assert_eq!(first_difference(&one, &other), Some(1));
    other.port_fingerprints[0] = 9;
    assert_eq!(first_difference(&one, &other), Some(0));
}
