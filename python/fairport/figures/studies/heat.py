"""A heat map: the median of a number over two axes. A bistable point is a cell cut in two.

A point whose seeds have two states shows both, the lower one below the cut, because their median
would be a state that the network does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LinearSegmentedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator, StrMethodFormatter

from fairport.figures.drawing import style, width
from fairport.figures.studies import findings
from fairport.figures.studies.view import (
    View,
    as_map,
    axis_title,
    in_cells,
    label_axes,
    panels,
)

# ratios beyond these have the colour of the end
_LOWEST_RATIO, _HIGHEST_RATIO = 0.1, 10.0
_RATIO_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
_NO_VALUE = "#eceff1"
_MOST_NUMBERS = 90
_CELL_IN = (0.13, 0.34)
_RIGHT_IN = 0.95
_NOTE = "median over the seeds; a cell cut in two is bistable: both states of its seeds are shown"

_RATIO_NOTE = "brown: starved, blue: favoured"


def draw(view: View, x: str, y: str) -> Figure:
    """One panel per combination of the remaining axes."""
    columns, rows = view.values(x), view.values(y)
    tall = min(max(_CELL_IN[0] * len(rows), 1.5), 3.2)
    if len(view.panels()) == 1:
        tall = min(max(_CELL_IN[1] * len(rows), 1.8), 4.2)
    subject = f"{view.quantity.heading} by {view.title_of(x)} and {view.title_of(y)}"
    note = f"{_RATIO_NOTE}; {_NOTE}" if view.number == "throughput_ratio" else _NOTE
    if view.points.height < len(columns) * len(rows) * len(view.panels()):
        note += "; grey: no run"
    title = findings.number(view)
    picture, axes = panels(view, title, subject, note, tall_in=tall, right_in=_RIGHT_IN)
    norm, colours = scale(view)
    shows_numbers = len(columns) * len(rows) * len(axes) <= _MOST_NUMBERS
    as_map(view, axes, x, y)
    shown = in_cells(view, axes, len(columns)) if shows_numbers else lambda _: ""
    for panel, (_, points) in zip(axes, view.panels(), strict=True):
        panel.set_facecolor(_NO_VALUE)
        for point in points.iter_rows(named=True):
            at = columns.index(point[x]), rows.index(point[y])
            _cell(panel, view, at, point, norm, colours, shown)
    label_axes(picture, axes, axis_title(view, x), axis_title(view, y))
    _key(picture, view, norm, colours)
    return picture


def scale(view: View) -> tuple[Normalize, Colormap]:
    """The scale from values to colours: ratios around 1, others from least to most."""
    factor = view.quantity.factor
    values = np.concatenate(
        [view.points[name].drop_nulls() for name in ("median", "lower", "upper")]
    )
    values = values[np.isfinite(values)] * factor
    if view.number == "throughput_ratio":
        # orange: starved, blue: favoured, white: an equal share; readable by all eyes, and in print
        ends = ["#7f2704", "#d95f0e", "#fec44f", "#fffde8", "#9ecae1", "#3182bd", "#08306b"]
        return (
            LogNorm(_LOWEST_RATIO, _HIGHEST_RATIO, clip=True),
            LinearSegmentedColormap.from_list("share", ends),
        )
    colours = matplotlib.colormaps["cividis"]
    least, most = float(values.min()), float(values.max())
    if view.number in ("jain_index", "utilisation"):
        return Normalize(min(least, 0.5 * factor), factor), colours
    if least > 0 and most / least > 50:
        return LogNorm(least, most), colours
    return Normalize(min(least, 0.0) if least < most / 2 else least, most or 1.0), colours


def _cell(
    panel: Any,
    view: View,
    at: tuple[int, int],
    point: dict[str, Any],
    norm: Normalize,
    colours: Colormap,
    shown: Callable[[float], str],
) -> None:
    # `add_patch` would compute limits from every cell; the panel has its limits
    (left, low), factor = (at[0] - 0.5, at[1] - 0.5), view.quantity.factor
    if point["is_bimodal"]:
        for value, corner in ((point["lower"], (1, 0)), (point["upper"], (0, 1))):
            colour = colours(norm(value * factor))
            half = [(left, low), (left + corner[0], low + corner[1]), (left + 1, low + 1)]
            panel.add_artist(Polygon(half, closed=True, facecolor=colour, linewidth=0))
        panel.plot([left, left + 1], [low, low + 1], color=style.INK, linewidth=0.6)
    else:
        colour = colours(norm(point["median"] * factor))
        panel.add_artist(Rectangle((left, low), 1, 1, facecolor=colour, linewidth=0))
        if text := shown(point["median"]):
            ink = style.ink_on(colour)
            panel.text(*at, text, ha="center", va="center", color=ink, fontsize=7)


def _key(picture: style.Picture, view: View, norm: Normalize, colours: Colormap) -> None:
    height = picture.get_figheight()
    top_in = height * max(panel.get_position().y1 for panel in picture.axes)
    tall = min(2.0, top_in - 1.0)
    wide_in = picture.get_figwidth()
    bar = picture.add_panel(wide_in - 0.72, top_in - tall, 0.12, tall)
    key = picture.colorbar(ScalarMappable(norm, colours), cax=bar)
    key.outline.set_visible(False)
    bar.tick_params(length=2, labelsize=width.READABLE_PT if width.is_narrow() else 7.5)
    if view.number == "throughput_ratio":
        bar.yaxis.set_major_locator(FixedLocator(_RATIO_TICKS))
        bar.yaxis.set_minor_locator(NullLocator())
        words = {0.1: "starved", 1.0: "equal", 10.0: "favoured"}
        bar.yaxis.set_major_formatter(lambda value, _: words.get(round(value, 2), f"{value:g}"))
    elif isinstance(norm, LogNorm):
        bar.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        bar.yaxis.set_minor_formatter(NullFormatter())
    label = view.quantity.label
    picture.text(
        (wide_in - 0.08) / wide_in,
        (top_in + 0.16) / height,
        label,
        ha="right",
        va="center",
        fontsize=width.READABLE_PT if width.is_narrow() else 7.5,
    )
