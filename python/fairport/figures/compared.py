"""What the figure of a comparison shows, as plain numbers.

`figures.compare` draws it, mostly in a worker process, which then need not import what a Comparison
is made of: that takes as long as the drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairport.study.comparison.metrics import Axis
    from fairport.study.comparison.result import Column, Comparison

SUBJECT = "Which fix works"
CAPTION = (
    "Each grey dot is a run, the large dot is the median over the seeds, and the bar spans the "
    "middle half, or with fewer than four seeds all of them. The band is the range that counts as "
    "an equal share."
)


@dataclass(frozen=True, slots=True)
class Line:
    """A fix in a panel, in the panel's unit."""

    runs: Sequence[float]
    q1: float
    median: float
    q3: float


@dataclass(frozen=True, slots=True)
class Panel:
    """A measure, with the place of each of its lines among the names."""

    title: str
    of: str
    """Which part of the traffic it is of, where there are several."""
    axis: Axis
    lines: dict[int, Line]
    """None for a fix that has no numbers."""


@dataclass(frozen=True, slots=True)
class Chart:
    """The figure of a comparison."""

    title: str
    """What the comparison found, as a sentence."""
    of: str
    """The scenario and the seeds."""
    names: Sequence[str]
    """The scenario as it is, then the fixes, best first."""
    panels: Sequence[Panel]
    spread: str
    """What the bars span."""


def chart(comparison: Comparison) -> Chart:
    """The figure of this comparison."""
    from fairport.metrics.repeats import seeds_in_words
    from fairport.study.fixes import BASELINE

    names = [BASELINE, *(one.fix for one in comparison.ranking)]
    return Chart(
        title=comparison.finding + "; this is one seed" * (len(comparison.seeds) == 1),
        of=f"{comparison.scenario.name}, {seeds_in_words(comparison.seeds)}",
        names=names,
        panels=[_panel(comparison, column, names) for column in comparison.columns],
        spread="middle half" if comparison.has_quartiles else "range",
    )


def _panel(comparison: Comparison, column: Column, names: Sequence[str]) -> Panel:
    table = {row["fix"]: row for row in comparison.table.iter_rows(named=True)}
    factor = column.quantity.factor
    lines = {}
    for place, name in enumerate(names):
        parts = [table[name][f"{column.key}_{part}"] for part in ("q1", "median", "q3")]
        if None in parts:
            continue
        runs = comparison.runs.filter(fix=name)[column.key].drop_nulls()
        lines[place] = Line([run * factor for run in runs], *(part * factor for part in parts))
    of = column.part if len(comparison.parts) > 1 else ""
    return Panel(column.quantity.label, of, column.metric.axis, lines)
