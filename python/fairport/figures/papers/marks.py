"""What the figures of papers share: the look of published numbers, and the picture's subtitle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D

from fairport.figures import style
from fairport.repeats import FEWEST_FOR_QUARTILES, seeds_in_words

if TYPE_CHECKING:
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


def spread(done: Reproduced) -> str:
    """What the line or the band around a median spans."""
    if len(done.seeds) >= FEWEST_FOR_QUARTILES:
        return "quartiles over the seeds"
    return "least to greatest of the seeds" if len(done.seeds) > 1 else "nothing, of one seed"


def of(done: Reproduced) -> str:
    """The picture's subtitle: the experiment and its seeds."""
    return f"{done.entry.name}, {seeds_in_words(done.seeds)}"
