"""A family of lines: the median of a number along an axis, with its interval.

There is one line per value of another axis. Numbers and quantities lie at their values, on a
logarithmic scale if they span much. A bistable point has an open mark at each of its two states,
off the line. An axis of names, such as those of fixes, has no values between them: there are only
marks, side by side, with their intervals.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairport.figures.drawing import style, width
from fairport.figures.studies import findings, places
from fairport.figures.studies.view import (
    View,
    axis_title,
    label_axes,
    legend_beside,
    panels,
    room_beside,
    scale_number,
    ticks,
)

_COLOURS = (style.BLUE, style.ORANGE, style.GREEN, "#cc79a7", "#e69f00", "#56b4e9", style.INK)
_DASHES = ("-", (0, (4, 1.5)), (0, (1, 1.2)))  # after these, colours and marks are used again
_MARKERS = ("o", "s", "^", "v", "D", "P", "X")
_TALL_IN = {1: 2.9, 2: 2.2, 3: 1.9}
_NARROW_TALL_IN = 1.9
_RIGHT_IN = 1.35
_NOTE = "{line}: median over the seeds; {band}: the {interval}"
_BISTABLE = "; open marks: the two states of a bistable point"
# how far apart the marks of a name are, of the distance to the next name, and at most in all
_APART, _MOST_APART = 0.14, 0.7


def draw(view: View, x: str, color: str) -> Figure:
    """One panel per combination of the remaining axes."""
    subject = f"{view.quantity.heading} by {view.title_of(x)}"
    columns = min(3, len(view.panels()))
    values = view.values(x)
    numbers = places.of_numbers(values)
    has_names = numbers is None
    at = dict(zip(values, range(len(values)) if numbers is None else numbers, strict=True))
    line, band = ("mark", "line") if has_names else ("line", "band")
    note = _NOTE.format(line=line, band=band, interval=view.interval)
    if view.points["is_bimodal"].any():
        note += _BISTABLE
    lines = view.values(color) if color else [None]
    labels = [view.title_of(color), *(view.label(color, value) for value in lines)] if color else []
    picture, axes = panels(
        view,
        findings.number(view),
        subject,
        note,
        tall_in=_NARROW_TALL_IN if width.is_narrow() else _TALL_IN[columns],
        right_in=room_beside(labels, _RIGHT_IN),
    )
    apart = min(_APART, _MOST_APART / len(lines)) if has_names else 0.0
    for panel, (_, points) in zip(axes, view.panels(), strict=True):
        for number, value in enumerate(lines):
            of_line = points.filter(pl.col(color) == value) if color else points
            aside = apart * (number - (len(lines) - 1) / 2)
            place = pl.Series([at[value] for value in of_line[x]], dtype=pl.Float64) + aside
            of_line = of_line.with_columns(place=place).sort("place")
            _line(panel, view, of_line, number, is_joined=not has_names)
        if numbers is None:
            panel.set_xticks(*ticks(view, x, room=14 if columns == 1 else 7, across=panel))
            panel.set_xlim(-0.4, len(values) - 0.6)
        else:
            places.label_values(panel, view, x, numbers)
    scale_number(view, axes)
    label_axes(picture, axes, axis_title(view, x), view.quantity.label)
    if color:
        _key(picture, view, color, lines, has_names=has_names)
    return picture


def _line(panel: Axes, view: View, points: pl.DataFrame, number: int, *, is_joined: bool) -> None:
    """The marks of the points, joined by a line with a band, or each with its interval."""
    colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)]
    factor = view.quantity.factor
    one = points.filter(~pl.col("is_bimodal"))
    low, high = one["low"] * factor, one["high"] * factor
    if is_joined:
        panel.fill_between(one["place"], low, high, color=colour, alpha=0.18, linewidth=0)
    else:
        panel.vlines(one["place"], low, high, color=colour, alpha=0.5, linewidth=1.6)
    panel.plot(
        one["place"],
        one["median"] * factor,
        marker,
        linestyle=_dashes(number) if is_joined else "",
        color=colour,
        markersize=3.5,
    )
    two = points.filter(pl.col("is_bimodal"))
    for state in ("lower", "upper"):
        panel.plot(
            two["place"],
            two[state] * factor,
            marker,
            color=colour,
            markerfacecolor=style.PAPER,
            linestyle="",
            markersize=4.5,
        )


def _key(
    picture: style.Picture, view: View, color: str, lines: list[Any], *, has_names: bool
) -> None:
    handles = [
        Line2D(
            [],
            [],
            color=_COLOURS[number % len(_COLOURS)],
            marker=_MARKERS[number % len(_MARKERS)],
            markersize=3.5,
            linestyle="" if has_names else _dashes(number),
            label=view.label(color, value),
        )
        for number, value in enumerate(lines)
    ]
    legend_beside(picture, view.title_of(color), handles)


def _dashes(number: int) -> Any:
    return _DASHES[number // len(_COLOURS) % len(_DASHES)]
