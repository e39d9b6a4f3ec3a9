"""The points of a search: a number over each axis of its space, one panel per axis.

Each point has values of its own on all axes, so there is no grid to make a map of. Every panel
shows all points, by one axis alone.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from fairport.figures.drawing import style
from fairport.figures.studies import findings, places
from fairport.figures.studies.view import View, panels, scale_number, ticks
from fairport.scenario.rows import kind_of

_TALL_IN = {1: 2.9, 2: 2.2, 3: 1.9}
_NOTE = "dot: a point's median over its seeds; line: the {interval}; dotted: the scenario as it is"
_TWO_DECADES = 100
_MOST_TICKS = 4


def draw(view: View, axes: Sequence[str], before: Sequence[float]) -> Figure:
    """One panel per axis. `before`: the numbers of the scenario as it is, by its seeds."""
    by = view.title_of(axes[0]) if len(axes) == 1 else "each setting that was searched"
    picture, drawn = panels(
        view,
        findings.number(view),
        f"{view.quantity.heading} by {by}",
        _NOTE.format(interval=view.interval),
        tall_in=_TALL_IN[min(3, len(axes))],
        right_in=0.1,
        names=[view.title_of(axis) for axis in axes],
    )
    factor = view.quantity.factor
    points = view.points.sort("median")
    heights = points["median"] * factor
    for panel, axis in zip(drawn, axes, strict=True):
        across = _places(panel, view, axis, points[axis].to_list())
        low, high = points["low"] * factor, points["high"] * factor
        panel.vlines(across, low, high, color=style.BLUE, alpha=0.3, linewidth=1.2)
        panel.plot(across, heights, "o", color=style.BLUE, markersize=3.5, alpha=0.8)
        if before:
            height = statistics.median(before) * factor
            panel.axhline(height, color=style.INK, linewidth=0.9, linestyle=(0, (1, 2)))
    scale_number(view, drawn)
    left = min(panel.get_position().x0 for panel in drawn)
    for panel in drawn:
        panel.tick_params(labelleft=panel.get_position().x0 < left + 0.01)
    style.y_label(picture, drawn, view.quantity.label)
    return picture


def _places(panel: Axes, view: View, axis: str, values: Sequence[Any]) -> list[float]:
    """Where the values lie on the panel's horizontal axis, which is labelled for them."""
    numbers = places.of_numbers(values)
    if numbers is None:
        order = view.values(axis)
        panel.set_xticks(*ticks(view, axis, room=_MOST_TICKS * 2, across=panel))
        panel.set_xlim(-0.5, len(order) - 0.5)
        return [float(order.index(value)) for value in values]
    if places.scale(panel, numbers):
        subs = (1.0,) if max(numbers) / min(numbers) > _TWO_DECADES else (1.0, 3.0)
        panel.xaxis.set_major_locator(LogLocator(base=10, subs=subs, numticks=_MOST_TICKS + 1))
        panel.xaxis.set_minor_locator(NullLocator())
    else:
        panel.xaxis.set_major_locator(MaxNLocator(_MOST_TICKS, prune="upper"))
    kind = kind_of(values)
    shown = "{:g}".format if kind is None else lambda place: kind.shown(round(place))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda place, _: shown(place)))
    return numbers
