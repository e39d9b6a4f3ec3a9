"""How much better a number of a run became: the logarithm of a factor, above 0 if it is better.

Fixes are ranked by it (`rank_by_gain`), and searches look for its greatest or least value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

Better = Literal["more", "less", "even"]
"""Which values of a number are better; "even": those nearer to 1."""

_LESS = (
    *("timeout", "drop", "marks", "blackout", "rtt", "queue", "fct", "slowdown", "round_time"),
    *("response", "loss", "delay", "unfinished", "outcast", "lower_bounds"),
)

# of a count half of one; of a share, a rate or a time what is next to nothing
_FLOORS: dict[str, float] = {
    **dict.fromkeys(("timeouts", "drop", "marks", "blackout", "unfinished", "rounds_done"), 0.5),
    **{"transfers": 0.5, "lower_bounds": 0.5, "outcast": 0.5, "loss": 1e-4},
    **dict.fromkeys(("ratio", "utilisation", "traffic_share"), 1e-3),
    **{"period_s": 1e-3, "bps": 1.0, "bytes": 1.0},
}


def better(number: str) -> Better:
    """Which values of this number are better for a network."""
    if number == "throughput_ratio":
        return "even"
    return "less" if any(part in number for part in _LESS) else "more"


def log_gain(
    number: str, before: float | None, now: float | None, goal: Better | None = None
) -> float:
    """The logarithm of the factor by which the number became better; 0 if neither is known.

    A number that is not known is worse than any other. `goal` replaces which values of the number
    are better.
    """
    costs = [_cost(number, value, goal or better(number)) for value in (before, now)]
    return 0.0 if costs[0] == costs[1] else costs[0] - costs[1]


def weighted_log_gain(
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    weights: Mapping[str, float],
    *,
    for_lone_flow: bool = False,
) -> float | None:
    """The weighted mean of the numbers' gains; None if one of the two runs does not have a number.

    A throughput ratio is better nearer to 1; with `for_lone_flow`, greater is better.
    """
    logs = []
    for name, weight in weights.items():
        if now.get(name) is None or before.get(name) is None:
            return None
        goal = better(name)
        if goal == "even" and for_lone_flow:
            goal = "more"
        logs.append(weight * log_gain(name, before[name], now[name], goal))
    return sum(logs) / sum(weights.values())


def _cost(number: str, value: float | None, goal: Better) -> float:
    if value is None:
        return math.inf
    log = _logarithm(number, value)
    return {"more": -log, "less": log, "even": abs(log)}[goal]


def _logarithm(number: str, value: float) -> float:
    """The logarithm of a value of this number, from a floor on, because zero has none."""
    floor = next((least for part, least in _FLOORS.items() if part in number), 0.0)
    value = max(value, floor)
    return math.log(value) if value > 0 else -math.inf
