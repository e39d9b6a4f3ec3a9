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

# A line that may begin a statement or is between two: a heading, a comment, `key =`, or empty.
_BETWEEN = re.compile(r"""\s*(?:$|\#|\[|["'\w.\- ]+=)""")


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """The number of the line with which the statement begins that sets the field at this path.

    If the field is missing, the line of the table that should contain it; None if there is none.
    """
    lines = text.splitlines(keepends=True)
    cuts = [0, *(at for at in range(1, len(lines)) if _BETWEEN.match(lines[at])), len(lines)]

    def readable(number: int) -> int:
        """The last cut, at this one or before, that is not within a statement."""
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
