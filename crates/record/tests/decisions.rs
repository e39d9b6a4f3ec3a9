//! Which decisions of senders are kept when there are more than the table holds.

use fairport_record::{Column, FlowLog, MOST_DECISIONS};
use fairport_tcp::{Decision, DecisionCause, DecisionKind};
use fairport_units::Instant;

const MARKED: Decision = Decision {
    what: DecisionKind::EcnReduction,
    cause: DecisionCause::Mark,
    cwnd_before_bytes: 20_000,
    cwnd_after_bytes: 10_000,
    ssthresh_bytes: u64::MAX,
};

#[test]
fn of_decisions_in_two_regions_the_first_in_time_and_then_by_flow_are_kept() {
    let [mut one, mut other] = [FlowLog::new(2), FlowLog::new(2)];
    for log in [&mut one, &mut other] {
        log.add_flow();
        log.add_flow();
    }
    // each flow decides once per picosecond, in a region of its own
    for time_ps in 0..MOST_DECISIONS / 2 + 2 {
        one.decision(Instant::from_ps(time_ps), 0, &MARKED);
        other.decision(Instant::from_ps(time_ps), 1, &MARKED);
    }
    one.absorb(other);
    assert_eq!(one.decisions_left_out(), 4);
    let [_, decisions, _] = one.into_tables();
    let flows: Vec<u32> = (0..MOST_DECISIONS as u32).map(|row| row % 2).collect();
    assert_eq!(decisions.column("flow"), Some(&Column::U32(flows)));
    let columns = decisions.columns.iter().map(|(_, column)| column.len());
    assert!(columns.eq([MOST_DECISIONS as usize; 7]));
}

#[test]
fn of_the_last_instant_that_is_kept_the_flows_of_lower_numbers_are() {
    let mut log = FlowLog::new(2);
    log.add_flow();
    log.add_flow();
    for _ in 1..MOST_DECISIONS {
        log.decision(Instant::ZERO, 1, &MARKED);
    }
    // there is room for one of these two
    log.decision(Instant::from_ps(5), 1, &MARKED);
    log.decision(Instant::from_ps(5), 0, &MARKED);
    log.decision(Instant::from_ps(6), 0, &MARKED);
    let [_, decisions, _] = log.into_tables();
    let Some(Column::U32(flows)) = decisions.column("flow") else {
        panic!("flows are numbers");
    };
    assert_eq!(
        (flows.len() as u64, flows.last()),
        (MOST_DECISIONS, Some(&0))
    );
    let Some(Column::F64(times)) = decisions.column("time_s") else {
        panic!("times are numbers");
    };
    assert_eq!(times.last(), Some(&5e-12));
}
