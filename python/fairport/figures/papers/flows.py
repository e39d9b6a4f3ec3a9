"""Goodput of each flow of an experiment's first variant, with the heights of the published bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fairport.figures import hop_classes
from fairport.figures.drawing import style
from fairport.figures.papers import marks
from fairport.metrics.spread import quartiles

if TYPE_CHECKING:
    from fairport.papers.model import Drawing
    from fairport.study.reproduce import Reproduced


def draw(done: Reproduced, drawing: Drawing) -> Figure:
    """Bars by hop class; the line on a bar spans the middle half of the seeds."""
    variant = done.entry.variants[0]
    records = done.records[variant.name]
    picture, [[panel]] = style.panels(drawing.title, "", marks.of(done), [1.9])
    classes = hop_classes.of(records[0].flows)
    rates = np.array([record.flows.sort("flow")["goodput_bps"] for record in records]) / 1e6
    q1, median, q3 = np.quantile(rates, quartiles(len(done.seeds)), axis=0)
    known = variant.published_classes
    left = 0.0
    for one in classes:
        places = left + np.arange(len(one.flows))
        panel.bar(places, median[one.flows], 0.86, **one.look.bar)
        panel.vlines(places, q1[one.flows], q3[one.flows], color=style.INK, linewidth=1.2)
        published = known[one.name].goodput_bps if one.name in known else []
        if len(published) == len(places):
            panel.plot(places, np.array(published) / 1e6, **marks.PUBLISHED)
        left += len(one.flows) + 0.6
    panel.set(xticks=[], xlabel="one bar per flow, in order of the senders")
    panel.set_ylabel("goodput (Mbit/s)")
    panel.set_ylim(bottom=0)
    handles = [Patch(**one.look.bar, label=one.name) for one in classes]
    style.legend_above(picture, panel, [*handles, marks.published_handle()])
    style.note(picture, f"bar: median, line: {marks.spread(done)}")
    return picture
