"""Scenarios changed at random: each runs, or is refused in a sentence with field and remedy.

The mutations are few here, so that the tests stay quick; the seeds are given, so that what fails
once fails always.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from fairport import backends
from fairport.backends.run import run_prepared
from fairport.errors import ScenarioError
from fairport.scenario import load, parse

NETWORKS: list[dict[str, Any]] = [
    {"topology": {"kind": "fat-tree", "k": 4}, "traffic": [{"from": "all", "to": "h0"}]},
    {
        "topology": {"kind": "leaf-spine"},
        "routing": "spray",
        "traffic": [{"kind": "poisson", "load": 0.4}],
        "loss": [{"kind": "random", "probability": 0.1}],
    },
    {
        "topology": {"kind": "star", "hosts": 5},
        "queue": {"kind": "rio"},
        "classifier": {},
        "traffic": [{"kind": "incast", "from": "all", "to": "h0", "block": "64KiB", "rounds": 3}],
        "host_tcp": [{"hosts": "h1", "stack": "ns2"}],
    },
    {
        "topology": {
            "kind": "graph",
            "hosts": ["h0", "h1"],
            "switches": ["s"],
            "links": [{"ends": ["h0", "s"], "rate": "1Gbps"}, {"ends": ["h1", "s"]}],
        },
        "shaper": {"kind": "tbf", "rate": "100Mbps"},
        "traffic": [{"kind": "udp", "from": "h1", "to": "h0", "rate": "200Mbps"}],
    },
]

VALUES: list[Any] = [
    0, -1, 1, 2**31, 2**64, 0.5, -0.0, 1e300, float("nan"), float("inf"), True, None, "", "x",
    "all", "h0", "h99", "h3..h0", "0s", "1ps", "2ms", "9000000s", "1e99s", "-1s", "0B", "8GiB",
    "1 packet", "9999999999 packets", "0bps", "400Gbps", "100ppm", [], {}, ["h0", "h0"], [1],
    {"kind": "x"}, "linux-6", "bbr", "ecmp", "\u0000", "a" * 200,
]  # fmt: skip


def places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every table or list of the document, with each of its keys."""
    keys = document if isinstance(document, dict) else range(len(document))
    for key in list(keys):
        yield document, key
        if isinstance(document[key], dict | list):
            yield from places(document[key])


def changed(document: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """The document with one to three changes."""
    document = copy.deepcopy(document)
    for _ in range(draw.randint(1, 3)):
        here, key = draw.choice(list(places(document)))
        match draw.randrange(5):
            case 0:
                del here[key]
            case 1:
                there, other = draw.choice(list(places(document)))
                here[key] = copy.deepcopy(there[other])
            case 2 if isinstance(here, dict):
                here[str(draw.choice(list(places(document)))[1])] = draw.choice(VALUES)
            case _:
                here[key] = copy.deepcopy(draw.choice(VALUES))
    return document


def is_clear(error: ScenarioError, document: dict[str, Any]) -> None:
    """The message names field and remedy, in one line that is Fairport's and not a library's."""
    assert error.field, (document, str(error))
    assert error.remedy, (document, str(error))
    assert len(str(error).splitlines()) == 1, str(error)
    assert "input should" not in str(error).lower(), str(error)


@pytest.mark.parametrize("seed", range(8))
def test_a_changed_scenario_runs_or_is_refused_in_one_sentence(seed: int) -> None:
    draw = random.Random(seed)
    ran = 0
    for _ in range(60):
        start = {"name": "changed", "duration": "1ms"} | draw.choice(NETWORKS)
        if draw.random() < 0.5:
            start = load(start).resolved()
        document = changed(start, draw)
        try:
            scenario = load(document)
            if scenario.duration.seconds > 0.01:
                scenario = scenario.patch({"duration": "1ms", "measure": {}})
            again = parse(scenario.to_toml(), "again.toml")
            prepared = backends.get().prepare(scenario, scenario.seed)
        except ScenarioError as error:
            is_clear(error, document)
            continue
        assert again == scenario
        if prepared.estimate.memory_bytes < 1 << 30:
            ran += 1
            result = run_prepared(backends.get(), prepared, None)
            json.dumps(result.summary, allow_nan=False)
    assert ran > 0
