"""Finds and runs packetdrill scripts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairport import _core
from fairport.errors import InputError
from fairport.scenario.units import Duration


@dataclass(frozen=True)
class ScriptResult:
    """The outcome of one script."""

    path: Path
    stack: str = ""
    failure: dict[str, Any] | None = None
    """`kind`, `line`, `time_s`, `expected`, `actual` of the first line that fails."""
    notes: list[dict[str, Any]] = field(default_factory=list)
    """`line` and `text` of lines that the engine ignored."""
    error: str = ""
    """Why the script cannot be run."""

    @property
    def holds(self) -> bool:
        """Whether the stack did what the script says."""
        return not self.error and self.failure is None

    def document(self) -> dict[str, Any]:
        """The outcome as a dictionary, for JSON."""
        return {
            "file": str(self.path),
            "holds": self.holds,
            "stack": self.stack,
            "failure": self.failure,
            "notes": self.notes,
            "error": self.error or None,
        }

    def text(self) -> str:
        """The outcome as text, for people."""
        if self.error:
            return f"unreadable  {self.path}"
        if self.failure is None:
            return f"holds       {self.path}"
        return (
            f"fails       {self.path}:{self.failure['line']} at {self.failure['time_s']:.6f} s"
            f" ({self.stack})\n"
            f"  expected  {self.failure['expected']}\n"
            f"  but       {self.failure['actual']}"
        )


def find(paths: Iterable[Path]) -> list[Path]:
    """The files among `paths`, and every `.pkt` file below the folders among them, sorted."""
    found = []
    for path in paths:
        if path.is_dir():
            below = sorted(path.rglob("*.pkt"))
            if not below:
                raise InputError(
                    "contains no scripts",
                    file=str(path),
                    remedy="name a folder with `.pkt` files",
                )
            found += below
        elif path.exists():
            found.append(path)
        else:
            raise InputError(
                "does not exist", file=str(path), remedy="name a script, or a folder of scripts"
            )
    return found


def run(path: Path, stack: str | None = None, tolerance: Duration | None = None) -> ScriptResult:
    """Runs one script against a stack: by default the one that it names, or today's Linux.

    Times may be off by `tolerance`; the default is the script's own, or else 4 ms.

    Raises InputError for a stack that does not exist.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ScriptResult(path, error=f"{path}: is not UTF-8 text")
    except OSError as error:
        return ScriptResult(path, error=f"{path}: cannot be read: {error.strerror}")
    try:
        outcome = _core.run_script(text, stack, tolerance)
    except _core.JobError as error:
        if stack is not None and error.field == "stack":
            raise InputError(error.problem, field="--stack", remedy=error.remedy) from None
        hint = f"; {error.remedy}" if error.remedy else ""
        return ScriptResult(path, error=f"{path}: {error.field}: {error.problem}{hint}")
    return ScriptResult(path, outcome["stack"], outcome["failure"], outcome["notes"])
