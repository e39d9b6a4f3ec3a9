"""A number over the seeds: its median and quartiles, and what they say about an order of variants.

With fewer than four seeds there are no quartiles; the least and the greatest values replace them.

Every variant of an experiment runs with the same seeds, and a seed draws the same starts, delays
and clocks in each. So variants are compared seed by seed, and the difference decides. Whether an
order holds depends on the middle half of these differences. This is nearly a sign test of three
seeds in four, assumes no distribution (ratios of a starved flow have none with a variance), and is
what the page shows anyway:

- the last variant is beyond the first in the whole middle half, which means in about three seeds of
  four, and its median is beyond that of the first;
- no step from one variant to the next goes back in the whole middle half, or by more than the whole
  change: of few seeds the middle half is wide.

Between two variants that do not differ, an order would hold by chance once in 5 times with five
seeds, once in 14 with ten and once in 75 with twenty; comparing the medians alone, every other
time. `tests/python/test_spread.py` draws these numbers. A gain (`study.rank_by_gain`) may be better
or worse, so it is clear by chance twice as often.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fairport.repeats import FEWEST_FOR_QUARTILES, quartiles

if TYPE_CHECKING:
    import polars as pl

    from fairport.quantities import Quantity

Values = Sequence[float | None]
"""One number per seed, in the order of seeds; None for a run without it."""


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


@dataclass(frozen=True, slots=True)
class Order:
    """How a metric changes from variant to variant: differences, seed by seed."""

    steps: list[Spread]
    """Differences from each variant to the next."""
    whole: Spread
    """Differences from the first variant to the last."""
    medians_apart: float
    """Difference of the medians of the first and the last variant; 0 if one has none."""

    @staticmethod
    def of(variants: Sequence[Values]) -> Order:
        """The steps between the variants' values."""
        steps = [difference(one, following) for one, following in pairwise(variants)]
        first, last = (Spread.of(variants[at]).median for at in (0, -1))
        apart = 0.0 if first is None or last is None else last - first
        return Order(steps, difference(variants[0], variants[-1]), apart)

    @property
    def rises(self) -> bool:
        """Beyond the spread of the seeds."""
        return self.whole.is_above_zero and self.medians_apart > 0 and not self.steps_down

    @property
    def falls(self) -> bool:
        """Beyond the spread of the seeds."""
        return self.whole.is_below_zero and self.medians_apart < 0 and not self.steps_up

    @property
    def steps_down(self) -> list[int]:
        """Which steps fall beyond the spread of the seeds, or by more than the whole change."""
        return [
            number
            for number, step in enumerate(self.steps)
            if step.is_below_zero or self._exceeds(step, -1)
        ]

    @property
    def steps_up(self) -> list[int]:
        """Which steps rise beyond the spread of the seeds, or by more than the whole change."""
        return [
            number
            for number, step in enumerate(self.steps)
            if step.is_above_zero or self._exceeds(step, 1)
        ]

    def _exceeds(self, step: Spread, sign: int) -> bool:
        """Whether the median of a step with this sign is greater than the whole change."""
        return sign * (step.median or 0.0) > abs(self.whole.median or 0.0)


def difference(before: Values, after: Values) -> Spread:
    """How much greater a number is than before, seed by seed; runs without it do not count."""
    pairs = zip(before, after, strict=True)
    return Spread.of([b - a for a, b in pairs if a is not None and b is not None])
