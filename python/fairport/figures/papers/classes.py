"""Goodput by hop class and variant: bars of the class's mean, lines from its least to its most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fairport.figures import hop_classes
from fairport.figures.drawing import style
from fairport.figures.papers import marks

if TYPE_CHECKING:
    from fairport.papers.model import Drawing, PublishedClass
    from fairport.study.reproduce import Reproduced

_KEYS = ("goodput_bps_min", "goodput_bps_mean", "goodput_bps_max")


def draw(done: Reproduced, drawing: Drawing) -> Figure:
    """One group of bars per variant; published means as markers, their spread as thin lines."""
    variants = done.entry.variants
    classes = hop_classes.of(done.records[variants[0].name][0].flows)
    title = marks.title(drawing, _pairs(done, [one.name for one in classes]))
    picture, [[panel]] = style.panels(title, "", marks.of(done), [1.9])
    width = 0.8 / len(classes)
    for place, variant in enumerate(variants):
        records = done.records[variant.name]
        known = variant.published_classes
        for index, one in enumerate(classes):
            x = place + (index - (len(classes) - 1) / 2) * width
            of_class = [record.summary["classes"][one.name] for record in records]
            least, mean, most = _medians(of_class)
            panel.bar(x, mean, 0.9 * width, **one.look.bar)
            panel.vlines(x - 0.12 * width, least, most, color=style.INK, linewidth=1.2)
            if one.name in known:
                _published(panel, x + 0.16 * width, known[one.name])
    marks.name_places(picture, panel, [variant.title for variant in variants])
    panel.tick_params(axis="x", length=0)
    panel.set(ylabel="goodput (Mbit/s)")
    panel.set_ylim(bottom=0)
    handles: list[Any] = [Patch(**one.look.bar, label=one.name) for one in classes]
    published = any(one.published_classes for one in variants)
    handles += [marks.published_handle()] if published else []
    style.legend_above(picture, panel, handles)
    style.note(picture, "bar: mean, line: least to most flow of a class; medians over the seeds")
    return picture


def _medians(classes: list[dict[str, Any]]) -> tuple[float, float, float]:
    least, mean, most = (float(np.median([one[key] for one in classes])) / 1e6 for key in _KEYS)
    return least, mean, most


def _pairs(done: Reproduced, classes: list[str]) -> list[tuple[float, float]]:
    """Our means and the published ones, in Mbit/s."""
    pairs = []
    for variant in done.entry.variants:
        known = variant.published_classes
        for name in sorted(known.keys() & set(classes)):
            mean = _published_mean(known[name])
            if mean is not None:
                records = done.records[variant.name]
                ours = _medians([record.summary["classes"][name] for record in records])[1]
                pairs.append((ours, mean / 1e6))
    return pairs


def _published_mean(known: PublishedClass) -> float | None:
    if known.goodput_bps_mean is None and known.goodput_bps:
        return float(np.mean(known.goodput_bps))
    return known.goodput_bps_mean


def _published(panel: Any, x: float, known: PublishedClass) -> None:
    mean = _published_mean(known)
    if mean is None:
        return
    least, most = known.goodput_bps_min, known.goodput_bps_max
    if least is not None and most is not None:
        panel.vlines(x, least / 1e6, most / 1e6, color=style.INK, linewidth=0.8, linestyle=":")
    panel.plot([x], [mean / 1e6], **marks.PUBLISHED)
