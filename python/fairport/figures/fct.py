"""Slowdown of transfers against the empty network, by group of size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairport import completion
from fairport.figures import style

if TYPE_CHECKING:
    from fairport.result import Result

TITLE = "Slowdown by size"
CAPTION = (
    "How many times longer transfers took than in the empty network, as the share of transfers "
    "with that slowdown and less, one line a group of size. A transfer alone is above 1 by its "
    "handshake and slow start. The dots are the 50th, 95th and 99th percentiles."
)

# Okabe and Ito's colours, told apart by line style as well.
_LOOKS = {
    "<= 100 KB": ("#0072B2", "-"),
    "100 KB-10 MB": ("#D55E00", "--"),
    "> 10 MB": ("#009E73", "-."),
}
_QUANTILES = (0.5, 0.95, 0.99)
# What spans less has too few ticks on a logarithmic axis.
_DECADE = 10


def draw(result: Result) -> Figure:
    """One panel: a cumulative distribution a group."""
    picture, rows = style.frame(result, TITLE, [2.4], [])
    axes = rows[0][0]
    measure = result.summary["measure"]
    ours = completion.transfers(result.flows, measure["from_s"], measure["to_s"])
    drawn = [name for name in _LOOKS if _line(axes, name, ours.filter(completion.in_group(name)))]
    if not drawn:
        style.say(axes, "no transfer completed")
        return picture
    least, most = axes.dataLim.intervalx
    if most > _DECADE * least:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("slowdown: completion time / that in the empty network", labelpad=2)
    axes.set_ylim(0, 1.02)
    axes.legend(loc="lower right")
    style.y_label(picture, [axes], "share of transfers")
    style.note(picture, "dots: 50th, 95th, 99th percentile")
    return picture


def _line(axes: Axes, name: str, group: pl.DataFrame) -> bool:
    """Draws a group's line; returns whether there was anything to draw."""
    slowdown = np.sort(group["slowdown"].drop_nulls().to_numpy())
    if not len(slowdown):
        return False
    colour, line = _LOOKS[name]
    share = np.arange(1, len(slowdown) + 1) / len(slowdown)
    unfinished = group.height - len(slowdown)
    label = f"{name}: {len(slowdown)}" + (f" (and {unfinished} unfinished)" if unfinished else "")
    axes.step(slowdown, share, where="post", color=colour, linestyle=line, label=label)
    marks = np.ceil(np.array(_QUANTILES) * len(slowdown)).astype(int) - 1
    axes.plot(slowdown[marks], _QUANTILES, "o", color=colour, markersize=4)
    return True
