"""A panel of lanes: a dot per run, the median, the middle half."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

from fairport.figures.drawing import style, width
from fairport.metrics.spread import FEWEST_FOR_QUARTILES
from fairport.quantities import of_number

WIDTH_IN = 7.2
"""Width of a picture of such panels, three in a row."""
# ratios that span more are on a logarithmic axis: a half is as far from 1 as 2 is
_LARGEST_SPAN = 3
# labelled ticks of each decade, by the factor that the values span
_TICKS = ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))


@dataclass(frozen=True, slots=True)
class Lane:
    """One number of several runs."""

    label: str
    values: Sequence[float]
    colour: str


def draw(axes: Axes, key: str, lanes: Sequence[Lane]) -> None:
    """One lane below the other; `key` is the name of the number."""
    every = np.array([value for lane in lanes for value in lane.values])
    quantity = of_number(key).at_size(float(every.max()))
    for place, lane in enumerate(lanes):
        values = np.array(lane.values) * quantity.factor
        # a little apart, so that equal values are visible
        heights = place + 0.16 * np.linspace(-1, 1, len(values)) * (len(values) > 1)
        # a mark on the axis is not cut in two
        look: dict[str, Any] = {"color": lane.colour, "clip_on": False}
        axes.plot(values, heights, "o", alpha=0.6, ms=3, mew=0, **look)
        if len(values) >= FEWEST_FOR_QUARTILES:
            q1, q3 = np.quantile(values, [0.25, 0.75])
            axes.plot([q1, q3], [place, place], color=lane.colour, linewidth=3, alpha=0.35)
        axes.plot([np.median(values)], [place], "D", zorder=3, ms=4.5, mec=style.PAPER, **look)
        axes.annotate(
            lane.label,
            (0, place),
            (2, 7),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            fontsize=max(6.5, width.smallest_pt()),
            color=lane.colour,
            annotation_clip=False,
        )
    axes.set_ylim(len(lanes) - 0.45, -0.65)
    axes.set_yticks([])
    axes.grid(visible=True, axis="x")
    _scale(axes, every * quantity.factor, is_ratio=key == "throughput_ratio")
    axes.xaxis.set_major_formatter("{x:,g}")
    style.panel_title(axes, quantity.label)


def note(picture: style.Picture, dot: str, most_runs: int) -> None:
    """Explains the marks: what a dot is, and the bar, if a lane has enough runs for one."""
    bar = ", bar: middle half" if most_runs >= FEWEST_FOR_QUARTILES else ""
    style.note(picture, f"dot: {dot}, diamond: median{bar}")


def _scale(axes: Axes, values: NDArray[np.float64], *, is_ratio: bool) -> None:
    least, most = float(values.min()), float(values.max())
    if is_ratio and most > _LARGEST_SPAN * least > 0:
        axes.set_xscale("log")
        axes.set_xlim(least / 1.6, most * 1.6)
        subs = _TICKS[int(np.searchsorted([10, 100], most / least))]
        axes.xaxis.set_major_locator(LogLocator(base=10, subs=subs, numticks=6))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())
        return
    right = most * 1.08 or 1
    axes.set_xlim(0, right)
    # a label at the right end would run into the first one of the next panel
    ticks = MaxNLocator(5).tick_values(0, right)
    axes.set_xticks([one for one in ticks if 0 <= one < 0.94 * right])
