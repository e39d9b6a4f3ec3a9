"""The kernel's own disciplines as the network: bridges with `tc`, and drops traced by BPF."""

from __future__ import annotations

import os
import shutil
import struct
import sys
from pathlib import Path
from typing import Any

import fairport as fp
import numpy as np
import polars as pl
import pytest
from conftest import lack_of_bpf, timely
from fairport.errors import BackendError, ScenarioError

if sys.platform != "linux":
    pytest.skip("the Linux backend needs Linux", allow_module_level=True)

from fairport.backends.linux import gate, queue_trace, shapers

pytestmark = pytest.mark.alone

_LACK = lack_of_bpf() or ("" if shutil.which("tc") else "needs tc")
able = pytest.mark.skipif(bool(_LACK), reason=_LACK)

SCENARIO: dict[str, Any] = {
    "name": "tc-test",
    "duration": "2s",
    "topology": {"kind": "two-switch", "peers": 6},
    "link": {"rate": "50Mbps", "delay": "0s"},
    "queue": {"kind": "drop-tail", "limit": "11 packets", "implementation": "tc"},
    "tcp": {"stack": "linux-6", "congestion_control": "cubic", "rto_min": "10ms"},
    "traffic": [{"from": "all", "to": "h0"}],
    "measure": {"from": "0.5s"},
}


@able
@pytest.mark.parametrize("shaper", [None, {"kind": "tbf", "rate": "50Mbps", "burst": "1600B"}])
def test_the_drops_of_a_kernel_queue_are_traced_with_their_ingress_ports(shaper: Any) -> None:
    change: dict[str, Any] = {} if shaper is None else {"shaper": shaper}
    if shaper is not None:
        change["queue"] = SCENARIO["queue"] | {"limit": "16KB"}
    result = timely(lambda: fp.run(SCENARIO | change, seed=1, backend="linux"))
    drops, health = result.drops, result.manifest["health"]
    assert health["events_lost"] == 0
    # a kernel may pass over the program; then the run is not valid
    assert health["drops_counted"] > 50
    assert 0.8 * health["drops_counted"] < health["drops_traced"] <= health["drops_counted"]
    # the bottleneck is the receiver's port, or the one from switch to switch
    assert set(drops["port"]) <= {"s0:0", "s1:0"}
    assert set(drops.filter(pl.col("port") == "s0:0")["ingress_port"]) <= {"s0:1", "s0:2"}
    assert drops["flow"].n_unique() >= 5
    # counts begin with 1, and each drop is one of the arrivals, unless the program missed it
    for _, rows in drops.sort("time_s").group_by("port", maintain_order=True):
        steps = rows["port_arrival"].cast(int).diff().drop_nulls()
        assert (steps >= 0).all()
        assert (steps == 0).sum() <= 0.02 * rows.height
        assert (rows["ingress_arrival"] <= rows["port_arrival"]).all()
        assert (rows["flow_arrival"] <= rows["ingress_arrival"]).all()
    # a segment that is dropped once more was sent once more; whether the last drop is repaired
    # before the end depends on which flows starve
    flows = result.flows
    again = (
        drops.filter(pl.col("size_bytes") > 1000)
        .group_by("flow")
        .agg((pl.len() - pl.col("seq").n_unique()).alias("again"))
        .join(flows, on="flow")
    )
    assert (again["again"] <= again["retransmits"]).all()
    assert flows["retransmits"].sum() > 0
    # the buckets depend on the kernel's timers, which are late on a busy machine: a valid run may
    # miss a fifth of the 47 Mbit/s of goodput that fill the line
    least_bps = 37e6 if result.summary["valid"] else 5e6
    assert least_bps < flows["goodput_bps"].sum() < 50e6
    assert result.tables["queue"]["packets"].max() >= 5  # type: ignore[operator]


@able
def test_a_discipline_that_the_kernel_lacks_is_an_error() -> None:
    missing = [name for name, is_there in shapers.disciplines().items() if not is_there]
    kinds = {"sfq": "linux-sfq", "fq_codel": "fq-codel", "codel": "codel"}
    kind = next((kinds[name] for name in missing if name in kinds), None)
    if kind is None:
        pytest.skip("this kernel has every discipline")
    queue = {"kind": kind, "limit": "100 packets", "implementation": "tc"}
    with pytest.raises(BackendError, match="this kernel does not take"):
        fp.run(SCENARIO | {"queue": queue}, seed=1, backend="linux")


@pytest.mark.parametrize(
    ("queue", "settings"),
    [
        (
            {"kind": "linux-sfq", "depth": 20, "divisor": 256, "flows": 64, "perturb": "10s"}
            | {"quantum": "3000B"},
            "sfq limit 50 depth 20 divisor 256 flows 64 perturb 10 quantum 3000",
        ),
        (
            {"kind": "fq-codel", "target": "150us", "interval": "2ms", "queues": 16}
            | {"quantum": "300B"},
            "fq_codel limit 50 target 150us interval 2000us ecn flows 16 quantum 300",
        ),
        ({"kind": "fq-codel"}, "fq_codel limit 50 target 5000us interval 100000us ecn flows 1024"),
        ({"kind": "codel"}, "codel limit 50 target 5000us interval 100000us noecn"),
        (
            {"kind": "red", "limit": "60kB", "min": "5kB", "max": "15kB"},
            "red limit 60000 min 5000 max 15000 probability 0.1 avpkt 1000 ecn",
        ),
    ],
)
def test_the_kernel_is_told_every_setting_that_it_knows(
    queue: dict[str, object], settings: str
) -> None:
    scenario = fp.scenario(SCENARIO | {"queue": {"limit": "50 packets"} | queue})
    assert shapers._leaf(scenario) == settings


@able
def test_the_kernels_token_buckets_and_fifos_are_found() -> None:
    found = shapers.disciplines()
    assert found["pfifo"]
    assert sorted(found) == sorted(shapers.DISCIPLINES)
    assert list(Path("/run/netns").glob(f"fairport-{os.getpid()}-*")) == []


def test_the_gate_of_the_kernels_disciplines_names_every_fault() -> None:
    expected = gate.Expectation(drain_s=1e-3, line_goodput_bps=94.1e6, rate_bps=100e6)
    good = {"events_lost": 0, "drops_traced": 742, "drops_counted": 742}
    # a token bucket of one packet does not fill the line
    assert gate.faults_of_shapers(good, expected, 86e6) == []
    assert gate.faults_of_shapers(good | {"drops_traced": 737}, expected, 94e6) == []
    assert "700 drops" in gate.faults_of_shapers(good | {"drops_traced": 700}, expected, 94e6)[0]
    assert "3 packets" in gate.faults_of_shapers(good | {"events_lost": 3}, expected, 94e6)[0]
    assert "the line carried" in gate.faults_of_shapers(good, expected, 70e6)[0]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"link": {"rate": "1Gbps", "delay": "0s"}}, "link.rate"),
        ({"link": {"rate": "100Mbps", "delay": "1us"}}, "link.delay"),
        ({"host": {"jitter": "20us"}}, "host.jitter"),
        ({"host": {"interrupt_interval": "20us"}}, "host.interrupt_interval"),
        ({"queue": {"kind": "pie", "implementation": "tc"}}, "no counterpart"),
        ({"topology": {"kind": "fat-tree", "k": 4}}, "more than one path"),
    ],
)
def test_what_bridges_cannot_be_is_refused(change: dict[str, Any], problem: str) -> None:
    scenario = SCENARIO | change
    if "topology" in change:
        scenario |= {"traffic": [{"from": "h1", "to": "h0"}]}
    with pytest.raises(ScenarioError, match=problem):
        fp.run(scenario, seed=1, backend="linux")


def _outcome(
    times_ms: Any, drops_ms: Any = (), *, samples: Any = (), **others: Any
) -> dict[str, Any]:
    """Of a run of 1 s: packets of 1000 bytes come to a port, where each takes 1 ms."""
    ports = [
        shapers.PortInterface("s0:0", 0, "p0", index=7, is_to_host=True, rate_bps=8_000_000),
        shapers.PortInterface("s0:1", 1, "p1", index=8, is_to_host=True, rate_bps=8_000_000),
    ]
    task = queue_trace.QueueTask("", ports, run_s=1.0, interval_s=0.1)
    events = np.zeros(len(times_ms) + len(drops_ms), queue_trace.EVENT)
    events["port"], events["ingress"], events["length"] = 7, 8, 1000
    events["is_drop"][len(times_ms) :] = 1
    # the clock is at 5 s when the run begins
    events["at_ns"] = 5_000_000_000 + np.array([*times_ms, *drops_ms]) * 1_000_000
    return queue_trace.outcome(events, samples, task, zero=5.0, **others)


def _first_port(outcome: dict[str, Any]) -> dict[str, Any]:
    return {name: column[0] for name, column in outcome["tables"]["ports"].items()}


def test_what_arrives_after_the_run_is_no_part_of_it() -> None:
    # one packet each 4 ms, for 2.4 s: 0, 4, .. 1000 ms are within the run, and the last only begins
    outcome = _outcome(4 * np.arange(600), [1004], samples=[(0.5, 0, 3000, 3), (1.2, 0, 9000, 9)])
    port = _first_port(outcome)
    assert (port["packets"], port["bytes"], port["drops"]) == (251, 251_000, 0)
    assert port["busy_share"] == pytest.approx(0.25)
    assert port["queue_max_bytes"] == 3000
    assert outcome["tables"]["drops"]["time_s"].size == 0
    assert outcome["tables"]["queue"]["time_s"].tolist() == [0.5]


def test_a_long_trace_is_evaluated_in_sight_of_the_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queue_trace, "_EVENTS_PER_REPORT", 100)
    words: list[str] = []
    _outcome(range(250), report=lambda: words.append("at"))
    assert words == ["at"] * 3


def test_a_port_is_busy_until_the_end_with_what_still_waits_there() -> None:
    # 600 packets come at once when 0.9 s are over: the line sends 100 of them within the run
    port = _first_port(_outcome([0, 1, *([900] * 600)]))
    assert (port["packets"], port["bytes"]) == (602, 602_000)
    assert port["busy_share"] == pytest.approx(0.102)


def test_what_the_discipline_drops_takes_no_time_of_the_line() -> None:
    # each 5th of ten packets that come at once is dropped when it comes, and one later
    port = _first_port(_outcome([0] * 10, [0, 0, 3]))
    assert (port["packets"], port["bytes"], port["drops"]) == (7, 7000, 3)
    assert port["busy_share"] == pytest.approx(0.007)


@able
def test_a_port_of_the_kernel_sends_for_as_long_as_its_packets_take() -> None:
    change = {"duration": "500ms", "measure": {"from": "0s"}}
    result = timely(lambda: fp.run(SCENARIO | change, seed=1, backend="linux"))
    ports = result.tables["ports"].filter(pl.col("packets") > 0)
    assert ports["busy_share"].max() <= 1  # type: ignore[operator]
    # accepted and not sent yet are at most 11 full packets in the queue, one on the line, and what
    # the bucket of 1600 B lets go before the line is free
    unsent = ports["bytes"] * 8 / 50e6 - ports["busy_share"] * 0.5
    assert unsent.is_between(-1e-9, (12 * 1514 + 1600) * 8 / 50e6).all()
    # every drop of the table is counted by a port, and the bottleneck is busy
    assert ports["drops"].sum() == result.drops.height > 0
    assert ports.filter(port="s0:0")["busy_share"][0] > (0.6 if result.summary["valid"] else 0.1)


def test_a_dropped_packet_of_the_kernels_queue_has_a_direction_and_a_kind() -> None:
    # One connection, all by one port: a segment of 1000 bytes, the receiver's ACK of it, and its
    # SYN-ACK, each dropped when it comes.
    there, back = (1, 2, 5000, 6000), (2, 1, 6000, 5000)
    packets = [(there, 1000, 0x10), (back, 0, 0x10), (back, 0, 0x12), (back, 0, 0x10)]
    ports = [shapers.PortInterface("s0:0", 0, "p0", index=7, is_to_host=True, rate_bps=8_000_000)]
    events = np.zeros(2 * len(packets), queue_trace.EVENT)
    events["port"], events["ingress"] = 7, 7
    for place, ((source, destination, source_port, destination_port), payload, flags) in enumerate(
        packets
    ):
        ip = struct.pack(">BBH5xB2xII", 0x45, 0, 52 + payload, 6, source, destination)
        tcp = struct.pack(">HHIIBBH", source_port, destination_port, 77, 0, 0x80, flags, 0)
        for number in (2 * place, 2 * place + 1):
            events[number]["at_ns"] = number
            events[number]["ip"] = np.frombuffer(ip, np.uint8)
            events[number]["transport"] = np.frombuffer(tcp, np.uint8)
            events[number]["is_drop"] = number % 2
    task = queue_trace.QueueTask("", ports, run_s=1.0, interval_s=0.1)
    drops = queue_trace.outcome(events, [], task, zero=0.0)["tables"]["drops"]
    assert drops["flow"].tolist() == [0] * 4
    assert drops["seq"].tolist() == [77] * 4
    assert drops["is_backward"].tolist() == [0, 1, 1, 1]
    assert drops["is_pure_ack"].tolist() == [0, 1, 0, 1]
    assert drops["flow_arrival"].tolist() == [1, 1, 2, 3]
