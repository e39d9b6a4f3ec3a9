"""Goodput of many flows over three spans of a run: one distribution per hop class and span."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from fairport.figures import distribution, hop_classes, over_time, spans
from fairport.figures.drawing import style, width
from fairport.quantities import QUANTITIES

if TYPE_CHECKING:
    from fairport.result import Result

_GOODPUT = QUANTITIES["goodput_bps"]
# If rates span more than this factor, their axis is logarithmic.
_WIDE = 20
# Classes are distinguished by more than colour.
_DASHES: tuple[Literal["-", "--", "-.", ":"], ...] = ("-", "--", "-.", ":")


def draw(
    picture: style.Picture,
    panels: list[Axes],
    result: Result,
    classes: list[hop_classes.HopClass],
    of_spans: list[dict[int, float]],
) -> None:
    """The share of flows with at most a goodput; the axes of all spans are the same."""
    every = np.array([rate for rates in of_spans for rate in rates.values()])
    quantity = _GOODPUT.at_size(every.max(initial=0.0))
    moving = every[every > 0] * quantity.factor
    wide = len(moving) > 0 and np.quantile(moving, 0.95) > _WIDE * np.quantile(moving, 0.05)
    style.y_label(picture, panels, "share of flows")
    for panel, span, rates in zip(panels, spans.SPANS, of_spans, strict=True):
        for one, dashes in zip(classes, _DASHES * len(classes), strict=False):
            ordered = np.sort([rates[flow] for flow in one.flows if rates]) * quantity.factor
            look: dict[str, Any] = {"color": one.look.colour, "linestyle": dashes}
            reached = np.linspace(0, 1, len(ordered) + 1)[1:]
            drawn = panel.step(*distribution.steps(ordered, reached), where="post", **look)
            one.mark(drawn, f"{100 * span:.0f}")
        if not rates:
            over_time.no_samples(panel, "no samples")
        else:
            fair = sum(rates.values()) / len(rates) * quantity.factor
            panel.axvline(fair, **style.DOTTED)
        if wide:
            panel.set_xscale("log")
            panel.set_xlim(np.quantile(moving, 0.005), moving.max() * 1.3)
            panel.xaxis.set_major_locator(LogLocator(numticks=4))
            panel.xaxis.set_major_formatter("{x:g}")
            panel.xaxis.set_minor_formatter(NullFormatter())
        elif len(moving):
            panel.set_xlim(0, moving.max() * 1.05)
            panel.xaxis.set_major_locator(MaxNLocator(4))
        panel.set_ylim(0, 1.02)
        panel.set_title(spans.title(span, result), loc="left", fontsize=8, pad=3)
        # three names have no room side by side
        if not width.is_narrow() or panel is panels[1]:
            panel.set_xlabel(quantity.label, labelpad=2)
    names = [
        Line2D([], [], color=one.look.colour, linestyle=dashes, label=one.label)
        for one, dashes in zip(classes, _DASHES * len(classes), strict=False)
    ]
    names.append(Line2D([], [], label="fair share", **style.DOTTED))
    picture.legend(
        handles=names,
        loc="lower center",
        ncols=-(-len(names) // 2) if width.is_narrow() else len(names),
        fontsize=width.READABLE_PT if width.is_narrow() else 7.5,
        handlelength=distribution.HANDLE_LENGTH,
        handletextpad=0.5,
        columnspacing=1.0,
        borderaxespad=0.1,
    )
