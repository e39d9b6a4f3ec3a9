"""A validation: a panel per measure with a lane for the simulation and one for Linux; drop runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairport.figures import hop_classes, lanes
from fairport.figures.drawing import style, width
from fairport.figures.lanes import Lane
from fairport.metrics.repeats import seeds_in_words
from fairport.study.validation import COMPARED, LINUX, NAMES, SIDES, SIMULATION

if TYPE_CHECKING:
    from fairport.study.validation import Validation

SUBJECT = "Simulation and Linux"
CAPTION = (
    "Each dot is a valid run, the diamond the median, the bar the middle half. Below: drop runs by"
    " flow, per run."
)
# drop runs have a panel of their own
_KEYS = tuple(key for key in COMPARED if key != "drop_runs_ge2")
_MOST_COLUMNS = 3
_LOOKS = {SIMULATION: (style.BLUE, ""), LINUX: (style.ORANGE, "/////")}
_LONGEST_RUN = 10


def draw(found: Validation) -> Figure:
    """Panels in rows of three or, if the picture is narrow, fewer; below them drop runs."""
    columns = width.columns(_MOST_COLUMNS, lanes.WIDTH_IN)
    rows = -(-len(_KEYS) // columns)
    heights, gaps = [*[0.7] * rows, 1.3], [0.62] * rows
    of = f"{found.scenario.name}, {seeds_in_words(found.seeds)}"
    with style.applied():
        picture, axes = style.panels(
            found.conclusion.removesuffix("."), SUBJECT, of, heights, gaps, columns, lanes.WIDTH_IN
        )
        places = [place for row in axes[:-1] for place in row]
        for key, place in zip(_KEYS, places, strict=True):
            of_sides = [_lane(found, side, key) for side in SIDES]
            kept = [one for one in of_sides if one.values]
            if kept:
                lanes.draw(place, key, kept)
            else:
                style.say(place, f"no {key}")
        first, *others = axes[-1]
        left, right = first.get_position(), axes[-1][-1].get_position()
        first.set_position((left.x0, left.y0, right.x1 - left.x0, left.height))
        for place in others:
            place.remove()
        _drop_runs(first, found)
        style.y_label(picture, [first], "drop runs")
        most = max(len(_lane(found, side, _KEYS[0]).values) for side in SIDES)
        lanes.note(picture, "a valid run", most)
    return picture


def _lane(found: Validation, side: str, key: str) -> Lane:
    values = found.runs.filter(side=side)[key].drop_nulls().to_list()
    return Lane(NAMES[side], values, _LOOKS[side][0])


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
        colour, hatch = _LOOKS[side]
        look = hop_classes.Look(colour, hatch, "")
        axes.bar(lengths + 0.4 * place - 0.2, heights, 0.38, label=NAMES[side], **look.bar)
    if found.drop_runs.height:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:,g}")
        axes.tick_params(axis="y", which="minor", length=0)
    names = [*map(str, lengths[:-1]), f"≥{_LONGEST_RUN}"]
    axes.set_xticks(lengths, names)
    axes.set_xlabel("dropped in a row (packets)", labelpad=2)
    axes.legend(loc="upper right", ncols=2)
    style.panel_title(axes, "Drop runs by flow", detail="per run")
