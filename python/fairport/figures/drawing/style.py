"""How figures look: colours, margins, and the frame that every kind of figure shares.

Sizes are for print at 5 inches: letters have 8 and 8.5 pt at the axes, and 5 to 7 pt in notes.
`width` says how a picture is drawn for a journal's column. Colours are those of Okabe & Ito (2008),
which colour-blind readers can distinguish.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from fairport.figures.drawing import width
from fairport.figures.drawing.colours import BLUE as BLUE
from fairport.figures.drawing.colours import GRID as GRID
from fairport.figures.drawing.colours import INK as INK
from fairport.figures.drawing.colours import MUTED as MUTED
from fairport.figures.drawing.colours import PAPER as PAPER
from fairport.figures.drawing.heading import broken, heading
from fairport.figures.drawing.heading import fitting as fitting
from fairport.figures.drawing.heading import width_in as width_in
from fairport.figures.drawing.picture import PNG_DPI as PNG_DPI
from fairport.figures.drawing.picture import Picture as Picture
from fairport.figures.drawing.picture import applied as applied
from fairport.figures.drawing.picture import save as save
from fairport.figures.drawing.picture import save_both as save_both
from fairport.quantities import time_at_size
from fairport.summary import is_measured_in_part

if TYPE_CHECKING:
    from fairport.result import Result

WIDTH_IN = 5.0

GREEN = "#009e73"
ORANGE = "#d55e00"
BAND = "#56b4e9"

NO_FLOWS = "no TCP flows to compare"

# Margins around the axes in inches: they hold tick labels and axis names at these font sizes.
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.6, 0.2, 0.23, 0.53
HANDLE_IN = 0.35
"""In a legend: the mark beside a text, and the gap to the next one."""
# the most lines of a note in a picture of another width, and the height of a line
_NOTE_LINES, _NOTE_LINE_IN = 2, 0.12


def frame(
    result: Result,
    title: str,
    subject: str,
    heights_in: Sequence[float],
    gaps_in: Sequence[float] = (),
    columns: int = 1,
) -> tuple[Picture, list[list[Axes]]]:
    """A picture of a run: `panels` with the run's name, and the measured part if it is a part."""
    of = result.title
    if is_measured_in_part(result.summary):
        measure = result.summary["measure"]
        unit = time_at_size(result.summary["simulated_s"])
        of += (
            f"; measured from {unit.shown(measure['from_s'])} to {unit.with_unit(measure['to_s'])}"
        )
    return panels(title, subject, of, heights_in, gaps_in, columns)


def panels(
    title: str,
    subject: str,
    of: str,
    heights_in: Sequence[float],
    gaps_in: Sequence[float] = (),
    columns: int = 1,
    wide_in: float = WIDTH_IN,
) -> tuple[Picture, list[list[Axes]]]:
    """A picture with rows of axes of the given heights and gaps, below a heading.

    All positions are computed here, because a layout engine would draw each figure twice to find
    them.
    """
    wide_in = width.of_picture(wide_in)
    head = heading(title, subject, of, wide_in)
    bottom_in = _BOTTOM + width.is_asked() * (_NOTE_LINES - 1) * _NOTE_LINE_IN
    height = head.tall_in + _TOP + sum(heights_in) + sum(gaps_in) + bottom_in
    picture = Picture(figsize=(wide_in, height))
    between = 0.16
    each_in = (wide_in - _LEFT - _RIGHT - between * (columns - 1)) / columns
    rows, top = [], height - head.tall_in - _TOP
    for tall, gap in zip(heights_in, [*gaps_in, 0.0], strict=True):
        lefts = [_LEFT + i * (each_in + between) for i in range(columns)]
        rows.append([picture.add_panel(left, top - tall, each_in, tall) for left in lefts])
        top -= tall + gap
    head.write(picture)
    return picture, rows


def legend_above(picture: Picture, panel: Axes, handles: Sequence[Any], **how: Any) -> None:
    """A legend in one row above a panel, from its left edge on."""
    place = panel.get_position()
    picture.legend(
        handles=handles,
        ncols=len(handles),
        loc="lower left",
        bbox_to_anchor=(place.x0, place.y1),
        borderaxespad=0.1,
        **{"columnspacing": 1.2, **how},
    )


def panel_in() -> float:
    """How wide a panel is, if it is alone in its row."""
    return width.of_picture(WIDTH_IN) - _LEFT - _RIGHT


def _shrunk(text: str, room_in: float, points: float) -> tuple[str, float]:
    """The text and the size of its letters: smaller ones, or a part of it if none could be read."""
    points *= min(1.0, room_in / width_in(text, points))
    smallest = width.smallest_pt()
    if points >= smallest:
        return text, points
    if width.is_asked():
        fits = (part for part in _beginnings(text) if width_in(part, smallest) <= room_in)
        return next(fits, ""), smallest
    return fitting(text, room_in, smallest), smallest


def _beginnings(text: str) -> Iterator[str]:
    """The statements of a text: all of them, then without the last one, and so on."""
    said = re.split("(; |, )", text)
    return ("".join(said[:end]) for end in range(len(said), 0, -2))


def panel_title(axes: Axes, text: str, colour: str = INK, detail: str = "") -> None:
    """Names a panel above its left corner, followed by a detail in grey."""
    above: dict[str, Any] = {
        "textcoords": "offset points",
        "va": "bottom",
        "annotation_clip": False,
    }
    # the names of a network of one's own may be long
    wide: Any = axes.figure.bbox.width / axes.figure.dpi
    room_in = (1 - axes.get_position().x0) * wide - 0.1
    share = 1.0 if not detail or width.is_asked() else 0.6
    text = fitting(text, share * room_in, 8.5, "bold")
    name = axes.annotate(
        text, (0, 1), (0, 3), xycoords="axes fraction", color=colour, fontweight="bold", **above
    )
    room_in -= width_in(text, 8.5, "bold") + 0.1
    if detail and room_in > 0:
        detail, points = _shrunk(detail, room_in, 8)
        axes.annotate(detail, (1, 0), (5, 0), xycoords=name, color=MUTED, fontsize=points, **above)


def note(picture: Picture, text: str) -> None:
    """Explains lines and marks, in small grey letters at the lower right."""
    wide = picture.get_figwidth()
    room_in = wide - _RIGHT - 0.15
    place = (1 - _RIGHT / wide, 0.06 / picture.get_figheight())
    if width.is_asked():
        points = width.smallest_pt()
        said = (broken(part, room_in, points, "normal") for part in _beginnings(text))
        text = "\n".join(next((part for part in said if len(part) <= _NOTE_LINES), []))
    else:
        text, points = _shrunk(text, room_in, 7)
    picture.text(*place, text, ha="right", color=MUTED, fontsize=points)


def left_note(picture: Picture, text: str) -> None:
    """Explains lines and marks at the lower left."""
    place = (0.1 / picture.get_figwidth(), 0.06 / picture.get_figheight())
    picture.text(*place, text, ha="left", color=MUTED, fontsize=7)


def y_label(picture: Picture, panels: Sequence[Axes], text: str) -> None:
    """Names the vertical axis of `panels` once, at their middle."""
    middle = (panels[0].get_position().y1 + panels[-1].get_position().y0) / 2
    picture.text(0.08 / picture.get_figwidth(), middle, text, rotation=90, va="center", ha="left")


DOTTED: dict[str, Any] = {"color": MUTED, "linewidth": 0.9, "linestyle": (0, (1, 2))}
"""The look of a line that shows a value to compare with, such as the fair share."""


def fair_share(axes: Axes, fair: float) -> None:
    """A dotted line at the fair share, which is in the axis' unit."""
    axes.axhline(fair, zorder=3, **DOTTED)


def label_line(axes: Axes, text: str, height: float) -> None:
    """Labels a horizontal line, above its right end."""
    axes.annotate(
        text,
        (1, height),
        (-2, 2.5),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
        color=MUTED,
        fontsize=7,
        bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 0.6},
    )


def ink_on(colour: Any) -> str:
    """The colour of letters on this colour, with a contrast of 4.5 at least (WCAG 2.1, 1.4.3)."""
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in to_rgb(colour)
    ]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    # not INK and PAPER: a dark page changes those, but not the colour below the letters
    return "#010101" if luminance > 0.179 else "#fefefe"


def say(axes: Axes, text: str) -> None:
    """Writes into the middle of an empty panel why it is empty."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=MUTED)
    axes.set_axis_off()
