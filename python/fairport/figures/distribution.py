"""Cumulative distributions, and their quantiles."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from numpy.typing import NDArray

# Those of Okabe and Ito's colours that no common hop class has; line styles differ as well.
LOOKS = (("#1c2733", "-"), ("#e69f00", "--"), ("#56b4e9", "-."), ("#8a6d00", ":"))
NOTE = "dots: 50th, 95th, 99th percentile"
_QUANTILES = (0.5, 0.95, 0.99)
# Values that span less have too few ticks on a logarithmic axis.
_DECADE = 10
# The length of a line in a legend that shows every dash pattern, in letters.
HANDLE_LENGTH = 2.8

Floats = NDArray[np.float64]


def steps(ordered: Floats) -> tuple[Floats, Floats]:
    """The corners of the distribution of ordered values, for steps that follow their points.

    The first step rises from zero: without it a single value would be a point, and be invisible.
    """
    corners = np.append(ordered[:1], ordered)
    return corners, np.linspace(0, 1, len(ordered) + 1)[: len(corners)]


def line(axes: Axes, name: str, values: pl.Series, look: tuple[str, str]) -> bool:
    """Draws a line for `values` (null: unfinished); returns whether there was any to draw.

    Quantiles are by the nearest rank, as in the summary.
    """
    known = np.sort(values.drop_nulls().to_numpy())
    if not len(known):
        return False
    colour, stroke = look
    unfinished = len(values) - len(known)
    label = f"{name}: {len(known)}" + (f" (and {unfinished} unfinished)" if unfinished else "")
    axes.step(*steps(known), where="post", color=colour, linestyle=stroke, label=label)
    marks = np.ceil(np.array(_QUANTILES) * len(known)).astype(int) - 1
    axes.plot(known[marks], _QUANTILES, "o", color=colour, markersize=4)
    return True


def frame(axes: Axes, x_label: str) -> None:
    """Sets up the axes that all lines share, from the fastest value to the slowest."""
    least, most = axes.dataLim.intervalx
    if most > _DECADE * least:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(x_label, labelpad=2)
    axes.set_ylim(0, 1.02)
    axes.legend(loc="lower right", handlelength=HANDLE_LENGTH)
