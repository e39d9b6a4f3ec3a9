"""The line of a TOML file at which a field is set, for messages.

The standard library's reader gives no positions, so it reads one statement after another: a
statement ends where it can be read alone. So everything that TOML allows (dotted keys, inline
tables, values of several lines) is understood exactly as the reader does.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fairport.toml.parser import TOMLDecodeError, loads

_KEY = r"""(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[\w\-]+)"""
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
# A line that may begin a statement: `[heading]` or `key =`. Within a long list few lines look so.
_BEGIN = re.compile(rf"\s*(?:{_DOTTED}\s*=|\[\[?\s*{_DOTTED}\s*\]\]?\s*(?:\#|$))")

_Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class _Statement:
    """A heading, or a key with its value."""

    line: int
    """Its first line, counted from 0."""
    lines: Sequence[str]
    """Its lines, with the comments below it."""
    table: _Path
    """The table in which it is; of a heading, the one that it begins."""


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """The number of the line with which the statement begins that sets the field at this path.

    For an element of a list of several lines, the line with which the element begins. If the field
    is missing, the line of the table that should contain it; None if there is none.
    """
    statements = _statements(text)
    for depth in range(len(path), 0, -1):
        if found := statements.get(tuple(path[:depth])):
            return found.line + _line_within(found, path, depth) + 1
    return None


@lru_cache(maxsize=4)
def _statements(text: str) -> Mapping[_Path, _Statement]:
    """For each table and each key, the first statement that sets it; none if the text is not TOML.

    Lists are not looked into.
    """
    # not by splitlines(), which also splits at characters that end no line of TOML
    lines = [f"{line}\n" for line in text.split("\n")]
    found: dict[_Path, _Statement] = {}
    sizes: dict[_Path, int] = {}  # of lists of tables
    table: _Path = ()
    begins = [at for at, line in enumerate(lines) if _BEGIN.match(line)]
    begin = begins[0] if begins else 0
    for end in [*begins[1:], len(lines)]:
        document = _read("".join(lines[begin:end]))
        if document is None:
            continue  # the line is within a list or a text of several lines
        if lines[begin].lstrip().startswith("["):
            table = _table(document, sizes)
            for depth in range(1, len(table) + 1):
                found.setdefault(table[:depth], _Statement(begin, lines[begin:end], table))
        else:
            _add(found, _Statement(begin, lines[begin:end], table), table, document)
        begin = end
    return found if begin == len(lines) else {}


def _table(heading: Any, sizes: dict[_Path, int]) -> _Path:
    """The path of the table that a heading begins; `sizes` are those of the lists before it."""
    path: _Path = ()
    while heading:
        ((name, heading),) = heading.items()
        path += (name,)
        if isinstance(heading, list):
            sizes[path] = sizes.get(path, 0) + 1
            heading = None
        if path in sizes:
            path += (sizes[path] - 1,)
    return path


def _add(
    found: dict[_Path, _Statement], statement: _Statement, path: _Path, value: Mapping[str, Any]
) -> None:
    """Notes every key of a statement's value, which is at this path."""
    for name, one in value.items():
        found.setdefault((*path, name), statement)
        if isinstance(one, dict):
            _add(found, statement, (*path, name), one)


def _line_within(statement: _Statement, path: Sequence[str | int], known: int) -> int:
    """The line of a statement with which the element at a path begins; 0 if it has no such list.

    `known` is how much of the path the statement sets as tables and keys.
    """
    lines = list(statement.lines)
    while not lines[-1].strip() or lines[-1].lstrip().startswith("#"):
        del lines[-1]
    # A list that is cut between two elements can be read once it is closed. One that is in a table
    # cannot; then each of its lines would be tried in vain.
    if len(lines) < 2 or _read("".join(lines[:-1]) + "]") is None:
        return 0
    at = len(statement.table)
    elements = (_element(lines, path[at:depth]) for depth in range(len(path), known, -1))
    return next((line for line in elements if line is not None), 0)


def _element(lines: Sequence[str], path: Sequence[str | int]) -> int | None:
    """The line of a list with which the element at the path begins; None if there is none.

    A list that is cut at one place and has the element still has it if it is cut later.
    """

    def read(count: int) -> Any:
        return _read("".join(lines[:count]) + ("" if count == len(lines) else "]"))

    def readable(count: int) -> int:
        """The last cut, after as many lines or fewer, that is not within an element."""
        while count and read(count) is None:
            count -= 1
        return count

    first = bisect_left(
        range(len(lines) + 1), True, key=lambda count: _has(read(readable(count)), path)
    )
    return readable(first - 1) if first <= len(lines) else None


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
