"""The heading of a figure: one sentence that says what it shows, and below it what is drawn.

People look before they read. So the bold line is the finding, with its number, and not the subject;
`findings` makes the sentences. The subject, the scenario and the seed are in the small line below.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from fairport.figures.drawing.colours import MUTED

if TYPE_CHECKING:
    from matplotlib.font_manager import FontProperties

    from fairport.figures.drawing.picture import Picture

_TITLE_PT, _SUBJECT_PT = 10.0, 8.0
# A longer sentence gets smaller letters, and in the end fewer words.
_SMALLEST_PT = 9.0
_MOST_LINES = 3
_MOST_LINES_BELOW = 2
# Between a number and its unit a line is not broken.
_UNIT = re.compile(r"(?<=\d) (?=(%|[kMG]?bit/s|[kM]?B|[mµ]?s)(?!\w))")
_LEFT_IN, _RIGHT_IN, _TOP_IN = 0.1, 0.15, 0.09
# Heights of lines in inches, for each point of the letters.
_LINE_IN = 1.2 / 72


@dataclass(frozen=True, slots=True)
class Heading:
    """A title and a subject, set for a picture's width."""

    title: str
    """The whole sentence."""
    lines: list[str]
    points: float
    below: list[str]
    """The subject, in one line or more."""

    @property
    def tall_in(self) -> float:
        """From the top of the picture to the bottom of the heading."""
        below = len(self.below) * _SUBJECT_PT * _LINE_IN + 0.03 if self.below else 0.0
        return _TOP_IN + self._title_in + below

    @property
    def _title_in(self) -> float:
        return len(self.lines) * self.points * _LINE_IN

    def write(self, picture: Picture) -> None:
        """Writes both at the picture's upper left; its files have the sentence as their title."""
        wide, tall = picture.get_size_inches()
        picture.title = self.title
        place: dict[str, Any] = {"va": "top", "ha": "left", "x": _LEFT_IN / wide}
        text = "\n".join(self.lines)
        size: dict[str, Any] = {"fontsize": self.points, "fontweight": "bold", "linespacing": 1.2}
        picture.text(y=1 - _TOP_IN / tall, s=text, **place, **size)
        below = _TOP_IN + self._title_in + 0.03
        look: dict[str, Any] = {"color": MUTED, "fontsize": _SUBJECT_PT, "linespacing": 1.2}
        picture.text(y=1 - below / tall, s="\n".join(self.below), **place, **look)


def heading(title: str, subject: str, of: str, wide_in: float) -> Heading:
    """The heading of a picture so wide; `of` is the scenario or study, whose name may be long."""
    room_in = wide_in - _LEFT_IN - _RIGHT_IN
    points = _TITLE_PT
    lines = broken(title, room_in, points)
    # a word on a line of its own, or a line too many
    while points > _SMALLEST_PT and len(broken(title, room_in, _SMALLEST_PT)) < len(lines):
        points -= 0.5
        lines = broken(title, room_in, points)
    if len(lines) > _MOST_LINES:
        rest = " ".join(lines[_MOST_LINES - 1 :])
        lines = [*lines[: _MOST_LINES - 1], beginning(rest, room_in, points, "bold")]
    what = f"{subject}: " if subject and of else subject
    below = broken(what + of, room_in, _SUBJECT_PT, "normal") if what + of else []
    is_too_wide = any(width_in(line, _SUBJECT_PT) > room_in for line in below)
    if is_too_wide or len(below) > _MOST_LINES_BELOW:
        below = [what + fitting(of, room_in - width_in(what, _SUBJECT_PT), _SUBJECT_PT)]
    return Heading(title, lines, points, below)


def broken(text: str, room_in: float, points: float, weight: str = "bold") -> list[str]:
    """The text in lines that are not wider than the room, as far as its words allow."""
    if width_in(text, points, weight) <= room_in:
        return [text]
    lines = [""]
    for word in _UNIT.sub("\u00a0", text).split(" "):
        longer = f"{lines[-1]} {word}".lstrip()
        if lines[-1] and width_in(longer, points, weight) > room_in:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def width_in(text: str, points: float, weight: str = "normal") -> float:
    """How wide a line of text is, by the font's own measures: outlines would take far longer."""
    return points * _width(text, weight)


@lru_cache(maxsize=4096)
def _width(text: str, weight: str) -> float:
    """The same for letters of one point."""
    from matplotlib.textpath import text_to_path

    font = _font(weight)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) / font.get_size_in_points() / 72


@cache
def _font(weight: str) -> FontProperties:
    """To make one takes longer than to measure a line."""
    from matplotlib.font_manager import FontProperties

    return FontProperties(family="sans-serif", weight=weight, size=10)


def fitting(text: str, room_in: float, points: float, weight: str = "normal") -> str:
    """The text, or as much of its two ends as there is room for.

    Names of a network's nodes may differ at either end only.
    """
    if width_in(text, points, weight) <= room_in:
        return text

    def ends(kept: int) -> str:
        return text[: kept - kept // 2] + "…" + text[len(text) - kept // 2 :]

    return _longest(ends, len(text), room_in, points, weight)


def beginning(text: str, room_in: float, points: float, weight: str = "normal") -> str:
    """The text, or as much of its beginning as there is room for."""
    if width_in(text, points, weight) <= room_in:
        return text
    return _longest(lambda kept: text[:kept] + "…", len(text), room_in, points, weight)


def _longest(
    cut: Callable[[int], str], below: int, room_in: float, points: float, weight: str
) -> str:
    """The cut of the most letters, fewer than `below`, that has room; empty if none has."""

    def is_too_wide(kept: int) -> bool:
        return width_in(cut(kept), points, weight) > room_in

    kept = bisect_left(range(1, below), True, key=is_too_wide)
    return cut(kept) if kept else ""
