"""A measure over the variants of an experiment, which are steps of one parameter.

Variants of several series are a line each, over the same steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairport.figures import style
from fairport.figures.papers import marks
from fairport.papers.metrics import METRICS, Of

if TYPE_CHECKING:
    from fairport.papers.model import Drawing, Variant
    from fairport.study.reproduce import Reproduced

_COLOURS = (style.BLUE, style.DROPPED, "#009e73", "#cc79a7", "#e69f00", style.INK)
_MARKERS = ("o", "s", "^", "v", "P", "X")


def draw(done: Reproduced, drawing: Drawing) -> Figure:
    """The median over the seeds as a line, the quartiles as a band."""
    variants = done.entry.experiment.variant
    picture, [[panel]] = style.panels(marks.of(done), drawing.title, [1.9])
    steps = list(dict.fromkeys(one.label or one.name for one in variants))
    lines = [
        _line(panel, done, drawing, steps, series, number)
        for number, series in enumerate(dict.fromkeys(one.series for one in variants))
    ]
    known = [
        (steps.index(one.label or one.name), one.published.measures[drawing.measure])
        for one in variants
        if one.published is not None and drawing.measure in one.published.measures
    ]
    metric = METRICS[drawing.measure]
    if known:
        places, values = zip(*known, strict=True)
        panel.plot(places, np.array(values) * metric.factor, **marks.PUBLISHED)
    panel.set_xticks(range(len(steps)), steps)
    panel.set_xlabel(drawing.x_label)
    unit = f" ({metric.unit})" if metric.unit else ""
    panel.set_ylabel(f"{metric.title}{unit}")
    lowest, highest = panel.dataLim.intervaly
    panel.set_ylim(min(0, 1.06 * lowest), max(0, 1.06 * highest))
    panel.set_xlim(-0.4, len(steps) - 0.6)
    handles = [*lines, *([marks.published_handle()] if known else [])]
    picture.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(0.1, 0.91), ncols=len(handles),
        columnspacing=1.2 if len(handles) < 5 else 0.8,
    )  # fmt: skip
    style.note(picture, "line: median, band: quartiles over the seeds")
    return picture


def _line(
    panel: Axes, done: Reproduced, drawing: Drawing, steps: list[str], series: str, number: int
) -> Line2D:
    """Draws one series, and returns what the legend shows of it."""
    members: list[Variant] = [v for v in done.entry.experiment.variant if v.series == series]
    of = Of(drawing.hop_class, traffic=drawing.traffic, sizes=drawing.sizes)
    spreads = [done.over_seeds(drawing.measure, one.name, of) for one in members]
    q1, median, q3 = (
        np.array([getattr(one, part) for one in spreads], dtype=float)
        * METRICS[drawing.measure].factor
        for part in ("q1", "median", "q3")
    )
    places = [steps.index(one.label or one.name) for one in members]
    colour = _COLOURS[number % len(_COLOURS)]
    panel.fill_between(places, q1, q3, color=colour, alpha=0.2, linewidth=0)
    look: dict[str, Any] = {
        "color": colour,
        "marker": _MARKERS[number % len(_MARKERS)],
        "markersize": 3.5,
    }
    panel.plot(places, median, **look)
    whose = f"{drawing.hop_class} flows" if drawing.hop_class else "median"
    return Line2D([], [], **look, label=series or whose)
