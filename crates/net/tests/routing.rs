//! The paths of every routing policy: their length, that they have no loops, and which ports they share.

use std::collections::BTreeMap;

use fairport_net::routing::{
    DestinationSuffix, Ecmp, EqualLength, FiveTuple, Protocol, RiplHash, Routing, ShortestPaths,
    SpanningTree, Spray, TwoLevel,
};
use fairport_net::topology::{
    GraphLink, LinkOptions, bcube, custom, fat_tree, leaf_spine, three_tier, two_switch, vl2,
};
use fairport_net::{PortId, Topology};

fn policies(tree: &Topology, k: u32) -> Vec<(&'static str, Box<dyn Routing>)> {
    vec![
        ("destination-suffix", Box::new(DestinationSuffix::new(tree))),
        ("ecmp", Box::new(Ecmp::new(tree, 7))),
        ("ecmp, shared", Box::new(Ecmp::new(tree, 7).shared())),
        ("ripl", Box::new(RiplHash::new(tree))),
        ("spanning-tree", Box::new(SpanningTree::new(tree))),
        ("spray", Box::new(Spray::new(tree).unwrap())),
        ("two-level", Box::new(TwoLevel::new(k))),
        (
            "equal-length",
            Box::new(EqualLength::new(tree, 7, None).unwrap()),
        ),
        (
            "equal-length by packet",
            Box::new(
                EqualLength::new(tree, 7, None)
                    .unwrap()
                    .per_packet(tree)
                    .unwrap(),
            ),
        ),
    ]
}

fn tuple(topology: &Topology, source: usize, destination: usize) -> FiveTuple {
    let address = |host: usize| topology.node(topology.hosts()[host]).address;
    FiveTuple::of_flow(
        source as u32,
        Protocol::Tcp,
        address(source),
        address(destination),
    )
}

/// Asserts that a path leads from one host to the other over existing links. It passes no port twice and,
/// unless it may turn back on itself, no node twice.
fn assert_leads(topology: &Topology, path: &[PortId], ends: [usize; 2], may_turn: bool) {
    let mut node = topology.hosts()[ends[0]];
    let mut nodes = vec![node];
    for port in path {
        assert_eq!(topology.port(*port).node, node, "a path is of joined links");
        node = topology.far_node(*port);
        nodes.push(node);
    }
    assert_eq!(node, topology.hosts()[ends[1]]);
    let unique = |mut list: Vec<u32>| {
        let all = list.len();
        list.sort_unstable();
        list.dedup();
        list.len() == all
    };
    assert!(
        unique(path.iter().map(|port| port.0).collect()),
        "a port twice"
    );
    assert!(
        may_turn || unique(nodes.iter().map(|node| node.0).collect()),
        "a node twice"
    );
}

/// Every `step`-th pair of hosts: all pairs with a step of 1, fewer for a large network.
fn pairs(topology: &Topology, step: usize) -> impl Iterator<Item = (usize, usize)> {
    let hosts = topology.hosts().len();
    let pairs = (0..hosts).flat_map(move |d| (0..hosts).map(move |s| (s, d)));
    pairs.step_by(step).filter(|(s, d)| s != d)
}

#[test]
fn in_a_fat_tree_every_policy_has_loop_free_paths_of_the_expected_length_for_every_pair() {
    // At k = 16 every 61st of the million pairs is taken; 61 and 1024, the number of hosts, share no factor.
    for (k, step) in [(4, 1), (8, 1), (16, 61)] {
        let tree = fat_tree(k).unwrap();
        let (per_edge, per_pod) = (k as usize / 2, (k * k / 4) as usize);
        for (name, mut policy) in policies(&tree, k) {
            let by_a_core = name.starts_with("equal-length");
            for (s, d) in pairs(&tree, step) {
                let links = match name {
                    _ if by_a_core => 6,
                    _ if s / per_edge == d / per_edge => 2,
                    _ if s / per_pod == d / per_pod => 4,
                    _ => 6,
                };
                let paths = policy.paths(&tree, s, d, &tuple(&tree, s, d));
                let expected = match (name, links) {
                    ("spray", 4) => per_edge,
                    ("spray" | "equal-length by packet", 6) => per_pod,
                    _ => 1,
                };
                assert_eq!(paths.len(), expected, "{name}, k = {k}, h{s} to h{d}");
                for path in paths {
                    assert_eq!(path.len(), links, "{name}, k = {k}, h{s} to h{d}");
                    assert_leads(&tree, &path, [s, d], by_a_core);
                }
            }
        }
    }
}

/// For each port that leads up from an aggregation switch: the number of flows between pods that take it.
fn flows_upwards(tree: &Topology, mut policy: Ecmp) -> BTreeMap<String, u32> {
    let is_up = |port: &PortId| {
        let [from, to] = [tree.port(*port).node, tree.far_node(*port)].map(|id| tree.node(id));
        from.name.starts_with("agg") && to.name.starts_with("core")
    };
    let up = tree.port_ids().filter(is_up);
    let mut taken: BTreeMap<String, u32> = up.map(|port| (tree.port_name(port), 0)).collect();
    let per_pod = tree.hosts().len() / 8;
    for (s, d) in pairs(tree, 1).filter(|(s, d)| s / per_pod != d / per_pod) {
        let path = &policy.paths(tree, s, d, &tuple(tree, s, d))[0];
        *taken.get_mut(&tree.port_name(path[2])).unwrap() += 1;
    }
    taken
}

#[test]
fn with_a_shared_hash_each_aggregation_switch_uses_one_of_its_uplinks() {
    let tree = fat_tree(8).unwrap();
    // 14,336 flows between pods: 112 for each of the 128 uplinks, with a standard deviation of 11
    let own = flows_upwards(&tree, Ecmp::new(&tree, 7));
    assert!(
        own.values().all(|flows| (60..165).contains(flows)),
        "{own:?}"
    );
    // the flows at the aggregation switch of number a have hashes in the a-th quarter of the range
    let shared = flows_upwards(&tree, Ecmp::new(&tree, 7).shared());
    for (port, flows) in &shared {
        let (switch, number) = port.split_once(':').unwrap();
        let is_used = switch.ends_with(&format!(".{}", number.parse::<u32>().unwrap() - 4));
        assert_eq!(*flows > 0, is_used, "{port}: {flows} flows");
    }
}

#[test]
fn with_any_link_between_switches_failed_shortest_paths_are_as_long_as_before() {
    let whole = fat_tree(4).unwrap();
    let joins_switches = |port: &PortId| {
        let ends = [whole.port(*port).node, whole.far_node(*port)];
        ends.iter().all(|end| !whole.node(*end).is_host)
    };
    for port in whole.port_ids().filter(joins_switches) {
        let mut tree = whole.clone();
        tree.fail(&[whole.port_name(port)]).unwrap();
        let policies: [(&str, Box<dyn Routing>); 5] = [
            (
                "destination-suffix",
                Box::new(DestinationSuffix::new(&tree)),
            ),
            ("ecmp", Box::new(Ecmp::new(&tree, 7))),
            ("ripl", Box::new(RiplHash::new(&tree))),
            ("spanning-tree", Box::new(SpanningTree::new(&tree))),
            ("spray", Box::new(Spray::new(&tree).unwrap())),
        ];
        for (name, mut policy) in policies {
            for (s, d) in pairs(&tree, 1) {
                let before = ShortestPaths::new(&whole).links(&whole, s, d).unwrap();
                let paths = policy.paths(&tree, s, d, &tuple(&tree, s, d));
                assert!(!paths.is_empty(), "{name}");
                for path in paths {
                    // the tree of all traffic may lead through another core
                    assert!(name == "spanning-tree" || path.len() == before as usize);
                    assert_leads(&tree, &path, [s, d], false);
                }
            }
        }
    }
}

#[test]
fn equal_length_does_without_a_failed_core_and_refuses_one_that_is_not_above_all_hosts() {
    let mut tree = fat_tree(4).unwrap();
    tree.fail(&["core1".to_owned()]).unwrap();
    let mut policy = EqualLength::new(&tree, 7, None).unwrap();
    for (s, d) in pairs(&tree, 1) {
        let path = policy.paths(&tree, s, d, &tuple(&tree, s, d)).remove(0);
        assert_eq!(path.len(), 6);
        assert_leads(&tree, &path, [s, d], true);
    }
    tree.fail(&["core2:0".to_owned()]).unwrap();
    let error = EqualLength::new(&tree, 7, None).err().unwrap().to_string();
    assert!(error.contains("`core2` is not above `h0`"), "{error}");
}

/// The number of ports through which packets from hosts outside the receiver's rack enter its edge switch.
fn entrances(tree: &Topology, policy: &mut dyn Routing, receiver: usize, rack: usize) -> usize {
    let mut entrances: Vec<PortId> = (0..tree.hosts().len())
        .filter(|sender| sender / rack != receiver / rack)
        .flat_map(|sender| policy.paths(tree, sender, receiver, &tuple(tree, sender, receiver)))
        .map(|path| path[path.len() - 2])
        .collect();
    entrances.sort();
    entrances.dedup();
    entrances.len()
}

#[test]
fn routing_by_destination_brings_all_distant_flows_to_a_receiver_through_one_port() {
    for (k, step) in [(4, 1), (8, 1), (16, 61)] {
        let tree = fat_tree(k).unwrap();
        let rack = k as usize / 2;
        let mut suffix = DestinationSuffix::new(&tree);
        let mut spanning = SpanningTree::new(&tree);
        for receiver in (0..tree.hosts().len()).step_by(step) {
            assert_eq!(entrances(&tree, &mut suffix, receiver, rack), 1);
            assert_eq!(entrances(&tree, &mut spanning, receiver, rack), 1);
        }
    }
}

#[test]
fn other_policies_bring_them_through_all_ports() {
    let tree = fat_tree(8).unwrap();
    for (name, mut policy) in policies(&tree, 8) {
        if !["destination-suffix", "spanning-tree"].contains(&name) {
            assert_eq!(entrances(&tree, &mut *policy, 0, 4), 4, "{name}");
        }
    }
}

#[test]
fn equal_length_routing_leaves_no_flow_an_ingress_port_of_its_own() {
    let tree = fat_tree(4).unwrap();
    let mut policy = EqualLength::new(&tree, 1, None).unwrap();
    for s in 1..16 {
        let path = policy.paths(&tree, s, 0, &tuple(&tree, s, 0)).remove(0);
        let entrance = tree.far_node(path[3]);
        assert!(tree.node(entrance).name.starts_with("agg0."));
        assert_eq!(tree.port_name(path[5]), "edge0.0:0");
    }
}

#[test]
fn shortest_paths_and_trees_serve_the_other_topologies_too() {
    let topologies = [
        two_switch(5).unwrap(),
        leaf_spine(4, 3, 2).unwrap(),
        three_tier(2, 3, 2).unwrap(),
        vl2(4, 8, 2).unwrap(),
        bcube(3, 1).unwrap(),
        bcube(2, 3).unwrap(),
    ];
    for topology in &topologies {
        let mut distances = ShortestPaths::new(topology);
        let shortest: Vec<Box<dyn Routing>> = vec![
            Box::new(DestinationSuffix::new(topology)),
            Box::new(Ecmp::new(topology, 3)),
            Box::new(RiplHash::new(topology)),
            Box::new(Spray::new(topology).unwrap()),
        ];
        for mut policy in shortest {
            for (s, d) in pairs(topology, 1) {
                let links = distances.links(topology, s, d).unwrap() as usize;
                let paths = policy.paths(topology, s, d, &tuple(topology, s, d));
                assert!(!paths.is_empty());
                for path in paths {
                    assert_eq!(path.len(), links);
                    assert_leads(topology, &path, [s, d], false);
                }
            }
        }
        let mut tree = SpanningTree::new(topology);
        let mut used: Vec<u32> = Vec::new();
        for (s, d) in pairs(topology, 1) {
            let path = tree.paths(topology, s, d, &tuple(topology, s, d)).remove(0);
            assert_leads(topology, &path, [s, d], false);
            used.extend(path.iter().map(|port| port.0 / 2));
        }
        used.sort_unstable();
        used.dedup();
        assert!(
            used.len() < topology.nodes().len(),
            "a tree of n nodes has n - 1 links"
        );
    }
}

/// IEEE 802.1D blocks all links outside the spanning tree. The root here is the highest switch.
#[test]
fn neighbours_reach_each_other_by_the_root_of_the_spanning_tree() {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let link = |ends: [&str; 2]| GraphLink {
        ends: ends.map(ToString::to_string),
        rate: None,
        delay: None,
        limit_bytes: None,
    };
    // three edge switches in a row, each with a link to the switch above them
    let links = [
        ["a", "ea"],
        ["b", "eb"],
        ["c", "ec"],
        ["ea", "eb"],
        ["eb", "ec"],
        ["ea", "top"],
        ["eb", "top"],
        ["ec", "top"],
    ];
    let switches = names(&["ea", "eb", "ec", "top"]);
    let hosts = names(&["a", "b", "c"]);
    let graph = custom(&hosts, false, &switches, &links.map(link)).unwrap();
    let mut tree = SpanningTree::new(&graph);
    for (s, d) in [(0, 1), (1, 0), (0, 2), (1, 2), (2, 1)] {
        let paths = tree.paths(&graph, s, d, &tuple(&graph, s, d));
        assert_eq!(paths.len(), 1);
        let passed = |port: &PortId| graph.node(graph.far_node(*port)).name.clone();
        let passed: Vec<String> = paths[0].iter().map(passed).collect();
        assert_eq!(passed[1], "top", "{passed:?}");
        assert_eq!(passed.len(), 4);
    }
}

#[test]
fn equal_length_routing_works_wherever_there_are_cores() {
    for (topology, links) in [
        (leaf_spine(4, 3, 2).unwrap(), 4),
        (three_tier(2, 3, 2).unwrap(), 6),
        (vl2(4, 8, 2).unwrap(), 6),
    ] {
        let by_flow = EqualLength::new(&topology, 5, None).unwrap();
        let by_packet = EqualLength::new(&topology, 5, None)
            .unwrap()
            .per_packet(&topology)
            .unwrap();
        for mut policy in [by_flow, by_packet] {
            for (s, d) in pairs(&topology, 1) {
                let paths = policy.paths(&topology, s, d, &tuple(&topology, s, d));
                assert!(!paths.is_empty());
                for path in paths {
                    assert_eq!(path.len(), links);
                    assert_leads(&topology, &path, [s, d], true);
                }
            }
        }
    }
}

/// Two hosts at the ends of a chain of squares: at each square there are two ways.
fn squares(count: usize) -> Topology {
    let mut chain = Topology::default();
    let hosts = ["first", "last"].map(|name| chain.add_host(name));
    let join = |chain: &mut Topology, a, b| chain.connect(a, b, LinkOptions::default());
    let mut corner = chain.add_switch("corner");
    join(&mut chain, hosts[0], corner);
    for _ in 0..count {
        let next = chain.add_switch("corner");
        for _ in 0..2 {
            let side = chain.add_switch("side");
            join(&mut chain, corner, side);
            join(&mut chain, side, next);
        }
        corner = next;
    }
    join(&mut chain, hosts[1], corner);
    chain
}

#[test]
fn packets_do_not_draw_from_more_paths_than_fit_into_a_table() {
    let mut spray = Spray::new(&squares(3)).unwrap();
    let paths = spray.paths(&squares(3), 0, 1, &tuple(&squares(3), 0, 1));
    assert_eq!(paths.len(), 8);
    // 2^13 paths are few enough
    assert!(Spray::new(&squares(13)).is_ok());
    let error = Spray::new(&squares(14)).err().unwrap();
    let expected = "there are 16384 paths between `last` and `first`, more than the limit of 10000";
    assert!(error.problem.ends_with(expected), "{error}");
    // and more than any number holds are not counted one by one
    let error = Spray::new(&squares(1000)).err().unwrap();
    assert!(error.problem.contains("at least"), "{error}");
}

#[test]
fn a_hash_over_whole_paths_needs_no_list_of_them() {
    let mut ripl = RiplHash::new(&squares(1000));
    let chain = squares(1000);
    let path = &ripl.paths(&chain, 0, 1, &tuple(&chain, 0, 1))[0];
    assert_leads(&chain, path, [0, 1], false);
    assert_eq!(path.len(), 2 + 2 * 1000);
}
