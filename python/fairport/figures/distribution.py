"""Cumulative distributions of durations, of which some may not be over, and their quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray

from fairport.figures.drawing import style, width
from fairport.metrics import censored

# Those of Okabe and Ito's colours that no common hop class has; line styles differ as well.
LOOKS = (("#1c2733", "-"), ("#e69f00", "--"), ("#56b4e9", "-."), ("#8a6d00", ":"))
NOTE = "dots: 50th, 95th, 99th percentile"
_QUANTILES = (0.5, 0.95, 0.99)
# Values that span less have too few ticks on a logarithmic axis.
_DECADE = 10
# Values that span less may have a single power of ten among them.
_FEW_DECADES = 100
# The length of a line in a legend that shows every dash pattern, in letters.
HANDLE_LENGTH = 2.8

Floats = NDArray[np.float64]


def steps(values: Floats, reached: Floats) -> tuple[Floats, Floats]:
    """The corners of a distribution: the ordered values, and the share that each of them reaches.

    The first step rises from zero: without it a single value would be a point, and be invisible.
    """
    return np.append(values[:1], values), np.append(np.zeros(min(len(values), 1)), reached)


def line(axes: Axes, name: str, rows: pl.DataFrame, column: str, look: tuple[str, str]) -> bool:
    """Draws a line for a column of `rows`; returns whether there was any to draw.

    Rows that are not over (`is_over`) count with their ages, as in the summary, so the line ends
    below 1 if the longest is one of them, and has no dot above its end. If none is over, the legend
    alone says so.
    """
    over, reached = censored.distribution(rows[column], rows["is_over"])
    colour, stroke = look
    unfinished = rows.height - len(over)
    label = f"{name}: {len(over):,}" + (f" (and {unfinished:,} unfinished)" if unfinished else "")
    if not len(over):
        if unfinished:
            axes.plot([], [], color=colour, linestyle=stroke, label=label)
        return False
    oldest: Any = rows[column].max()
    times, shares = over, reached
    if oldest > over[-1]:  # it is under way: nothing more is known until its age
        times, shares = np.append(over, oldest), np.append(reached, reached[-1])
    axes.step(*steps(times, shares), where="post", color=colour, linestyle=stroke, label=label)
    for share in _QUANTILES:
        place = censored.place_of(share, reached)
        if place is not None:
            axes.plot(over[place], share, "o", color=colour, markersize=4)
    return True


def frame(axes: Axes, x_label: str) -> None:
    """Sets up the axes that all lines share, from the fastest value to the slowest."""
    least, most = axes.dataLim.intervalx
    if most > _DECADE * least:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        # the labels that matplotlib puts between powers of ten, as products with them, overlap
        axes.xaxis.set_minor_formatter(NullFormatter())
        if most < _FEW_DECADES * least:
            axes.xaxis.set_minor_locator(LogLocator(subs=(2, 5)))
            axes.xaxis.set_minor_formatter("{x:g}")
            # on one line with the others
            axes.tick_params(axis="x", which="both", length=3.5, pad=3.5)
    axes.set_xlabel(x_label, labelpad=2)
    axes.set_ylim(0, 1.02)
    # a narrow panel has no room beside its lines: the legend covers them, so that it can be read
    covers = {"frameon": True, "framealpha": 0.85, "facecolor": style.PAPER, "edgecolor": "none"}
    how: dict[str, Any] = covers if width.is_narrow() else {}
    axes.legend(loc="lower right", handlelength=HANDLE_LENGTH, **how)
