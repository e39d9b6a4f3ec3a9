"""Short transfers among long ones (Guo & Matta 2001, Table I), here, in ns-2 and in ns-3.

The experiments `guo2001/short-and-long-flows` and `guo2001/short-and-long-flows-faster-line`. The
peers' sides are peers/ns3/mice.cc and, if `ns` is installed, peers/ns2/mice.tcl.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fairport as fp
import polars as pl
from fairport.papers import catalogue

from validation.case import options
from validation.markdown import spread, table
from validation.peers import ns2, ns3

MSS_BYTES = 460
DURATION_S = 500
LINES = {"short-and-long-flows": "1.25 Mbit/s", "short-and-long-flows-faster-line": "1.5 Mbit/s"}
# the settings of the experiments' files, in the form that the peers' programs read
BOTTLENECK: dict[tuple[str, str], dict[str, float]] = {
    ("short-and-long-flows", "dt"): {"mbps": 1.25, "queue": 46},
    ("short-and-long-flows", "red"): {"mbps": 1.25, "queue": 78, "redMin": 12, "redMax": 39},
    ("short-and-long-flows-faster-line", "dt"): {"mbps": 1.5, "queue": 56},
    ("short-and-long-flows-faster-line", "red"): {
        "mbps": 1.5,
        "queue": 92,
        "redMin": 14,
        "redMax": 46,
    },
}


@dataclass(frozen=True)
class Condition:
    """Changes of the paper's experiment, the same in all simulators."""

    words: str
    patch: dict[str, Any]
    options: dict[str, float]
    """The options of the peers' programs, which have the same names: seconds, and 0 or 1."""


PLAIN = Condition("", {}, {})
APART = Condition(
    "starts within 1 s",
    {"traffic.0.jitter": "1s", "traffic.1.jitter": "1s"},
    {"jitter": 1},
)
# ns-3 measures round-trip times exactly whatever its clock
OF_2_35 = Condition(
    "ns-2.35's TCP without ECN",
    {
        "tcp.rto_min": "200ms",
        "tcp.limited_transmit": True,
        "tcp.rtt_tick": "10ms",
        "tcp.clock_granularity": "10ms",
        "tcp.ecn": False,
    },
    {"minRto": 0.2, "limitedTransmit": 1, "tick": 0.01, "ecn": 0},
)


@dataclass(frozen=True)
class Delivered:
    """Packets of all short and of all long transfers."""

    short: float
    long: float

    @property
    def all(self) -> float:
        """Packets of both."""
        return self.short + self.long


Runs = Sequence[Delivered]
Value = Callable[[Delivered], float]
VALUES: dict[str, Value] = {
    "short": lambda it: it.short,
    "long": lambda it: it.long,
    "all": lambda it: it.all,
}


def published(experiment: str, variant: str) -> Delivered:
    """The paper's table; the experiments' claims have its rates."""
    claims = {claim.id: claim for claim in catalogue.entry(experiment).claims}
    packets = []
    for kind in ("short", "long"):
        rate_bps = claims[f"{kind}-{variant}"].published
        assert isinstance(rate_bps, float), "a rate is one number"
        packets.append(round(rate_bps * DURATION_S / 8 / MSS_BYTES))
    return Delivered(*packets)


def fairport(experiment: str, variant: str, condition: Condition, seeds: range) -> Runs:
    """The experiment in Fairport, by seed."""
    entry = catalogue.entry(experiment)
    scenario = entry.scenario(entry.variant(variant)).patch(condition.patch)
    runs = []
    for seed in seeds:
        flows = fp.run(scenario, seed=seed).flows.group_by("traffic")
        delivered_bytes = dict(flows.agg(pl.sum("delivered_bytes")).iter_rows())
        runs.append(Delivered(delivered_bytes[0] / MSS_BYTES, delivered_bytes[1] / MSS_BYTES))
    return runs


def in_ns3(program: Path, settings: dict[str, float], seeds: range, *further: str) -> Runs:
    """The same in ns-3."""
    given = [f"--{name}={value:g}" for name, value in settings.items()]

    def run(seed: int) -> Any:
        return json.loads(ns3.run(program, *given, *further, f"--seed={seed}"))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [delivered(found) for found in pool.map(run, seeds)]


def in_ns2(settings: dict[str, float], seeds: range) -> Runs | None:
    """The same in ns-2; None if it is not installed."""
    found = ns2.runs("mice", settings, seeds)
    return found and [delivered(one) for one in found]


def delivered(found: dict[str, Any]) -> Delivered:
    """Reads the output of a peer's program."""
    return Delivered(*(found[kind]["delivered_bytes"] / MSS_BYTES for kind in ("short", "long")))


def rows(program: Path, name: str, condition: Condition, seeds: range) -> Iterator[list[str]]:
    """The table's rows of one experiment under one condition."""
    experiment = f"guo2001/{name}"
    variants = {"dt": "drop-tail"} if condition is APART else {"dt": "drop-tail", "red": "RED"}
    sides: dict[str, list[Runs | None]] = {}
    for variant in variants:
        settings = BOTTLENECK[name, variant] | condition.options
        sides[variant] = [
            [published(experiment, variant)],
            fairport(experiment, variant, condition, seeds),
            in_ns2(settings, seeds),
            in_ns3(program, settings, seeds),
            in_ns3(program, settings, seeds, "--karn=true"),
        ]
    head = ", ".join(filter(None, [LINES[name], condition.words]))
    for kind, value in VALUES.items():
        for variant, words in variants.items():
            cells = [
                spread([value(run) for run in runs], ".0f") if runs else "not measured"
                for runs in sides[variant]
            ]
            yield [f"{head}: {kind}, {words}", *cells]
    if "red" in sides:
        cells = [
            spread([ours.short / red.short for ours, red in zip(dt, reds, strict=True)], ".2f")
            if dt and reds
            else "not measured"
            for dt, reds in zip(sides["dt"], sides["red"], strict=True)
        ]
        yield [f"{head}: short, drop-tail over RED", *cells]


def main(arguments: Sequence[str]) -> int:
    """Measures both lines under every condition on all sides and renews the table."""
    given = options("mice", __doc__, arguments, seeds=9)
    program = ns3.program("mice")
    cells = []
    for name in LINES:
        for condition in (PLAIN, APART, OF_2_35):
            for row in rows(program, name, condition, given.seeds):
                cells.append(row)
                print(" | ".join(row), flush=True)
    heads = ["packets", "paper", "here", "ns-2.35", "ns-3 as it is"]
    heads += ["ns-3 with Karn's rule for SYNs"]
    given.publish("validation/mice.md", "mice", table(heads, cells))
    return 0
