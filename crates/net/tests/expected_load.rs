//! The expected load of every policy: nothing is lost on the way, and many flows have this load on average.

use fairport_net::routing::{Config as Policy, Demand, FiveTuple, Per, Protocol, Routing};
use fairport_net::topology::{Config, GraphLink, Topology, fat_tree};

const POLICIES: [Policy; 10] = [
    Policy::DestinationSuffix,
    Policy::Ecmp,
    Policy::EcmpSharedHash,
    Policy::RiplHash,
    Policy::SpanningTree,
    Policy::EqualLength {
        core: None,
        per: Per::Flow,
    },
    Policy::EqualLength {
        core: Some(1),
        per: Per::Flow,
    },
    Policy::EqualLength {
        core: None,
        per: Per::Packet,
    },
    Policy::Spray,
    Policy::TwoLevel,
];

/// A third of the hosts send nothing, and a fifth receive nothing. Every sender offers another rate.
fn demand(hosts: usize) -> Demand {
    let bps = |host: usize| {
        if host % 3 == 1 {
            0.0
        } else {
            1.0 + host as f64
        }
    };
    Demand {
        to_each_bps: (0..hosts).map(bps).collect(),
        receives: (0..hosts).map(|host| host % 5 != 2).collect(),
    }
}

fn expected(policy: &mut dyn Routing, topology: &Topology, demand: &Demand) -> Vec<f64> {
    let mut load = vec![0.0; topology.ports().len()];
    policy.add_expected_load(topology, demand, &mut load);
    load
}

/// The load by port if so many flows share what each host offers to a receiver.
fn of_flows(
    policy: &mut dyn Routing,
    topology: &Topology,
    demand: &Demand,
    flows: u32,
) -> Vec<f64> {
    let mut load = vec![0.0; topology.ports().len()];
    let hosts = topology.hosts();
    let address = |host: usize| topology.node(hosts[host]).address;
    let senders = demand.to_each_bps.iter().enumerate();
    for (src, bps) in senders.filter(|(_, bps)| **bps > 0.0) {
        for dst in (0..hosts.len()).filter(|dst| *dst != src && demand.receives[*dst]) {
            for number in 0..flows {
                let flow = FiveTuple::of_flow(number, Protocol::Tcp, address(src), address(dst));
                let paths = policy.paths(topology, src, dst, &flow);
                let part = bps / f64::from(flows) / paths.len() as f64;
                for port in paths.into_iter().flatten() {
                    load[port.0 as usize] += part;
                }
            }
        }
    }
    load
}

/// Asserts that a host sends what it offers and receives what the others offer, and that a switch sends what it
/// receives.
fn assert_conserved(name: &str, topology: &Topology, demand: &Demand, load: &[f64]) {
    let mut surplus = vec![0.0; topology.nodes().len()];
    for port in topology.port_ids() {
        surplus[topology.port(port).node.0 as usize] += load[port.0 as usize];
        surplus[topology.far_node(port).0 as usize] -= load[port.0 as usize];
    }
    let count = demand.receives.iter().filter(|receives| **receives).count();
    let all_bps: f64 = demand.to_each_bps.iter().sum();
    for (host, node) in topology.hosts().iter().enumerate() {
        let (bps, is_receiver) = (demand.to_each_bps[host], demand.receives[host]);
        let sent = bps * (count - usize::from(is_receiver)) as f64;
        let arrives_bps = if is_receiver { all_bps - bps } else { 0.0 };
        surplus[node.0 as usize] -= sent - arrives_bps;
    }
    for (node, surplus) in topology.nodes().iter().zip(surplus) {
        assert!(
            surplus.abs() < 1e-9 * all_bps,
            "{name}, {}: {surplus}",
            node.name
        );
    }
}

#[test]
fn many_flows_load_every_port_as_expected() {
    let networks: [(Config, &[&str]); 8] = [
        (Config::FatTree { k: 4 }, &[]),
        (Config::FatTree { k: 4 }, &["agg0.0:2", "edge3.1:3"]),
        (
            Config::LeafSpine {
                leaves: 3,
                spines: 3,
                hosts_per_leaf: 3,
            },
            &["spine1:0"],
        ),
        (
            Config::Vl2 {
                d_a: 4,
                d_i: 4,
                hosts_per_rack: 2,
            },
            &[],
        ),
        // more ways lead to one core than to the other
        (
            Config::Vl2 {
                d_a: 4,
                d_i: 4,
                hosts_per_rack: 2,
            },
            &["int0:0"],
        ),
        (Config::Bcube { n: 2, k: 2 }, &[]),
        // cores with one link each
        (
            Config::LeafSpine {
                leaves: 1,
                spines: 2,
                hosts_per_leaf: 4,
            },
            &[],
        ),
        // a link without a switch
        (
            Config::Graph {
                hosts: vec!["h0".to_owned(), "h1".to_owned()],
                hosts_forward: false,
                switches: Vec::new(),
                links: vec![GraphLink {
                    ends: ["h0".to_owned(), "h1".to_owned()],
                    rate: None,
                    delay: None,
                    limit_bytes: None,
                }],
            },
            &[],
        ),
    ];
    let mut tried = [0; POLICIES.len()];
    for (config, failed) in networks {
        let mut topology = config.build().unwrap();
        let failed: Vec<String> = failed.iter().map(|name| (*name).to_owned()).collect();
        topology.fail(&failed).unwrap();
        for (policy, tried) in POLICIES.iter().zip(&mut tried) {
            // some policies need a certain network
            let Ok(mut routing) = policy.build(&config, &topology, 7) else {
                continue;
            };
            *tried += 1;
            let name = format!("{policy:?} in {config:?} without {failed:?}");
            let demand = demand(topology.hosts().len());
            let load = expected(&mut *routing, &topology, &demand);
            assert_conserved(&name, &topology, &demand, &load);
            let is_hashed = matches!(
                policy,
                Policy::Ecmp
                    | Policy::EcmpSharedHash
                    | Policy::RiplHash
                    | Policy::EqualLength { per: Per::Flow, .. }
            );
            let (flows, share) = if is_hashed { (200, 0.08) } else { (1, 1e-9) };
            let found = of_flows(&mut *routing, &topology, &demand, flows);
            let most = load.iter().copied().fold(0.0, f64::max);
            for port in topology.port_ids() {
                let [load, found] = [&load, &found].map(|loads| loads[port.0 as usize]);
                assert!(
                    (load - found).abs() < share * most,
                    "{name}, {}: {load} expected, {found} of flows",
                    topology.port_name(port)
                );
            }
        }
    }
    assert!(tried.iter().all(|networks| *networks > 0), "{tried:?}");
}

#[test]
fn a_shared_hash_leaves_half_of_the_ways_to_the_cores_without_load() {
    // each switch of a fat-tree with k = 4 has two ways up; all flows at an aggregation switch have hashes in one half
    let tree = fat_tree(4).unwrap();
    let demand = Demand {
        to_each_bps: vec![1.0; 16],
        receives: vec![true; 16],
    };
    let up = |policy: Policy| {
        let mut routing = policy.build(&Config::FatTree { k: 4 }, &tree, 7).unwrap();
        let load = expected(&mut *routing, &tree, &demand);
        let name = |node| tree.node(node).name.as_str();
        let ports = tree.port_ids().filter(|port| {
            name(tree.port(*port).node).starts_with("agg")
                && name(tree.far_node(*port)).starts_with("core")
        });
        let mut loads: Vec<f64> = ports.map(|port| load[port.0 as usize]).collect();
        loads.sort_by(f64::total_cmp);
        loads
    };
    // four hosts in each pod send to twelve outside it, through four ports
    assert_eq!(up(Policy::Ecmp), [12.0; 16]);
    assert_eq!(
        up(Policy::EcmpSharedHash),
        [[0.0; 8], [24.0; 8]].concat()[..]
    );
}
