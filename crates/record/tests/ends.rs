//! What a run's end makes of ports, timeouts, decisions and samples: values computed by hand.

use fairport_net::discipline::Backlog;
use fairport_net::topology::star;
use fairport_net::{Packet, PortId};
use fairport_record::{Column, FlowLog, QueueSamples, Recorder, Table, names, ports};
use fairport_tcp::{Timeout, TimeoutCause};
use fairport_units::{Duration, Instant};

use crate::common::{Number, Sinks, header, network, numbers};

fn f64s<'a>(table: &'a Table, name: &str) -> &'a [f64] {
    match table.column(name) {
        Some(Column::F64(values)) => values,
        other => panic!("{name}: {other:?}"),
    }
}

fn u64s<'a>(table: &'a Table, name: &str) -> &'a [u64] {
    match table.column(name) {
        Some(Column::U64(values)) => values,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn a_row_of_the_table_of_ports_is_what_the_port_did_within_the_run() {
    // a packet of 1500 bytes is a frame of 1518, and takes 12.304 us of a line of 1 Gbit/s
    let topology = star(2).expect("two hosts");
    let end = Instant::from_us(100);
    let mut recorder = Recorder::new(&topology, PortId(0), end);
    recorder.add_flow(1);
    let (mut network, routes) = network(&topology, 2, recorder);
    network.end_at(end);
    let packet = Packet {
        header: header(0, routes[0], PortId(0)),
        content: Number(0),
    };
    // the first of five is sent at once, two wait, two find no room
    for _ in 0..5 {
        network.inject(Instant::ZERO, packet);
    }
    // the host is yet to process five more, which count nowhere
    for _ in 0..5 {
        network.inject(end + Duration::from_ns(1), packet);
    }
    network.advance(end, u64::MAX, &mut Sinks);
    network.settle(end);
    let (run, count) = (end - Instant::ZERO, topology.ports().len());
    let errors: Vec<i32> = (0_i32..).take(count).map(|n| 1500 * n).collect();
    let flows: Vec<u32> = (0..count as u32).map(|n| 10 + n).collect();
    let table = ports(|_| &network, run, &flows, &errors);
    let nic = topology.node(topology.hosts()[1]).ports[0].0 as usize;
    assert_eq!(table.rows(), count);
    assert_eq!(u64s(&table, "packets")[nic], 3);
    assert_eq!(u64s(&table, "bytes")[nic], 3 * 1518);
    assert_eq!(u64s(&table, "drops")[nic], 2);
    assert_eq!(u64s(&table, "arrivals")[nic], 5);
    assert_eq!(u64s(&table, "queue_max_bytes")[nic], 2 * 1518);
    let near = |name: &str, wanted: f64| {
        let found = f64s(&table, name)[nic];
        assert!(
            (found - wanted).abs() < 1e-9,
            "{name}: {found}, not {wanted}"
        );
    };
    near("busy_share", 3.0 * 12.304 / 100.0);
    // the second waits 12.304 us, the third twice that
    near("queue_mean_bytes", 1518.0 * 3.0 * 12.304 / 100.0);
    near("clock_error_ppm", 1.5 * nic as f64);
}

#[test]
fn a_timeout_is_a_row() {
    let mut log = FlowLog::new(1);
    (0..2).for_each(|_| log.add_flow());
    let timeout = Timeout {
        start: Instant::from_ms(3),
        end: Instant::from_ms(8),
        rto: Duration::from_ms(5),
        backoff: 1,
        seq: 77,
        cause: TimeoutCause::Tail,
    };
    log.timeout(1, false, &timeout);
    log.timeout(1, true, &timeout);
    let [timeouts, ..] = log.into_tables();
    assert_eq!(timeouts.rows(), 2);
    assert_eq!(numbers(&timeouts, "is_backward"), [0, 1]);
    let us = |name| (f64s(&timeouts, name)[0] * 1e6).round() as u64;
    assert_eq!(["start_s", "end_s", "rto_s"].map(us), [3000, 8000, 5000]);
}

#[test]
fn a_queue_is_sampled_once_per_interval() {
    let mut samples = QueueSamples::new(Duration::from_us(10), vec![PortId(4), PortId(7)]);
    for n in 1..=3 {
        assert_eq!(samples.next_at(), Instant::from_us(10 * n));
        samples.sample(|port, at| {
            assert_eq!(at, Instant::from_us(10 * n));
            Backlog {
                bytes: 1000 * port.0,
                packets: port.0,
            }
        });
    }
    let table = samples.into_table();
    let times: Vec<f64> = f64s(&table, "time_s")
        .iter()
        .map(|time| time * 1e6)
        .collect();
    let rounded: Vec<i64> = times.iter().map(|time| time.round() as i64).collect();
    assert_eq!(rounded, [10, 10, 20, 20, 30, 30]);
    assert_eq!(u64s(&table, "bytes"), [4000, 7000].repeat(3));
    assert_eq!(u64s(&table, "packets"), [4, 7].repeat(3));
}

#[test]
fn numbers_in_the_tables_have_names() {
    let lists = names();
    let list = |name: &str| {
        &lists
            .iter()
            .find(|(own, _)| *own == name)
            .expect("a list")
            .1
    };
    assert_eq!(list("protocol"), &["tcp", "udp"]);
    assert_eq!(list("fate"), &["forwarded", "dropped"]);
    assert_eq!(
        list("packet_fate"),
        &["waiting", "forwarded", "marked", "dropped"]
    );
    assert!(
        lists
            .iter()
            .all(|(_, names)| !names.is_empty() && !names.contains(&String::new()))
    );
}
