"""A comparison of fixes: one panel per measure, one line per fix, best first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from fairport.figures.compared import SUBJECT, Chart, Line, Panel
from fairport.figures.drawing import style, width
from fairport.figures.drawing.heading import broken, heading
from fairport.metrics.verdict import PARITY

_WIDTH_IN, _LEFT_IN, _RIGHT_IN = 7.2, 1.05, 0.28
_TOP_IN, _GAP_IN, _BOTTOM_IN = 0.36, 0.72, 0.62
# half of the last tick of a panel, such as 30,000, and half of the next panel's first are in it
_BETWEEN_IN = 0.32
_LINE_IN = 0.17
_NOTE_LINE_IN = 0.13
_TITLE_PT = 8
_MOST_COLUMNS = 4
_NOTE: Any = {"va": "center", "color": style.MUTED, "fontsize": 7}
# ticks of each decade, by how many decades the ratios span
_TICKS = ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))


def draw(chart: Chart) -> Figure:
    """Panels in even rows; the scenario as it is on top, then the fixes in their order."""
    rows = -(-len(chart.panels) // width.columns(_MOST_COLUMNS, _WIDTH_IN))
    in_a_row = -(-len(chart.panels) // rows)
    tall = _LINE_IN * (len(chart.names) + 0.4)
    wide_in = width.of_picture(_WIDTH_IN)
    head = heading(chart.title, SUBJECT, chart.of, wide_in)
    top_in = head.tall_in + _TOP_IN
    bottom_in = _BOTTOM_IN + 2 * _NOTE_LINE_IN * width.is_narrow()
    height = top_in + rows * tall + (rows - 1) * _GAP_IN + bottom_in
    step = (wide_in - _LEFT_IN - _RIGHT_IN + _BETWEEN_IN) / in_a_row
    wide = step - _BETWEEN_IN
    with style.applied():
        picture = style.Picture(figsize=(wide_in, height))
        for index, panel in enumerate(chart.panels):
            row, column = divmod(index, in_a_row)
            bottom = height - top_in - (row + 1) * tall - row * _GAP_IN
            axes = picture.add_panel(_LEFT_IN + column * step, bottom, wide, tall)
            # no axis has a name, whose place matplotlib would compute from all tick labels
            axes.xaxis.set_label_coords(0.5, -0.3)
            axes.yaxis.set_label_coords(-0.3, 0.5)
            names = chart.names if column == 0 else [""] * len(chart.names)
            _draw_panel(axes, panel, names, wide)
        head.write(picture)
        _key(picture, chart, height)
    return picture


def _draw_panel(axes: Axes, panel: Panel, names: Sequence[str], wide_in: float) -> None:
    if panel.axis == "ratio":
        axes.axvspan(PARITY, 1 / PARITY, color=style.BAND, alpha=0.25, linewidth=0)
    _lines(axes, panel.lines, len(names))
    axes.set_ylim(len(names) - 0.5, -0.7)
    axes.set_yticks(range(len(names)), names)
    axes.grid(axis="x")
    # a long title would run into that of the next panel
    if width.is_narrow():
        points = width.smallest_pt()
        title = "\n".join(broken(panel.title, wide_in, points))
    else:
        share = wide_in / style.width_in(panel.title, _TITLE_PT, "bold")
        points, title = max(width.smallest_pt(), _TITLE_PT * min(1.0, share)), panel.title
    axes.set_title(title, loc="left", fontweight="bold", fontsize=points)
    if panel.of:
        axes.annotate(
            panel.of, (0, 1), (0, 14), xycoords="axes fraction", textcoords="offset points",
            va="bottom", color=style.MUTED, fontsize=7, annotation_clip=False,
        )  # fmt: skip
    _scale(axes, panel)
    axes.tick_params(labelsize=width.READABLE_PT if width.is_narrow() else 7.5)
    axes.tick_params(axis="y", pad=6)  # a marker at 0 is half beside the axis


def _scale(axes: Axes, panel: Panel) -> None:
    """The horizontal axis."""
    runs = [run for line in panel.lines.values() for run in line.runs]
    if not any(runs):
        axes.set_xlim(0, 1)
        axes.set_xticks([0] if runs else [])
        if not runs:
            axes.text(0.5, 0.5, "no values", **_NOTE, ha="center", transform=axes.transAxes)
    elif panel.axis == "ratio":
        axes.set_xscale("log")
        least, most = axes.get_xlim()
        subs = _TICKS[int(np.searchsorted([20, 200], most / least))]
        axes.xaxis.set_major_locator(LogLocator(base=10, subs=subs, numticks=6))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        for place, line in panel.lines.items():
            if line.median == 0:
                # it has no place on a logarithmic axis
                colour = style.BLUE if place else style.ORANGE
                axes.plot(least, place, "<", color=colour, markersize=4.5, clip_on=False)
                axes.annotate("0", (least, place), (5, 0), textcoords="offset points", **_NOTE)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(3))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        if panel.axis == "zero":
            # room for a marker at the largest value
            most = axes.dataLim.x1
            axes.set_xlim(0, 1.06 * most if 0 < most < math.inf else None)


def _lines(axes: Axes, lines: Mapping[int, Line], count: int) -> None:
    """Dots, bars and medians, each with one call for all fixes: the calls take most of the time."""
    axes.plot(
        [run for line in lines.values() for run in line.runs],
        [place for place, line in lines.items() for _ in line.runs],
        "o",
        color=style.MUTED,
        alpha=0.35,
        markersize=2,
        markeredgewidth=0,
    )
    axes.hlines(
        list(lines),
        [line.q1 for line in lines.values()],
        [line.q3 for line in lines.values()],
        color=[style.BLUE if place else style.ORANGE for place in lines],
        linewidth=2.4,
        alpha=0.6,
        capstyle="round",
    )
    for marker, colour, places in (("D", style.ORANGE, [0]), ("o", style.BLUE, range(1, count))):
        known = [place for place in places if place in lines]
        medians = [lines[place].median for place in known]
        # a marker on the axis is not clipped
        axes.plot(medians, known, marker, color=colour, markersize=4.5, clip_on=False, zorder=3)


def _key(picture: style.Picture, chart: Chart, height: float) -> None:
    marks = [
        Line2D([], [], marker="D", color=style.ORANGE, linewidth=2.4, label="without a fix"),
        Line2D([], [], marker="o", color=style.BLUE, linewidth=2.4, label="with the fix"),
        Line2D([], [], marker="o", color=style.MUTED, linewidth=0, markersize=2, label="one run"),
    ]
    picture.legend(handles=marks, loc="lower right", ncols=3, bbox_to_anchor=(1, 0))
    note = f"median and {chart.spread} over the seeds"
    if any(panel.axis == "ratio" for panel in chart.panels):
        note += "; band: an equal share"
    below = 0.1
    look: dict[str, Any] = {"color": style.MUTED, "fontsize": 7.5}
    if width.is_narrow():
        room_in = picture.get_figwidth() - 0.2
        note = "\n".join(broken(note, room_in, width.READABLE_PT, "normal"))
        below, look["fontsize"] = 0.28, width.READABLE_PT
    picture.text(0.1 / picture.get_figwidth(), below / height, note, **look)
