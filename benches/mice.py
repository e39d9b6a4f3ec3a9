"""Short transfers among long ones (Guo & Matta 2001, Table I), held against ns-3.

`make mice` renews the table in docs/validation.md: the experiments `guo2001/m1` and `m1-fast`. A
measurement, not a test: it builds ns-3's side (peers/ns3-mice.cc) where a compiler and the package
registry are at hand.
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
import ns3_peer
import polars as pl
from fairport.papers import catalogue
from markdown import between_markers, table

ROOT = Path(__file__).parents[1]
SEEDS = range(1, 10)
MSS_BYTES = 460
DURATION_S = 500
LINES = {"m1": "1.25 Mbit/s", "m1-fast": "1.5 Mbit/s"}
# what the experiments' files say, as ns-3's side takes it
NS3 = {
    ("m1", "dt"): ("--rate=1.25Mbps", "--queue=46"),
    ("m1", "red"): ("--rate=1.25Mbps", "--queue=78", "--redMin=12", "--redMax=39"),
    ("m1-fast", "dt"): ("--rate=1.5Mbps", "--queue=56"),
    ("m1-fast", "red"): ("--rate=1.5Mbps", "--queue=92", "--redMin=14", "--redMax=46"),
}


@dataclass(frozen=True)
class Condition:
    """What differs from the paper's experiment as Fairport has it; the same on both sides."""

    words: str
    patch: dict[str, Any]
    options: tuple[str, ...]


PLAIN = Condition("", {}, ())
APART = Condition(
    "starts within 1 s",
    {"traffic.0.jitter": "1s", "traffic.1.jitter": "1s"},
    ("--jitter=1",),
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
    ("--minRto=200", "--limitedTransmit=true", "--tick=10", "--ecn=false"),
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


def ns3(program: Path, line: tuple[str, ...], condition: Condition, *options: str) -> Runs:
    """The same in ns-3, with further options."""

    def run(seed: int) -> Delivered:
        command = [str(program), *line, *condition.options, *options, f"--seed={seed}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        octets = [found[kind]["delivered_bytes"] for kind in ("short", "long")]
        return Delivered(*(one / MSS_BYTES for one in octets))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(run, SEEDS))


def rows(program: Path, name: str, condition: Condition) -> Iterator[list[str]]:
    """The table's rows of one experiment under one condition."""
    experiment = f"guo2001/{name}"
    variants = {"dt": "drop-tail"} if condition is APART else {"dt": "drop-tail", "red": "RED"}
    sides: dict[str, list[Runs]] = {}
    for variant in variants:
        line = NS3[name, variant]
        sides[variant] = [
            [published(experiment, variant)],
            fairport(experiment, variant, condition),
            ns3(program, line, condition),
            ns3(program, line, condition, "--karn=true"),
        ]
    head = ", ".join(filter(None, [LINES[name], condition.words]))
    for kind, value in VALUES.items():
        for variant, words in variants.items():
            cells = [in_words([value(run) for run in runs], ".0f") for runs in sides[variant]]
            yield [f"{head}: {kind}, {words}", *cells]
    if "red" in sides:
        cells = [
            in_words([ours.short / red.short for ours, red in zip(*pair, strict=True)], ".2f")
            for pair in zip(sides["dt"], sides["red"], strict=True)
        ]
        yield [f"{head}: short, drop-tail over RED", *cells]


def in_words(values: Sequence[float], form: str) -> str:
    """The median, and the range of several."""
    median = format(statistics.median(values), form)
    if len(values) == 1:
        return median
    return f"{median} ({min(values):{form}} to {max(values):{form}})"


def main() -> None:
    """Measures both lines under every condition on both sides and renews the table."""
    program = ns3_peer.program("ns3-mice")
    cells = []
    for name in LINES:
        for condition in (PLAIN, APART, OF_2_35):
            for row in rows(program, name, condition):
                cells.append(row)
                print(" | ".join(row), flush=True)
    heads = ["packets", "paper", "here", "ns-3 as it is", "ns-3 with Karn's rule for SYNs"]
    between_markers(ROOT / "docs" / "validation.md", "mice", table(heads, cells))


if __name__ == "__main__":
    main()
