"""Whether a number rises or falls from variant to variant, beyond the spread of the seeds.

It depends on the differences seed by seed (`fairport.metrics.spread`):

- the last variant is beyond the first in the whole middle half, which means in about three seeds of
  four, and its median is beyond that of the first;
- no step from one variant to the next goes back in the whole middle half, or by more than the whole
  change: of few seeds the middle half is wide.

Between two variants that do not differ, an order would hold by chance once in 5 times with five
seeds, once in 14 with ten and once in 75 with twenty; comparing the medians alone, every other
time. `tests/python/test_spread.py` draws these numbers. A gain (`comparison.rank_by_gain`) may be
better or worse, so it is clear by chance twice as often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from fairport.metrics.spread import Spread, Values, difference


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
