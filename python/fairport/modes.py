"""Modes of a number over several seeds: whether its values fall into two groups, and which.

A network that is sensitive to phase may end up in one of two states. Then the median describes
neither of them, and each mode must be reported with its share of the seeds.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

FEWEST = 6
"""With fewer values, groups say nothing."""
# Two groups are modes if the gap between them is at least this share of the range of all values,
# and at least this many times the widest gap within the groups.
_SHARE_OF_RANGE, _TIMES_INNER_GAP = 0.35, 2.5
_FEWEST_IN_MODE = 2


@dataclass(frozen=True, slots=True)
class Mode:
    """A group of values."""

    median: float
    count: int


def modes(values: Sequence[float]) -> list[Mode]:
    """One mode, or two if the widest gap separates the values clearly; none for fewer than six."""
    if len(values) < FEWEST:
        return []
    ordered = sorted(values)
    gaps = [later - earlier for earlier, later in pairwise(ordered)]
    widest = max(gaps)
    at = gaps.index(widest) + 1
    groups = [ordered[:at], ordered[at:]]
    inner = max(gaps[: at - 1] + gaps[at:])
    clear = widest > _SHARE_OF_RANGE * (ordered[-1] - ordered[0]) and widest > (
        _TIMES_INNER_GAP * inner
    )
    if not clear or min(len(group) for group in groups) < _FEWEST_IN_MODE:
        groups = [ordered]
    return [Mode(statistics.median(group), len(group)) for group in groups]


def sentence(runs: Sequence[Mapping[str, Any]]) -> str:
    """The modes of the throughput ratio over the summaries of several runs, in words; or empty."""
    ratios = [run["verdict"]["ratio"] for run in runs]
    found = modes([ratio for ratio in ratios if ratio is not None])
    if not found:
        return ""
    if len(found) == 1:
        return f"One mode: no gap parts the throughput ratios of the {found[0].count} seeds."
    each = " and ".join(f"{one.median:.2f} ({one.count} seeds)" for one in found)
    return f"Two modes: throughput ratios near {each}; their common median describes neither."
