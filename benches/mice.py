"""Short transfers among long ones (Guo & Matta 2001, Table I), held against ns-2 and ns-3.

`make mice` renews the table in docs/validation.md: the experiments `guo2001/m1` and `m1-fast`. A
measurement, not a test: it builds ns-3's side (peers/ns3-mice.cc) where a compiler and the package
registry are at hand, and runs ns-2's (peers/ns2-mice.tcl) where `ns` is installed.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fairport as fp
import ns2_peer
import ns3_peer
import polars as pl
from fairport.papers import catalogue
from markdown import between_markers, table

ROOT = Path(__file__).parents[1]
SEEDS = range(1, 10)
MSS_BYTES = 460
DURATION_S = 500
LINES = {"m1": "1.25 Mbit/s", "m1-fast": "1.5 Mbit/s"}
# what the experiments' files say, as the peers' sides take it
BOTTLENECK: dict[tuple[str, str], dict[str, float]] = {
    ("m1", "dt"): {"mbps": 1.25, "queue": 46},
    ("m1", "red"): {"mbps": 1.25, "queue": 78, "redMin": 12, "redMax": 39},
    ("m1-fast", "dt"): {"mbps": 1.5, "queue": 56},
    ("m1-fast", "red"): {"mbps": 1.5, "queue": 92, "redMin": 14, "redMax": 46},
}


@dataclass(frozen=True)
class Condition:
    """What differs from the paper's experiment as Fairport has it; the same on all sides."""

    words: str
    patch: dict[str, Any]
    options: dict[str, float]
    """The peers', which share their names: seconds, and 0 or 1."""


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
        """Of both."""
        return self.short + self.long


Runs = Sequence[Delivered]
Value = Callable[[Delivered], float]
VALUES: dict[str, Value] = {
    "short": lambda it: it.short,
    "long": lambda it: it.long,
    "all": lambda it: it.all,
}


def published(experiment: str, variant: str) -> Delivered:
    """The paper's table, of which the claims hold the rates."""
    claims = {claim.id: claim for claim in catalogue.entry(experiment).claims}
    packets = []
    for kind in ("short", "long"):
        rate_bps = claims[f"{kind}-{variant}"].published
        assert isinstance(rate_bps, float), "a rate is one number"
        packets.append(round(rate_bps * DURATION_S / 8 / MSS_BYTES))
    return Delivered(*packets)


def fairport(experiment: str, variant: str, condition: Condition) -> Runs:
    """The experiment, by seed."""
    entry = catalogue.entry(experiment)
    scenario = entry.scenario(entry.variant(variant)).patch(condition.patch)
    runs = []
    for seed in SEEDS:
        flows = fp.run(scenario, seed=seed).flows.group_by("traffic")
        octets = dict(flows.agg(pl.sum("delivered_bytes")).iter_rows())
        runs.append(Delivered(octets[0] / MSS_BYTES, octets[1] / MSS_BYTES))
    return runs


def ns3(program: Path, options: dict[str, float], *further: str) -> Runs:
    """The same in ns-3."""
    given = [f"--{name}={value:g}" for name, value in options.items()]

    def run(seed: int) -> Any:
        command = [str(program), *given, *further, f"--seed={seed}"]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [delivered(found) for found in pool.map(run, SEEDS)]


def ns2(options: dict[str, float]) -> Runs | None:
    """The same in ns-2; None where it is not installed."""
    found = ns2_peer.runs("mice", options, SEEDS)
    return found and [delivered(one) for one in found]


def delivered(found: dict[str, Any]) -> Delivered:
    """What a peer's program prints."""
    octets = [found[kind]["delivered_bytes"] for kind in ("short", "long")]
    return Delivered(*(one / MSS_BYTES for one in octets))


def rows(program: Path, name: str, condition: Condition) -> Iterator[list[str]]:
    """The table's rows of one experiment under one condition."""
    experiment = f"guo2001/{name}"
    variants = {"dt": "drop-tail"} if condition is APART else {"dt": "drop-tail", "red": "RED"}
    sides: dict[str, list[Runs | None]] = {}
    for variant in variants:
        options = BOTTLENECK[name, variant] | condition.options
        sides[variant] = [
            [published(experiment, variant)],
            fairport(experiment, variant, condition),
            ns2(options),
            ns3(program, options),
            ns3(program, options, "--karn=true"),
        ]
    head = ", ".join(filter(None, [LINES[name], condition.words]))
    for kind, value in VALUES.items():
        for variant, words in variants.items():
            cells = [
                in_words([value(run) for run in runs], ".0f") if runs else "not measured"
                for runs in sides[variant]
            ]
            yield [f"{head}: {kind}, {words}", *cells]
    if "red" in sides:
        cells = [
            in_words([ours.short / red.short for ours, red in zip(dt, reds, strict=True)], ".2f")
            if dt and reds
            else "not measured"
            for dt, reds in zip(sides["dt"], sides["red"], strict=True)
        ]
        yield [f"{head}: short, drop-tail over RED", *cells]


def in_words(values: Sequence[float], form: str) -> str:
    """The median, and the range of several."""
    median = format(statistics.median(values), form)
    if len(values) == 1:
        return median
    return f"{median} ({min(values):{form}} to {max(values):{form}})"


def main() -> None:
    """Measures both lines under every condition on all sides and renews the table."""
    program = ns3_peer.program("ns3-mice")
    cells = []
    for name in LINES:
        for condition in (PLAIN, APART, OF_2_35):
            for row in rows(program, name, condition):
                cells.append(row)
                print(" | ".join(row), flush=True)
    heads = ["packets", "paper", "here", "ns-2.35", "ns-3 as it is"]
    heads += ["ns-3 with Karn's rule for SYNs"]
    between_markers(ROOT / "docs" / "validation.md", "mice", table(heads, cells))


if __name__ == "__main__":
    main()
