"""Statistics over the seeds of a point: medians, intervals, and whether there are two states.

An outcome may be bistable: most seeds are in one state, the others in another, none between. The
mean or median of such a point is not a state of the network, so the point is flagged, and figures
mark it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

CONFIDENCE = 0.95
_RESAMPLES = 1999
_BATCH = 200

# Two groups of seeds are two states if their means are at least this many standard deviations
# apart. This is so for 1 % of samples of 20 from a normal distribution, and for 4 % from a uniform
# one.
APART = 5.0
# .. and differ by at least this share of the larger mean, because two nearly equal states are one
_DIFFERENT = 0.2
_FEWEST = 8
FEWEST_OF_AN_INTERVAL = 6
_FEWEST_OF_A_STATE = 3
_SHARE_OF_A_STATE = 0.1

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Precision:
    """When a point has enough seeds."""

    metric: str
    share: float
    """Half the interval's width over the median."""
    most_seeds: int = 200
    """Most seeds of a point."""


def summary(runs: pl.DataFrame, axes: Sequence[str], metric: str) -> pl.DataFrame:
    """One row per point, with statistics over its runs.

    Columns: the axes, `runs`, `median`, `low` and `high` (the interval of the median), `q1`, `q3`,
    `p10`, `p90`, and `is_bimodal` with its states' means `lower` and `upper`.

    Runs without the number, such as failed ones, do not count; a point without any has no row.
    """
    number = pl.col(metric).cast(pl.Float64)
    grouped = (
        runs.filter(pl.col(metric).is_not_null())
        .group_by(axes, maintain_order=True)
        .agg(number.alias("values"))
    )
    samples = [np.asarray(values, np.float64) for values in grouped["values"]]
    intervals = _intervals(samples)
    rows = [_of_point(values, at) for values, at in zip(samples, intervals, strict=True)]
    schema: dict[str, type[pl.DataType]] = {"runs": pl.UInt32}
    schema |= dict.fromkeys(_SHARES, pl.Float64)
    schema |= dict.fromkeys(("low", "high"), pl.Float64) | {"is_bimodal": pl.Boolean}
    schema |= dict.fromkeys(("lower", "upper"), pl.Float64)
    return pl.concat([grouped.drop("values"), pl.DataFrame(rows, schema)], how="horizontal")


def states(values: Values) -> tuple[float, float] | None:
    """The means of the two states of the values; None if they have only one."""
    if len(values) < _FEWEST:
        return None
    ordered = np.sort(values)
    at = _split(ordered)
    lower, upper = ordered[:at], ordered[at:]
    if min(len(lower), len(upper)) < max(_FEWEST_OF_A_STATE, ceil(_SHARE_OF_A_STATE * len(values))):
        return None
    means = float(lower.mean()), float(upper.mean())
    spread = np.sqrt((lower.var(ddof=1) + upper.var(ddof=1)) / 2)
    between = means[1] - means[0]
    is_apart = between > APART * spread and between > _DIFFERENT * max(map(abs, means))
    return means if is_apart else None


def interval_name(fewest: int) -> str:
    """What `low` and `high` are where no point has fewer runs: of few values, their range."""
    return "95 % interval" if fewest >= FEWEST_OF_AN_INTERVAL else "range"


def more_seeds(
    runs: pl.DataFrame, axes: Sequence[str], precision: Precision
) -> list[tuple[Mapping[str, Any], int]]:
    """Points whose interval is still too wide, with new seeds: half as many as each already has.

    With fewer than six seeds not even the range is a 95 % interval of the median.
    """
    found = summary(runs, axes, precision.metric)
    had = runs.group_by(axes).agg(pl.col("seed").max().alias("last"), pl.len().alias("had"))
    more: list[tuple[Mapping[str, Any], int]] = []
    for row in found.join(had, on=list(axes), maintain_order="left").iter_rows(named=True):
        missing = FEWEST_OF_AN_INTERVAL - row["runs"]
        is_narrow = _is_narrow(row, precision)
        if is_narrow and missing <= 0:
            continue
        wider = 0 if is_narrow else ceil(row["had"] / 2)
        new = min(max(wider, missing), precision.most_seeds - row["had"])
        values = {axis: row[axis] for axis in axes}
        more += [(values, row["last"] + number) for number in range(1, new + 1)]
    return more


def too_wide(runs: pl.DataFrame, axes: Sequence[str], precision: Precision) -> list[dict[str, Any]]:
    """The points whose interval is too wide, or that have too few runs, as rows of `summary`."""
    return [
        row
        for row in summary(runs, axes, precision.metric).iter_rows(named=True)
        if row["runs"] < FEWEST_OF_AN_INTERVAL or not _is_narrow(row, precision)
    ]


def _is_narrow(point: Mapping[str, Any], precision: Precision) -> bool:
    half = (point["high"] - point["low"]) / 2
    return bool(half <= precision.share * abs(point["median"]))


_SHARES = {"median": 0.5, "q1": 0.25, "q3": 0.75, "p10": 0.1, "p90": 0.9}


def _of_point(values: Values, interval: tuple[float, float]) -> dict[str, Any]:
    found = states(values)
    quantiles = np.quantile(values, list(_SHARES.values()))
    return {
        "runs": len(values),
        **dict(zip(_SHARES, map(float, quantiles), strict=True)),
        "low": interval[0],
        "high": interval[1],
        "is_bimodal": found is not None,
        "lower": found[0] if found else None,
        "upper": found[1] if found else None,
    }


def _intervals(samples: Sequence[Values]) -> list[tuple[float, float]]:
    """The interval of each sample's median, by the percentiles of the bootstrap.

    For a single value, or for equal values, it is that value. The same samples have the same
    intervals.
    """
    from scipy.stats import bootstrap

    found: list[tuple[float, float]] = [(float(values[0]), float(values[0])) for values in samples]
    by_size: dict[int, list[int]] = {}
    for number, values in enumerate(samples):
        if np.ptp(values) > 0:
            by_size.setdefault(len(values), []).append(number)
    for numbers in by_size.values():
        for first in range(0, len(numbers), _BATCH):
            some = numbers[first : first + _BATCH]
            interval = bootstrap(
                (np.stack([samples[number] for number in some]),),
                np.median,
                axis=-1,
                n_resamples=_RESAMPLES,
                confidence_level=CONFIDENCE,
                method="percentile",
                batch=_BATCH,
                rng=np.random.default_rng(0),
            ).confidence_interval
            for number, low, high in zip(some, interval.low, interval.high, strict=True):
                found[number] = (float(low), float(high))
    return found


def _split(ordered: Values) -> int:
    """The split of the values into two groups with the least squares around their means."""
    count = len(ordered)
    sizes = np.arange(1, count)
    sums = np.cumsum(ordered)
    left = sums[:-1] ** 2 / sizes
    right = (sums[-1] - sums[:-1]) ** 2 / (count - sizes)
    return int(np.argmax(left + right)) + 1
