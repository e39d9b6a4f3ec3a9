"""Number of drop runs of each length of a flow of each hop class: one panel per variant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from fairport.figures import hop_classes
from fairport.figures.drawing import style
from fairport.figures.papers import marks

if TYPE_CHECKING:
    from fairport.papers.model import Drawing
    from fairport.record import Record
    from fairport.study.reproduce import Reproduced

_LONGEST = 12


def draw(done: Reproduced, drawing: Drawing) -> Figure:
    """Bars by length on a logarithmic axis, as in the papers, for an average flow of each class."""
    variants = done.entry.variants
    heights, gaps = [1.5] * len(variants), [0.45] * (len(variants) - 1)
    picture, rows = style.panels(drawing.title, "", marks.of(done), heights, gaps)
    classes = hop_classes.of(done.records[variants[0].name][0].flows)
    width = 0.8 / len(classes)
    any_published = False
    for [panel], variant in zip(rows, variants, strict=True):
        known = variant.published_classes
        for index, one in enumerate(classes):
            lengths = np.arange(1, _LONGEST + 1) + (index - (len(classes) - 1) / 2) * width
            counts = np.median([_counts(r, one.flows) for r in done.records[variant.name]], axis=0)
            panel.bar(lengths, np.where(counts > 0, counts, np.nan), 0.9 * width, **one.look.bar)
            published = known[one.name].drop_runs if one.name in known else {}
            if published:
                any_published = True
                places = lengths[[int(length) - 1 for length in published]]
                panel.plot(places, list(published.values()), **marks.PUBLISHED)
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.set(xlim=(0.4, _LONGEST + 0.6))
        if len(variants) > 1:
            style.panel_title(panel, variant.title)
    rows[-1][0].set_xlabel(f"consecutive drops of a flow (packets; {_LONGEST}: and more)")
    style.y_label(picture, [panel for [panel] in rows], "drop runs of a flow")
    handles = [Patch(**one.look.bar, label=one.name) for one in classes]
    picture.legend(
        handles=[*handles, *([marks.published_handle()] if any_published else [])],
        loc="upper right",
        bbox_to_anchor=(0.97, rows[0][0].get_position().y1),
        ncols=3,
        columnspacing=1.2,
    )
    return picture


def _counts(record: Record, flows: list[int]) -> list[float]:
    """Drop runs in the measurement by length, for an average of these flows; the longest last."""
    runs = record.drop_runs.filter(pl.col("flow").is_in(flows))
    by_length = dict(
        runs.group_by(pl.col("length").clip(upper_bound=_LONGEST))
        .agg(pl.col("measured").sum())
        .iter_rows()
    )
    return [by_length.get(length, 0) / len(flows) for length in range(1, _LONGEST + 1)]
