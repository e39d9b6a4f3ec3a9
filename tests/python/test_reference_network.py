"""Random scenarios, packet by packet, beside a second model of the network (`reference_network`).

The hosts' packets are the run's own; what becomes of them at every port is predicted to the
picosecond, and the tables are counted again from the prediction.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from itertools import groupby, pairwise
from typing import Any

import fairport as fp
import pytest
from fairport.metrics.drop_runs import blackouts, drop_runs
from fairport.result import Result
from reference_network import Network, Row, node
from reference_queues import Packet

EXACT = {
    "rates": ["1Gbps", "100Mbps"],
    "delays": ["0s", "500ns"],
    "sources": ["100Mbps", "900Mbps"],
}
UNEVEN = {
    "rates": ["1Gbps", "777777777bps", "123456789bps", "300Mbps"],
    "delays": ["500ns", "1234567ps", "13us"],
    "sources": ["333333333bps", "77777777bps", "900Mbps"],
}
"""Times that are often the same picosecond, and times with remainders."""
CODEL = {"target": "20us", "interval": "60us"}
DISCIPLINES: dict[str, list[dict[str, Any]]] = {
    "drop-tail": [
        {"limit": "3 packets", "count_in_service": True},
        {"limit": "5000B"},
        {"limit": "20000B", "count_in_service": True},
        {"limit": "1 packets"},
    ],
    "step-marking": [
        {"limit": "10 packets", "mark_above": "2 packets"},
        {"limit": "9000B", "mark_above": "3000B", "count_in_service": True},
    ],
    "weighted-tail-drop": [
        {"limit": "10 packets", "thresholds": [0.3, 1.0]},
        {"limit": "9000B", "thresholds": [1.0, 0.4], "count_in_service": True},
    ],
    "strict-priority": [{"limit": "3 packets"}, {"limit": "5000B"}],
    "port-fair": [{"limit": "10 packets"}, {"limit": "9000B"}],
    "shared-buffer": [
        {"limit": "20000B", "alpha": 0.5, "mark_above": "2 packets"},
        {"limit": "9000B", "alpha": 3.0},
    ],
    "drr": [{"limit": "9000B"}, {"limit": "10 packets", "quantum": "300B"}],
    "sfq": [{"limit": "10 packets", "buckets": 2}, {"limit": "20 packets", "buckets": 3}],
    "linux-sfq": [
        {"limit": "10 packets"},
        {"limit": "20 packets", "depth": 4, "flows": 3, "quantum": "700B"},
    ],
    "codel": [CODEL | {"limit": "100 packets"}, CODEL | {"limit": "9000B", "ecn": True}],
    "fq-codel": [
        CODEL | {"limit": "20 packets"},
        CODEL | {"limit": "30000B", "quantum": "300B", "ecn": False},
    ],
}
SHAPERS: list[dict[str, Any] | None] = [
    None,
    None,
    {"kind": "tbf", "rate": "77777777bps", "burst": "5000B"},
    {"kind": "htb", "rate": "200Mbps", "cburst": "6000B", "hosts": False},
]
LOSSES = [[], [], [{"kind": "periodic", "every": 7}, {"kind": "numbered", "packets": [3, 5, 14]}]]


def tree(draw: random.Random, times: dict[str, list[str]]) -> dict[str, Any]:
    """A random tree of switches with hosts at them; the order of its links numbers the ports."""
    switches = [f"s{i}" for i in range(draw.randint(1, 4))]
    hosts = [f"h{i}" for i in range(draw.randint(3, 7))]
    pairs = [[switches[i], draw.choice(switches[:i])] for i in range(1, len(switches))]
    pairs += [[host, draw.choice(switches)] for host in hosts]
    draw.shuffle(pairs)
    links = [
        {"ends": ends, "rate": draw.choice(times["rates"]), "delay": draw.choice(times["delays"])}
        for ends in pairs
    ]
    return {"kind": "graph", "hosts": hosts, "switches": switches, "links": links}


def traffic(draw: random.Random, hosts: list[str], times: dict[str, list[str]]) -> dict[str, Any]:
    """Datagrams, or TCP whose packets can be marked, from some hosts to one."""
    receiver, *others = draw.sample(hosts, len(hosts))
    ends = {"from": others[: draw.randint(1, len(others))], "to": receiver, "start_jitter": "0s"}
    if draw.random() < 0.3:
        return ends | {"kind": "bulk", "flows": 2, "tcp": {"congestion_control": "dctcp"}}
    pattern = draw.choice(["constant", "constant", "poisson", "on-off"])
    udp = {"kind": "udp", "pattern": pattern, "rate": draw.choice(times["sources"])}
    if pattern == "on-off":
        udp |= {"on_mean": "50us", "off_mean": "50us"}
    payload = f"{draw.choice([10, 200, 1000, 1472])}B"
    return ends | udp | {"payload": payload, "flows": draw.randint(1, 2), "start_interval": "1us"}


def random_scenario(kind: str, number: int) -> fp.Scenario:
    draw = random.Random(f"{kind} {number}")
    times = draw.choice([EXACT, UNEVEN])
    topology = tree(draw, times)
    hosts = topology["hosts"]
    queue = {"kind": kind} | DISCIPLINES[kind][number % len(DISCIPLINES[kind])]
    if kind == "sfq":
        queue["placed"] = [hosts[i :: queue["buckets"]] for i in range(queue["buckets"])]
    given: dict[str, Any] = {
        "name": "random",
        "duration": "300us",
        "topology": topology,
        "queue": queue,
        "link": {
            "clock_error": draw.choice(["0ppm", "0ppm", "100ppm"]),
            "framing": draw.choice(["ethernet", "none"]),
        },
        "switch": {
            "processing_delay": draw.choice(["0s", "1us"]),
            "arbitration": draw.choice(["round-robin", "fixed"]),
            "departure_first": draw.random() < 0.6,
        },
        "host": {
            "profile": "none",
            "delay": "2us",
            "delay_spread": "0s",
            "processing": draw.choice(["0s", "100ns"]),
            "queue": draw.choice(["1000 packets", "3 packets"]),
        },
        "loss": draw.choice(LOSSES),
        "probes": {"queue_interval": "7us"},
        "traffic": [traffic(draw, hosts, times) for _ in range(draw.randint(1, 3))],
    }
    if shaper := draw.choice(SHAPERS):
        given["shaper"] = shaper
    if kind in ("weighted-tail-drop", "strict-priority"):
        given["classifier"] = {"threshold": "5 packets", "flow_timeout": "100us"}
    return fp.scenario(given)


@dataclass
class Both:
    """A run, and what the second model makes of its hosts' packets."""

    result: Result
    network: Network


def picoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e12)


def run_both(scenario: fp.Scenario) -> Both:
    result = fp.run(scenario, seed=1, observation=fp.Observation(packets=["*"]))
    clocks = dict(result.ports.select("port", "clock_error_ppm").iter_rows())
    return Both(result, Network(scenario, sent(scenario, result), clocks))


def sent(scenario: fp.Scenario, result: Result) -> list[tuple[int, Packet]]:
    """What hosts sent, and when; each with its path, its class and whether it can be marked."""
    topology: Any = scenario.topology
    path = paths(topology)
    is_framed = scenario.link.framing == "ethernet"
    flows = {
        flow: ends
        for flow, *ends in result.flows.select("flow", "src", "dst", "protocol").iter_rows()
    }
    rows = result.packets.select("time_s", "port", "flow", "seq", "size_bytes").iter_rows()
    packets, seen = [], {}
    for time_s, port, flow, seq, size in rows:
        if node(port) not in topology.hosts:
            continue
        time, (src, dst, protocol) = round(time_s * 1e12), flows[flow]
        is_data = node(port) == src
        ends = (src, dst) if is_data else (dst, src)
        ip = size - 18 if is_framed else size
        wire = max(ip, 46) + 38 if is_framed else ip
        packet = Packet(flow, seq, size, wire, path[ends], is_data, can_mark=protocol == "tcp")
        if scenario.classifier:
            last, number = seen.get(packet.key, (0, 0))
            number = 1 if time - last > scenario.classifier.flow_timeout else number + 1
            seen[packet.key] = time, number
            packet.is_short = number <= scenario.classifier.threshold
        packets.append((time, packet))
    return packets


def paths(topology: Any) -> dict[tuple[str, str], list[str]]:
    """The output ports from each node of a tree to each other node."""
    degree: Counter[str] = Counter()
    ways: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for one, other in (link.ends for link in topology.links):
        ways[one].append((other, f"{one}:{degree[one]}"))
        ways[other].append((one, f"{other}:{degree[other]}"))
        degree.update((one, other))
    found: dict[tuple[str, str], list[str]] = {}
    for start in ways:
        found[start, start] = []
        reached = [start]
        for here in reached:
            for there, port in ways[here]:
                if (start, there) not in found:
                    found[start, there] = [*found[start, here], port]
                    reached.append(there)
    return found


CASES = [(kind, number) for kind in DISCIPLINES for number in range(3)]


@cache
def run_case(kind: str, number: int) -> Both:
    return run_both(random_scenario(kind, number))


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def both(request: pytest.FixtureRequest) -> Both:
    return run_case(*request.param)


COLUMNS = ["time_s", "ingress_port", "flow", "seq", "size_bytes", "queue_bytes"]
COLUMNS += ["fate", "reason", "depart_s"]


def found_rows(result: Result) -> dict[str, list[tuple[Any, ...]]]:
    """What became of each packet at each port."""
    return {
        str(port): [
            (picoseconds(time), *rest, picoseconds(depart))
            for time, *rest, depart in table.select(COLUMNS).iter_rows()
        ]
        for (port,), table in result.packets.group_by("port")
    }


def expected_rows(network: Network) -> dict[str, list[tuple[Any, ...]]]:
    """What the second model says about the same."""
    expected: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for row in network.rows:
        found = (row.time, row.ingress, row.flow, row.seq, row.size, row.queue_bytes)
        expected[row.port].append((*found, row.fate, row.reason, row.depart))
    return expected


def test_every_packet_is_where_the_second_model_says(both: Both) -> None:
    assert found_rows(both.result) == expected_rows(both.network)


def test_drops_and_marks_have_their_times_and_running_counts(both: Both) -> None:
    columns = ["time_s", "port", "ingress_port", "flow", "reason"]
    columns += ["port_arrival", "ingress_arrival", "flow_arrival", "port_accepted", "is_backward"]
    found = [(picoseconds(t), *rest) for t, *rest in both.result.drops.select(columns).iter_rows()]
    assert sorted(found) == sorted(
        (
            *(row.dropped_at, row.port, row.ingress, row.flow, row.reason),
            *(row.port_arrival, row.ingress_arrival, row.flow_arrival, row.port_accepted),
            row.is_backward,
        )
        for row in both.network.rows
        if row.reason is not None
    )
    assert found == sorted(found, key=lambda row: row[0])
    marks = both.result.marks.select("time_s", "port", "ingress_port", "flow", "seq")
    assert sorted((picoseconds(t), *rest) for t, *rest in marks.iter_rows()) == sorted(
        (row.marked_at, row.port, row.ingress, row.flow, row.seq)
        for row in both.network.rows
        if row.marked_at is not None
    )


def test_ports_and_queues_are_the_second_models(both: Both) -> None:
    until = both.network.until
    of_port: dict[str, list[Row]] = defaultdict(list)
    for row in both.network.rows:
        of_port[row.port].append(row)
    for name, *found in both.result.ports.select(
        "port",
        "packets",
        "bytes",
        "drops",
        "marks",
        "queue_max_bytes",
        "queue_mean_bytes",
        "busy_share",
        "arrivals",
    ).iter_rows():
        port = both.network.ports[name]
        steps = [*port.occupancy, (until, 0, 0)]
        area = sum(a[1] * (b[0] - a[0]) for a, b in pairwise(steps))
        busy = sum(min(end, until) - begin for begin, end in port.busy)
        if port.waits_since is not None:
            busy += until - port.waits_since
        expected = [
            port.accepted,
            port.accepted_bytes,
            sum(row.reason is not None for row in of_port[name]),
            sum(row.marked_at is not None for row in of_port[name]),
            max((held for _, held, _ in port.occupancy), default=0),
            # if arrivals come first, a packet counts for a picosecond more
            pytest.approx(area / until, rel=1e-6, abs=1e-3),
            # up to 1 ps for each packet that is still to be sent
            pytest.approx(busy / until, abs=1e-5),
            len(of_port[name]),
        ]
        assert found == expected, name
    for time_s, name, *found in both.result.queue.select(
        "time_s", "port", "bytes", "packets"
    ).iter_rows():
        steps = [(0, 0, 0), *both.network.ports[name].occupancy]
        time = picoseconds(time_s)
        assert found == list(next(s[1:] for s in reversed(steps) if s[0] <= time)), (time_s, name)


def test_drop_runs_and_blackouts_follow_from_the_second_models_packets(both: Both) -> None:
    """By the glossary: drops of consecutive arrivals from one ingress port; what got through."""
    runs = []
    for port in both.network.ports:
        rows = [row for row in both.network.rows if row.port == port]
        for ingress in {row.ingress for row in rows}:
            own = [row for row in rows if row.ingress == ingress]
            for is_run, group in groupby(own, key=lambda row: row.reason is not None):
                run = list(group)
                between = rows[rows.index(run[0]) : rows.index(run[-1])]
                passed = sum(row.reason is None for row in between)
                if is_run:
                    runs.append((port, ingress, len(run), passed))
    key = ["port", "ingress_port", "length", "others_accepted"]
    assert sorted(drop_runs(both.result.drops, "ingress").select(key).iter_rows()) == sorted(runs)
    dark = [run for run in runs if run[2] >= 2 and run[3] >= run[2] - 1]
    assert sorted(blackouts(both.result.drops).select(key).iter_rows()) == sorted(dark)


def test_the_scenarios_have_what_they_are_to_test() -> None:
    """Ties, drops for every reason, marks, blackouts, and packets that wait for tokens."""
    reasons: Counter[str | None] = Counter()
    marks = ties = dark = 0
    for case in CASES:
        both = run_case(*case)
        reasons.update(row.reason for row in both.network.rows)
        marks += both.result.marks.height
        dark += blackouts(both.result.drops).height
        times = Counter((row.port, row.time) for row in both.network.rows)
        ties += sum(number > 1 for number in times.values())
    assert {"full", "share", "early", "pushed-out", "loss"} <= set(reasons)
    assert min(marks, ties, dark) > 10
