"""The ranking of fixes by how much better they make the parts of a scenario's traffic.

A fix's *gain* with one seed is the factor by which the ranking metric of a part becomes better
(`study.comparison.gain`), compared with the same seed without the fix. Over several parts it is the
geometric mean of their gains. A fix is better, or worse, if the whole middle half of its gains is
(`metrics.spread`). Better fixes come first and worse ones last; each group is in the order of the
median gain over the seeds.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from fairport.metrics.spread import Spread, shown_of_row
from fairport.quantities import QUANTITIES
from fairport.study.comparison.gain import log_gain
from fairport.study.comparison.parts import ComparedPart
from fairport.study.comparison.ranking import Ranked, Row, change, needed, with_range

_NOTE = (
    "A gain is the factor by which a number becomes better with the fix, seed by seed. A fix is"
    " better or worse when the middle half of its gains is. Fixes that are better come first, those"
    " that are worse last. Within each group the order is that of the median gains."
)

# Nobody would notice a smaller gain.
_NOTICEABLE = math.log(1.02)
# If something never finishes, the gain is infinite. This is the largest gain with a finite factor.
_MOST = math.log(sys.float_info.max)


@dataclass(frozen=True, slots=True)
class Gain:
    """How much a fix improves a scenario: the logarithm of the factor, over the seeds."""

    fix: str
    whole: Spread
    parts: list[Spread]
    """The gain of each ranked part."""

    @property
    def direction(self) -> int:
        """1: better, -1: worse, 0: no clear difference."""
        if self.whole.median is None or abs(self.whole.median) < _NOTICEABLE:
            return 0
        return int(self.whole.is_above_zero) - int(self.whole.is_below_zero)

    @property
    def factor(self) -> float:
        """The median, as a factor: above 1 is better."""
        return math.exp(self.whole.median or 0.0)


def gain(fix: str, runs: pl.DataFrame, ranked: Sequence[ComparedPart]) -> Gain:
    """The gain of a fix; `runs` are those of the whole comparison."""
    before, now = (
        runs.filter(pl.col("fix") == name).sort("seed").to_dicts() for name in ("none", fix)
    )
    by_part = [
        [
            _finite(log_gain(part.metric, one[part.key(part.metric)], other[part.key(part.metric)]))
            for one, other in zip(before, now, strict=True)
        ]
        for part in ranked
        if part.metric is not None
    ]
    whole = [sum(gains) / len(gains) for gains in zip(*by_part, strict=True)]
    return Gain(fix, Spread.of(whole), [Spread.of(gains) for gains in by_part])


def _finite(gain: float) -> float:
    """Infinite gains have neither a mean nor quartiles."""
    return min(max(gain, -_MOST), _MOST)


@dataclass(frozen=True)
class ByGain:
    """The ranking of fixes by their gains (`ranking.Ranking`)."""

    rows: Sequence[Row]
    """The fixes."""
    none: Row
    """The scenario without a fix."""
    runs: pl.DataFrame
    """The runs of the comparison."""
    parts: Sequence[ComparedPart]
    """The parts of the traffic that decide the ranking."""

    @cached_property
    def ranked(self) -> list[Ranked]:
        """The fixes, best first."""
        gains = {row["fix"]: gain(row["fix"], self.runs, self.parts) for row in self.rows}

        def place(row: Row) -> tuple[int, float, int]:
            found = gains[row["fix"]]
            return -found.direction, -(found.whole.median or 0.0), len(row["needs"])

        return [
            Ranked(
                rank, row["fix"], _word(gains[row["fix"]]), _sentence(row, self.none, self.parts)
            )
            for rank, row in enumerate(sorted(self.rows, key=place), 1)
        ]

    @property
    def criterion(self) -> str:
        """What the ranking goes by, as a sentence."""
        each = " and ".join(
            f"{QUANTITIES[part.metric].title} of {part.label}" for part in self.parts if part.metric
        )
        several = ", by the geometric mean of the gains" if len(self.parts) > 1 else ""
        return f"Ranked by {each}{several}."

    @property
    def note(self) -> str:
        """How the ranking is made, for a page."""
        return f"{self.criterion} {_NOTE}"

    @property
    def finding(self) -> str:
        """The comparison in one sentence, without a full stop and without what decided."""
        better = [
            f"{one.fix} ({one.effect})" for one in self.ranked if one.effect.startswith("better")
        ]
        worse = [one.fix for one in self.ranked if one.effect.startswith("worse")]
        found = (
            f"Best: {', then '.join(better)}"
            if better
            else "No fix is clearly better than no fix at all"
        )
        return found + (f"; worse than no fix: {', '.join(worse)}" if worse else "")

    @property
    def conclusion(self) -> str:
        """The finding, and what decided, as sentences."""
        return f"{self.finding}. {self.criterion}"


def _word(gain: Gain) -> str:
    if gain.direction > 0:
        return f"better by a factor of {_factor(gain.factor)}"
    if gain.direction < 0:
        return f"worse by a factor of {_factor(1 / gain.factor)}"
    return "no clear difference"


def _factor(value: float) -> str:
    if value < 10:
        return f"{value:.{3 if value < 2 else 2}g}"  # never 1, which is no factor
    return f"{value:,.0f}" if value < 1e4 else "more than 10,000"


def _sentence(row: Row, none: Row, ranked: Sequence[ComparedPart]) -> str:
    effects = [_effect(row, none, part, part.metric) for part in ranked if part.metric is not None]
    ours, before = row["goodput_bps_total_median"], none["goodput_bps_total_median"]
    if before:
        effects.append(change("total goodput", ours / before - 1, 0.01))
    return "; ".join(filter(None, effects)) + f". Needs: {needed(row)}."


def _effect(row: Row, none: Row, part: ComparedPart, name: str) -> str:
    """How the metric of a part changed: "rounds done 3 to 5 (4 to 6)"."""
    quantity, key = QUANTITIES[name], part.key(name)
    shown = (shown_of_row(none, key, quantity)[0], *shown_of_row(row, key, quantity))
    before, now, q1, q3 = (one or "none" for one in shown)
    unit = f" {quantity.unit}" if quantity.unit else ""
    return f"{part.label}: {quantity.title} {before} to {with_range(f'{now}{unit}', q1, q3)}"
