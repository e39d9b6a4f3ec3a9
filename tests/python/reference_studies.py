"""A second computation of a comparison, from the runs' own tables and summaries.

It is written from docs/guide/comparing-fixes.md and studies.md.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from typing import Any

import fairport as fp
from reference_statistics import Row, drop_runs, jain, mean, weighted_quantile
from reference_summary import Summary

Values = Sequence[float | None]
NOT_KNOWN = math.inf


def middle_half(values: Values) -> tuple[float, float, float] | None:
    """Median and quartiles; of fewer than four values the least and the greatest."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    if len(known) < 4:
        return statistics.median(known), min(known), max(known)
    low, _, high = statistics.quantiles(known, n=4, method="inclusive")
    return statistics.median(known), low, high


def sign_test(values: Sequence[float]) -> tuple[float, float]:
    """The narrowest pair of values, of equal ranks from both ends, that holds the median in 95 %.

    The median is below the k-th value if fewer than k of n fair coins are heads. Without such a
    pair it is the range.
    """
    ordered, best = sorted(values), 1
    for rank in range(1, len(values) // 2 + 1):
        below = sum(math.comb(len(values), heads) for heads in range(rank)) / 2 ** len(values)
        if 2 * below <= 0.05:
            best = rank
    return ordered[best - 1], ordered[-best]


class Comparison:
    """Runs without a fix ("none") and with each, in the order of the same seeds."""

    def __init__(self, runs: dict[str, list[fp.Result]]) -> None:
        first = runs["none"][0]
        whole = Summary(first.scenario, first.tables)
        classes, lone = whole.classes(), whole.lone_class()
        most = max((one["flows"] for one in classes.values()), default=0)
        self.peers = next(
            (name for name in reversed(classes) if classes[name]["flows"] == most), ""
        )
        self.lone = "" if whole.are_finite else lone or ""
        members = {name: set[int]() for name in ["", *classes]}
        for flow in whole.compared:
            members[f"{flow['hops']}-hop"].add(flow["flow"])
        self.lone_flows, self.peer_flows = members[self.lone], members[self.peers]
        worst = whole.bottleneck()
        self.port = worst["port"] if worst else None
        self.rows = {name: [self.row(one) for one in of] for name, of in runs.items()}
        self.entries: dict[str, list[Any]] = {
            name: [one.summary["traffic"] for one in of] for name, of in runs.items()
        }

    def row(self, result: fp.Result) -> Row:
        """The numbers of one run."""
        flows = result.flows.to_dicts()
        tcp = {flow["flow"] for flow in flows if flow["protocol"] == "tcp"}
        rates = {flow["flow"]: flow["goodput_bps"] for flow in flows}
        compared = Summary(result.scenario, result.tables).compared
        ours = [rates[flow] for flow in self.lone_flows]
        theirs = [rates[flow] for flow in self.peer_flows if flow in rates]
        samples = sorted(
            (row["rtt_s"], row["samples"]) for row in result.rtt.to_dicts() if row["flow"] in tcp
        )
        runs = drop_runs(result.drops.to_dicts(), "flow")
        queues = {row["port"]: row["queue_mean_bytes"] for row in result.ports.to_dicts()}
        return {
            "throughput_ratio": mean(ours) / mean(theirs) if ours and sum(theirs) else None,
            "jain_index": jain(flow["goodput_bps"] for flow in compared),
            "goodput_bps_total": math.fsum(rates[flow] for flow in tcp),
            "timeouts": sum(flow["timeouts"] for flow in flows),
            "timeout_period_s": math.fsum(flow["timeout_period_s"] for flow in flows),
            "drop_runs_ge2": sum(len(run) >= 2 for run in runs),
            "rtt_p99_s": weighted_quantile(samples, 0.99),
            "queue_mean_bytes": queues[self.port],
        }

    def spread(self, fix: str, key: str) -> tuple[float, float, float] | None:
        return middle_half([row[key] for row in self.rows[fix]])

    def median(self, fix: str, key: str) -> float:
        found = self.spread(fix, key)
        assert found
        return found[0]

    def word(self, fix: str) -> str:
        """What the fix does to the lone class, and whether at a cost."""
        found, before = (self.spread(one, "throughput_ratio") for one in (fix, "none"))
        assert found
        assert before
        are_fair = [0.8 <= share <= 1.25 for share in found]
        apart = middle_half(
            [
                now["throughput_ratio"] - then["throughput_ratio"]
                for then, now in zip(self.rows["none"], self.rows[fix], strict=True)
                if None not in (now["throughput_ratio"], then["throughput_ratio"])
            ]
        )
        assert apart
        if are_fair[0] and self.is_less_even(fix):
            word = "fair to the lone class only"
        elif all(are_fair):
            word = "fair"
        elif apart[1] <= 0 <= apart[2]:
            word = "no clear difference"
        elif are_fair[0]:
            word = "fair at the median"
        elif found[0] > 1.25:
            word = "reversed"
        else:
            word = "helps, but not enough" if distance(found) < distance(before) else "worse"
        return word + ", at a cost" * (self.lost(fix) > 0.05)

    def is_less_even(self, fix: str) -> bool:
        return self.median("none", "jain_index") - self.median(fix, "jain_index") > 0.02

    def lost(self, fix: str) -> float:
        """The share of the total goodput that the fix costs."""
        ours, before = (self.median(one, "goodput_bps_total") for one in (fix, "none"))
        return 1 - ours / before

    def by_share(self, needs: dict[str, int]) -> list[str]:
        """The fixes, best first."""

        def place(fix: str) -> tuple[bool, bool, bool, float, int]:
            found = self.spread(fix, "throughput_ratio")
            assert found
            is_fair = self.word(fix).startswith("fair")
            less_even, is_costly = self.is_less_even(fix), self.lost(fix) > 0.05
            return not is_fair, less_even, is_costly, distance(found), needs[fix]

        return sorted((fix for fix in self.rows if fix != "none"), key=place)

    def gains(self, fix: str, metrics: dict[int, str]) -> list[float]:
        """By seed, the logarithm of the geometric mean of the gains of each traffic's metric."""
        return [
            mean(
                cost(name, before[index]) - cost(name, now[index])
                if (cost(name, before[index]), cost(name, now[index])) != (NOT_KNOWN, NOT_KNOWN)
                else 0.0
                for index, name in metrics.items()
            )
            for before, now in zip(self.entries["none"], self.entries[fix], strict=True)
        ]

    def by_gain(
        self, metrics: dict[int, str], needs: dict[str, int]
    ) -> list[tuple[str, int, float]]:
        """The fixes, best first, each with its direction and its median gain as a factor."""
        found = []
        for fix in self.rows:
            gain = middle_half([min(max(one, -700), 700) for one in self.gains(fix, metrics)])
            assert gain
            is_seen = abs(gain[0]) >= math.log(1.02)
            direction = is_seen * ((gain[1] > 0) - (gain[2] < 0))
            found.append((fix, direction, math.exp(gain[0])))
        fixes = [one for one in found if one[0] != "none"]
        return sorted(fixes, key=lambda one: (-one[1], -one[2], needs[one[0]]))


def distance(share: tuple[float, float, float]) -> float:
    """From an equal share, at the farther quartile: twice is as far as half."""
    return max(abs(math.log(one)) if one > 0 else math.inf for one in share[1:])


def cost(name: str, entry: dict[str, Any]) -> float:
    """The logarithm of a metric, with the sign with which more is worse."""
    part, _, quantile = name.removesuffix("_s").rpartition("_")
    if name == "rounds_done":
        return -math.log(entry["rounds"]["done"] or 0.5)
    if name == "loss_share":
        return math.log(max(entry["loss_share"], 1e-4))
    times = entry["requests"].get("time_s") if part == "response" else entry.get(f"{part}_s")
    return math.log(times[quantile]) if times else NOT_KNOWN


def is_in_order(variants: Sequence[Values], sign: int) -> bool:
    """Whether a number rises (1) or falls (-1) over variants: docs/guide/reproducing-papers.md."""

    def apart(one: Values, other: Values) -> tuple[float, float, float] | None:
        pairs = zip(one, other, strict=True)
        return middle_half([sign * (b - a) for a, b in pairs if None not in (a, b)])  # type: ignore[operator]

    first, last = middle_half(variants[0]), middle_half(variants[-1])
    whole = apart(variants[0], variants[-1])
    if not first or not last or not whole or whole[1] <= 0 or sign * (last[0] - first[0]) <= 0:
        return False
    steps = [apart(one, other) for one, other in itertools.pairwise(variants)]
    return all(step is None or (step[2] >= 0 and -step[0] <= whole[0]) for step in steps)
