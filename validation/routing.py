"""What the routing does to the lone flow of `outcast-1-to-12`.

The table is in docs/reference/topologies.md.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from typing import Any

import fairport as fp

from validation.case import options
from validation.markdown import table

OVERSUBSCRIBED: dict[str, Any] = {"topology.oversubscription": 4}

# each row's name, and its overrides of the scenario
ROUTINGS: dict[str, dict[str, Any]] = {
    "`destination-suffix`": {},
    "`spanning-tree`": {"routing": "spanning-tree"},
    "`two-level`": {"routing": "two-level"},
    "`ecmp`": {"routing": "ecmp"},
    "`spray`": {"routing": "spray"},
    "`equal-length`": {"routing": "equal-length"},
    '`equal-length`, `per = "packet"`': {"routing": {"kind": "equal-length", "per": "packet"}},
    "`equal-length`, `core = 0`": {"routing": {"kind": "equal-length", "core": 0}},
    "`destination-suffix`, 4 times oversubscribed": OVERSUBSCRIBED,
    "`equal-length`, 4 times oversubscribed": OVERSUBSCRIBED | {"routing": "equal-length"},
}


def main(arguments: Sequence[str]) -> int:
    """Runs and prints every row; renews the page at the end."""
    given = options("routing", __doc__, arguments, seeds=9)
    rows = []
    for name, overrides in ROUTINGS.items():
        rows.append([name, *measured(overrides, given.seeds)])
        print(" | ".join(rows[-1]), flush=True)
    heads = ["`routing`", "lone flow, Mbit/s", "its twelve peers, each", "ratio, median"]
    heads += ["least to most", "longest drop run of the lone flow", "all, Mbit/s"]
    given.publish("reference/topologies.md", "routing", table(heads, rows))
    return 0


def measured(overrides: dict[str, Any], seeds: range) -> list[str]:
    """The row's figures."""
    scenario = fp.scenario("outcast-1-to-12").patch(overrides)
    results = fp.run_many(scenario, seeds, jobs=os.cpu_count() or 1)
    summaries = [result.summary for result in results]
    lone = [summary["classes"]["2-hop"] for summary in summaries]
    peers = [summary["classes"]["6-hop"] for summary in summaries]
    ratios = sorted(one["throughput_ratio"] or 0.0 for one in lone)
    median = statistics.median
    return [
        f"{median(one['goodput_bps_mean'] for one in lone) / 1e6:.0f}",
        f"{median(one['goodput_bps_mean'] for one in peers) / 1e6:.0f}",
        _ratio(median(ratios)),
        f"{_ratio(ratios[0])} to {_ratio(ratios[-1])}",
        f"{median(one['longest_drop_run'] for one in lone)}",
        f"{median(summary['goodput_bps_total'] for summary in summaries) / 1e6:.0f}",
    ]


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"
