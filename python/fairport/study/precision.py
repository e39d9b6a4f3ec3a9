"""How many seeds a point of a study needs, until the interval of its median is narrow enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import polars as pl

from fairport.errors import InputError
from fairport.study.point_statistics import FEWEST_OF_AN_INTERVAL, per_point


@dataclass(frozen=True, slots=True)
class Precision:
    """When a point has enough seeds: `fp.Precision("jain_index", 0.05)`."""

    metric: str
    """The number whose median must be known, one of `fairport.metrics.run_numbers.NUMBERS`."""
    share: float
    """Half the interval's width over the median."""
    most_seeds: int = 200
    """Most seeds of a point."""

    def __post_init__(self) -> None:
        if not isinstance(self.share, int | float) or not 0 < self.share < 1:
            raise InputError(
                "is not a share between 0 and 1",
                field="share",
                value=self.share,
                remedy="give a share such as 0.1, for 10 % of the median",
            )


def more_seeds(
    runs: pl.DataFrame, axes: Sequence[str], precision: Precision
) -> list[tuple[Mapping[str, Any], int]]:
    """Points whose interval is still too wide, with new seeds: half as many as each already has.

    With fewer than six seeds not even the range is a 95 % interval of the median.
    """
    found = per_point(runs, axes, precision.metric)
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
    """The points whose interval is too wide, or that have too few runs, as rows of `per_point`."""
    return [
        row
        for row in per_point(runs, axes, precision.metric).iter_rows(named=True)
        if row["runs"] < FEWEST_OF_AN_INTERVAL or not _is_narrow(row, precision)
    ]


def _is_narrow(point: Mapping[str, Any], precision: Precision) -> bool:
    half = (point["high"] - point["low"]) / 2
    return bool(half <= precision.share * abs(point["median"]))
