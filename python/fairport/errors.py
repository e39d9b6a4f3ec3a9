"""What a user can get wrong, said once: where, what, and how to mend it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from typing import Any

_ABSENT: Any = object()
# of a longer list only so many are printed
_MOST_LISTED = 20


class InputError(Exception):
    """Bad input. Names the file, the field, the value and the remedy, as far as each applies.

    `str(error)` is one sentence without the remedy; the command line prints the remedy as a hint.
    """

    def __init__(
        self,
        problem: str,
        *,
        remedy: str = "",
        file: str = "",
        field: str = "",
        value: Any = _ABSENT,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.file = file
        self.field = field
        self.has_value = value is not _ABSENT
        self.value = value if self.has_value else None

    def __str__(self) -> str:
        where = "".join(f"{part}: " for part in (self.file, self.field) if part)
        shown = f"{_as_written(self.value)} " if self.has_value else ""
        return f"{where}{shown}{self.problem}"


class ScenarioError(InputError):
    """A scenario that cannot be run: not TOML, an unknown field, an impossible value."""


class OutputError(InputError):
    """A results folder that cannot be written, or must not be."""


class RunFolderError(InputError):
    """A folder that was to hold a run and does not."""


class ResourceError(InputError):
    """A run that the machine cannot hold."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C; the text says what is kept."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The nearest known word as a question, or what there is, as a sentence."""
    known = list(known)
    found = _nearest(word, known)
    if found:
        return f"did you mean `{found}`?"
    more = f" and {len(known) - _MOST_LISTED} more" if len(known) > _MOST_LISTED else ""
    return f"known here: {', '.join(known[:_MOST_LISTED])}{more}."


def not_one_of(word: str, known: Iterable[str]) -> tuple[str, str]:
    """Problem and remedy where all that is known, being little, stands in the problem."""
    known = list(known)
    found = _nearest(word, known)
    return (
        f"is not one of {', '.join(known)}",
        f"did you mean `{found}`?" if found else "choose one of these.",
    )


def _nearest(word: str, known: list[str]) -> str:
    """The known word that is most like this one; empty when none is."""
    same = [name for name in known if name.lower() == word.lower()]
    return next(iter(same or difflib.get_close_matches(word, known, n=1, cutoff=0.6)), "")


def _as_written(value: Any) -> str:
    """The value as a scenario file would hold it, shortened to fit a line."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except TypeError:
        text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."
