"""Loads scenarios from files, built-in ones and dictionaries; there is no other way."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from fairport.errors import ScenarioError, did_you_mean
from fairport.scenario.model import Scenario
from fairport.scenario.patch import overridden
from fairport.scenario.source import Source, is_path
from fairport.toml.files import names_in, text_of
from fairport.toml.files import parse as parse_toml
from fairport.toml.parser import loads


def load(
    source: str | Path | Mapping[str, Any] | Scenario,
    overrides: Mapping[str, Any] | None = None,
    *,
    by: str = "patch",
) -> Scenario:
    """A scenario by the name of a built-in one, by the path of a TOML file, or from a dictionary.

    A text is a path if it ends in `.toml` or contains a path separator, otherwise a name. The
    `overrides` may replace values that the file should not have; `by` is their source in messages.
    Raises ScenarioError.
    """
    if isinstance(source, Scenario):
        return source.patch(overrides or {}, by=by)
    if isinstance(source, Mapping):
        return _overridden(source, Source(), overrides or {}, by)
    if not isinstance(source, str | Path):
        raise ScenarioError(
            "is not a scenario",
            value=source,
            remedy="give the name of a built-in one, a file, a dictionary, or a Scenario",
        )
    text = source_text(source)
    return _overridden(_document(text, str(source)), Source(str(source), text), overrides or {}, by)


def source_text(source: str | Path) -> str:
    """The TOML of a built-in scenario or of a file, with its author's comments.

    Raises ScenarioError.
    """
    return _read(Path(source)) if is_path(source) else builtin_text(str(source))


def parse(text: str, file: str) -> Scenario:
    """A scenario from TOML text; `file` is its name in messages."""
    return Scenario.read(_document(text, file), Source(file, text))


def _document(text: str, file: str) -> dict[str, Any]:
    remedy = "see https://toml.io, or start from `fairport scenario show outcast`"
    return parse_toml(text, file, ScenarioError, remedy)


def _overridden(
    document: Mapping[str, Any], source: Source, overrides: Mapping[str, Any], by: str
) -> Scenario:
    """A scenario of the document; an override counts as if its author had written it."""
    return overridden(
        document,
        overrides,
        by,
        lambda patched: Scenario.read(patched, source.overridden(overrides, by)),
    )


def builtin_names() -> list[str]:
    """Names of the scenarios that come with Fairport."""
    return names_in(resources.files("fairport.scenario") / "builtin")


def builtin_text(name: str) -> str:
    """The TOML of a built-in scenario, with its comments."""
    if name not in builtin_names():
        remedy = f"{did_you_mean(name, builtin_names())} A file ends in .toml."
        # pathlib's raises an error for long names
        if os.path.isfile(name):  # noqa: PTH113
            remedy = "rename the file: its name must end in .toml"
        elif os.path.isfile(f"{name}.toml"):  # noqa: PTH113
            remedy = f"did you mean `{name}.toml`?"
        raise ScenarioError("is not a built-in scenario", value=name, remedy=remedy)
    return (resources.files("fairport.scenario") / "builtin" / f"{name}.toml").read_text(
        encoding="utf-8"
    )


def builtin_use(name: str) -> str:
    """When one would use a built-in scenario: two sentences. Raises ScenarioError."""
    builtin_text(name)
    uses = (resources.files("fairport.scenario") / "uses.toml").read_text(encoding="utf-8")
    return str(loads(uses)[name])


def _read(path: Path) -> str:
    try:
        return text_of(path)
    except FileNotFoundError:
        problem, remedy = (
            "does not exist",
            "`fairport scenario show outcast > my.toml` makes a file to start from",
        )
    except IsADirectoryError:
        problem, remedy = (
            "is a folder",
            "give a TOML file; `fairport rerun` repeats a run from its folder",
        )
    except UnicodeDecodeError:
        problem, remedy = "is not UTF-8 text", "save it as UTF-8"
    except OSError as error:
        problem, remedy = f"cannot be read: {error.strerror}", "check the path and its permissions"
    raise ScenarioError(problem, remedy=remedy, file=str(path))
