"""A measure over the variants of an experiment: steps of one parameter, or schemes side by side.

Variants of several series share the places on the axis. Steps are joined by a line; schemes are
not, because there is nothing between two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from fairport.figures.drawing import style
from fairport.figures.papers import marks
from fairport.papers.metrics import METRICS, Of

if TYPE_CHECKING:
    from fairport.papers.catalogue import Entry
    from fairport.papers.model import Drawing, Variant
    from fairport.study.reproduce import Reproduced

_COLOURS = (style.BLUE, style.ORANGE, style.GREEN, "#cc79a7", "#e69f00", style.INK)
_MARKERS = ("o", "s", "^", "v", "P", "X")
_ASIDE = 0.13
# a ratio that spans more has a logarithmic axis
_LARGEST_SPAN = 20


@dataclass(frozen=True)
class _Positions:
    """The place of each variant on the horizontal axis."""

    variants: Sequence[Variant]

    @cached_property
    def steps(self) -> list[str]:
        return list(dict.fromkeys(_step(one) for one in self.variants))

    @cached_property
    def series(self) -> list[str]:
        return list(dict.fromkeys(one.series for one in self.variants))

    @cached_property
    def joined(self) -> bool:
        """Whether the variants are steps of a number."""
        return all(step[:1].isdigit() for step in self.steps)

    def colour(self, series: str) -> str:
        return _COLOURS[self.series.index(series) % len(_COLOURS)]

    def of(self, one: Variant) -> float:
        aside = self.series.index(one.series) - (len(self.series) - 1) / 2
        return self.steps.index(_step(one)) + (0 if self.joined else aside * _ASIDE)


def _step(one: Variant) -> str:
    return one.label or one.name


def draw(done: Reproduced, drawing: Drawing) -> Figure:
    """The median over the seeds and their spread."""
    places = _Positions(done.entry.variants)
    quantity = METRICS[drawing.measure].quantity
    numbers = published(done.entry, drawing)
    picture, [[panel]] = style.panels(
        marks.title(drawing, _pairs(done, drawing, numbers)), "", marks.of(done), [1.9]
    )
    handles = [
        _series(panel, done, drawing, places, number) for number in range(len(places.series))
    ]
    for one in places.variants:
        if one.name in numbers:
            # where several lines share a place, the colour shows the series; side by side, the
            # place does
            edge = places.colour(one.series) if places.joined and places.series[1:] else style.INK
            height = numbers[one.name] * quantity.factor
            panel.plot(places.of(one), height, **marks.PUBLISHED | {"markeredgecolor": edge})
    if numbers:
        handles.append(marks.published_handle())
    marks.name_places(picture, panel, places.steps)
    panel.set_xlim(-0.4, len(places.steps) - 0.6)
    panel.set_xlabel(drawing.x_label)
    panel.set_ylabel(quantity.label)
    style.legend_above(picture, panel, handles, columnspacing=1.2 if len(handles) < 5 else 0.8)
    dotted = _scale(panel, is_ratio=drawing.measure == "throughput_ratio")
    marked = "line: median, band" if places.joined else "mark: median, line"
    style.note(picture, f"{marked}: {marks.spread(done)}{dotted}")
    return picture


def published(entry: Entry, drawing: Drawing) -> dict[str, float]:
    """The paper's numbers by variant: those of claims, and others that are known."""
    numbers = {
        one.name: one.published.measures[drawing.measure]
        for one in entry.variants
        if one.published is not None and drawing.measure in one.published.measures
    }
    drawn = (drawing.measure, drawing.hop_class, drawing.traffic, drawing.sizes)
    for one in entry.claims:
        if one.number is not None and (one.metric, one.hop_class, one.traffic, one.sizes) == drawn:
            numbers[entry.variant(one.variant).name] = one.number
    return numbers


def _pairs(
    done: Reproduced, drawing: Drawing, numbers: dict[str, float]
) -> list[tuple[float, float]]:
    """Our medians and the published numbers."""
    ours = {name: done.over_seeds(drawing.measure, name, _of(drawing)).median for name in numbers}
    return [(float(mine), numbers[name]) for name, mine in ours.items() if mine is not None]


def _of(drawing: Drawing) -> Of:
    return Of(drawing.hop_class, traffic=drawing.traffic, sizes=drawing.sizes)


def _scale(panel: Axes, *, is_ratio: bool) -> str:
    """Sets the axis: from zero, or logarithmic for ratios far apart. Returns what is dotted."""
    lowest, highest = panel.dataLim.intervaly
    least = panel.dataLim.minposy
    if not is_ratio or highest <= _LARGEST_SPAN * least:
        panel.set_ylim(min(0, 1.06 * lowest), max(0, 1.06 * highest))
        return ""
    panel.set_yscale("log")
    panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.set_ylim(least / 1.5, 1.5 * highest)
    style.fair_share(panel, 1)
    return "; dotted: equal share"


def _series(
    panel: Axes, done: Reproduced, drawing: Drawing, places: _Positions, number: int
) -> Line2D:
    """Draws one series, and returns its entry for the legend."""
    series = places.series[number]
    members = [one for one in places.variants if one.series == series]
    spreads = [done.over_seeds(drawing.measure, one.name, _of(drawing)) for one in members]
    q1, median, q3 = (
        np.array([getattr(one, part) for one in spreads], dtype=float)
        * METRICS[drawing.measure].quantity.factor
        for part in ("q1", "median", "q3")
    )
    where = [places.of(one) for one in members]
    colour = places.colour(series)
    look: dict[str, Any] = {
        "color": colour,
        "marker": _MARKERS[number % len(_MARKERS)],
        "markersize": 3.5,
        "linestyle": "-" if places.joined else "none",
        "zorder": 6,  # the published marker is larger, and behind ours
    }
    if places.joined:
        panel.fill_between(where, q1, q3, color=colour, alpha=0.2, linewidth=0)
    else:
        panel.vlines(where, q1, q3, color=colour, linewidth=1.2)
    panel.plot(where, median, **look)
    whose = f"{drawing.hop_class} flows" if drawing.hop_class else "median"
    return Line2D([], [], **look, label=series or whose)
