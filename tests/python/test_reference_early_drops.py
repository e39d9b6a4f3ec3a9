"""RED, RIO and PIE beside the second model, which computes each packet's chance to be dropped.

A run's own draws are given to the model, so everything else is predicted packet by packet. The
draws themselves have the probabilities of the model: none at 0, all at 1, and in between as many
as there should be.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import fairport as fp
import pytest
from reference_network import Network
from test_reference_network import Both, expected_rows, found_rows, sent

QUEUES: dict[str, dict[str, Any]] = {
    "ns2": {"kind": "red", "limit": "60 packets", "weight": 0.02},
    "ns2-bytes": {
        "kind": "red", "limit": "40kB", "min": "3kB", "max": "12kB", "weight": 0.05,
        "mean_packet": "1000B", "gentle": False,
    },
    "paper": {
        "kind": "red", "limit": "30 packets", "weight": 0.05, "variant": "floyd-jacobson",
        "max_p": 0.02, "min": "3 packets", "count_in_service": True,
    },
    "paper-bytes": {
        "kind": "red", "limit": "40kB", "min": "3kB", "max": "12kB", "weight": 0.3,
        "variant": "floyd-jacobson", "mean_packet": "1000B", "ecn": False,
    },
    "linux": {
        "kind": "red", "limit": "200kB", "min": "3kB", "max": "12kB", "weight": 0.1,
        "variant": "linux", "mean_packet": "1000B",
    },
    "rio": {"kind": "rio", "limit": "60 packets", "weight": 0.02, "short_min": "2 packets"},
    "rio-ps": {"kind": "rio-ps", "limit": "41 packets", "weight": 0.1},
    "rio-ps-bytes": {"kind": "rio-ps", "limit": "30007B", "weight": 0.1, "mean_packet": "1000B"},
    "pie": {"kind": "pie", "limit": "200 packets"},
    "pie-short": {
        "kind": "pie", "limit": "30kB", "target": "5ms", "update": "3ms", "max_burst": "20ms",
        "count_in_service": True, "ecn": False,
    },
}  # fmt: skip


def overload(name: str, number: int) -> fp.Scenario:
    """Datagrams of several sizes and TCP with ECN into a slow line, that now and then is idle."""
    draw = random.Random(f"{name} {number}")
    links = [{"ends": ends} for ends in (["r", "s0"], ["s0", "s1"])]
    links[1]["rate"] = draw.choice(["10Mbps", "7777777bps"])
    links += [{"ends": [host, "s1"]} for host in "abcd"]
    pause = {"pattern": "on-off", "on_mean": "400ms", "off_mean": "300ms"}
    sources: list[dict[str, Any]] = [
        {"rate": "4Mbps", "payload": "972B", "pattern": "poisson", "from": "a", "stop": "1100ms"},
        {"rate": "6Mbps", "payload": draw.choice(["500B", "1472B"]), "from": "b"} | pause,
        {"rate": "3Mbps", "payload": "200B", "from": "c"} | pause,
    ]
    tcp = {"congestion_control": "dctcp"}
    return fp.scenario(
        {
            "name": "overload",
            "duration": "1400ms",
            "topology": {
                "kind": "graph", "hosts": list("rabcd"), "switches": ["s0", "s1"], "links": links
            },
            "queue": QUEUES[name],
            "classifier": {"threshold": "40 packets", "flow_timeout": "50ms"},
            "host": {"profile": "none"},
            "traffic": [
                *({"kind": "udp", "to": "r"} | source for source in sources),
                {"from": "d", "to": "r", "tcp": tcp, "stop": "1s"},
            ],
        }
    )  # fmt: skip


@cache
def run_case(name: str, number: int = 0) -> Both:
    scenario = overload(name, number)
    result = fp.run(scenario, seed=number, observation=fp.Observation(packets=["*"]))
    chosen: dict[str, list[bool]] = {}
    for port, fate, reason in result.packets.select("port", "fate", "reason").iter_rows():
        chosen.setdefault(port, []).append(fate == "marked" or reason == "early")
    clocks = dict(result.ports.select("port", "clock_error_ppm").iter_rows())
    return Both(result, Network(scenario, sent(scenario, result), clocks, chosen))


@pytest.mark.parametrize("name", QUEUES)
def test_every_packet_is_where_the_second_model_says(name: str) -> None:
    both = run_case(name)
    assert found_rows(both.result) == expected_rows(both.network)


@pytest.mark.parametrize("name", QUEUES)
def test_packets_are_chosen_with_the_probabilities_of_the_second_model(name: str) -> None:
    draws = run_case(name).network.draws
    assert not any(chosen for p, chosen in draws if p == 0)
    assert all(chosen for p, chosen in draws if p == 1)
    assert sum(0 < p < 1 for p, _ in draws) > 100
    for least, most in ((0, 0.05), (0.05, 0.3), (0.3, 1)):
        some = [draw for draw in draws if least < draw[0] < most]
        surplus = sum(chosen - p for p, chosen in some)
        assert abs(surplus) <= 4 * sum(p * (1 - p) for p, _ in some) ** 0.5, (least, len(some))
