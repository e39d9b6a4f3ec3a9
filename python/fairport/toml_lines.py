"""The line of a TOML file at which a field is set, for messages.

The standard library's reader gives no positions, so it is used in another way: the statement that
sets a field is the first one such that the file, cut after it, has the field. So everything that
TOML allows (dotted keys, inline tables, values of several lines) is understood exactly as the
reader does.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from fairport._toml import TOMLDecodeError, loads

_KEY = r"""(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[\w\-]+)"""
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
# A line that may begin a statement: `[heading]` or `key =`. Within a long array few lines look so.
_BEGIN = re.compile(rf"\s*(?:{_DOTTED}\s*=|\[\[?\s*{_DOTTED}\s*\]\]?\s*(?:\#|$))")


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """The number of the line with which the statement begins that sets the field at this path.

    For an element of a list of several lines, the line with which the element begins. If the field
    is missing, the line of the table that should contain it; None if there is none.
    """
    # not by splitlines(), which also splits at characters that end no line of TOML
    lines = [f"{line}\n" for line in text.split("\n")]
    cuts = [0, *(at for at in range(1, len(lines)) if _BEGIN.match(lines[at])), len(lines)]
    for depth in range(len(path), 0, -1):
        if statement := _first_with(path[:depth], lines, cuts):
            begin, end = statement
            return (_element(path[:depth], lines, begin, end) or begin) + 1
    return None


def _element(path: Sequence[str | int], lines: Sequence[str], begin: int, end: int) -> int | None:
    """Of the statement in these lines, the one with which the element at the path begins."""
    while not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#"):
        end -= 1
    # A list that is cut between two elements can be read once it is closed. One that is in a table
    # cannot; then each of its lines would be tried in vain.
    if end - begin < 2 or _read("".join(lines[: end - 1]) + "]") is None:
        return None
    found = _first_with(path, lines, range(begin + 1, end + 1), closed_by="]")
    return found and found[0]


def _first_with(
    path: Sequence[str | int], lines: Sequence[str], cuts: Sequence[int], closed_by: str = ""
) -> tuple[int, int] | None:
    """The cuts between which the field at this path is set; None if the last one does not have it.

    The text before a cut is read with `closed_by` after it, except at the last cut. A file that is
    cut at one place and has a field still has it if it is cut later.
    """

    def read(number: int) -> Any:
        is_last = number == len(cuts) - 1
        return _read("".join(lines[: cuts[number]]) + ("" if is_last else closed_by))

    def readable(number: int) -> int:
        """The last cut, at this one or before, that is not within a statement; -1 if none is."""
        while number >= 0 and read(number) is None:
            number -= 1
        return number

    def has_it(number: int) -> bool:
        return (at := readable(number)) >= 0 and _has(read(at), path)

    first = bisect_left(range(len(cuts)), True, key=has_it)
    if first == len(cuts):
        return None
    before = readable(first - 1)
    return (cuts[before] if before >= 0 else cuts[0] - 1), cuts[first]


def _has(document: Any, path: Sequence[str | int]) -> bool:
    for part in path:
        try:
            document = document[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True


@lru_cache(maxsize=256)
def _read(text: str) -> Any:
    """The document; None if the text ends within a statement."""
    try:
        return loads(text)
    except TOMLDecodeError:
        return None
