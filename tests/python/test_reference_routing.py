"""Paths of every routing in random networks with failed links, beside those of the second model."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise, permutations, product
from typing import Any

import fairport as fp
import pytest
from fairport.errors import ScenarioError
from fairport.layout import network
from fairport.scenario import load
from reference_routing import Graph, address, joined, paths
from scipy import stats

TOPOLOGIES: list[dict[str, Any]] = [
    {"kind": "fat-tree", "k": 4},
    {"kind": "fat-tree", "k": 6},
    {"kind": "leaf-spine", "leaves": 4, "spines": 3, "hosts_per_leaf": 2},
    {"kind": "three-tier", "aggs": 2, "edges_per_agg": 2, "hosts_per_edge": 2},
    {"kind": "vl2", "d_a": 4, "d_i": 6, "hosts_per_rack": 2},
    {"kind": "bcube", "n": 3, "k": 1},
    {"kind": "bcube", "n": 2, "k": 2},
]
ROUTINGS: list[dict[str, Any]] = [
    {"kind": "destination-suffix"},
    {"kind": "ecmp"},
    {"kind": "ecmp", "hash": "ripl"},
    {"kind": "ecmp", "hash": "shared"},
    {"kind": "spanning-tree"},
    {"kind": "spray"},
    {"kind": "two-level"},
    {"kind": "equal-length"},
    {"kind": "equal-length", "per": "packet"},
    {"kind": "equal-length", "core": 0},
]


def scenario(topology: dict[str, Any], routing: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "paths", "topology": topology, "routing": routing, "duration": "1ms"} | more


def flows_between(draw: random.Random, hosts: list[str], count: int) -> list[dict[str, Any]]:
    pairs = [draw.sample(hosts, 2) for _ in range(count)]
    udp = {"kind": "udp", "rate": "1Mbps"}
    return [
        {"from": src, "to": dst, "start_jitter": "0s"} | (udp if draw.random() < 0.5 else {})
        for src, dst in pairs
    ]


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=lambda one: one["kind"])
def test_a_topology_joins_what_its_picture_joins(topology: dict[str, Any]) -> None:
    traffic = [{"from": "h1", "to": "h0"}]
    net = network(scenario(topology, ROUTINGS[0], traffic=traffic))
    assert {frozenset(link.ends) for link in net.links} == joined(net.scenario.topology)
    assert len({frozenset(link.ends) for link in net.links}) == len(net.links)


@pytest.mark.parametrize("routing", ROUTINGS, ids=lambda one: "-".join(map(str, one.values())))
@pytest.mark.parametrize("number", range(len(TOPOLOGIES)))
def test_paths_are_those_of_the_second_model(routing: dict[str, Any], number: int) -> None:
    compared = 0
    for round_ in range(4):
        compared += compare(routing, TOPOLOGIES[number], random.Random(f"{number} {round_}"))
    refused = {"two-level": range(2, 7), "equal-length": range(5, 7)}.get(routing["kind"], [])
    assert (compared == 0) == (number in refused)


def compare(routing: dict[str, Any], topology: dict[str, Any], draw: random.Random) -> int:
    """Compares the paths of random flows; returns their number, 0 if the engine refuses."""
    whole = network(scenario(topology, ROUTINGS[0], traffic=[{"from": "h1", "to": "h0"}]))
    between = [link.ports for link in whole.links if not set(link.ends) & set(whole.hosts)]
    failed = draw.sample(between, min(draw.randint(0, 3), len(between)))
    seed = draw.randrange(1000)
    more: dict[str, Any] = {"seed": seed, "traffic": flows_between(draw, whole.hosts, 12)}
    if failed:
        more["fabric"] = {"failed": [draw.choice(ports) for ports in failed]}
    one = load(scenario(topology, routing, **more))
    working = [link.ports for link in whole.links if link.ports not in failed]
    nodes = [node.name for node in whole.nodes]
    graph = Graph(nodes, working, hosts_forward=topology["kind"] == "bcube")
    apart = len(graph.distances(graph.hosts[:1]).keys() & set(graph.hosts)) < len(graph.hosts)
    try:
        net = network(one)
    except ScenarioError:
        assert apart or routing["kind"] in ("two-level", "equal-length")
        return 0
    assert not apart
    for number, (flow, traffic) in enumerate(zip(net.flows, one.traffic, strict=True)):
        ends = (whole.hosts.index(flow.src), whole.hosts.index(flow.dst))
        addresses = [address(one.topology, end) for end in ends]
        protocol = 17 if traffic.kind == "udp" else 6
        there = (*addresses, protocol, 32768 + number, 5001)
        back = (*reversed(addresses), protocol, 5001, 32768 + number)
        for found, way, tuple_ in (
            (flow.forward, ends, there),
            (flow.backward, ends[::-1], back),
        ):
            expected = paths(one.routing, one.topology, graph, seed, way, tuple_)
            assert set(found) == expected, (number, failed)
            assert len(found) == len(expected)
    return len(net.flows)


EXACT: dict[str, Any] = {
    "link": {"clock_error": "0ppm"},
    "host": {"profile": "none", "delay": "1us", "delay_spread": "0s", "processing": "0s"},
}
"""Packets of equal paths are at the same place in the same picosecond."""


def assert_even(found: Counter[Any], outcomes: list[Any]) -> None:
    assert set(found) <= set(outcomes)
    assert stats.chisquare([found[one] for one in outcomes]).pvalue > 1e-3, found


@pytest.mark.parametrize("routing", [ROUTINGS[5], ROUTINGS[8]], ids=lambda one: one["kind"])
def test_each_packet_draws_one_of_its_paths(routing: dict[str, Any]) -> None:
    """Each with the same chance, whatever the packet before it and the other flow drew."""
    udp = {
        "kind": "udp",
        "from": ["h0", "h4"],
        "to": "h15",
        "rate": "400Mbps",
        "start_jitter": "0s",
    }
    one = load(scenario(TOPOLOGIES[0], routing, traffic=[udp]) | EXACT | {"duration": "50ms"})
    packets = fp.run(one, seed=1, observation=fp.Observation(packets=["*"])).packets
    taken: dict[int, dict[int, list[str]]] = {0: {}, 1: {}}
    for flow, seq, port in packets.sort("time_s").select("flow", "seq", "port").iter_rows():
        taken[flow].setdefault(seq, []).append(port)
    drawn = []
    for number, flow in enumerate(network(one).flows):
        ways = [tuple(taken[number][seq]) for seq in sorted(taken[number])[:-10]]
        assert len(ways) > 1000
        assert_even(Counter(ways), list(flow.forward))
        pairs = Counter(pairwise(ways))
        assert_even(pairs, list(product(flow.forward, repeat=2)))
        drawn.append([flow.forward.index(way) for way in ways])
    assert_even(Counter(zip(*drawn, strict=True)), list(product(range(4), repeat=2)))


def test_random_arbitration_draws_each_order_of_a_tie_alike() -> None:
    udp = {"kind": "udp", "from": "h1..h3", "to": "h0", "rate": "200Mbps", "start_jitter": "0s"}
    star = {"kind": "star", "hosts": 4}
    one = scenario(star, ROUTINGS[0], traffic=[udp], switch={"arbitration": "random"}) | EXACT
    result = fp.run(one | {"duration": "60ms"}, observation=fp.Observation(packets=["s0:0"]))
    times, flows = result.packets["time_s"], result.packets["flow"].to_list()
    assert times[0::3].to_list() == times[2::3].to_list()
    orders = [tuple(flows[i : i + 3]) for i in range(0, len(flows), 3)]
    assert len(orders) > 800
    assert_even(Counter(orders), list(permutations(range(3))))
    assert_even(
        Counter(pairwise(orders)),
        list(product(permutations(range(3)), repeat=2)),
    )
