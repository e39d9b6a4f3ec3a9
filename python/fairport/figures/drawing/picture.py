"""A picture: a figure with fonts and lines of one style, and how it becomes a file."""

from __future__ import annotations

import io
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairport.figures.drawing import width
from fairport.figures.drawing.colours import GRID, INK, MUTED, PAPER

PNG_DPI = 220

_RC: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica"],
    "font.size": 8.5,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.5,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "text.color": INK,
    "axes.titley": 1.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "lines.linewidth": 1.6,
    "lines.solid_capstyle": "round",
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "hatch.linewidth": 0.6,
    "path.simplify": True,
    "path.simplify_threshold": 0.4,
    "agg.path.chunksize": 20_000,
    # TrueType: publishers refuse the Type 3 fonts that are matplotlib's default
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "fairport",
}

_NARROW: Any = {
    "font.size": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": width.READABLE_PT,
    "ytick.labelsize": width.READABLE_PT,
    "legend.fontsize": width.READABLE_PT,
    "legend.handlelength": 1.0,
    "legend.handletextpad": 0.4,
}


class Picture(Figure):
    """A figure that a notebook shows without pyplot."""

    title = ""
    """What it shows, as a sentence."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._asked_in = width.asked_in()

    def add_panel(self, left_in: float, bottom_in: float, wide_in: float, tall_in: float) -> Axes:
        """Axes at this place, in inches from the picture's lower left corner."""
        wide, tall = self.get_size_inches()
        return self.add_axes((left_in / wide, bottom_in / tall, wide_in / wide, tall_in / tall))

    def savefig(self, fname: Any, **options: Any) -> None:
        """As matplotlib's, in the style of the picture: ticks are made only now."""
        with width.drawn_at(self._asked_in), applied():
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=PNG_DPI)
        return buffer.getvalue()


def applied() -> AbstractContextManager[None]:
    """The style, for the time of a `with`."""
    return matplotlib.rc_context(_RC | (_NARROW if width.is_narrow() else {}))


def save(picture: Figure, path: Path) -> None:
    """Writes PNG, SVG or PDF by the path's ending, the same bytes for the same picture."""
    with applied():
        if path.suffix == ".png":
            # More compression would take longer, and save at most a tenth of the size.
            pack = {"compress_level": 1}
            picture.savefig(path, dpi=PNG_DPI, metadata={"Software": None}, pil_kwargs=pack)
        else:
            date = {".svg": "Date", ".pdf": "CreationDate"}[path.suffix]
            title = getattr(picture, "title", "")
            picture.savefig(path, metadata={date: None} | ({"Title": title} if title else {}))


def save_both(picture: Figure, path: Path) -> Path:
    """Writes `path` with the ending .png and with .svg; returns the latter."""
    png, svg = (path.with_name(f"{path.name}.{ending}") for ending in ("png", "svg"))
    save(picture, png)
    save(picture, svg)
    return svg
