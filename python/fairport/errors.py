"""Errors in the input, with four parts: where, what value, what is wrong, and how to fix it.

There is one base class, `InputError`. A part of the program that does not know the file or the
whole field raises its own kind of error with what it knows, and a caller adds the rest with
`InputError.placed`.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

_ABSENT: Any = object()
# Most words of a list that are printed.
_MOST_LISTED = 20

E = TypeVar("E", bound="InputError")


class InputError(Exception):
    """Bad input. It names the file, the field, the value and the remedy, as far as they apply.

    `str(error)` is one sentence without the remedy. The command line and tracebacks print the
    remedy below it as a hint, and then `others`: further mistakes in the same input.
    """

    def __init__(
        self,
        problem: str,
        *,
        remedy: str = "",
        file: str = "",
        field: str = "",
        value: Any = _ABSENT,
        others: Iterable[InputError] = (),
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.file = file
        self.field = field
        self.has_value = value is not _ABSENT
        self.value = value if self.has_value else None
        self.others = tuple(others)

    @property
    def __notes__(self) -> list[str]:  # type: ignore[override]
        """The lines that a traceback and a notebook print below the error (PEP 678)."""
        return self.lines()[1:]

    def lines(self) -> list[str]:
        """The error and its hint, then every other error and its hint."""
        lines = [f"error: {self}"]
        if self.remedy:
            lines.append(f"hint: {self.remedy}")
        return lines + [line for other in self.others for line in other.lines()]

    def placed(self, kind: type[E], *, file: str, field: str, value: Any = _ABSENT) -> E:
        """The same error as another kind, in this file and below this field.

        `value` is shown if the error itself has none.
        """
        return kind(
            self.problem,
            remedy=self.remedy,
            file=file,
            field=".".join(part for part in (field, self.field) if part),
            value=self.value if self.has_value else value,
        )

    def __str__(self) -> str:
        where = "".join(f"{part}: " for part in (self.file, self.field) if part)
        shown = f"{_as_written(self.value)} " if self.has_value else ""
        return f"{where}{shown}{self.problem}"


class ScenarioError(InputError):
    """A scenario that cannot be run: not TOML, an unknown field, an impossible value."""


class OutputError(InputError):
    """A file or folder that cannot be written, or must not be replaced."""


class RunFolderError(InputError):
    """A folder that should hold a run but does not."""


class ResourceError(InputError):
    """A run that needs more memory than the machine has left."""


class BackendError(InputError):
    """A backend that cannot do its work here: no privileges, or a kernel that lacks something."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C. The text says what is kept."""


def require_positive(value: int, field: str) -> None:
    """Raises InputError for an argument of a function that is not a whole number above 0."""
    if not isinstance(value, int):
        raise InputError("is not a whole number", field=field, value=value, remedy="give 1 or more")
    if value < 1:
        raise InputError("is too small", field=field, value=value, remedy="give 1 or more")


def require_class(value: object, kind: type, field: str, example: str) -> None:
    """Raises InputError for an argument of a function that is neither None nor of its class."""
    if value is not None and not isinstance(value, kind):
        raise InputError(
            f"is not an fp.{kind.__name__}",
            field=field,
            value=value,
            remedy=f"give one, such as {example}",
        )


def require_function(value: Callable[..., object] | None, field: str) -> None:
    """Raises InputError for an argument of a function that is neither None nor a function."""
    if value is not None and not callable(value):
        raise InputError(
            "is not a function", field=field, value=value, remedy="give one, such as `print`"
        )


def require_dictionary(value: object, field: str, example: str) -> None:
    """Raises InputError for an argument of a function that is not a dictionary."""
    if not isinstance(value, Mapping):
        raise InputError(
            "is not a dictionary", field=field, value=value, remedy=f"give one, such as {example}"
        )


def require_path(value: object, field: str) -> None:
    """Raises InputError for an argument of a function that is not the path of a folder."""
    if not isinstance(value, str | os.PathLike):
        raise InputError(
            "is not the path of a folder",
            field=field,
            value=value,
            remedy="give a text or a `pathlib.Path`",
        )


def require_known(
    word: Any,
    known: Collection[str],
    problem: str,
    *,
    file: str = "",
    field: str = "",
    kind: type[InputError] = InputError,
) -> None:
    """Raises `kind` for a word that is not among the known ones; the remedy is the nearest one."""
    # a list has no hash, and known words may be the keys of a dictionary
    if word not in tuple(known):
        remedy = did_you_mean(str(word), known)
        raise kind(problem, file=file, field=field, value=word, remedy=remedy)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The nearest known word as a question; if none is near, the list of known words."""
    known = list(known)
    found = nearest(word, known)
    if found:
        return f"did you mean `{found}`?"
    more = f" and {len(known) - _MOST_LISTED} more" if len(known) > _MOST_LISTED else ""
    return f"choose one of {', '.join(known[:_MOST_LISTED])}{more}."


def not_one_of(word: object, known: Iterable[str]) -> tuple[str, str]:
    """Problem and remedy for a word of a short list; the problem names the whole list."""
    known = list(known)
    found = nearest(str(word), known)
    return (
        f"is not one of {', '.join(known)}",
        f"did you mean `{found}`?" if found else "choose one of these.",
    )


def nearest(word: str, known: list[str]) -> str:
    """The known word that is most similar to this one; empty if none is similar."""

    def parts(name: str) -> list[str]:  # finds rto_min for min_rto
        return sorted(name.lower().split("_"))

    same = [name for name in known if parts(name) == parts(word)]
    longer = [name for name in known if {*parts(word)} < {*parts(name)}]  # jain_index for jain
    if not same and len(longer) == 1:
        return longer[0]
    return next(iter(same or difflib.get_close_matches(word, known, n=1, cutoff=0.6)), "")


def _as_written(value: Any) -> str:
    """The value as a scenario file would hold it, shortened to fit a line.

    Its end is kept, because long names may differ there only.
    """
    try:
        text = json.dumps(value, ensure_ascii=False)
    except TypeError:
        text = str(value)
    return text if len(text) <= 80 else f"{text[:50]}...{text[-27:]}"
