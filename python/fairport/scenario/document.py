"""A document, as TOML gives it: dictionaries, lists and values, and the paths of its values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Path = Sequence[str | int]
"""Names of fields and indices of lists: `["traffic", 0, "from"]`."""

ABSENT = object()
"""The value that `look_up` returns if there is none."""


def dotted(path: Path) -> str:
    """`["traffic", 0, "from"]` as "traffic.0.from"."""
    return ".".join(str(part) for part in path)


def look_up(document: Any, path: Path) -> Any:
    """The value at a path of a document, or ABSENT."""
    for part in path:
        try:
            document = document[part]
        except (KeyError, IndexError, TypeError):
            return ABSENT
    return document


def plain(value: Any) -> Any:
    """The same values, where numbers and lists that come from NumPy are Python's own."""
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value.tolist() if hasattr(value, "tolist") else value


def texts(document: Any, path: Path = ()) -> Iterator[tuple[list[str | int], str]]:
    """Every text in a document, with its path."""
    if isinstance(document, str):
        yield list(path), document
    elif isinstance(document, dict):
        for name, one in document.items():
            yield from texts(one, [*path, name])
    elif isinstance(document, list):
        for number, one in enumerate(document):
            yield from texts(one, [*path, number])


def is_unicode(text: str) -> bool:
    """Whether a file in UTF-8 can have the text."""
    return text.isascii() or not re.search("[\ud800-\udfff]", text)
