"""Equal-length routing, with a core per flow, per packet or for all: compared with ns-3.

The experiment of Prakash et al. 2012, whose drop runs Fairport does not show with one core per
flow. ns-3's side is peers/ns3/outcast.cc.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fairport as fp
import polars as pl
from fairport.papers.catalogue import entry
from fairport.record import Record

from validation import proportions
from validation.case import options
from validation.markdown import table
from validation.peers import ns3

PAPER = entry("prakash2012/equal-length-routing")
PER_FLOW = PAPER.variant("per-flow")
SCENARIO = PAPER.scenario(PER_FLOW).patch(
    {f"switch.{field}": value for field, value in ns3.TIES.items()}
)
LONE = "h1"
LONGER = 4
RECOVERIES = {
    "ns-3": "TcpPrrRecovery",
    "ns-3, its PRR as RFC 6937 counts": "TcpRfc6937Recovery",
}


@dataclass(frozen=True)
class Measured:
    """One run: drop runs by length (all above three together), and the ratio of goodputs."""

    lone: Counter[int]
    others: Counter[int]
    ratio: float


# title, patch of our scenario, options of ns-3's program
READINGS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("each flow", {}, ["--core=flow"]),
    ("all flows together", {"routing": {"kind": "equal-length", "core": 0}}, ["--core=one"]),
    ("each packet", {"routing.per": "packet"}, ["--core=packet"]),
    (
        "each packet, but the lone flow goes the short way",
        {"routing": "spray"},
        ["--core=packet", "--shortest=true"],
    ),
]


def fairport(patch: Mapping[str, Any], seed: int) -> Measured:
    """The paper's experiment, as its claims use it, with this patch."""
    record = Record.of(fp.run(SCENARIO.patch(dict(patch)), seed=seed))
    is_lone = pl.col("src") == LONE

    def runs(which: pl.Expr) -> Counter[int]:
        flows = record.flows.filter(which)["flow"]
        of_these = record.drop_runs.filter(pl.col("flow").is_in(flows.implode()))
        return _by_length(of_these.select("length", "measured").iter_rows())

    goodputs = dict(record.flows.group_by(is_lone).agg(pl.mean("goodput_bps")).iter_rows())
    return Measured(runs(is_lone), runs(~is_lone), goodputs[True] / goodputs[False])


def in_ns3(program: Path, settings: list[str], seed: int) -> Measured:
    """The same in ns-3."""
    options = ("--perHost=1", "--dropRuns=true", *settings)
    printed, ratio = proportions.in_ns3(program, seed, SCENARIO.duration.seconds, *options)
    runs = re.findall(r"hops=(\d) length=(\d+) runs=(\d+)", printed)
    lone, others = (
        _by_length((int(length), int(count)) for one, length, count in runs if one == hops)
        for hops in "26"
    )
    return Measured(lone, others, ratio)


def _by_length(runs: Iterable[tuple[int, int]]) -> Counter[int]:
    lengths: Counter[int] = Counter()
    for length, count in runs:
        lengths[min(length, LONGER)] += count
    return lengths


def main(arguments: Sequence[str]) -> int:
    """Measures every assignment on both sides and renews the table."""
    given = options("equal-length", __doc__, arguments, seeds=20)
    program = ns3.program("outcast")
    published = PER_FLOW.published
    assert published is not None
    histograms = [
        _by_length((int(length), round(count)) for length, count in one.drop_runs.items())
        for one in (published.classes["2-hop"], published.classes["6-hop"])
    ]
    cells = [["not known here", "the paper", *map(_in_words, histograms), "0.78 to 0.9"]]
    for words, patch, core in READINGS:
        cells.append([words, "here", *_summary([fairport(patch, seed) for seed in given.seeds])])
        for name, recovery in RECOVERIES.items():
            settings = [*core, f"--recovery={recovery}"]
            found = [in_ns3(program, settings, seed) for seed in given.seeds]
            cells.append([words, name, *_summary(found)])
        print("\n".join(" | ".join(row) for row in cells[-3:]), flush=True)
    heads = ["a core for", "where", "lone flow", "the others", "ratio of goodputs"]
    given.publish("validation/equal-length.md", "equal-length", table(heads, cells))
    return 0


def _summary(found: list[Measured]) -> list[str]:
    """Over all runs: the drop runs of the lone flow and of the others, and the ratio."""
    ratios = [one.ratio for one in found]
    lone = sum((one.lone for one in found), Counter[int]())
    others = sum((one.others for one in found), Counter[int]())
    spread = f"{statistics.median(ratios):.3g} ({min(ratios):.2g} to {max(ratios):.2g})"
    return [_in_words(lone), _in_words(others), spread]


def _in_words(runs: Counter[int]) -> str:
    shares = ", ".join(
        f"{100 * runs[length] / runs.total():.1f}" for length in range(1, LONGER + 1)
    )
    return f"{shares} %"
