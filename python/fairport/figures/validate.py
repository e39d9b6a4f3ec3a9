"""A validation: one panel per measure, simulation and Linux side by side, and both's drop runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fairport.figures import style
from fairport.study.validate import SIDES

if TYPE_CHECKING:
    from fairport.study.validate import Validation

TITLE = "Simulation and Linux"
CAPTION = "Each dot is a valid run, the bar their median. Right: drop runs by flow, per run."
_PANELS = (
    ("throughput_ratio", "lone flow over\nits peers", 1.0),
    ("peers_goodput_bps_mean", "peers' goodput,\nMbit/s", 1e-6),
    ("jain_index", "Jain index", 1.0),
    ("timeouts", "timeouts", 1.0),
    ("queue_mean_bytes", "mean queue,\nkB", 1e-3),
)
_COLOURS = {SIDES[0]: style.BLUE, SIDES[1]: style.DROPPED}
_WIDTH_IN, _HEIGHT_IN = 8.6, 2.6
_LONGEST_RUN = 10


def draw(found: Validation) -> Figure:
    """The panels in a row."""
    with style.applied():
        picture = style.Picture(figsize=(_WIDTH_IN, _HEIGHT_IN))
        shares = [*[1.0] * len(_PANELS), 2.0]
        axes = picture.subplots(1, len(shares), width_ratios=shares)
        picture.subplots_adjust(left=0.05, right=0.985, top=0.8, bottom=0.19, wspace=0.55)
        for one, (key, title, scale) in zip(axes, _PANELS, strict=False):
            _dots(one, found, key, title, scale)
        _drop_runs(axes[-1], found)
    return picture


def _dots(axes: Axes, found: Validation, key: str, title: str, scale: float) -> None:
    for place, side in enumerate(SIDES):
        values = found.runs.filter(side=side)[key].drop_nulls().to_numpy() * scale
        if len(values) == 0:
            continue
        spread = np.linspace(-0.12, 0.12, len(values)) if len(values) > 1 else np.zeros(1)
        axes.plot(place + spread, values, "o", ms=3.5, color=_COLOURS[side], alpha=0.8)
        axes.hlines(np.median(values), place - 0.3, place + 0.3, color=style.INK, lw=1.2)
    axes.set_title(title)
    axes.set_xlim(-0.6, len(SIDES) - 0.4)
    axes.set_xticks(range(len(SIDES)), ["sim.", "Linux"])
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(4))


def _drop_runs(axes: Axes, found: Validation) -> None:
    lengths = np.arange(1, _LONGEST_RUN + 1)
    for place, side in enumerate(SIDES):
        runs = found.runs.filter(side=side).height
        counts = dict(
            found.drop_runs.filter(side=side)
            .with_columns(pl.col("length").clip(upper_bound=_LONGEST_RUN))
            .group_by("length")
            .agg(pl.col("runs").sum())
            .iter_rows()
        )
        heights = [counts.get(int(length), 0) / max(runs, 1) for length in lengths]
        label = "simulation" if place == 0 else "Linux"
        axes.bar(lengths + 0.4 * place - 0.2, heights, 0.38, color=_COLOURS[side], label=label)
    axes.set_title("drop runs by flow, per run")
    axes.set_xlabel(f"packets ({_LONGEST_RUN}: or more)")
    axes.set_yscale("log")
    axes.legend()
