"""Loads scenarios from files, built-in ones and dictionaries; there is no other way."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fairport._toml import loads
from fairport.errors import ScenarioError, did_you_mean
from fairport.scenario.hidden_errors import hidden_errors
from fairport.scenario.model import Scenario
from fairport.scenario.problems import refused
from fairport.scenario.source import Source
from fairport.toml_files import parse as parse_toml

# fields that a file has above its first section
_OWN_FIELDS = ("name", "description", "paper", "seed", "duration", "routing")


def load(source: str | Path | Mapping[str, Any] | Scenario) -> Scenario:
    """A scenario by the name of a built-in one, by the path of a TOML file, or from a dictionary.

    A text is a path if it ends in `.toml` or contains a path separator, otherwise a name. Raises
    ScenarioError.
    """
    if isinstance(source, Scenario):
        return source
    if isinstance(source, Mapping):
        return validate(dict(source), Source())
    if not isinstance(source, str | Path):
        raise ScenarioError(
            "is not a scenario",
            value=source,
            remedy="give the name of a built-in one, a file, a dictionary, or a Scenario",
        )
    return parse(source_text(source), file=str(source))


def source_text(source: str | Path) -> str:
    """The TOML of a built-in scenario or of a file, with its author's comments.

    Raises ScenarioError.
    """
    return _read(Path(source)) if _is_path(source) else builtin_text(str(source))


def parse(text: str, file: str) -> Scenario:
    """A scenario from TOML text; `file` is its name in messages."""
    remedy = "see https://toml.io, or start from `fairport scenario show outcast`"
    return validate(parse_toml(text, file, ScenarioError, remedy), Source(file, text))


def validate(document: dict[str, Any], source: Source) -> Scenario:
    """A scenario from a document with the fields of a file."""
    file = source.file
    folder = Path(file).parent if file and _is_path(file) else Path()

    def check(one: dict[str, Any]) -> Scenario:
        return Scenario.model_validate(one, context={"folder": folder})

    document = _plain(document)
    try:
        scenario = check(document)
    except ValidationError as error:
        hidden = hidden_errors(error, document, check)
        raise refused(error, document, source, ScenarioError, _OWN_FIELDS, hidden) from None
    scenario._source = source
    return scenario


def builtin_names() -> list[str]:
    """Names of the scenarios that come with Fairport."""
    folder = resources.files("fairport.scenario") / "builtin"
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    )


def builtin_text(name: str) -> str:
    """The TOML of a built-in scenario, with its comments."""
    if name not in builtin_names():
        raise ScenarioError(
            "is not a built-in scenario",
            value=name,
            remedy=f"{did_you_mean(name, builtin_names())} A file ends in .toml.",
        )
    return (resources.files("fairport.scenario") / "builtin" / f"{name}.toml").read_text(
        encoding="utf-8"
    )


def builtin_use(name: str) -> str:
    """When one would use a built-in scenario: two sentences. Raises ScenarioError."""
    builtin_text(name)
    uses = (resources.files("fairport.scenario") / "uses.toml").read_text(encoding="utf-8")
    return str(loads(uses)[name])


def _plain(value: Any) -> Any:
    """The same values, where numbers and lists that come from NumPy are Python's own."""
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _is_path(source: str | Path) -> bool:
    return isinstance(source, Path) or source.endswith(".toml") or "/" in source or "\\" in source


def _read(path: Path) -> str:
    try:
        # some editors begin a file with a byte order mark, which TOML does not allow
        return path.read_text(encoding="utf-8-sig")
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
        problem, remedy = "is not UTF-8 text", "a scenario is a TOML file"
    except OSError as error:
        problem, remedy = f"cannot be read: {error.strerror}", "check the path and its permissions"
    raise ScenarioError(problem, remedy=remedy, file=str(path))
