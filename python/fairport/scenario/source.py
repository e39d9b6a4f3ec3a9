"""The sources of a document's values, for messages: a line of a file, or `--set`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from fairport.toml.lines import line_of

# a key may be of other digits ("²") or of more than Python reads
_INDEX = re.compile("[0-9]{1,9}")


@dataclass(frozen=True)
class Source:
    """A file, and the overrides of its values."""

    file: str = ""
    """Its name in messages: a path, or the name of a built-in scenario."""
    text: str = ""
    """The TOML text, if there is one."""
    set_by: dict[str, str] = field(default_factory=dict)
    """Dotted paths that were overridden, and by what: `--set`, `--duration`, a fix."""

    @property
    def folder(self) -> Path:
        """Where files are looked for whose relative paths the document has: beside it."""
        return Path(self.file).parent if self.file and is_path(self.file) else Path()

    def where(self, path: str) -> str:
        """Where the field of this dotted path was set, for messages: "my.toml:12"."""
        for known in sorted(self.set_by, key=len, reverse=True):
            if path == known or path.startswith(f"{known}.") or known.startswith(f"{path}."):
                return self.set_by[known]
        line = self.line(path)
        return f"{self.file}:{line}" if line else self.file

    def line(self, path: str) -> int:
        """The line of the file that sets the field; 0 if none does."""
        line = line_of(self.text, parts(path)) if self.text and path else None
        return line or 0

    def overridden(self, paths: Iterable[str], by: str) -> Source:
        """The same source, with these fields overridden by `by`."""
        return replace(self, set_by=self.set_by | dict.fromkeys(paths, by))


def parts(path: str) -> list[str | int]:
    """The path "traffic.0.from" as its parts."""
    return [int(part) if _INDEX.fullmatch(part) else part for part in path.split(".")]


def is_path(source: str | Path) -> bool:
    """Whether it is a file, and not the name of a built-in scenario."""
    return isinstance(source, Path) or source.endswith(".toml") or "/" in source or "\\" in source
