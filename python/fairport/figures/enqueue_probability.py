"""The chance of room behind a drop over TCPRand's rMin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from fairport.figures import style

if TYPE_CHECKING:
    from fairport.enqueue_probability import EnqueueProbability, Floats

TITLE = "Room behind a drop, payloads drawn from rMin to MSS"

# Averaged over such a part of the range, 1000 trials a point show their course.
_BINS = 60


def draw(found: EnqueueProbability) -> Figure:
    """The four shares over rMin: a dot for every rMin, and a line through their running mean."""
    with style.applied():
        picture = style.Picture(figsize=(style.WIDTH_IN, 3.1))
        axes = picture.add_axes((0.11, 0.15, 0.85, 0.72))
        lines = [
            ("X2, behind the dropped packet", found.x2, style.DROPPED),
            ("Y2, behind the accepted one", found.y2, style.BLUE),
            ("both", found.both, "#009e73"),
            ("neither", found.neither, style.MUTED),
        ]
        r_min = found.r_min_bytes.astype(float)
        for label, shares, colour in lines:
            axes.plot(r_min, shares, ".", color=colour, markersize=1.5, alpha=0.3, zorder=1)
            axes.plot(_binned(r_min), _binned(shares), color=colour, label=label, zorder=2)
        picture.text(0.11, 0.93, TITLE, fontweight="bold", fontsize=9.5)
        axes.set_xlim(0, found.mss_bytes)
        axes.set_ylim(0, 1)
        axes.set_xlabel("rMin (B)")
        axes.set_ylabel("probability of room")
        axes.legend(loc="upper center", ncols=2, columnspacing=1.2)
    return picture


def _binned(values: Floats) -> Floats:
    bins = min(_BINS, len(values))
    return np.array([part.mean() for part in np.array_split(values, bins)])
