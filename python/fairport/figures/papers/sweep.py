"""A measure over the variants of an experiment, which are steps of one parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairport.figures import style
from fairport.figures.papers import marks
from fairport.papers.metrics import METRICS, Of

if TYPE_CHECKING:
    from fairport.papers.model import Drawing
    from fairport.study.reproduce import Reproduced


def draw(done: Reproduced, drawing: Drawing) -> Figure:
    """The median over the seeds as a line, the quartiles as a band."""
    variants = done.entry.experiment.variant
    metric = METRICS[drawing.measure]
    of = Of(drawing.hop_class, traffic=drawing.traffic)
    picture, [[panel]] = style.panels(marks.of(done), drawing.title, [1.9])
    spreads = [done.over_seeds(drawing.measure, one.name, of) for one in variants]
    places = np.arange(len(variants))
    q1, median, q3 = (
        np.array([getattr(one, part) for one in spreads], dtype=float) * metric.factor
        for part in ("q1", "median", "q3")
    )
    panel.fill_between(places, q1, q3, color=style.BLUE, alpha=0.2, linewidth=0)
    panel.plot(places, median, color=style.BLUE, marker="o", markersize=3.5)
    known = [
        (place, one.published.value * metric.factor)
        for place, one in enumerate(variants)
        if one.published is not None and one.published.value is not None
    ]
    if known:
        panel.plot(*zip(*known, strict=True), **marks.PUBLISHED)
    panel.set_xticks(places, [one.title for one in variants])
    panel.set_xlabel(drawing.x_label)
    unit = f" ({metric.unit})" if metric.unit else ""
    whose = f", {drawing.hop_class} flows" if drawing.hop_class else ""
    panel.set_ylabel(f"{metric.title}{unit}")
    panel.set_ylim(bottom=0)
    ours = Line2D([], [], color=style.BLUE, marker="o", markersize=3.5, label=f"median{whose}")
    handles = [ours, *([marks.published_handle()] if known else [])]
    picture.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.1, 0.91), ncols=2)
    style.note(picture, "band: quartiles over the seeds")
    return picture
