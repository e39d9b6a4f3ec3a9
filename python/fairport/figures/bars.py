"""Goodput by flow over the first 20 %, the first 40 % and all of the run.

A few flows are bars, as the paper draws them. More than `MANY` flows are cumulative distributions
(`goodput_distributions`), because nobody can read that many bars, and drawing them would take
longer than the run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fairport.figures import findings, goodput_distributions, hop_classes, over_time, spans
from fairport.figures.drawing import style, width
from fairport.quantities import QUANTITIES, counted, time_at_size
from fairport.summary import is_measured_in_part

if TYPE_CHECKING:
    from fairport.result import Result

SUBJECT = "Goodput of each flow"
CAPTION = (
    "The goodput of each flow over three spans of the same run: one bar per flow, as in the paper, "
    "or, with more than 40 flows, the share of a class's flows with at most that goodput. "
    "Unfairness that evens out with time is chance. What remains over the whole run may be "
    "structural, if other seeds have it, too. The dotted line is the fair share."
)
_GOODPUT = QUANTITIES["goodput_bps"]
MANY = 40


def draw(result: Result) -> Figure:
    """Three panels: bars in order of hop class and flow, or distributions by hop class."""
    classes = hop_classes.compared(result)
    if not classes:
        picture, [[panel]] = style.frame(result, findings.goodput(result), SUBJECT, [0.6])
        style.say(panel, style.NO_FLOWS)
        return picture
    compared = pl.Series([flow for one in classes for flow in one.flows], dtype=pl.UInt32)
    samples = result.series.filter(pl.col("flow").is_in(compared.implode()))
    of_spans = [spans.rates(samples, span * over_time.end_s(result)) for span in spans.SPANS]
    first_s = spans.SPANS[0] * over_time.end_s(result)
    rates, span = of_spans[0], f"in the first {time_at_size(first_s).with_unit(first_s)}"
    if is_measured_in_part(result.summary):
        rates, span = of_spans[-1], "in the whole run"
    title = findings.goodput_by_span(result, rates, span)
    classes, subject = _with_samples(classes, set(samples["flow"].unique()))
    picture, [panels] = style.frame(result, title, subject, [1.75], columns=len(spans.SPANS))
    for panel in panels[1:]:
        panel.sharey(panels[0])
        panel.tick_params(labelleft=False)
    if sum(len(one.flows) for one in classes) > MANY:
        goodput_distributions.draw(picture, panels, result, classes, of_spans)
    else:
        _bars(picture, panels, result, classes, of_spans)
    return picture


def _with_samples(
    classes: list[hop_classes.HopClass], sampled: set[int]
) -> tuple[list[hop_classes.HopClass], str]:
    """The flows that have samples (`probes.flows`), and the subject, which counts the others."""
    kept = [replace(one, flows=[flow for flow in one.flows if flow in sampled]) for one in classes]
    kept = [one for one in kept if one.flows]
    hidden = sum(len(one.flows) for one in classes) - sum(len(one.flows) for one in kept)
    if not kept or not hidden:
        return classes, SUBJECT
    return kept, f"{SUBJECT} with samples, which {counted(hidden, 'flow')} do not have"


def _bars(
    picture: style.Picture,
    panels: list[Axes],
    result: Result,
    classes: list[hop_classes.HopClass],
    of_spans: list[dict[int, float]],
) -> None:
    every = [rate for rates in of_spans for rate in rates.values()]
    quantity = _GOODPUT.at_size(max(every, default=0.0))
    count = sum(len(one.flows) for one in classes)
    gap = max(0.6, 0.03 * count)
    style.y_label(picture, panels, quantity.label)
    for panel, span, rates in zip(panels, spans.SPANS, of_spans, strict=True):
        if not rates:
            over_time.no_samples(panel, "no samples")
        left, total = 0.0, 0.0
        for one in classes if rates else []:
            heights = np.array([rates[flow] for flow in one.flows])
            heights *= quantity.factor
            total += heights.sum()
            places = left + np.arange(len(heights))
            bars = panel.bar(places, heights, 0.86, **one.look.bar)
            mean = panel.hlines(
                heights.mean(),
                left - 0.5,
                left + len(heights) - 0.5,
                color=style.INK,
                linewidth=1.2,
            )
            one.mark([*bars, mean], f"{100 * span:.0f}")
            left += len(heights) + gap
        if count > 1 and rates:
            style.fair_share(panel, total / count)
        panel.set(xticks=[], xlim=(-0.5 - gap, left - 0.5 if rates else 1))
        panel.set_xlabel(spans.title(span, result), labelpad=4)
    if max(every, default=0.0) > 0:
        panels[0].set_ylim(bottom=0)
    else:
        panels[0].set(ylim=(0, 1), yticks=[0])
    panels[0].yaxis.set_major_formatter("{x:,g}")
    shared = ", dotted: fair share" if count > 1 else ""
    brackets = f"; {hop_classes.IN_BRACKETS}" if width.is_narrow() else ""
    style.note(picture, f"bar: one flow, line: mean of the class{shared}{brackets}")
    handles = [Patch(**one.look.bar, label=one.label) for one in classes]
    style.legend_above(picture, panels[0], handles)
