//! Which packets are lost, and at which ports.

use super::*;

/// Which of `packets` packets are lost, one arriving every microsecond.
fn lost(mut loss: Loss, packets: u64) -> Vec<bool> {
    (0..packets)
        .map(|us| loss.takes(Instant::from_us(us)))
        .collect()
}

#[test]
fn a_run_is_exactly_as_long_as_asked_for_and_the_next_comes_after_the_pause() {
    let runs = |from| Loss::OnOff(Runs::new(3, Duration::from_us(5), from));
    let (o, x) = (false, true);
    assert_eq!(
        lost(runs(Instant::ZERO), 20),
        [o, o, o, o, o, x, x, x, o, o, o, o, x, x, x, o, o, o, o, x]
    );
    assert_eq!(
        lost(runs(Instant::from_us(3)), 14),
        [o, o, o, o, o, o, o, o, x, x, x, o, o, o]
    );
}

/// The numbers of the packets that are lost of twelve, from 1 on.
fn numbers_lost(config: Config) -> Vec<usize> {
    let topology = crate::topology::star(2).expect("two hosts");
    let configs = [config];
    let losses = Losses::new(&configs, &topology, 1).expect("possible losses");
    let port = topology
        .port_ids()
        .find(|port| !losses.at(*port).is_empty());
    let mut here = losses.at(port.expect("a port of the switch"));
    let fates = lost(here.remove(0), 12);
    (1..)
        .zip(fates)
        .filter_map(|(number, lost)| lost.then_some(number))
        .collect()
}

#[test]
fn every_nth_packet_is_lost_or_those_that_are_named() {
    let at = LossyPorts::AllOfSwitches;
    let periodic = |every| Config::Periodic {
        at: LossyPorts::AllOfSwitches,
        every,
    };
    assert_eq!(numbers_lost(periodic(5)), [5, 10]);
    assert_eq!(numbers_lost(periodic(1)).len(), 12);
    let packets = vec![1, 4, 5, 12, 99];
    assert_eq!(
        numbers_lost(Config::Numbered { at, packets }),
        [1, 4, 5, 12]
    );
}

#[test]
fn numbers_that_no_packet_has_name_their_field() {
    let topology = crate::topology::star(2).expect("two hosts");
    let field = |config: Config| {
        let configs = [config];
        Losses::new(&configs, &topology, 1)
            .map(|_| ())
            .map_err(|error| error.field)
    };
    let at = || LossyPorts::AllOfSwitches;
    let periodic = field(Config::Periodic { at: at(), every: 0 });
    assert_eq!(periodic, Err("losses.0.every".to_string()));
    for packets in [vec![0], vec![3, 3], vec![4, 2]] {
        let numbered = field(Config::Numbered { at: at(), packets });
        assert_eq!(numbered, Err("losses.0.packets".to_string()));
    }
}

#[test]
fn an_outage_loses_what_arrives_from_its_first_moment_to_before_its_last() {
    let topology = crate::topology::star(2).expect("two hosts");
    let fates = |to_ps| {
        let configs = [Config::Outage {
            at: LossyPorts::AllOfSwitches,
            from_ps: Duration::from_us(3),
            to_ps,
        }];
        let losses = Losses::new(&configs, &topology, 1).expect("all ports");
        let port = topology.node(topology.far_node(PortId(0))).ports[0];
        lost(losses.at(port).remove(0), 10)
    };
    let at = |fates: Vec<bool>| (0..10).filter(|i| fates[*i]).collect::<Vec<_>>();
    assert_eq!(at(fates(Some(Duration::from_us(5)))), [3, 4]);
    assert_eq!(at(fates(None)), [3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn random_losses_have_their_probability_and_no_memory() {
    let loss = Loss::Random {
        probability_ppb: 100_000_000,
        stream: Stream::new(1, "loss", 0),
    };
    let fates = lost(loss, 100_000);
    let share = fates.iter().filter(|fate| **fate).count() as f64 / 1e5;
    // four standard deviations
    assert!(
        (share - 0.1).abs() < 4.0 * (0.09_f64 / 1e5).sqrt(),
        "{share}"
    );
    let pairs = fates.windows(2).filter(|pair| pair[0] && pair[1]).count();
    assert!((pairs as f64 / 1e5 - 0.01).abs() < 0.0015);
}

#[test]
fn a_port_has_the_losses_that_name_it_and_those_of_all_switches_the_last_one_first() {
    let topology = crate::topology::star(2).expect("two hosts");
    let is_of_switch = |port: &PortId| !topology.node(topology.port(*port).node).is_host;
    let ports: Vec<PortId> = topology.port_ids().collect();
    let of_switch: Vec<PortId> = ports.iter().copied().filter(is_of_switch).collect();
    let of_host = ports
        .iter()
        .find(|port| !is_of_switch(port))
        .expect("a NIC");
    let on_off = |drops, at| Config::OnOff {
        at,
        drops,
        off_ps: Duration::from_us(5),
        from_ps: Duration::ZERO,
    };
    let named = LossyPorts::Named(vec![topology.port_name(of_switch[0])]);
    let configs = [on_off(3, LossyPorts::AllOfSwitches), on_off(2, named)];
    let losses = Losses::new(&configs, &topology, 1).expect("these ports are there");
    // lengths of the first runs, in order
    let runs = |port: PortId| {
        let first_run = |loss| lost(loss, 20).split(|lost| !lost).map(<[bool]>::len).max();
        losses
            .at(port)
            .into_iter()
            .filter_map(first_run)
            .collect::<Vec<_>>()
    };
    assert_eq!(runs(of_switch[0]), [2, 3]);
    assert_eq!(runs(of_switch[1]), [3]);
    assert_eq!(runs(*of_host), [0; 0]);
}

#[test]
fn each_port_and_each_of_its_losses_draws_for_itself() {
    let topology = crate::topology::star(2).expect("two hosts");
    let half = || Config::Random {
        at: LossyPorts::AllOfSwitches,
        probability_ppb: 500_000_000,
    };
    let configs = [half(), half()];
    let losses = Losses::new(&configs, &topology, 1).expect("these ports are there");
    let fates: Vec<Vec<bool>> = topology
        .port_ids()
        .flat_map(|port| losses.at(port))
        .map(|loss| lost(loss, 1000))
        .collect();
    assert_eq!(fates.len(), 4); // two ports of the switch
    for (i, one) in fates.iter().enumerate() {
        for other in &fates[i + 1..] {
            let alike = one.iter().zip(other).filter(|(one, other)| one == other);
            assert!((430..570).contains(&alike.count()));
        }
    }
}

#[test]
fn of_a_billion_draws_alike_likely_just_so_many_lose() {
    let stream = Stream::new(1, "loss", 0);
    let draw = stream.clone().up_to(999_999_999);
    let is_lost = |probability_ppb| {
        let stream = stream.clone();
        Loss::Random {
            probability_ppb,
            stream,
        }
        .takes(Instant::ZERO)
    };
    assert!(!is_lost(0) && is_lost(1_000_000_000));
    assert!(!is_lost(draw) && is_lost(draw + 1));
}
