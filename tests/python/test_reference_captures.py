"""What tables of runs and of captures count, counted again from the packets.

A plain reader of pcapng and loops over packets; docs/guide/single-packets.md says what is in them.
"""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fairport as fp
import pytest
import random_traffic
from captures import Captured, blocks, captured
from fairport.backends.captures import analyse
from reference_statistics import Row, differences
from reference_summary import Summary

FLOWS_FROM, TO = 20_000, 5001
ENHANCED_PACKET = 6
FCS_BYTES = 4


@dataclass(frozen=True)
class Packet:
    """What a capture says of a packet."""

    time_ns: int
    interface: int
    flow: int
    is_data: bool
    """Whether it goes from the flow's sender to its receiver."""
    name: tuple[int, bool, int]
    """The same at every port: flow, direction, IP identification."""
    seq: int
    payload: int
    wire: int
    is_tcp: bool
    has_ce: bool
    is_dropped: bool


def packets(file: Path) -> Iterator[Packet]:
    for block in blocks(file.read_bytes()):
        if struct.unpack_from("<I", block)[0] != ENHANCED_PACKET:
            continue
        interface, high, low, kept, wire = struct.unpack_from("<5I", block, 8)
        ip = block[28 + 14 : 28 + kept]
        header = ip[(ip[0] & 15) * 4 :]
        source, target, seq = struct.unpack_from(">2HI", header)
        is_tcp = ip[9] == 6
        flow, is_data = max(source, target) - FLOWS_FROM, target == TO
        head = (header[12] >> 4) * 4 if is_tcp else 8
        yield Packet(
            high << 32 | low,
            interface,
            flow,
            is_data,
            (flow, is_data, int.from_bytes(ip[4:6], "big")),
            seq if is_tcp else 0,
            int.from_bytes(ip[2:4], "big") - (ip[0] & 15) * 4 - head,
            wire,
            is_tcp,
            ip[1] & 3 == 3,
            b"dropped" in block[28 + kept :],
        )


Sides = dict[str, tuple[list[Packet], list[Packet]]]


def sides(run: Captured) -> Sides:
    """The packets that came for each captured port, and those that left it."""
    return {
        port: (list(packets(run.file("ingress", port))), list(packets(run.file("egress", port))))
        for port in run.run.ports["port"]
        if run.file("ingress", port).exists()
    }


def flows_again(of_ports: Sides, flows: dict[int, Row]) -> dict[int, Counter[str]]:
    """What the table `flows` counts, by flow."""
    found: dict[int, Counter[str]] = {flow: Counter() for flow in flows}
    highest: Counter[tuple[int, bool]] = Counter()
    for port, (came, left) in of_ports.items():
        node = port.rpartition(":")[0]
        had_ce = {one.name for one in came if one.has_ce}
        for one in came:
            found[one.flow]["drops"] += one.is_dropped
            sender = flows[one.flow]["src" if one.is_data else "dst"]
            if one.payload and node == sender:
                found[one.flow]["segments_sent"] += 1
                way = one.flow, one.is_data
                found[one.flow]["retransmits"] += one.is_tcp and one.seq < highest[way]
                highest[way] = max(highest[way], one.seq + one.payload)
        for one in left:
            found[one.flow]["marks"] += one.has_ce and one.name not in had_ce
    return found


def new_bytes(left: list[Packet], from_ns: float, to_ns: float) -> dict[int, int]:
    """By flow, the bytes that a port let pass for the first time between these times."""
    most = max(one.seq + one.payload for one in left)
    seen: dict[int, bytearray] = defaultdict(lambda: bytearray(most))
    found: Counter[int] = Counter()
    for one in left:
        if one.is_data and one.is_tcp:
            data = slice(one.seq, one.seq + one.payload)
            found[one.flow] += seen[one.flow][data].count(0) * (from_ns <= one.time_ns <= to_ns)
            seen[one.flow][data] = b"1" * one.payload
    return found


@pytest.mark.parametrize("seed", range(400, 412))
def test_a_run_counts_what_its_captures_show(seed: int, tmp_path: Path) -> None:
    scenario = random_traffic.scenario(seed)
    if scenario["topology"]["kind"] == "bcube":
        scenario["topology"] = {"kind": "star", "hosts": 16}  # hosts do not forward
    scenario["duration"] = "5ms"
    scenario["measure"] = {}
    scenario["traffic"] = [
        {name: one for name, one in traffic.items() if name not in ("start", "stop")}
        for traffic in scenario["traffic"]
    ]
    run = captured(fp.scenario(scenario), ["*"], tmp_path / "run")
    of_ports = sides(run)
    flows = {row["flow"]: row for row in run.run.flows.to_dicts()}
    for flow, found in flows_again(of_ports, flows).items():
        row = flows[flow]
        assert found["drops"] == row["drops"], flow
        # what the host's processor or a queue holds at the end has not passed
        for key in "segments_sent", "retransmits", "marks":
            assert 0 <= row[key] - found[key] <= 20, (flow, key)
            assert row[key] == found[key] or row["end_s"] is None, (flow, key)
    for row in run.run.ports.to_dicts():
        came, left = of_ports[row["port"]]
        assert sum(one.is_dropped for one in came) == row["drops"]
        if scenario["queue"]["kind"] not in ("codel", "linux-sfq"):  # they drop what they accepted
            accepted = [one for one in came if not one.is_dropped]
            assert len(accepted) == row["packets"]
            assert sum(one.wire + FCS_BYTES for one in accepted) == row["bytes"]
        assert len(left) <= row["packets"]


WIRE_NS, SWITCH_NS, HOST_NS = 7_000, 11_000, 13_000


@pytest.mark.parametrize("seed", range(8))
def test_goodput_and_packet_hops_count_at_the_next_node(seed: int, tmp_path: Path) -> None:
    """When the last bit has arrived and the node's delay is over."""
    scenario = {
        "name": "exact",
        "duration": f"{2000 + 37 * seed}us",
        "topology": {"kind": "two-switch", "peers": 4},
        "link": {"delay": f"{WIRE_NS}ns"},
        "switch": {"processing_delay": f"{SWITCH_NS}ns"},
        "host": {"profile": "none", "processing": "0s", "delay": f"{HOST_NS}ns"}
        | {"delay_spread": "0s"},
        "queue": {"limit": "9000B"},
        "measure": {"from": f"{700 + 11 * seed}us", "to": f"{1700 + 13 * seed}us"},
        "traffic": [{"from": "all", "to": "h0", "start_jitter": "100us"}],
    }
    run = captured(fp.scenario(scenario), ["*"], tmp_path / "run")
    summary = run.run.summary
    end_ns = 1e9 * summary["simulated_s"]
    hops = 0
    for port, (_, left) in sides(run).items():
        is_to_switch = port.startswith("h") or port in ("s0:2", "s1:0")
        delay_ns = WIRE_NS + (SWITCH_NS if is_to_switch else HOST_NS)
        hops += sum(one.time_ns + delay_ns <= end_ns for one in left)
    assert summary["packet_hops"] == hops
    _, left = sides(run)["s0:0"]
    # the first instant counts, the last one does not
    from_ns, to_ns = (1e9 * summary["measure"][key] - WIRE_NS for key in ("from_s", "to_s"))
    counted = new_bytes(left, from_ns - HOST_NS, to_ns - HOST_NS - 1)
    ours = {row["flow"]: row["measured_bytes"] for row in run.run.flows.to_dicts()}
    assert ours == {flow: counted[flow] for flow in ours}


CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "shares": ({"topology": {"kind": "two-switch", "peers": 9}}, ["s0:0", "s0:1", "s0:2"]),
    "marks": (
        {
            "topology": {"kind": "two-switch", "peers": 4},
            "tcp": {"congestion_control": "dctcp"},
            "queue": {"kind": "step-marking", "limit": "30KiB", "mark_above": "5 packets"},
        },
        ["s0:0", "s0:1", "s0:2"],
    ),
    "several outputs": (
        {
            "topology": {"kind": "star", "hosts": 6},
            "traffic": [
                {"from": "h1..h2", "to": "h0"},
                {"from": "h3", "to": "h0", "size": "2MB"},
                {"kind": "poisson", "load": 0.05, "sizes": "2kB..50kB"},
                {"kind": "udp", "from": "h5", "to": "h0", "rate": "50Mbps"},
            ],
        },
        [f"s0:{number}" for number in range(6)],
    ),
}


@pytest.fixture(scope="module", params=CASES)
def switch(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """Captures of a switch, of which the first port is the bottleneck."""
    changes, ports = CASES[request.param]
    scenario = {
        "name": "switch",
        "duration": "250ms",
        "queue": {"limit": "16KiB"},
        "tcp": {"rto_min": "10ms"},
        "traffic": [{"from": "all", "to": "h0"}],
    }
    return captured(fp.scenario(scenario | changes), ports, tmp_path_factory.mktemp("s") / "run")


def test_analyze_counts_what_the_captures_show(switch: Captured) -> None:
    found = analyse(switch.files)
    came, left = sides(switch)[switch.port]
    number = dict(found.tables["conversations"].select("flow", "src_port").rows())
    measure = found.summary["measure"]
    span_ns = (round(1e9 * measure[key]) for key in ("from_s", "to_s"))
    delivered = new_bytes(left, *span_ns)
    here = of_output(dict(found.tables), switch.port)["flows"]
    for row in here.filter(protocol="tcp").to_dicts():
        flow = number[row["flow"]] - FLOWS_FROM
        sent = [one for one in came if one.flow == flow and one.is_data and one.payload]
        assert row["segments_sent"] == len(sent)
        assert row["measured_bytes"] == delivered[flow]
        length_s = measure["to_s"] - measure["from_s"]
        assert row["goodput_bps"] == pytest.approx(8 * delivered[flow] / length_s)
    gone = {one.name for one in left}
    counts: Counter[Any] = Counter()
    drops = []
    for one in came:
        keys = ("port", ("ingress", one.interface), ("flow", one.flow))
        counts.update(keys)
        if one.is_dropped:
            assert one.name not in gone
            drops.append((one.seq, not one.is_data, *(counts[key] for key in keys)))
    columns = ["seq", "is_backward", "port_arrival", "ingress_arrival", "flow_arrival"]
    ours = found.drops.filter(port=switch.port).sort("port_arrival").select(columns).rows()
    # of the last ones the captures may end too early to know
    left_open = len(drops) - len(ours)
    assert 0 <= left_open <= found.summary["captures"]["completeness"]["open"]
    assert ours == drops[: len(ours)]
    had_ce = {one.name for one in came if one.has_ce}
    marked = sum(one.has_ce and one.name not in had_ce for one in left)
    assert found.marks.filter(port=switch.port).height == marked


@pytest.mark.parametrize("is_joined", [True, False])
def test_the_summary_of_captures_follows_from_their_tables(
    switch: Captured, is_joined: bool
) -> None:
    found = analyse(switch.files if is_joined else [str(switch.file("egress"))])
    summary: dict[str, Any] = dict(found.summary)
    tables = dict(found.tables)
    ours = computed(summary, tables)
    if is_joined and len(summary["captures"]["outputs"]) > 1:
        # all but the traffic is about the worst output
        whole, ours = ours, computed(summary, of_output(tables, switch.port))
        ours |= {key: whole[key] for key in ("traffic", "host_goodput_bps_max")}
    unknown = {"host_queue_drop_share": None, "rto_min_s": None, "ecn_is_idle": False}
    ours |= unknown | {"flows_outside_measurement": 0, "flows_partly_measured": 0}
    ours["traffic_ended_s"] = None
    if not is_joined:
        ours["verdict"]["blackout_timeout_share"] = None
    theirs = {key: summary[key] for key in ours}
    theirs["verdict"].pop("sentence")
    wrong = list(differences(ours, theirs))
    assert not wrong, "\n".join(wrong)


def of_output(tables: dict[str, Any], port: str) -> dict[str, Any]:
    """The tables of the flows that leave by an output."""
    here = tables["conversations"].filter(egress_port=port)
    alone = {name: tables[name].filter(port=port) for name in ("ports", "drops", "marks")}
    return tables | alone | {"flows": tables["flows"].join(here, on="flow", how="semi")}


def computed(summary: dict[str, Any], tables: dict[str, Any]) -> Row:
    measure = summary["measure"]
    nothing = SimpleNamespace(rto_min=None, ecn=None)
    of_captures: Any = SimpleNamespace(
        duration=1e12 * summary["simulated_s"],
        measure=SimpleNamespace(start=1e12 * measure["from_s"], end=1e12 * measure["to_s"]),
        traffic=[SimpleNamespace(kind=one["kind"], tcp=None) for one in summary["traffic"]],
        tcp=nothing,
    )
    return Summary(of_captures, tables).summary()
