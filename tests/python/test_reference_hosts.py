"""Hosts of constant times beside the second model: when datagrams leave, and when they are read.

Every flow is one datagram, so the table `flows` has when it was sent and when it was delivered.
"""

from __future__ import annotations

import random
from collections import defaultdict

import fairport as fp
import pytest
from reference_network import Network, node
from reference_queues import Packet
from test_reference_network import EXACT, UNEVEN, paths, picoseconds, tree


def random_hosts(number: int) -> fp.Scenario:
    draw = random.Random(f"hosts {number}")
    topology = tree(draw, draw.choice([EXACT, UNEVEN]))
    traffic = []
    for _ in range(3):
        receiver, *others = draw.sample(topology["hosts"], len(topology["hosts"]))
        payload = draw.choice(["10B", "500B", "1472B"])
        traffic.append(
            {
                "kind": "udp", "from": others, "to": receiver, "rate": "1Gbps", "flows": 8,
                "payload": payload, "size": payload, "start_jitter": "200us",
            }
        )  # fmt: skip
    return fp.scenario(
        {
            "name": "hosts",
            "duration": "10ms",
            "topology": topology,
            "queue": {"limit": "6000B"},
            "host": {
                "delay": draw.choice(["0s", "1234567ps"]),
                "delay_spread": "0s",
                "processing": draw.choice(["0s", "700ns", "3us"]),
                "interrupt_interval": draw.choice(["0s", "20us", "50us"]),
            },
            "measure": {"from": "80us", "to": "180us"},
            "traffic": traffic,
        }
    )


@pytest.mark.parametrize("number", range(12))
def test_datagrams_are_sent_and_read_when_the_second_model_says(number: int) -> None:
    scenario = random_hosts(number)
    result = fp.run(scenario, seed=number, observation=fp.Observation(packets=["*"]))
    delay, processing = int(scenario.host.delay), scenario.host.processing
    assert processing is not None
    takes = int(processing.value)
    way = paths(scenario.topology)
    flows = result.flows.sort("start_s").select("flow", "src", "dst", "start_s", "size_bytes")
    sent, free = [], defaultdict[str, int](int)
    for flow, src, dst, start, size in flows.iter_rows():
        free[src] = max(free[src], round(start * 1e12)) + takes
        padded = max(size + 28, 46)
        packet = Packet(flow, 0, padded + 18, padded + 38, way[src, dst], is_data=True)
        sent.append((free[src] + delay, packet))
    clocks = dict(result.ports.select("port", "clock_error_ppm").iter_rows())
    network = Network(scenario, sent, clocks)
    rows = result.packets.filter(result.packets["port"].str.starts_with("h"))
    found = sorted((picoseconds(t), f) for t, f in rows.select("time_s", "flow").iter_rows())
    assert found == sorted((time, packet.flow) for time, packet in sent)
    read = read_at(scenario, network, takes)
    for flow, end, goodput, size in result.flows.select(
        "flow", "end_s", "goodput_bps", "size_bytes"
    ).iter_rows():
        assert picoseconds(end) == read.get(flow), flow
        is_measured = 80 * 10**6 <= read.get(flow, 0) < 180 * 10**6
        assert goodput == pytest.approx(8 * size / 100e-6 if is_measured else 0), flow


def read_at(scenario: fp.Scenario, network: Network, takes: int) -> dict[int, int]:
    """When each delivered datagram has been processed by its receiver."""
    interval = int(scenario.host.interrupt_interval)
    free, interrupts, found = defaultdict[str, int](int), dict[str, int](), {}
    for time, packet in sorted(network.delivered, key=lambda one: one[0]):
        host = node(network.peer[packet.path[-1]])
        last = interrupts.get(host)
        if interval and last is not None:
            time = last if time <= last else max(time, last + interval)
        interrupts[host] = time
        free[host] = found[packet.flow] = max(free[host], time) + takes
    return found
