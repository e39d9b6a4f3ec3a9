"""Which value of an axis is best, over two other axes: the best fix by region.

Best is the median nearest to an equal share for the throughput ratio, the least for delays, drops
and timeouts, and the greatest for all else. A point whose seeds have two states counts by the worse
one: a lucky median must not win. Values that are as good as the best within the intervals have
their colours in a strip at the right of the cell; if they are many, the strip is grey.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from fairport.figures.drawing import style
from fairport.figures.studies import findings
from fairport.figures.studies.view import (
    View,
    as_map,
    axis_title,
    in_cells,
    label_axes,
    legend_beside,
    panels,
    room_beside,
)
from fairport.study.comparison.gain import better

COLOURS = (
    *("#d9d9d9", style.BLUE, style.ORANGE, style.GREEN, "#cc79a7", "#e69f00", "#56b4e9"),
    *("#8a6d00", style.INK, "#a6d854", "#5e4fa2", "#b2182b", "#f0e442", "#80cdc1", "#f4a6c0"),
    *("#543005", "#1b7837"),
)
_GOALS = {"more": "The highest {}", "less": "The lowest {}", "even": "The {} nearest to 1"}
_NOTE = "number: the best median; strip at the right: values as good, by the {interval}s"
_CUT = "; cut: bistable, its worse state counts"
_RIGHT_IN = 1.5
_STRIP = 0.2
_MOST_NUMBERS = 130
MOST_AS_GOOD = 4
MANY = "#8c8c8c"


@dataclass(frozen=True, slots=True)
class Winner:
    """The best points of a cell, as rows of `point_statistics.per_point`."""

    best: dict[str, Any]
    as_good: list[dict[str, Any]]
    """Others whose intervals overlap that of the best, the better ones first."""


def draw(view: View, x: str, y: str, color: str) -> Figure:
    """One panel per combination of the remaining axes."""
    columns, rows, choices = view.values(x), view.values(y), view.values(color)
    goal = _GOALS[better(view.number)].format(view.quantity.label)
    single = len(view.panels()) == 1
    tall = min(max(0.3 * len(rows), 1.8), 4.2) if single else 1.8
    cells = [
        (panel, at, winner(of_cell, view.number))
        for panel, (_, points) in enumerate(view.panels())
        for at, of_cell in points.group_by([x, y], maintain_order=True)
    ]
    entries = _entries(view, color, [won for _, _, won in cells], choices)
    heading = f"{view.title_of(color)}: cells of {len(cells)}"
    of_cells = [(won.best[color], [other[color] for other in won.as_good]) for _, _, won in cells]
    is_cut = any(won.best["is_bimodal"] for _, _, won in cells)
    picture, axes = panels(
        view,
        findings.best(view, color, of_cells),
        f"{goal} is best",
        _NOTE.format(interval=view.interval) + _CUT * is_cut,
        tall_in=tall,
        right_in=room_beside([heading, *(text for _, text in entries)], _RIGHT_IN),
    )
    as_map(view, axes, x, y)
    colours = {value: COLOURS[number % len(COLOURS)] for number, value in enumerate(choices)}
    # a strip may take part of a cell
    shown = in_cells(view, axes, len(columns) / (1 - _STRIP))
    for number, at, won in cells:
        place = columns.index(at[0]), rows.index(at[1])
        text = shown(won.best["median"]) if len(cells) <= _MOST_NUMBERS else ""
        _cell(axes[number], place, won, color, colours, text)
    label_axes(picture, axes, axis_title(view, x), axis_title(view, y))
    handles = [
        Patch(facecolor=MANY if value is MANY else colours[value], label=text)
        for value, text in entries
    ]
    legend_beside(picture, heading, handles)
    return picture


def winner(points: pl.DataFrame, number: str) -> Winner:
    """The best of the points of a cell."""
    best, *others = sorted(points.iter_rows(named=True), key=lambda row: _cost(row, number))
    low, high = _interval(best, number)
    as_good = []
    for other in others:
        its_low, its_high = _interval(other, number)
        if its_low <= high and low <= its_high:
            as_good.append(other)
    return Winner(best, as_good)


def _cell(
    panel: Any,
    place: tuple[int, int],
    won: Winner,
    color: str,
    colours: dict[Any, str],
    shown: str,
) -> None:
    left, low = place[0] - 0.5, place[1] - 0.5
    of_best, strip = colours[won.best[color]], _STRIP if won.as_good else 0.0
    panel.add_patch(Rectangle((left, low), 1 - strip, 1, facecolor=of_best, linewidth=0))
    others = [colours[other[color]] for other in won.as_good]
    others = others if len(others) <= MOST_AS_GOOD else [MANY]
    for number, other in enumerate(others):
        corner = left + 1 - strip, low + 1 - (number + 1) / len(others)
        panel.add_patch(Rectangle(corner, strip, 1 / len(others), facecolor=other, linewidth=0))
    panel.add_patch(Rectangle((left, low), 1, 1, fill=False, edgecolor=style.PAPER, linewidth=1))
    if won.best["is_bimodal"]:
        panel.plot([left, left + 1 - strip], [low, low + 1], color=style.INK, linewidth=0.6)
    elif shown:
        ink, middle = style.ink_on(of_best), (left + (1 - strip) / 2, low + 0.48)
        panel.text(*middle, shown, ha="center", va="center", color=ink, fontsize=7)


def _entries(
    view: View, color: str, cells: list[Winner], choices: Sequence[Any]
) -> list[tuple[Any, str]]:
    """The values in the legend, with their texts.

    Those that are best in some cell come before those as good, and those with most cells first.
    """
    first = Counter(won.best[color] for won in cells)
    many = [won for won in cells if len(won.as_good) > MOST_AS_GOOD]
    as_good = Counter(other[color] for won in cells if won not in many for other in won.as_good)
    order = {value: number for number, value in enumerate(choices)}
    shown = sorted(first | as_good, key=lambda one: (-first[one], -as_good[one], order[one]))
    entries = [(value, f"{view.label(color, value)}: {first[value]}") for value in shown]
    return entries + [(MANY, f"over {MOST_AS_GOOD} others")] * bool(many)


def _interval(row: dict[str, Any], number: str) -> tuple[float, float]:
    """The interval of the median; of a bistable point, the worse state alone."""
    if row["is_bimodal"]:
        return (_worse(row, number),) * 2
    return row["low"], row["high"]


def _worse(row: dict[str, Any], number: str) -> float:
    states: tuple[float, float] = row["lower"], row["upper"]
    return max(states, key=lambda value: _cost_of(value, number))


def _cost(row: dict[str, Any], number: str) -> float:
    return _cost_of(_worse(row, number) if row["is_bimodal"] else row["median"], number)


def _cost_of(value: float, number: str) -> float:
    goal = better(number)
    if goal == "even":
        return abs(math.log(value)) if value > 0 else math.inf
    return value if goal == "less" else -value
