//! Parts of a record that others read: columns, what is watched, the parts of a run in several regions.

use crate::common::{self, ACCEPTED, END, FULL, Watched, numbers, times_us};
use fairport_net::discipline::Admission;
use fairport_net::{Observer, PortId};
use fairport_record::{
    Column, FlowEnds, FlowLog, QueueSamples, Recorder, Series, Simulated, Table, Watcher,
};
use fairport_tcp::Segment;
use fairport_units::{Duration, Instant};

#[test]
fn a_column_s_type_has_the_name_that_its_readers_know() {
    let columns = [
        Column::U8(vec![]),
        Column::U32(vec![]),
        Column::U64(vec![]),
        Column::F64(vec![]),
    ];
    let names = columns.each_ref().map(Column::dtype);
    assert_eq!(names, ["u8", "u32", "u64", "f64"]);
}

#[test]
fn the_rows_of_a_second_table_come_after_those_of_the_first() {
    let table = |rows: [u32; 2]| Table {
        name: "drops",
        columns: vec![
            ("flow", Column::U32(rows.into())),
            (
                "port",
                Column::U64(rows.map(|row| u64::from(row) + 10).into()),
            ),
        ],
    };
    let mut all = table([1, 2]);
    all.append(table([4, 3]));
    assert_eq!(numbers(&all, "flow"), [1, 2, 4, 3]);
    assert_eq!(numbers(&all, "port"), [11, 12, 14, 13]);
}

#[test]
fn a_plain_segment_is_the_content_that_it_was_made_into() {
    let segment = Segment {
        seq: 7,
        ack: 9,
        ..Segment::default()
    };
    let content = <Segment as Simulated>::new(segment, 3, true);
    assert_eq!(*content.segment(), segment);
}

#[test]
fn flows_of_the_lowest_numbers_are_watched() {
    let series = Series::new(Duration::from_ms(1), 3);
    assert_eq!(
        [0, 2, 3, 4].map(|flows| series.watched(flows)),
        [0, 2, 3, 3]
    );
    let mut log = FlowLog::new(1);
    log.add_flow();
    log.add_flow();
    log.rtt_sample(0, Duration::from_us(50));
    log.rtt_sample(1, Duration::from_us(50));
    let [.., rtt] = log.into_tables();
    assert_eq!(numbers(&rtt, "flow"), [0]);
}

#[test]
fn the_sampled_ports_are_those_that_were_asked_for() {
    let ports = vec![PortId(4), PortId(7)];
    let samples = QueueSamples::new(Duration::from_us(10), ports.clone());
    assert_eq!(samples.ports(), ports);
}

#[test]
fn a_recorder_wants_the_packets_of_the_traced_port_alone() {
    let port = Watched::new();
    let wants = |at| Observer::<common::Number>::watches(&port.recorder, at);
    assert!(wants(port.port));
    assert!(!wants(port.ingress[1]));
}

#[test]
fn a_watcher_s_recorder_counts_for_the_flows_that_were_added() {
    let topology = fairport_net::topology::star(2).expect("two hosts");
    let mut recorder = Recorder::new(&topology, PortId(0), END);
    let ends = FlowEnds {
        src: 0,
        dst: 1,
        is_udp: false,
    };
    Watcher::add_flow(&mut recorder, ends);
    assert_eq!(recorder.losses(0).drops, 0);
}

#[test]
fn a_packet_that_leaves_late_changes_no_later_packet_s_row() {
    // the trace remembers a power of two of the latest packets, and writes over older ones
    for later in 1..=128 {
        let mut port = Watched::new();
        port.arrive(2, ACCEPTED, Instant::NEVER);
        port.all(&vec![(2, ACCEPTED); later]);
        port.departs(1, END);
        port.all(&[(1, FULL), (2, ACCEPTED)].repeat(4));
        let trace = port.trace();
        // the n-th packet arrives at n us, and leaves a microsecond later
        let newest = later as u64 + 1;
        let times = numbers(&trace, "time_s");
        let row = times.iter().position(|time| *time == newest);
        let row = row.expect("it is right before the blackout");
        let departs = times_us(&trace, "depart_s")[row];
        assert_eq!(departs, Some(newest + 1), "{later}");
    }
}

#[test]
fn a_marked_packet_stays_marked_when_it_leaves() {
    let mut port = Watched::new();
    port.now = Instant::from_us(2);
    port.arrive(1, ACCEPTED, Instant::NEVER);
    port.arrive(1, ACCEPTED, Instant::NEVER);
    port.report(1, Admission::Marked, Instant::NEVER, 1, true);
    port.departs(1, Instant::from_us(20));
    port.departs(2, Instant::from_us(21));
    // marked, forwarded
    assert_eq!(numbers(&port.log.into_table(END), "fate"), [2, 1]);
}
