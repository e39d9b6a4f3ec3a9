"""The sources of a document's values, for messages: a line of a file, or `--set`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from fairport.toml_lines import line_of


@dataclass(frozen=True)
class Source:
    """A file, and the overrides of its values."""

    file: str = ""
    """Its name in messages: a path, or the name of a built-in scenario."""
    text: str = ""
    """The TOML text, if there is one."""
    set_by: dict[str, str] = field(default_factory=dict)
    """Dotted paths that were overridden, and by what: `--set`, `--duration`, a fix."""

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
    return [int(part) if part.isdigit() else part for part in path.split(".")]
