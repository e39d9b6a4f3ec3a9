"""Round-trip time over time, with its least and greatest values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from fairport.figures import findings, over_time
from fairport.figures.drawing import style
from fairport.figures.groups import Group
from fairport.metrics import fairness
from fairport.quantities import QUANTITIES

if TYPE_CHECKING:
    from fairport.result import Result

SUBJECT = "Round-trip time over time"
CAPTION = (
    "RTT samples by hop class, or by traffic if all flows are of one class: the line is the mean, "
    "the band reaches from the least to the greatest. The classes differ by the length of their "
    "paths; the height of the band is queueing. In a gap no flow had a sample, as when all "
    "of them wait for timeouts."
)


_RTT = QUANTITIES["rtt_s"]


def draw(result: Result) -> Figure:
    """One panel per group of flows: the mean, and the band from min to max over its flows."""
    quantity = _RTT.at_size(over_time.largest(result, "rtt_max_s"))
    picture, panels, classes = over_time.frame(
        result, findings.round_trips(result), SUBJECT, quantity.label
    )
    top = 0.0
    for panel, one in zip(panels, classes, strict=False):
        times, low = over_time.grid(result, one.flows, "rtt_min_s", "min")
        _, high = over_time.grid(result, one.flows, "rtt_max_s", "max")
        _, middle = over_time.grid(result, one.flows, "rtt_mean_s")
        if np.isnan(middle).all():
            over_time.no_samples(panel, "no RTT samples")
            style.panel_title(panel, one.label, one.colour)
            continue
        least = np.fmin.reduce(low, axis=1) * quantity.factor
        most = np.fmax.reduce(high, axis=1) * quantity.factor
        edges = over_time.edges(times)
        panel.fill_between(
            edges,
            np.repeat(least, 2),
            np.repeat(most, 2),
            color=one.colour,
            alpha=0.25,
            linewidth=0,
        )
        line = np.repeat(over_time.mean(middle), 2) * quantity.factor
        panel.plot(edges, line, color=one.colour, linewidth=1.2)
        top = max(top, float(np.nanmax(most)))
        average = _mean_s(result, one)
        mean = "" if average is None else findings.short(_RTT.at_size(average), average)
        text = f"mean {mean}" if mean else ""
        style.panel_title(panel, one.label, one.colour, text)
    if top > 0:
        panels[0].set_ylim(0, top * 1.05)
        style.note(picture, "line: mean, band: least to greatest sample")
    return picture


def _mean_s(result: Result, one: Group) -> float | None:
    """Mean of the group's samples within the measurement; None without any."""
    mine = result.rtt.filter(pl.col("flow").is_in(one.flows)).with_columns(group=pl.lit(0))
    found = fairness.rtt_by(mine, "group")["rtt_mean_s"]
    return found[0] if len(found) else None
