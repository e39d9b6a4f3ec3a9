"""A quantity over time, one line per variant: it shows how steadily the variants differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.figure import Figure

from fairport.figures.drawing import style
from fairport.figures.papers import marks
from fairport.quantities import QUANTITIES

if TYPE_CHECKING:
    from fairport.papers.model import Drawing, Variant
    from fairport.study.reproduce import Reproduced

_LOOKS: tuple[dict[str, Any], ...] = (
    {"color": style.ORANGE, "linestyle": "-"},
    {"color": style.BLUE, "linestyle": "--"},
    {"color": style.GREEN, "linestyle": "-."},
    {"color": style.INK, "linestyle": ":"},
)


def draw(done: Reproduced, drawing: Drawing) -> Figure:
    """The mean over the seeds, step by step."""
    known = done.entry.variants
    variants = [one for one in known if not drawing.variants or one.name in drawing.variants]
    picture, [[panel]] = style.panels(drawing.title, "", marks.of(done), [1.9])
    quantity = QUANTITIES[drawing.measure]
    for variant, look in zip(variants, _LOOKS, strict=False):
        means = _means(done, drawing, variant)
        panel.plot(
            means["time_s"],
            means["value"] * quantity.factor,
            linewidth=1.1,
            label=variant.label or variant.name,
            **look,
        )
    panel.set_ylim(bottom=0)
    panel.set_xlim(0, drawing.until_s)
    panel.set_xlabel("time (s)")
    panel.set_ylabel(quantity.label)
    style.legend_above(picture, panel, panel.get_legend_handles_labels()[0])
    style.note(picture, "mean over the seeds, in at most 200 steps of the run")
    return picture


def _means(done: Reproduced, drawing: Drawing, variant: Variant) -> pl.DataFrame:
    ours = (pl.col("trend") == drawing.measure) & pl.col("traffic").eq_missing(drawing.traffic)
    rows = pl.concat(record.trends.filter(ours) for record in done.records[variant.name])
    if drawing.until_s is not None:
        rows = rows.filter(pl.col("time_s") <= drawing.until_s)
    return rows.group_by("time_s").agg(pl.col("value").mean()).sort("time_s")
