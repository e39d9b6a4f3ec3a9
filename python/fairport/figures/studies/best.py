"""Which value of an axis is best, over two other axes: the best fix by region.

Best is the median nearest to an equal share for the throughput ratio, the least for delays, drops
and timeouts, and the greatest for all else. A cell is hatched in which the interval of the second
best overlaps that of the best.
"""

from __future__ import annotations

import math
from typing import Any

import polars as pl
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from fairport.figures import style
from fairport.figures.studies.view import View, axis_title, label_axes, panels, ticks

COLOURS = (
    *("#d9d9d9", style.BLUE, style.DROPPED, "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
    *("#8a6d00", style.INK, "#a6d854", "#5e4fa2", "#b2182b"),
)
_LEAST = ("timeouts", "drop", "marks", "rtt", "fct", "slowdown", "queue", "blackout", "loss")
_NOTE = "best median over the seeds; hatched: the second best is as good, by the intervals"
_RIGHT_IN = 1.35


def draw(view: View, x: str, y: str, color: str) -> Figure:
    """One panel for each of what is left of the axes."""
    columns, rows, choices = view.values(x), view.values(y), view.values(color)
    of = "nearest to 1" if view.number == "throughput_ratio" else goal(view.number)
    title = f"Best {view.title_of(color)}: {view.quantity.title} {of}"
    tall = min(max(0.3 * len(rows), 1.8), 4.2) if len(view.panels()) == 1 else 1.8
    picture, axes = panels(view, title, _NOTE, tall_in=tall, right_in=_RIGHT_IN)
    won: set[int] = set()
    for panel, (_, points) in zip(axes, view.panels(), strict=True):
        panel.set_xlim(-0.5, len(columns) - 0.5)
        panel.set_ylim(-0.5, len(rows) - 0.5)
        panel.grid(visible=False)
        for at, of_cell in points.group_by([x, y], maintain_order=True):
            first, is_clear = winner(of_cell, view.number)
            number = choices.index(first[color])
            won.add(number)
            corner = columns.index(at[0]) - 0.5, rows.index(at[1]) - 0.5
            look: dict[str, Any] = {"facecolor": COLOURS[number % len(COLOURS)]}
            if not is_clear:
                look |= {"hatch": "//////"}
            panel.add_patch(Rectangle(corner, 1, 1, edgecolor=style.PAPER, linewidth=0.4, **look))
        panel.set_xticks(*ticks(view, x, room=14 if len(axes) == 1 else 8))
        panel.set_yticks(*ticks(view, y, room=14))
        panel.tick_params(length=0)
    label_axes(picture, axes, axis_title(view, x), axis_title(view, y))
    handles = [
        Patch(facecolor=COLOURS[number % len(COLOURS)], label=view.label(color, choices[number]))
        for number in sorted(won)
    ]
    top = 1 - 0.62 / picture.get_figheight()
    picture.legend(
        handles=handles,
        title=view.title_of(color),
        loc="upper right",
        bbox_to_anchor=(0.995, top),
        alignment="left",
        title_fontsize=8,
    )
    return picture


def winner(points: pl.DataFrame, number: str) -> tuple[dict[str, Any], bool]:
    """The best point, and whether no other's interval reaches its own."""
    ranked = sorted(points.iter_rows(named=True), key=lambda row: _cost(row["median"], number))
    best, *others = ranked
    is_clear = all(
        other["low"] > best["high"] or other["high"] < best["low"] for other in others[:1]
    )
    return best, is_clear


def _cost(value: float, number: str) -> float:
    if number == "throughput_ratio":
        return abs(math.log(value)) if value > 0 else math.inf
    return value if goal(number) == "least" else -value


def goal(number: str) -> str:
    """Which median is best: the "least" or the "greatest"."""
    return "least" if any(part in number for part in _LEAST) else "greatest"
