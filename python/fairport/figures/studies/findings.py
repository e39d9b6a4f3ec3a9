"""What a figure of a study shows, in one sentence each: their titles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from fairport.figures.studies.view import View
from fairport.metrics.verdict import OUTCAST_BELOW
from fairport.study.points import FIX


def number(view: View) -> str:
    """At how many points the lone class is starved; of other numbers, their range."""
    points = view.points
    if view.number == "throughput_ratio":
        return _starved(points)
    names = ("median", "lower", "upper") if points["is_bimodal"].any() else ("median",)
    values = pl.concat([points[name].drop_nulls() for name in names])
    values = values.filter(values.is_finite())
    least, most = (view.quantity.shown(value) for value in (values.min(), values.max()))  # type: ignore[arg-type]
    span = f"{least} to {most}" if least != most else least
    where = f" at {points.height} points" if points.height > 1 else ""
    return f"{view.quantity.heading}: {span} {view.quantity.unit}".rstrip() + where


def _starved(points: pl.DataFrame) -> str:
    """By the median as in a run's verdict; a bistable point may be so with some seeds only."""
    two = points["is_bimodal"]
    always = points.filter(
        pl.when(two).then(pl.col("upper")).otherwise(pl.col("median")) < OUTCAST_BELOW
    )
    partly = points.filter(
        two & (pl.col("lower") < OUTCAST_BELOW) & (pl.col("upper") >= OUTCAST_BELOW)
    )
    favoured = points.filter(~two & (pl.col("median") > 1 / OUTCAST_BELOW)).height
    also = f", and more than twice theirs at {favoured}" if favoured else ""
    if partly.height:
        also = f", and with some seeds at {partly.height} more"
    where = f"{always.height} of {points.height} points" if always.height else "none of the points"
    return f"The lone class gets less than half of its peers' goodput at {where}{also}"


def best(view: View, color: str, cells: Sequence[tuple[Any, Sequence[Any]]]) -> str:
    """The value that is best, or as good, in most cells; cells: the best, and others as good."""
    first = Counter(won for won, _ in cells)
    good = Counter(value for won, others in cells for value in (won, *others))
    value = max(view.values(color), key=lambda one: (good[one], first[one]))
    name = view.label(color, value)
    if color != FIX:
        name = f"{view.title_of(color)} {name}"
    return f"{name} is best, or as good as the best, at {good[value]} of {len(cells)} points"
