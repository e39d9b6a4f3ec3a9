"""How wide pictures are drawn: as wide as their kind usually is, or as wide as was asked for.

A picture that is scaled to a journal's column has letters that are too small. So a narrow picture
is drawn narrow: letters keep their size, and what has no room is broken into lines, put into fewer
columns, or left to the caption.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Real

from fairport.errors import InputError

# Below the least, axes have no room beside their labels; above the most, text looks lost.
LEAST_IN, MOST_IN = 3.0, 10.0
NARROW_IN = 5.0
"""Pictures below this width have letters of 7 and 8 pt."""
# Journals ask for letters of this size at least, in the size in which a picture is printed.
READABLE_PT = 7.0
# In a picture of the usual width, a text that would need smaller letters is shortened.
_SMALLEST_PT = 5.0

_asked: ContextVar[float | None] = ContextVar("width", default=None)


_PER_INCH = {"in": 1.0, "cm": 2.54, "mm": 25.4}


def inches(text: str) -> float | None:
    """The width that a text such as `3.4in` or `86mm` gives; none if empty. Raises InputError."""
    if not text:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(in|cm|mm)", text)
    if not found:
        raise InputError(
            "is not a width",
            field="--width",
            value=text,
            remedy="give a number with its unit, such as 3.4in or 86mm",
        )
    return float(found[1]) / _PER_INCH[found[2]]


@contextmanager
def drawn_at(width_in: float | None) -> Iterator[None]:
    """Within it, pictures are so many inches wide. Raises InputError."""
    is_number = isinstance(width_in, Real)
    if width_in is not None and not (is_number and LEAST_IN <= width_in <= MOST_IN):
        raise InputError(
            f"is not between {LEAST_IN:g} and {MOST_IN:g} inches",
            field="width_in",
            value=width_in,
            remedy="a column of a journal is about 3.4 inches wide, two are about 7",
        )
    token = _asked.set(width_in)
    try:
        yield
    finally:
        _asked.reset(token)


def asked_in() -> float | None:
    """The width that was asked for, in inches."""
    return _asked.get()


def of_picture(usual_in: float) -> float:
    """The width of a picture that is usually so wide, in inches."""
    return _asked.get() or usual_in


def columns(most: int, usual_in: float) -> int:
    """How many panels are side by side, where a picture of the usual width has `most`."""
    return min(most, max(1, round(most * of_picture(usual_in) / usual_in)))


def is_narrow() -> bool:
    """Whether pictures have less room than their usual letters need."""
    return (_asked.get() or NARROW_IN) < NARROW_IN


def is_asked() -> bool:
    """Whether pictures are drawn for the size in which they are printed."""
    return _asked.get() is not None


def smallest_pt() -> float:
    """The size of the smallest letters."""
    return READABLE_PT if is_asked() else _SMALLEST_PT
