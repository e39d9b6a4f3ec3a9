"""Instantaneous goodput of every flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from matplotlib.figure import Figure

from fairport.figures import findings, over_time
from fairport.figures.drawing import style
from fairport.figures.groups import Group
from fairport.metrics import fairness
from fairport.quantities import QUANTITIES, time_at_size

if TYPE_CHECKING:
    from fairport.result import Result

SUBJECT = "Goodput over time"
CAPTION = (
    "Goodput by hop class, or by traffic if all flows are of one class, on one scale. The dotted "
    "line is the fair share of flows without an end: their total goodput divided by their number. "
    "A starved flow delivers nothing for long periods, with short bursts between them."
)


_GOODPUT = QUANTITIES["goodput_bps"]


def draw(result: Result) -> Figure:
    """One panel per group of flows: each flow thin, their mean thick."""
    quantity = _GOODPUT.at_size(over_time.largest(result, "goodput_bps"))
    picture, panels, classes = over_time.frame(
        result, findings.goodput(result), SUBJECT, quantity.label
    )
    flows = fairness.compared(result.flows)
    rates = flows["goodput_bps"].to_numpy() * quantity.factor
    # transfers have no share of a line: most of the time a transfer is not there
    has_share = len(rates) > 1 and fairness.is_endless(flows)
    fair = float(rates.mean()) if has_share else 0.0
    top = fair
    for panel, one in zip(panels, classes, strict=False):
        top = max(top, over_time.lines(panel, one, result, "goodput_bps", quantity))
        if has_share:
            style.fair_share(panel, fair)
        average = float(
            flows.filter(pl.col("flow").is_in(one.flows))["goodput_bps"].to_numpy().mean()
        )
        mean = findings.short(_GOODPUT.at_size(average), average)
        style.panel_title(
            panel,
            one.label,
            one.colour,
            f"mean {mean}; {_idle(result, one)}",
        )
    if classes:
        panels[0].set_ylim(0, max(top * 1.08, 1e-3))
        over_time.note(picture, classes)
    if has_share and classes:
        style.label_line(panels[0], "fair share", fair)
    return picture


def _idle(result: Result, one: Group) -> str:
    """The share of the probe's intervals in which a flow of the group delivers nothing."""
    mine = result.series.filter(pl.col("flow").is_in(one.flows))
    if mine.is_empty():
        return "no samples"
    interval_s = result.scenario.probes.series_interval.seconds
    steps = time_at_size(interval_s).with_unit(interval_s)
    idle = 100 * (mine["goodput_bps"].to_numpy() == 0).mean()
    share = "over 99" if 99 < idle < 100 else f"{idle:.0f}"
    return f"nothing in {share} % of {steps} steps"
