"""A number over the seeds: its median and quartiles, and what they say about a difference.

With fewer than four seeds there are no quartiles; the least and the greatest values replace them.

Every variant of an experiment runs with the same seeds, and a seed draws the same starts, delays
and clocks in each. So variants are compared seed by seed (`difference`), and a difference is clear
if its whole middle half is on one side of zero. This is nearly a sign test of three seeds in four,
assumes no distribution (ratios of a starved flow have none with a variance), and is what the page
shows anyway.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars as pl

    from fairport.quantities import Quantity

Values = Sequence[float | None]
"""One number per seed, in the order of seeds; None for a run without it."""

FEWEST_FOR_QUARTILES = 4
"""With fewer values, quartiles would be interpolations."""


def quartiles(values: int) -> tuple[float, float, float]:
    """The shares of the lower quartile, the median and the upper quartile of so many values.

    Of too few values, the least and the greatest replace the quartiles.
    """
    return (0.25, 0.5, 0.75) if values >= FEWEST_FOR_QUARTILES else (0, 0.5, 1)


@dataclass(frozen=True, slots=True)
class Spread:
    """A number over the seeds: median and quartiles; None if no run had it.

    With fewer than four values, `q1` and `q3` are the least and the greatest value.
    """

    median: float | None
    q1: float | None
    q3: float | None
    count: int = field(default=0, compare=False)
    """Number of runs that had it."""

    @staticmethod
    def of(values: Values) -> Spread:
        """The spread of one value per run."""
        known = [value for value in values if value is not None]
        if not known:
            return Spread(None, None, None)
        q1, median, q3 = (float(one) for one in np.quantile(known, quartiles(len(known))))
        return Spread(median, q1, q3, len(known))

    @property
    def is_above_zero(self) -> bool:
        """Its whole middle half."""
        return self.q1 is not None and self.q1 > 0

    @property
    def is_below_zero(self) -> bool:
        """Its whole middle half."""
        return self.q3 is not None and self.q3 < 0


def difference(before: Values, after: Values) -> Spread:
    """How much greater a number is than before, seed by seed; runs without it do not count."""
    pairs = zip(before, after, strict=True)
    return Spread.of([b - a for a, b in pairs if a is not None and b is not None])


def medians(rows: Sequence[Mapping[str, Any]], numbers: Sequence[str]) -> dict[str, float | None]:
    """The median of each number, over the runs that have it."""
    found: dict[str, float | None] = {}
    for name in numbers:
        values = [float(row[name]) for row in rows if row.get(name) is not None]
        found[name] = statistics.median(values) if values else None
    return found


_PARTS = ("median", "q1", "q3")


def columns(runs: pl.DataFrame, numbers: Iterable[str]) -> dict[str, float | None]:
    """The spread of each of these columns of runs: `NUMBER_median`, `NUMBER_q1`, `NUMBER_q3`."""
    spreads = {number: Spread.of(runs[number].to_list()) for number in numbers}
    return {
        f"{name}_{part}": getattr(one, part) for name, one in spreads.items() for part in _PARTS
    }


def of_row(row: Mapping[str, Any], number: str) -> tuple[Any, Any, Any]:
    """Median, `q1` and `q3` of a number in a row with such columns."""
    median, q1, q3 = (row[f"{number}_{part}"] for part in _PARTS)
    return median, q1, q3


def iqr(row: Mapping[str, Any], number: str, runs: int) -> float | None:
    """The middle half of so many runs; None if they are too few, or without the number."""
    _, q1, q3 = of_row(row, number)
    return None if q1 is None or runs < FEWEST_FOR_QUARTILES else q3 - q1


def shown_of_row(row: Mapping[str, Any], number: str, quantity: Quantity) -> tuple[str, str, str]:
    """The same as texts, empty if they are missing."""
    median, q1, q3 = (quantity.shown(value, "over_seeds") for value in of_row(row, number))
    return median, q1, q3
