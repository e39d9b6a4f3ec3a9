"""What the figures of papers share: the look of published numbers, and the picture's subtitle."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from fairport.figures.drawing import style
from fairport.metrics.repeats import seeds_in_words
from fairport.metrics.spread import FEWEST_FOR_QUARTILES
from fairport.metrics.verdict import ratio_in_words

if TYPE_CHECKING:
    from fairport.papers.model import Drawing
    from fairport.study.reproduce import Reproduced

# the height of a row of names below a panel
_ROW_IN = 0.13

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


def name_places(picture: style.Picture, panel: Axes, names: Sequence[str]) -> None:
    """Names the places 0, 1, .. of the horizontal axis, in two rows if one has no room for all."""
    points: float = rcParams["xtick.labelsize"]
    widths = [style.width_in(f"{name} ", points) for name in names]
    is_crowded = max(map(sum, pairwise(widths)), default=0.0) / 2 > style.panel_in() / len(names)
    if is_crowded:
        names = ["\n" * (number % 2) + name for number, name in enumerate(names)]
        # the panel makes room for the second row
        place = panel.get_position()
        row = _ROW_IN / picture.get_figheight()
        panel.set_position((place.x0, place.y0 + row, place.width, place.height - row))
    panel.set_xticks(range(len(names)), names)


def of(done: Reproduced) -> str:
    """The picture's subtitle: the experiment and its seeds."""
    return f"{done.entry.name}, {seeds_in_words(done.seeds)}"
