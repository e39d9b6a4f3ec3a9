"""Goodput by flow over the first 20 %, the first 40 % and all of the run.

A few flows are bars, as the paper draws them. More than `MANY` flows are cumulative distributions,
because nobody can read that many bars, and drawing them would take longer than the run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from fairport.figures import distribution, findings, over_time, style, width
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
SPANS = (0.2, 0.4, 1.0)
MANY = 40
# If rates span more than this factor, their axis is logarithmic.
_WIDE = 20
# Classes are distinguished by more than colour.
_DASHES: tuple[Literal["-", "--", "-.", ":"], ...] = ("-", "--", "-.", ":")


def draw(result: Result) -> Figure:
    """Three panels: bars in order of hop class and flow, or distributions by hop class."""
    classes = style.compared_classes(result)
    if not classes:
        picture, [[panel]] = style.frame(result, findings.goodput(result), SUBJECT, [0.6])
        style.say(panel, style.NO_FLOWS)
        return picture
    compared = pl.Series([flow for one in classes for flow in one.flows], dtype=pl.UInt32)
    samples = result.series.filter(pl.col("flow").is_in(compared.implode()))
    of_spans = [_rates(samples, span * over_time.end_s(result)) for span in SPANS]
    first_s = SPANS[0] * over_time.end_s(result)
    rates, span = of_spans[0], f"in the first {time_at_size(first_s).with_unit(first_s)}"
    if is_measured_in_part(result.summary):
        rates, span = of_spans[-1], "in the whole run"
    title = findings.goodput_by_span(result, rates, span)
    classes, subject = _with_samples(classes, set(samples["flow"].unique()))
    picture, [panels] = style.frame(result, title, subject, [1.75], columns=len(SPANS))
    for panel in panels[1:]:
        panel.sharey(panels[0])
        panel.tick_params(labelleft=False)
    if sum(len(one.flows) for one in classes) > MANY:
        _distributions(picture, panels, result, classes, of_spans)
    else:
        _bars(picture, panels, result, classes, of_spans)
    return picture


def _with_samples(
    classes: list[style.HopClass], sampled: set[int]
) -> tuple[list[style.HopClass], str]:
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
    classes: list[style.HopClass],
    of_spans: list[dict[int, float]],
) -> None:
    every = [rate for rates in of_spans for rate in rates.values()]
    quantity = _GOODPUT.at_size(max(every, default=0.0))
    count = sum(len(one.flows) for one in classes)
    gap = max(0.6, 0.03 * count)
    style.y_label(picture, panels, quantity.label)
    for panel, span, rates in zip(panels, SPANS, of_spans, strict=True):
        if not rates:
            _say_no_samples(panel)
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
        panel.set_xlabel(_of_span(span, result), labelpad=4)
    if max(every, default=0.0) > 0:
        panels[0].set_ylim(bottom=0)
    else:
        panels[0].set(ylim=(0, 1), yticks=[0])
    panels[0].yaxis.set_major_formatter("{x:,g}")
    shared = ", dotted: fair share" if count > 1 else ""
    brackets = f"; {style.IN_BRACKETS}" if width.is_narrow() else ""
    style.note(picture, f"bar: one flow, line: mean of the class{shared}{brackets}")
    handles = [Patch(**one.look.bar, label=one.label) for one in classes]
    style.legend_above(picture, panels[0], handles)


def _distributions(
    picture: style.Picture,
    panels: list[Axes],
    result: Result,
    classes: list[style.HopClass],
    of_spans: list[dict[int, float]],
) -> None:
    """The share of flows with at most a goodput; the axes of all spans are the same."""
    every = np.array([rate for rates in of_spans for rate in rates.values()])
    quantity = _GOODPUT.at_size(every.max(initial=0.0))
    moving = every[every > 0] * quantity.factor
    wide = len(moving) > 0 and np.quantile(moving, 0.95) > _WIDE * np.quantile(moving, 0.05)
    style.y_label(picture, panels, "share of flows")
    for panel, span, rates in zip(panels, SPANS, of_spans, strict=True):
        for one, dashes in zip(classes, _DASHES * len(classes), strict=False):
            ordered = np.sort([rates[flow] for flow in one.flows if rates]) * quantity.factor
            look: dict[str, Any] = {"color": one.look.colour, "linestyle": dashes}
            reached = np.linspace(0, 1, len(ordered) + 1)[1:]
            drawn = panel.step(*distribution.steps(ordered, reached), where="post", **look)
            one.mark(drawn, f"{100 * span:.0f}")
        if not rates:
            _say_no_samples(panel)
        else:
            fair = sum(rates.values()) / len(rates) * quantity.factor
            panel.axvline(fair, **style.DOTTED)
        if wide:
            panel.set_xscale("log")
            panel.set_xlim(np.quantile(moving, 0.005), moving.max() * 1.3)
            panel.xaxis.set_major_locator(LogLocator(numticks=4))
            panel.xaxis.set_major_formatter("{x:g}")
            panel.xaxis.set_minor_formatter(NullFormatter())
        elif len(moving):
            panel.set_xlim(0, moving.max() * 1.05)
            panel.xaxis.set_major_locator(MaxNLocator(4))
        panel.set_ylim(0, 1.02)
        panel.set_title(_of_span(span, result), loc="left", fontsize=8, pad=3)
        # three names have no room side by side
        if not width.is_narrow() or panel is panels[1]:
            panel.set_xlabel(quantity.label, labelpad=2)
    names = [
        Line2D([], [], color=one.look.colour, linestyle=dashes, label=one.label)
        for one, dashes in zip(classes, _DASHES * len(classes), strict=False)
    ]
    names.append(Line2D([], [], label="fair share", **style.DOTTED))
    picture.legend(
        handles=names,
        loc="lower center",
        ncols=-(-len(names) // 2) if width.is_narrow() else len(names),
        fontsize=width.READABLE_PT if width.is_narrow() else 7.5,
        handlelength=distribution.HANDLE_LENGTH,
        handletextpad=0.5,
        columnspacing=1.0,
        borderaxespad=0.1,
    )


def _say_no_samples(panel: Axes) -> None:
    look: dict[str, Any] = {"ha": "center", "va": "center", "color": style.MUTED}
    panel.text(0.5, 0.5, "no samples", transform=panel.transAxes, **look)


def _of_span(span: float, result: Result) -> str:
    share = f"first {100 * span:.0f} %" if span < 1 else "whole run"
    if width.is_narrow():
        return share
    end_s = over_time.end_s(result)
    return f"{share} ({time_at_size(end_s).with_unit(span * end_s)})"


def _rates(samples: pl.DataFrame, until_s: float) -> dict[int, float]:
    """Rate of each flow's delivered data from the start to `until_s`, in bit/s."""
    # Half a nanosecond: the series' times are sums of their interval.
    rows = samples.filter(pl.col("time_s") <= until_s + 5e-10)
    if rows.is_empty():
        return {}
    last = rows.group_by("flow").agg(pl.col("delivered_bytes").max() * 8, pl.col("time_s").max())
    # a flow whose samples begin later has delivered nothing
    nothing = dict.fromkeys(samples["flow"].unique().to_list(), 0.0)
    return nothing | {flow: bits / time for flow, bits, time in last.iter_rows()}
