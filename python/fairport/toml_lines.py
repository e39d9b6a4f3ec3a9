"""The line of a TOML file at which a field is set, for messages.

The standard library's reader gives no positions. It is asked instead: the statement that sets a
field is the first one with which the file, cut behind it, has the field. So whatever TOML allows
(dotted keys, inline tables, values of several lines) is understood as the reader understands it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar

from fairport._toml import TOMLDecodeError, loads
from fairport.errors import InputError

E = TypeVar("E", bound=InputError)

# A line that may begin a statement, or is between two: a heading, a comment, `key =`, nothing.
_BETWEEN = re.compile(r"""\s*(?:$|\#|\[|["'\w.\- ]+=)""")


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """The number of the line that begins the statement which sets the field at this path.

    If the field is not there, the line of the table that should hold it; None if there is none.
    """
    lines = text.splitlines(keepends=True)
    cuts = [0, *(at for at in range(1, len(lines)) if _BETWEEN.match(lines[at])), len(lines)]

    def readable(number: int) -> int:
        """The last cut up to this one that is not within a statement."""
        while _read("".join(lines[: cuts[number]])) is None:
            number -= 1
        return number

    for depth in range(len(path), 0, -1):

        def has_it(number: int, part: Sequence[str | int] = path[:depth]) -> bool:
            return _has(_read("".join(lines[: cuts[readable(number)]])), part)

        first = bisect_left(range(len(cuts)), True, key=has_it)
        if first < len(cuts):
            return cuts[readable(first - 1)] + 1
    return None


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


def not_toml(error: TOMLDecodeError, file: str, kind: type[E], remedy: str) -> E:
    """What the reader says against a file, at the line that it names."""
    said = str(error)
    place = re.search(r" \(at line (\d+), column (\d+)\)$", said)
    if place:
        said, file = f"{said[: place.start()]} at column {place[2]}", f"{file}:{place[1]}"
    return kind(f"is not TOML: {said[:1].lower()}{said[1:]}", file=file, remedy=remedy)
