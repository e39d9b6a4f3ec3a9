"""Goodput bars by flow over the first 20 %, the first 40 % and all of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fairport.figures import over_time, style
from fairport.quantities import QUANTITIES

if TYPE_CHECKING:
    from fairport.result import Result

TITLE = "Goodput of each flow"
CAPTION = (
    "One bar per flow, over three spans of the same run, as in the paper. Unfairness that evens "
    "out with time is chance; what remains over the whole run is structure. The line is the mean "
    "of the class, the dotted line the fair share."
)
_GOODPUT = QUANTITIES["goodput_bps"]
SPANS = (0.2, 0.4, 1.0)
MANY = 40


def draw(result: Result) -> Figure:
    """Three panels, bars in order of hop class and flow."""
    classes = style.compared_classes(result)
    if not classes:
        picture, rows = style.frame(result, TITLE, [0.6])
        style.say(rows[0][0], style.NO_FLOWS)
        return picture
    picture, rows = style.frame(result, TITLE, [1.75], columns=len(SPANS))
    panels = rows[0]
    count = sum(len(one.flows) for one in classes)
    gap = max(0.6, 0.03 * count)
    # Gaps between many thin bars would flicker.
    width = 0.86 if count <= MANY else 1.0
    for panel in panels[1:]:
        panel.sharey(panels[0])
        panel.tick_params(labelleft=False)
    style.y_label(picture, panels, _GOODPUT.label)
    for panel, span in zip(panels, SPANS, strict=True):
        until = span * over_time.end_s(result)
        rates = _rates(result, until)
        left, total = 0.0, 0.0
        for one in classes:
            heights = np.array([rates.get(flow, 0.0) for flow in one.flows])
            heights *= _GOODPUT.factor
            total += heights.sum()
            places = left + np.arange(len(heights))
            panel.bar(places, heights, width, **one.look.bar)
            panel.hlines(
                heights.mean(),
                left - 0.5,
                left + len(heights) - 0.5,
                color=style.INK,
                linewidth=1.2,
            )
            left += len(heights) + gap
        if count > 1:
            style.fair_share(panel, total / count)
        panel.set(xticks=[], xlim=(-0.5 - gap, left - 0.5))
        share = f"first {100 * span:.0f} %" if span < 1 else "whole run"
        panel.set_xlabel(f"{share} ({until:.3g} s)", labelpad=4)
    panels[0].set_ylim(bottom=0)
    style.note(picture, "bar: one flow, line: mean of the class, dotted: fair share")
    handles = [Patch(**one.look.bar, label=one.label) for one in classes]
    picture.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(0.1, 0.9), ncols=4, columnspacing=1.4
    )
    return picture


def _rates(result: Result, until_s: float) -> dict[int, float]:
    """Bits per second that each flow delivered from the start to `until_s`."""
    # Half a nanosecond: the series' times are sums of their interval.
    rows = result.series.filter(pl.col("time_s") <= until_s + 5e-10)
    last = rows.group_by("flow").agg(pl.col("delivered_bytes").max() * 8, pl.col("time_s").max())
    return {flow: bits / time for flow, bits, time in last.iter_rows()}
