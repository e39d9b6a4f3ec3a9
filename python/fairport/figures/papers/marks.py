"""What the figures of papers share: the look of published numbers, and the picture's subtitle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D

from fairport.figures import style
from fairport.repeats import seeds_in_words
from fairport.spread import FEWEST_FOR_QUARTILES
from fairport.verdict import ratio_in_words

if TYPE_CHECKING:
    from fairport.papers.model import Drawing
    from fairport.study.reproduce import Reproduced

PUBLISHED: dict[str, Any] = {
    "marker": "D",
    "markersize": 5.5,
    "markerfacecolor": style.PAPER,
    "markeredgecolor": style.INK,
    "markeredgewidth": 1.1,
    "linestyle": "none",
    "zorder": 5,
}


def published_handle() -> Line2D:
    """The legend's entry for published numbers."""
    return Line2D([], [], **PUBLISHED, label="published")


def title(drawing: Drawing, pairs: Sequence[tuple[float, float]]) -> str:
    """The subject, and how near our numbers are to the published ones; pairs: ours, theirs.

    Drawings without published numbers keep the subject alone: what they show is a claim of the
    paper, on which the report decides by all of the experiment's runs. So do those of drop runs and
    of single flows, where one number out of many bars would say little.
    """
    ratios = sorted(ours / theirs for ours, theirs in pairs if theirs > 0)
    if not ratios:
        return drawing.title
    if len(ratios) == 1:
        return f"{drawing.title}: ours is {ratio_in_words(ratios[0])} the published number"
    least, most = (
        f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}" for ratio in (ratios[0], ratios[-1])
    )
    return f"{drawing.title}: ours are {least} to {most} times the {len(ratios)} published numbers"


def spread(done: Reproduced) -> str:
    """What the line or the band around a median spans."""
    if len(done.seeds) >= FEWEST_FOR_QUARTILES:
        return "quartiles over the seeds"
    return "least to greatest of the seeds" if len(done.seeds) > 1 else "nothing, of one seed"


def of(done: Reproduced) -> str:
    """The picture's subtitle: the experiment and its seeds."""
    return f"{done.entry.name}, {seeds_in_words(done.seeds)}"
