"""Figures of papers drawn again: our numbers in colour, the published ones as open markers.

One file per kind; `draw` takes an experiment that has been run and one of its drawings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from fairport.papers.model import Drawing
    from fairport.study.reproduce import Reproduced


Draw = Callable[["Reproduced", "Drawing"], Figure]


def draw(done: Reproduced, drawing: Drawing) -> Figure:
    """Draws a drawing by its kind."""
    from fairport.figures.drawing import style
    from fairport.figures.papers import classes, drop_runs, flows, over_time, sweep

    kinds: dict[str, Draw] = {
        "classes": classes.draw,
        "flows": flows.draw,
        "drop-runs": drop_runs.draw,
        "over-time": over_time.draw,
        "sweep": sweep.draw,
    }
    with style.applied():
        return kinds[drawing.kind](done, drawing)
