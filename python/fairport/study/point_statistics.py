"""Statistics over the seeds of a point: medians, intervals, and whether there are two states.

An outcome may be bistable: most seeds are in one state, the others in another, none between. The
mean or median of such a point is not a state of the network, so the point is flagged, and figures
mark it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import ceil, comb
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

# the chance that the median lies outside its interval
_OUTSIDE = 0.05

# Two groups of seeds are two states if their means are at least this many standard deviations
# apart. This is so for 0.4 % of samples of 20 from a normal distribution, and for 4 % from a
# uniform one; of samples of 8, for 5 % and 13 %.
_APART = 5.0
# .. and differ by at least this share of the larger mean, because two nearly equal states are one
_DIFFERENT = 0.2
_FEWEST = 8
FEWEST_OF_AN_INTERVAL = 6
_FEWEST_OF_A_STATE = 3
_SHARE_OF_A_STATE = 0.1

_COLUMNS = ("runs", "median", "low", "high", "is_bimodal", "lower", "upper")

Values = NDArray[np.float64]


def per_point(runs: pl.DataFrame, axes: Sequence[str], metric: str) -> pl.DataFrame:
    """One row per point, with statistics over its runs.

    Columns: the axes, `runs`, `median`, `low` and `high` (the interval of the median), and
    `is_bimodal` with its states' means `lower` and `upper`.

    Runs without the number, such as failed ones, do not count; a point without any has no row.
    """
    number = pl.col(metric).cast(pl.Float64)
    grouped = (
        runs.filter(pl.col(metric).is_not_null())
        .group_by(axes, maintain_order=True)
        .agg(number.alias("values"))
    )
    rows = [_of_point(np.asarray(values, np.float64)) for values in grouped["values"]]
    schema = dict.fromkeys(_COLUMNS, pl.Float64) | {"runs": pl.UInt32, "is_bimodal": pl.Boolean}
    return pl.concat([grouped.drop("values"), pl.DataFrame(rows, schema)], how="horizontal")


def _of_point(values: Values) -> dict[str, Any]:
    found, (low, high) = states(values), median_interval(values)
    return {
        "runs": len(values),
        "median": float(np.median(values)),
        "low": low,
        "high": high,
        "is_bimodal": found is not None,
        "lower": found[0] if found else None,
        "upper": found[1] if found else None,
    }


def states(values: Values) -> tuple[float, float] | None:
    """The means of the two states of the values; None if they have only one."""
    found = groups(values)
    return None if found is None else (float(found[0].mean()), float(found[1].mean()))


def groups(values: Values) -> tuple[Values, Values] | None:
    """The values of two states, the lower ones first; None if they have only one state."""
    if len(values) < _FEWEST:
        return None
    ordered = np.sort(values)
    at = _split(ordered)
    lower, upper = ordered[:at], ordered[at:]
    if min(len(lower), len(upper)) < max(_FEWEST_OF_A_STATE, ceil(_SHARE_OF_A_STATE * len(values))):
        return None
    spread = np.sqrt((lower.var(ddof=1) + upper.var(ddof=1)) / 2)
    between = upper.mean() - lower.mean()
    least = _DIFFERENT * max(abs(lower.mean()), abs(upper.mean()))
    return (lower, upper) if between > _APART * spread and between > least else None


def interval_name(fewest: int) -> str:
    """What `low` and `high` are where no point has fewer runs: of few values, their range."""
    return "95 % interval" if fewest >= FEWEST_OF_AN_INTERVAL else "range"


def median_interval(values: Sequence[float] | Values) -> tuple[float, float]:
    """The two values between which the median lies with 95 %, whatever their distribution.

    Each value is below it with probability 1/2, so how many are is binomial (the sign test). Of
    fewer than six values it is the range: five lie on one side of the median in 6 % of all cases.
    """
    ordered, lowest = np.sort(values), max(1, rank(len(values)))
    return float(ordered[lowest - 1]), float(ordered[-lowest])


@cache
def rank(count: int) -> int:
    """Rank of the interval's lower end among so many values; 0 if even the range is too narrow."""
    outside, found = 0.0, 0
    while (outside := outside + 2 * comb(count, found) / 2**count) <= _OUTSIDE:
        found += 1
    return found


def _split(ordered: Values) -> int:
    """The split of the values into two groups with the least squares around their means."""
    count = len(ordered)
    sizes = np.arange(1, count)
    sums = np.cumsum(ordered)
    left = sums[:-1] ** 2 / sizes
    right = (sums[-1] - sums[:-1]) ** 2 / (count - sizes)
    return int(np.argmax(left + right)) + 1
