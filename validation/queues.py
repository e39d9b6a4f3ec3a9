"""RED and SFQ of Prakash et al. 2012, here and in ns-2, which the paper used.

One 2-hop against twelve 6-hop flows. ns-2's side is peers/ns2/outcast.tcl; it runs if `ns` is
installed.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import fairport as fp
import polars as pl
from fairport.papers import catalogue

from validation.case import options
from validation.markdown import table
from validation.peers import ns2

# of the thirteen flows the lone one, h1, shares its bucket with two others
_IN_THREE = [
    ["h4", "h5", "h6", "h7"],
    ["h1", "h8", "h9"],
    ["h10", "h11", "h12"],
    ["h13", "h14", "h15"],
]


@dataclass(frozen=True)
class Discipline:
    """A discipline at every switch port."""

    words: str
    published: str
    patch: dict[str, Any]
    """Overrides of Fairport's scenario."""
    options: dict[str, object]
    """ns-2's: `lone` is the lone flow's number, which decides its bucket."""


def _of(experiment: str, variant: str = "") -> dict[str, Any]:
    """The queue of a paper's experiment."""
    entry = catalogue.entry(f"prakash2012/{experiment}")
    return entry.experiment.scenario | entry.variant(variant).patch


_SFQ = _of("sfq", "in-four")
DISCIPLINES = [
    Discipline("drop-tail", "1/7", {}, {"queue": "DropTail"}),
    Discipline("RED", "2.0", _of("red"), {"queue": "RED"}),
    Discipline("SFQ, lone flow in the bucket of four", "0.84", _SFQ, {"queue": "SFQ"}),
    Discipline(
        "the same, room for 40 packets",
        "",
        _SFQ | {"queue.limit": "40 packets"},
        {"queue": "SFQ", "limit": 40},
    ),
    Discipline(
        "SFQ, lone flow in a bucket of three",
        "",
        _SFQ | {"queue.placed": _IN_THREE},
        {"queue": "SFQ", "lone": 2},
    ),
]


@dataclass(frozen=True)
class Outcome:
    """A run: the lone flow's goodput over the others', its timeouts, and those of another flow."""

    ratio: float
    lone_timeouts: float
    others_timeouts: float


def here(discipline: Discipline, seeds: range) -> list[Outcome]:
    """Fairport's runs."""
    scenario = fp.scenario("outcast-1-to-12-ns2").patch(discipline.patch)
    outcomes = []
    for seed in seeds:
        flows = fp.run(scenario, seed=seed).flows
        [lone], [others] = (
            flows.filter(pl.col("hops") == hops)
            .select(pl.mean("goodput_bps"), pl.mean("timeouts"))
            .rows()
            for hops in (2, 6)
        )
        outcomes.append(Outcome(lone[0] / others[0], lone[1], others[1]))
    return outcomes


def in_ns2(discipline: Discipline, seeds: range) -> list[Outcome] | None:
    """ns-2's; None if it is not installed."""
    found = ns2.runs("outcast", {"time": 10, "from": 0} | discipline.options, seeds)
    return found and [_outcome(run["lone"], run["others"]) for run in found]


def _outcome(lone: dict[str, float], others: Sequence[dict[str, float]]) -> Outcome:
    def mean(name: str) -> float:
        return statistics.mean(one[name] for one in others)

    ratio = lone["goodput_bps"] / mean("goodput_bps")
    return Outcome(ratio, lone["timeouts"], mean("timeouts"))


def in_words(outcomes: list[Outcome] | None) -> list[str]:
    """The ratio's median and quartiles, and the medians of the timeouts."""
    if not outcomes:
        return ["not measured"] * 2
    ratios = [one.ratio for one in outcomes]
    # the quartiles of a single run are that run
    ratios = ratios if len(ratios) > 1 else ratios * 2
    q1, median, q3 = statistics.quantiles(ratios, n=4, method="inclusive")
    lone = statistics.median(one.lone_timeouts for one in outcomes)
    others = statistics.median(one.others_timeouts for one in outcomes)
    return [f"{median:.2f} ({q1:.2f} to {q3:.2f})", f"{lone:.0f}, {others:.0f}"]


def main(arguments: Sequence[str]) -> int:
    """Measures every discipline on both sides and renews the table."""
    given = options("queues", __doc__, arguments, seeds=12)
    rows = []
    for discipline in DISCIPLINES:
        outcomes = [here(discipline, given.seeds), in_ns2(discipline, given.seeds)]
        cells = [cell for one in outcomes for cell in in_words(one)]
        rows.append([discipline.words, discipline.published, *cells])
        print(" | ".join(rows[-1]), flush=True)
    heads = ["queue", "paper"]
    heads += [f"{side}: {what}" for side in ("here", "ns-2.35") for what in ("ratio", "timeouts")]
    given.publish("validation/queues.md", "queues", table(heads, rows))
    return 0
