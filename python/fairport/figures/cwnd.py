"""Congestion window over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from fairport.figures import over_time, style

if TYPE_CHECKING:
    from fairport.result import Result

TITLE = "Congestion window over time"
CAPTION = (
    "The sender's window. Below four segments (about 6 kB) a loss cannot cause three duplicate "
    "ACKs, so it costs a timeout. A class with such small windows stops after a single burst of "
    "drops."
)


def draw(result: Result) -> Figure:
    """One panel per hop class: flows thin, their mean thick."""
    picture, panels, classes = over_time.frame(result, TITLE, "cwnd (kB)")
    top = 0.0
    for panel, one in zip(panels, classes, strict=False):
        values = over_time.lines(panel, one, result, "cwnd_bytes", 1e3)
        top = max(top, float(np.nanpercentile(values, 99.5)))
        average = style.three_digits(float(np.nanmean(values)))
        style.panel_title(panel, one.label, one.look.colour, f"mean {average} kB")
    if classes:
        panels[0].set_ylim(0, max(top * 1.08, 1.0))
        over_time.note(picture, classes)
    return picture
