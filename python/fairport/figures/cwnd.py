"""Congestion window over time, and what the senders decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from fairport.figures import findings, hop_classes, over_time
from fairport.figures.drawing import style, width
from fairport.figures.groups import Group
from fairport.quantities import QUANTITIES

if TYPE_CHECKING:
    from fairport.result import Result

SUBJECT = "Congestion window over time"
CAPTION = (
    "The sender's window, and below it when senders decided something: a timeout (RTO), the "
    "beginning of a fast recovery, the undo of a needless reduction, a reduction for an ECN mark, "
    "the end of slow start. Few decisions are drawn as marks, many as a rate per flow, whose "
    "highest value is at the right. Below four segments (about 6 kB of full ones) a loss cannot "
    "cause three duplicate ACKs, so most stacks need a timeout to repair it. A class with such "
    "small windows may stop after a single burst of drops."
)

_CWND = QUANTITIES["cwnd_bytes"]

# The decisions that are drawn, from the top; a kind that did not happen in the run has no row. A
# row's place shows its kind, because colours are for hop classes.
_MARKS = {
    "rto": "RTO",
    "enter-recovery": "recovery",
    "undo": "undo",
    "ecn-reduction": "ECN",
    "slow-start-end": "slow start",
}
_ROW_IN = 0.13
# More marks than this in a row would merge into a bar; then the row shows how often they happen.
_MOST_MARKS = 80
_STEPS = 100


def draw(result: Result) -> Figure:
    """One panel per group of flows: each flow thin, their mean thick, decisions as marks below."""
    quantity = _CWND.at_size(over_time.largest(result, "cwnd_bytes"))
    means = {one.name: _mean(result, one.flows) for one in hop_classes.compared(result)}
    title = findings.window(result, means)
    decisions = result.tables["decisions"]
    shown = set(decisions["what"].unique())
    kinds = [kind for kind in _MARKS if kind in shown]
    if not kinds:
        picture, panels, classes = over_time.frame(result, title, SUBJECT, quantity.label)
        strips: list[Axes] = []
    else:
        picture, panels, strips, classes = over_time.frame_with_strips(
            result, title, SUBJECT, quantity.label, _ROW_IN * len(kinds)
        )
    top = 0.0
    for panel, one in zip(panels, classes, strict=False):
        top = max(top, over_time.lines(panel, one, result, "cwnd_bytes", quantity))
        average = _mean(result, one.flows)
        text = "" if average is None else f"mean {findings.short(quantity, average)}"
        style.panel_title(panel, one.label, one.colour, text)
    rates = [
        _rows(strip, one, decisions, kinds, result)
        for strip, one in zip(strips, classes, strict=False)
    ]
    if classes:
        panels[0].set_ylim(0, max(top * 1.08, 1.0))
        most = "; right: most per s and flow" if any(rates) else ""
        rows = f"rows: decisions{most}" if strips else ""
        over_time.note(picture, classes, rows)
    return picture


def _mean(result: Result, flows: list[int]) -> float | None:
    """Mean window of flows over their samples, in bytes; None without any."""
    windows = result.series.filter(pl.col("flow").is_in(flows))["cwnd_bytes"]
    return cast("float | None", windows.cast(pl.Float64).mean())


def _rows(
    strip: Axes, one: Group, decisions: pl.DataFrame, kinds: list[str], result: Result
) -> bool:
    """One row per kind of decision: marks if they are few, otherwise how often they happen.

    Returns whether any row is of that second kind.
    """
    end_s = over_time.end_s(result)
    has_rates = False
    mine = decisions.filter(pl.col("flow").is_in(one.flows))
    for row, kind in enumerate(kinds):
        times = mine.filter(pl.col("what") == kind)["time_s"].to_numpy()
        bottom = len(kinds) - 1 - row
        if len(times) <= _MOST_MARKS:
            strip.vlines(times, bottom + 0.12, bottom + 0.88, color=style.INK, linewidth=0.6)
            continue
        counts, edges = np.histogram(times, bins=_STEPS, range=(0, end_s))
        rate = counts / (len(one.flows) * end_s / _STEPS)
        height = bottom + 0.06 + 0.88 * rate / rate.max()
        # `strip.stairs` would search all its edges for limits, which both axes have already
        rates = StepPatch(height, edges, baseline=bottom + 0.06, facecolor=style.MUTED, lw=0)
        strip.add_artist(rates)
        has_rates = True
        most = rate.max()
        # its unit is in the note: the margin has no room for it, nor for four digits
        text = f"{most:.0f}" if most >= 10 else f"{most:.2g}"
        text = text if most < 1e3 else f"{most / 1e3:.2g}k"
        strip.annotate(
            text, (1, bottom + 0.5), (2, 0), xycoords=("axes fraction", "data"), va="center",
            textcoords="offset points", fontsize=width.smallest_pt(), color=style.MUTED,
            annotation_clip=False,
        )  # fmt: skip
    strip.set_ylim(0, len(kinds))
    strip.set_yticks(
        [len(kinds) - 0.5 - row for row in range(len(kinds))],
        [_MARKS[kind] for kind in kinds],
        fontsize=max(6.5, width.smallest_pt()),
    )
    strip.grid(visible=False)
    strip.spines["left"].set_visible(False)
    return has_rates
