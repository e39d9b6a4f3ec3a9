"""A comparison of fixes: one panel per measure, one line per fix, best first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from fairport.figures import style
from fairport.study.fixes import BASELINE
from fairport.verdict import PARITY

if TYPE_CHECKING:
    from fairport.study.comparison import Column, Comparison

TITLE = "Which fix works"
CAPTION = (
    "Each grey dot is a run, the large dot is the median over the seeds, and the bar spans the "
    "middle half, or with fewer than four seeds all of them. The band is the range that counts as "
    "an equal share."
)
_WIDTH_IN, _LEFT_IN, _RIGHT_IN = 7.2, 1.05, 0.12
_TOP_IN, _GAP_IN, _BOTTOM_IN = 0.62, 0.72, 0.62
_LINE_IN = 0.17
_TITLE_PT = 8
_MOST_COLUMNS = 4
# ticks of each decade, by how many decades the ratios span
_TICKS = ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))


def draw(comparison: Comparison) -> Figure:
    """Panels in even rows; the scenario as it is on top, then the fixes in their order."""
    names = [BASELINE, *(one.fix for one in comparison.ranking)]
    columns = comparison.columns
    rows = -(-len(columns) // _MOST_COLUMNS)
    in_a_row = -(-len(columns) // rows)
    tall = _LINE_IN * (len(names) + 0.4)
    height = _TOP_IN + rows * tall + (rows - 1) * _GAP_IN + _BOTTOM_IN
    wide = (_WIDTH_IN - _LEFT_IN - _RIGHT_IN) / in_a_row
    with style.applied():
        picture = style.Picture(figsize=(_WIDTH_IN, height))
        for index, shown in enumerate(columns):
            row, column = divmod(index, in_a_row)
            bottom = height - _TOP_IN - (row + 1) * tall - row * _GAP_IN
            axes = picture.add_axes(
                (
                    (_LEFT_IN + column * wide) / _WIDTH_IN,
                    bottom / height,
                    (wide - 0.16) / _WIDTH_IN,
                    tall / height,
                )
            )
            _panel(axes, comparison, shown, names, first=column == 0)
        _heading(picture, comparison, height)
    return picture


def _panel(
    axes: Axes, comparison: Comparison, column: Column, names: list[str], *, first: bool
) -> None:
    axis, key = column.axis, column.key
    quantity = column.quantity
    places = np.arange(len(names))
    if axis == "ratio":
        axes.axvspan(PARITY, 1 / PARITY, color=style.BAND, alpha=0.25, linewidth=0)
    table = {row["fix"]: row for row in comparison.table.iter_rows(named=True)}
    for place, name in zip(places, names, strict=True):
        runs = comparison.runs.filter(fix=name)[key].drop_nulls()
        colour = style.DROPPED if name == BASELINE else style.BLUE
        row = table[name]
        if row[f"{key}_median"] is None:
            continue
        q1, median, q3 = (row[f"{key}_{part}"] * quantity.factor for part in ("q1", "median", "q3"))
        axes.plot(
            runs * quantity.factor,
            np.full(len(runs), place),
            "o",
            color=style.MUTED,
            alpha=0.35,
            markersize=2,
            markeredgewidth=0,
        )
        axes.plot([q1, q3], [place, place], color=colour, linewidth=2.4, alpha=0.6)
        marker = "D" if name == BASELINE else "o"
        # a marker on the axis is not clipped
        axes.plot([median], [place], marker, color=colour, markersize=4.5, clip_on=False, zorder=3)
    axes.set_ylim(len(names) - 0.5, -0.7)
    axes.set_yticks(places, names if first else [""] * len(names))
    axes.grid(axis="x")
    title = axes.set_title(quantity.label, loc="left", fontweight="bold", fontsize=_TITLE_PT)
    # a long one would run into that of the next panel
    share = axes.bbox.width / title.get_window_extent().width
    title.set_fontsize(_TITLE_PT * min(1.0, share))
    if column.load and len(comparison.loads) > 1:
        axes.annotate(
            column.load, (0, 1), (0, 14), xycoords="axes fraction", textcoords="offset points",
            va="bottom", color=style.MUTED, fontsize=7, annotation_clip=False,
        )  # fmt: skip
    if axis == "ratio" and comparison.runs.filter(pl.col(key) > 0).height:
        axes.set_xscale("log")
        least, most = axes.get_xlim()
        subs = _TICKS[int(np.searchsorted([20, 200], most / least))]
        axes.xaxis.set_major_locator(LogLocator(base=10, subs=subs, numticks=6))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(3))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        if axis == "zero":
            # room for a marker at the largest value
            most = axes.dataLim.x1
            axes.set_xlim(0, 1.06 * most if 0 < most < math.inf else None)
    axes.tick_params(labelsize=7.5)


def _heading(picture: style.Picture, comparison: Comparison, height: float) -> None:
    seeds = comparison.seeds
    left = 0.1 / _WIDTH_IN
    picture.text(
        left, 1 - 0.09 / height, TITLE, va="top", ha="left", fontsize=10, fontweight="bold"
    )
    run = f"{comparison.scenario.name}, seeds {seeds[0]} to {seeds[-1]}"
    picture.text(
        1 - _RIGHT_IN / _WIDTH_IN, 1 - 0.1 / height, run, va="top", ha="right",
        color=style.MUTED, fontsize=8,
    )  # fmt: skip
    marks = [
        Line2D([], [], marker="D", color=style.DROPPED, linewidth=2.4, label="without a fix"),
        Line2D([], [], marker="o", color=style.BLUE, linewidth=2.4, label="with the fix"),
        Line2D([], [], marker="o", color=style.MUTED, linewidth=0, markersize=2, label="one run"),
    ]
    picture.legend(handles=marks, loc="lower right", ncols=3, bbox_to_anchor=(1, 0))
    spread = "middle half" if comparison.has_quartiles else "range"
    note = f"median and {spread} over the seeds"
    if any(column.axis == "ratio" for column in comparison.columns):
        note += "; band: an equal share"
    picture.text(left, 0.1 / height, note, color=style.MUTED, fontsize=7.5)
