"""Panels over time by hop class (or traffic), for goodput, window and RTT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from numpy.typing import NDArray

from fairport.figures import groups
from fairport.figures.drawing import style, times, width
from fairport.figures.groups import Group
from fairport.metrics import fairness
from fairport.quantities import Quantity

if TYPE_CHECKING:
    from fairport.result import Result

# About as many points as a printed column can resolve; a single thin line has more.
MAX_POINTS = 240
MAX_POINTS_ALONE = 1000
# The lines of more flows than this cover each other, and a band shows more.
MAX_LINES = 6

Floats = NDArray[np.float64]


def frame(
    result: Result, title: str, subject: str, unit: str
) -> tuple[style.Picture, list[Axes], list[Group]]:
    """A picture with one panel per group of flows, all with the same axes."""
    classes = groups.compared(result)
    if result.series.is_empty() or not classes:
        picture, [[panel]] = style.frame(result, title, subject, [0.6])
        short = result.scenario.duration.seconds < result.scenario.probes.series_interval.seconds
        why = ": the run is shorter than\n`probes.series_interval`" if short else ""
        style.say(panel, f"no samples{why}" if classes else style.NO_FLOWS)
        return picture, [panel], []
    count = len(classes)
    picture, rows = style.frame(
        result, title, subject, [_tall(count)] * count, [0.27] * (count - 1)
    )
    panels = [row[0] for row in rows]
    _prepare(result, picture, panels, unit)
    return picture, panels, classes


def frame_with_strips(
    result: Result, title: str, subject: str, unit: str, strip_in: float
) -> tuple[style.Picture, list[Axes], list[Axes], list[Group]]:
    """The same picture with a strip of that height below each panel, on the panel's time axis."""
    classes = groups.compared(result)
    if not classes or result.series.is_empty():
        picture, panels, classes = frame(result, title, subject, unit)
        return picture, panels, [], classes
    heights = [_tall(len(classes)), strip_in] * len(classes)
    gaps = ([0.05, 0.27] * len(classes))[:-1]
    picture, rows = style.frame(result, title, subject, heights, gaps)
    panels, strips = [row[0] for row in rows[::2]], [row[0] for row in rows[1::2]]
    _prepare(result, picture, panels, "")
    style.y_label(picture, panels[:1], unit)  # between two panels it would cross a strip's labels
    for panel, strip in zip(panels, strips, strict=True):
        strip.sharex(panel)
        for axes in (panel, strip):
            axes.tick_params(labelbottom=False, length=0)
        panel.spines["bottom"].set_visible(False)
    strips[-1].tick_params(axis="x", labelbottom=True, length=3)
    strips[-1].set_xlabel(panels[-1].get_xlabel(), labelpad=2)
    panels[-1].set_xlabel("")
    return picture, panels, strips, classes


def _tall(panels: int) -> float:
    """Height of a panel, in inches."""
    return 0.95 if panels > 1 else 1.9


def _prepare(result: Result, picture: style.Picture, panels: list[Axes], unit: str) -> None:
    """Joins and names the panels' axes."""
    for panel in panels[1:]:
        panel.sharex(panels[0])
        panel.sharey(panels[0])
    for panel in panels[:-1]:
        panel.tick_params(labelbottom=False)
    panels[0].yaxis.set_major_formatter("{x:,g}")
    panels[0].set_xlim(0, end_s(result))
    times.name_axis(panels[-1], end_s(result))
    if unit:
        style.y_label(picture, panels, unit)


def end_s(result: Result) -> float:
    """The end of the time axis, which is that of the run."""
    return float(result.summary["simulated_s"])


def largest(result: Result, column: str) -> float:
    """The largest value of a column of the series over the compared flows, in its unit."""
    shown = fairness.compared(result.flows)["flow"].implode()
    most: Any = result.series.filter(pl.col("flow").is_in(shown))[column].max()
    return float(most or 0.0)


def grid(
    result: Result,
    flows: list[int],
    column: str,
    how: Literal["mean", "min", "max"] = "mean",
    most_points: int = MAX_POINTS,
) -> tuple[Floats, Floats]:
    """Times and a matrix (time, flow) of a column of the series, in at most `most_points` steps.

    `how` combines the samples of a step; a step without any is NaN.
    """
    rows = result.series.filter(pl.col("flow").is_in(flows)).select("time_s", "flow", column)
    if rows.is_empty():
        return np.empty(0), np.empty((0, len(flows)))
    stamps = rows["time_s"].unique().sort().to_numpy()
    share = -(-len(stamps) // most_points)
    step = np.searchsorted(stamps, rows["time_s"].to_numpy()) // share
    joined = (
        rows.select("flow", pl.col(column).cast(pl.Float64), step=pl.Series(step))
        .group_by("step", "flow")
        .agg(getattr(pl.col(column), how)())
    )
    # A sample has the time of its interval's end, and is drawn in the interval's middle.
    interval = stamps[1] - stamps[0] if len(stamps) > 1 else stamps[0]
    first = np.arange(0, len(stamps), share)
    times = np.add.reduceat(stamps, first) / np.diff(first, append=len(stamps)) - interval / 2
    matrix = np.full((len(times), len(flows)), np.nan)
    place = np.searchsorted(flows, joined["flow"].to_numpy())
    matrix[joined["step"].to_numpy(), place] = joined[column].to_numpy()
    return times, matrix


def no_samples(panel: Axes, text: str) -> None:
    """Says that a class has none; its panel keeps its axes, which others share."""
    place: dict[str, Any] = {"transform": panel.transAxes, "ha": "center", "va": "center"}
    panel.text(0.5, 0.5, text, color=style.MUTED, **place)


def lines(panel: Axes, one: Group, result: Result, column: str, quantity: Quantity) -> float:
    """Draws a column of a group in the unit of `quantity`: flows thin, their mean thick.

    Many flows become the band of their middle 90 %; a single flow is drawn thin, in finer steps.
    Returns the highest value that was drawn, in that unit. Flows that end before the first sample
    have none.
    """
    times, values = grid(result, one.flows, column)
    if np.isnan(values).all():
        no_samples(panel, "no samples")
        return 0.0
    values *= quantity.factor
    marker: dict[str, Any] = {"marker": "o", "markersize": 3} if len(times) == 1 else {}
    thin: dict[str, Any] = {"color": one.colour, "alpha": 0.38, "linewidth": 0.45}
    middle = mean(values)
    if len(one.flows) > MAX_LINES:
        low, drawn = middle_90(values)
        panel.fill_between(times, low, drawn, color=one.colour, alpha=0.25, linewidth=0)
    elif len(one.flows) > 1:
        drawn = values
        panel.plot(times, values, **thin)
    else:
        fine_times, fine = grid(result, one.flows, column, most_points=MAX_POINTS_ALONE)
        drawn = fine * quantity.factor
        panel.plot(fine_times, drawn, **thin)
    panel.plot(times, middle, color=one.colour, linewidth=1.4, **marker)
    # without any sample, such as one of a window, there is nothing to see
    return float(np.nanmax(np.append(drawn.ravel(), middle), initial=0.0))


def middle_90(values: Floats) -> tuple[Floats, Floats]:
    """The 5th and the 95th percentile of each row, by the nearest rank; NaN for an empty row.

    numpy's `nanpercentile` processes the rows one by one, which is slow for many rows.
    """
    ordered = np.sort(values, axis=1)  # NaN is sorted last
    known = (~np.isnan(values)).sum(axis=1)
    rows = np.arange(len(values))

    def rank(share: float) -> Floats:
        place = np.clip(np.ceil(share * known).astype(int) - 1, 0, None)
        found: Floats = ordered[rows, place]
        return found

    return rank(0.05), rank(0.95)


def mean(values: Floats) -> Floats:
    """Mean over flows at each time, NaN if no flow has a value."""
    known = ~np.isnan(values)
    count = known.sum(axis=1)
    total: Floats = np.where(known, values, 0.0).sum(axis=1)
    total[count == 0] = np.nan
    total /= np.maximum(count, 1)
    return total


def edges(times: Floats) -> Floats:
    """Start and end of each step, so that a single value between gaps is visible, too."""
    half = (times[1] - times[0]) / 2 if len(times) > 1 else times[0]
    return np.column_stack([times - half, times + half]).ravel()


def note(picture: style.Picture, classes: list[Group], rows: str = "") -> None:
    """Explains the lines that `lines` has drawn, and what the rows below them are."""
    many = [len(one.flows) > MAX_LINES for one in classes]
    if all(many):
        text = "line: mean, band: middle 90 % of the flows"
    elif any(many):
        text = "thick: mean, thin: each flow, band: middle 90 %"
    else:
        text = "thick: mean, thin: each flow"
    if rows and width.is_narrow():
        style.note(picture, f"{text}; {rows}")
        return
    style.note(picture, text)
    if rows:
        style.left_note(picture, rows)
