//! What must hold of every queue discipline, whatever is sent through it.

use crate::common::queues::Settings;
use crate::common::{FULL_FRAME, LIMIT_PACKETS, Number, SENDERS, Send, Setup, Sinks, check, sends};
use fairport_net::PortId;
use fairport_net::classifier::SHORT;
use fairport_net::discipline::{Backlog, PacketView, QueueDiscipline, QueueView};
use fairport_net::loss::{Loss, Runs};
use fairport_net::queue::{CustomQueues, NetworkContext, QueueConfig, Queueing};
use fairport_net::shaper::Shaper;
use fairport_net::stream::Stream;
use fairport_net::topology::{LinkOptions, two_switch};
use fairport_units::{Duration, Instant, Rate};
use proptest::prelude::*;
use serde_json::{Value, json};

/// All disciplines with their usual settings.
fn usual() -> impl Iterator<Item = Value> {
    let fifos = Settings::USUAL.fifos().into_iter();
    fifos.chain(Settings::USUAL.schedulers())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_fifo_conserves_keeps_its_limit_never_idles_and_never_reorders(
        sends in sends(), settings in Settings::any(), departure_first: bool,
    ) {
        for queue in settings.fifos() {
            let (name, (log, received)) = (&queue["kind"], Setup::new(&queue, departure_first).run(&sends));
            check(name, &log, &received, &sends);
            let arrivals: Vec<u64> = received.iter().map(|number| log.fates[number].counts).collect();
            prop_assert!(arrivals.is_sorted(), "{name} reordered");
        }
    }

    #[test]
    fn a_scheduler_conserves_keeps_its_limit_never_idles_and_keeps_each_flow_in_order(
        sends in sends(), settings in Settings::any(), departure_first: bool,
    ) {
        for queue in settings.schedulers() {
            let (name, (log, received)) = (&queue["kind"], Setup::new(&queue, departure_first).run(&sends));
            check(name, &log, &received, &sends);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// At any instant, a port's busy time is the transmission time of its departures until then, and its
    /// mean queue is within its limit.
    #[test]
    fn busy_time_is_the_time_in_which_packets_were_sent(
        sends in sends(), departure_first: bool, at_us in 1..3000_u64, is_shaped: bool,
    ) {
        for queue in usual() {
            let rate = Rate::from_bps(200_000_000);
            let setup = Setup {
                shaper: is_shaped.then(|| Shaper::token_bucket(rate, 4000)),
                ..Setup::new(&queue, departure_first)
            };
            let (mut network, port) = setup.network(&sends);
            let now = Instant::from_us(at_us);
            network.advance(now, u64::MAX, &mut Sinks::default());
            network.settle(now);
            let busy = network.busy(port, now);
            let queued = network.backlog_integral(port, now);
            let limit = u128::from(LIMIT_PACKETS * FULL_FRAME);
            prop_assert!(busy <= now - Instant::ZERO, "{}: {busy}", queue["kind"]);
            prop_assert!(queued <= limit * u128::from(now.as_ps()), "{}", queue["kind"]);
            if is_shaped {
                continue; // it is also busy while a packet waits for tokens
            }
            let departures = network.observer().fates.values().filter_map(|fate| {
                let line_time = Duration::from_ns(8 * u64::from(fate.wire_bytes));
                fate.departs.map(|departs| (departs - line_time, departs))
            });
            let parts = departures.map(|(begin, end)| end.min(now).saturating_sub(begin));
            let sent: Duration = parts.sum();
            // each packet still to be sent may be rounded by 1 ps, or leave 1 ps late
            let error = sent.as_ps().abs_diff(busy.as_ps());
            prop_assert!(error <= 2 * u64::from(LIMIT_PACKETS), "{}: {busy}, {sent}", queue["kind"]);
        }
    }
}

/// The buffer holds one packet. The first packet is in service, the second waits, and the third arrives
/// at the instant at which the second leaves the buffer. There is room for it if departures come first.
#[test]
fn of_a_departure_and_an_arrival_of_one_instant_the_setting_says_which_comes_first() {
    let limit = json!({"packets": 1});
    let queues = [
        json!({"kind": "drop-tail", "limit": limit, "count_in_service": false}),
        json!({
            "kind": "step-marking", "limit": limit, "count_in_service": false,
            "mark_above": {"packets": 3},
        }),
        json!({"kind": "drr", "limit": limit, "quantum_bytes": FULL_FRAME}),
        json!({
            "kind": "codel", "limit": limit, "target_ps": 20_000_000, "interval_ps": 100_000_000,
            "ecn": false,
        }),
    ];
    // 1500 bytes take 12304 ns on each line of 1 Gbit/s, framing included
    let dropped = |queue: &Value, departure_first, second_ns, third_ns| {
        let sends: Vec<Send> = [0, second_ns, third_ns]
            .into_iter()
            .enumerate()
            .map(|(sender, gap_ns)| Send {
                sender,
                size_bytes: 1500,
                gap_ns,
                ecn: 0,
            })
            .collect();
        let (log, received) = Setup::new(queue, departure_first).run(&sends);
        check(&queue["kind"], &log, &received, &sends);
        let drops = log.fates.values().map(|fate| fate.drops);
        drops.collect::<Vec<u32>>()
    };
    for queue in &queues {
        assert_eq!(dropped(queue, true, 1000, 12_304), [0, 0, 0], "{queue}");
        assert_eq!(dropped(queue, false, 1000, 12_304), [0, 0, 1], "{queue}");
        // a line that is freed as two packets arrive takes the first, or frees its place too late
        assert_eq!(dropped(queue, true, 12_304, 12_304), [0, 0, 0], "{queue}");
        assert_eq!(dropped(queue, false, 12_304, 12_304), [0, 0, 1], "{queue}");
        // an idle line takes the first of three at once, as in ns-3
        assert_eq!(dropped(queue, true, 0, 0), [0, 0, 1], "{queue}");
        assert_eq!(dropped(queue, false, 0, 0), [0, 0, 1], "{queue}");
        // a nanosecond earlier or later, the setting does not matter
        for departure_first in [true, false] {
            assert_eq!(
                dropped(queue, departure_first, 1000, 12_303),
                [0, 0, 1],
                "{queue}"
            );
            assert_eq!(
                dropped(queue, departure_first, 1000, 12_305),
                [0, 0, 0],
                "{queue}"
            );
        }
    }
}

#[test]
fn losses_are_the_same_in_front_of_every_queue() {
    let losses = [
        Loss::OnOff(Runs::new(3, Duration::from_us(200), Instant::ZERO)),
        Loss::Random {
            probability_ppb: 100_000_000,
            stream: Stream::new(1, "loss", 0),
        },
    ];
    let sends: Vec<Send> = (0..2000)
        .map(|n| Send {
            sender: n % SENDERS,
            size_bytes: 1500,
            gap_ns: 30_000, // per sender; four of them send more than the line carries
            ecn: 0,
        })
        .collect();
    let mut lost: Vec<Vec<Number>> = Vec::new();
    for queue in usual() {
        let name = &queue["kind"];
        let (log, received) = Setup {
            losses: losses.to_vec(),
            ..Setup::new(&queue, true)
        }
        .run(&sends);
        check(name, &log, &received, &sends);
        let drops: u32 = log.fates.values().map(|fate| fate.drops).sum();
        let is_lost = |number: &Number| log.fates[number].losses > 0;
        lost.push((0..sends.len()).filter(is_lost).collect());
        assert!(drops as usize > lost[0].len(), "{name} drops as well");
    }
    assert!(lost.windows(2).all(|pair| pair[0] == pair[1]));
    // 3 consecutive packets are lost, then none for 200 us, in which 27 arrive; a tenth of these are lost at random
    let share = lost[0].len() as f64 / sends.len() as f64;
    assert!((0.15..0.25).contains(&share), "{share}");
}

#[test]
fn strict_priority_conserves_and_never_lets_the_second_class_go_before_the_first() {
    // each of the two queues has half the limit; one sender is in the class that is served first
    let queue = json!({"kind": "strict-priority", "limit": {"packets": LIMIT_PACKETS / 2}});
    let sends: Vec<Send> = (0..200)
        .map(|n| Send {
            sender: n % SENDERS,
            size_bytes: 1500,
            gap_ns: 9_000,
            ecn: 0,
        })
        .collect();
    let (log, received) = Setup::new(&queue, true).run(&sends);
    check(&queue["kind"], &log, &received, &sends);
    let lost = |number: &Number| log.fates[number].drops > 0;
    let first = |number: &Number| sends[*number].sender == usize::from(SHORT);
    assert!((0..200).filter(first).all(|n| !lost(&n)));
    assert!((0..200).filter(lost).count() > 50);
}

/// A link may have a limit of its own. What is a share of the limit is then a share of that one.
#[test]
fn a_port_with_a_limit_of_its_own_decides_as_if_all_ports_had_it() {
    let own = 20 * FULL_FRAME;
    let admissions = |queue: &Value, link_limit| {
        let mut topology = two_switch(1).unwrap();
        topology.set_fabric(LinkOptions {
            limit_bytes: link_limit,
            ..LinkOptions::default()
        });
        let is_switch = |id: PortId| !topology.node(topology.port(id).node).is_host;
        let between = |id: &PortId| is_switch(*id) && is_switch(topology.port(*id).peer);
        let port = topology
            .port_ids()
            .find(between)
            .expect("a link between switches");
        let customs = CustomQueues::default();
        let context = NetworkContext::new(&topology, 1, FULL_FRAME);
        let config: QueueConfig = serde_json::from_value(queue.clone()).expect("a queue");
        let port = context.port(port, Rate::from_bps(1_000_000_000));
        let built = config.build(&port, &customs);
        let Ok(Queueing::Fifo { mut discipline, .. }) = built else {
            panic!("a discipline that decides on arrival");
        };
        let mut admit = |step: u32| {
            let packets = step / 4 % 22; // the queue grows until it is full, again and again
            let view = QueueView {
                now: Instant::from_us(u64::from(step)),
                backlog: Backlog {
                    bytes: packets * FULL_FRAME,
                    packets,
                },
                idle_at: Instant::NEVER,
            };
            let packet = PacketView {
                frame_bytes: FULL_FRAME,
                ..PacketView::default()
            };
            discipline.admit(&view, &packet)
        };
        (0..1000).map(&mut admit).collect::<Vec<_>>()
    };
    for mut queue in Settings::USUAL.fifos() {
        queue["limit"] = json!({"packets": 1000});
        let by_link = admissions(&queue, Some(own));
        queue["limit"] = json!({"bytes": own});
        assert_eq!(by_link, admissions(&queue, None), "{}", queue["kind"]);
    }
}
