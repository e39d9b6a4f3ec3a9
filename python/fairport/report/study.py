"""The page of a study: a map for which the reader chooses number, axes and panels.

The page contains every point's medians, intervals and states, and the value of every seed, so it
needs no server and no network. `study.js` draws the map; without scripts the page shows the figure.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.colors import LogNorm, to_hex

from fairport.errors import InputError
from fairport.figures import studies
from fairport.figures.drawing import style
from fairport.figures.studies import best, heat
from fairport.figures.studies.view import View, chosen, view_of
from fairport.report.inline import embed
from fairport.report.live import block
from fairport.report.template import fill_page, read
from fairport.study.comparison.gain import better
from fairport.study.point_statistics import interval_name

if TYPE_CHECKING:
    from fairport.study.results import Study

_MOST_VALUES = 2_000_000
_STOPS = 33


def page(
    study: Study, *, x: str = "", y: str = "", color: str = "", by: str = "", where: str = ""
) -> str:
    """The whole page as text; the map that it opens with is chosen as `studies.draw` does.

    Raises InputError.
    """
    first = studies.choose(study, x, y, color, by)
    with TemporaryDirectory() as drawn:
        # raises InputError for a map that cannot be drawn
        picture = studies.draw(study, x=x, y=y, color=color, by=by, where=where)
        still = embed(
            style.save_both(picture, Path(drawn) / "map"),
            "map",
            f"The map of {study.definition.name}",
        )
    runs = chosen(study, where)
    data = document(study, runs)
    axes = [axis["name"] for axis in data["axes"]]
    data["first"] = {
        "number": first.number,
        "best": axes.index(first.color) if {first.y, first.color} <= {*axes} else -1,
        "x": axes.index(first.x),
        "y": axes.index(first.y) if first.y in axes else -1,
    }
    return fill_page(
        "study.html",
        script=read("study_elements.js") + read("study.js"),
        style=read("study.css"),
        name=study.definition.name,
        data=block(data),
        still=still,
        facts=_facts(study, runs, len(data["points"])),
    )


def document(study: Study, runs: pl.DataFrame) -> dict[str, Any]:
    """The page's data: axes, numbers, and the results of the seeds at each point."""
    views = list(_views(study, runs))
    values = runs.height * len(views)
    if values > _MOST_VALUES:
        raise InputError(
            f"has {values:,} values, more than a page holds",
            file=study.place.name,
            remedy="choose some runs with `where`, or draw a PNG",
        )
    axes = list(study.axes)
    labels = {axis: {str(one): at for at, one in enumerate(study.axes[axis])} for axis in axes}
    grouped = runs.group_by(axes, maintain_order=True).agg(
        "seed", *(pl.col(view.number).cast(pl.Float64) for view in views)
    )
    points = [[labels[axis][str(row[axis])] for axis in axes] for row in grouped.to_dicts()]
    return {
        "study": study.place.name,
        "axes": [
            {
                "name": axis,
                "title": views[0].title_of(axis),
                "labels": [views[0].label(axis, value) for value in study.axes[axis]],
                "values": [str(value) for value in study.axes[axis]],
            }
            for axis in axes
        ],
        "points": points,
        "seeds": grouped["seed"].to_list(),
        "numbers": [_number(view, grouped, axes) for view in views],
        "interval": interval_name(min(min(view.points["runs"]) for view in views)),
        "choices": list(best.COLOURS),
        "many": best.MANY,
        "most_as_good": best.MOST_AS_GOOD,
    }


def _views(study: Study, runs: pl.DataFrame) -> list[View]:
    """The numbers that the runs have."""
    kept = [name for name in study.definition.keep if name in runs.columns]
    there = [name for name in kept if runs[name].null_count() < runs.height]
    if not there:
        raise InputError(
            "has no run with a number", file=study.place.name, remedy="look at the column `error`"
        )
    return [view_of(study, runs, name, list(study.axes)) for name in there]


def _number(view: View, grouped: pl.DataFrame, axes: list[str]) -> dict[str, Any]:
    factor = view.quantity.factor
    norm, colours = heat.scale(view)
    joined = grouped.select(axes).join(view.points, on=axes, how="left", maintain_order="left")
    parts = ("median", "low", "high", "lower", "upper")
    return {
        "name": view.number,
        "title": view.quantity.title,
        "unit": view.quantity.unit,
        "goal": better(view.number),
        "least": norm.vmin,
        "most": norm.vmax,
        "log": isinstance(norm, LogNorm),
        "colours": [to_hex(colours(at)) for at in np.linspace(0, 1, _STOPS)],
        "at": [
            None if row["median"] is None else [_short(row[part], factor) for part in parts]
            for row in joined.iter_rows(named=True)
        ],
        "values": [[_short(one, factor) for one in values] for values in grouped[view.number]],
    }


def _short(value: float | None, factor: float) -> float | None:
    """Four digits; more are not visible, and would enlarge the page."""
    if value is None or not np.isfinite(value):
        return None
    return float(f"{value * factor:.4g}")


def _facts(study: Study, runs: pl.DataFrame, points: int) -> list[tuple[str, str]]:
    seeds = runs.group_by(list(study.axes)).len()["len"].to_list()
    least, most = min(seeds), max(seeds)
    failed = int(runs["error"].is_not_null().sum())
    return [
        ("Runs", f"{runs.height:,}" + (f", {failed} failed" if failed else "")),
        ("Points", f"{points:,}"),
        ("Seeds per point", str(least) if least == most else f"{least} to {most}"),
        ("Backend", study.definition.backend),
        ("Version", f"fairport {study.definition.model}"),
    ]
