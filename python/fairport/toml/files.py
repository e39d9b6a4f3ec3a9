"""Reads TOML files. Its errors name the file, the line if there is one, and the remedy."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fairport.errors import InputError
from fairport.toml.parser import TOMLDecodeError, loads

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable  # from Python 3.11 on

E = TypeVar("E", bound=InputError)

# A capture or a device that is named by mistake would fill the memory.
MOST_CHARACTERS = 2**26


def names_in(folder: Path | Traversable) -> list[str]:
    """The names of the TOML files in a folder of this package, without their ending."""
    names = [entry.name for entry in folder.iterdir()]
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def text_of(path: Path | Traversable) -> str:
    """The text of a file. Raises OSError, also for a file that is too large, and UnicodeError."""
    # some editors begin a file with a byte order mark, which TOML does not allow
    with path.open(encoding="utf-8-sig") as file:
        text = file.read(MOST_CHARACTERS + 1)
    if len(text) > MOST_CHARACTERS:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return text


def read_text(path: Path | Traversable, file: str, kind: type[E], remedy: str) -> str:
    """The text of a file, whose name in messages is `file`. Raises `kind`."""
    try:
        return text_of(path)
    except UnicodeDecodeError:
        raise kind("is not UTF-8 text", file=file, remedy=remedy) from None
    except OSError as error:
        raise kind(f"cannot be read: {error.strerror}", file=file, remedy=remedy) from None


def parse(text: str, file: str, kind: type[E], remedy: str) -> dict[str, Any]:
    """The document of a TOML text, whose file's name in messages is `file`. Raises `kind`."""
    try:
        return loads(text)
    except TOMLDecodeError as error:
        said = str(error)
    place = re.search(r" \(at line (\d+), column (\d+)\)$", said)
    if place:
        remedy = _remedy(said, text.split("\n")[int(place[1]) - 1]) or remedy
        said, file = f"{said[: place.start()]} at column {place[2]}", f"{file}:{place[1]}"
    raise kind(f"is not TOML: {said[:1].lower()}{said[1:]}", file=file, remedy=remedy)


def _remedy(said: str, line: str) -> str:
    """The remedy for two frequent mistakes in a line; empty for any other."""
    if re.search("[\u2018-\u201f\u00a0]", line):  # web pages and word processors make these
        return "write straight quotes and plain spaces"
    bare = re.fullmatch(r"""\s*[\w."-]+\s*=\s*([^\W_][\w./ -]*?)\s*(#.*)?""", line)
    is_value = said.startswith(("Invalid value", "Expected newline"))
    return f'write the value in quotes: "{bare[1]}"' if bare and is_value else ""
