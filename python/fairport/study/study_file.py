"""What the files of sweeps and of searches have in common, and how they are read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import Field, PrivateAttr

from fairport.errors import InputError, did_you_mean
from fairport.scenario import Scenario
from fairport.scenario import load as load_scenario
from fairport.scenario.base import Name, Section, refuse
from fairport.scenario.checking import checked
from fairport.scenario.source import Source
from fairport.toml.files import names_in, parse, read_text

F = TypeVar("F", bound="StudyFile")


class StudyFile(Section):
    """A scenario, and how it is varied."""

    kind: ClassVar[str]
    """What it is, in messages."""
    builtin: ClassVar[Path]
    """The folder of those that come with Fairport."""

    scenario: str
    """Name of a built-in scenario, or the path of a file, from the folder of this file."""
    name: Name = "study"
    """Name of the study; results go to `results/NAME`. Default: the file's name."""
    description: str = ""
    """The purpose of the study."""
    settings: dict[str, Any] = Field(default={}, alias="set")
    """Settings at every point: values by dotted paths."""

    _file: str = PrivateAttr(default="")

    @classmethod
    def refuse_own_fields(cls, varied: Any) -> Any:
        """Refuses a field of the file among the fields of the scenario that are varied.

        TOML takes a line below a [section] for a part of the section.
        """
        for name in varied if isinstance(varied, dict) else ():
            if name in cls.model_fields and name not in Scenario.model_fields:
                raise refuse(
                    "is no field of a scenario, but of the whole file",
                    f"put `{name}` above the first [section]",
                    field=name,
                    show_value=False,
                )
        return varied

    @property
    def file(self) -> str:
        """Its name in messages."""
        return self._file or self.kind

    def base(self) -> Scenario:
        """The scenario with the settings of every point. Raises ScenarioError."""
        return load_scenario(self.beside(self.scenario), self.settings)

    def beside(self, named: str) -> str | Path:
        """A built-in name, or the path of a file, which starts from the folder of this file."""
        return Path(self._file).parent / named if named.endswith(".toml") else named


def read(model: type[F], document: Mapping[str, Any], file: str = "", text: str = "") -> F:
    """A document with the fields of a file, and its TOML. Raises InputError."""
    found = checked(
        model.model_validate, dict(document), Source(file or model.kind, text), InputError
    )
    found._file = file
    return found


def load(model: type[F], source: str | Path) -> F:
    """A file, or a built-in one by its name. Raises InputError."""
    path = Path(source)
    if isinstance(source, str) and not re.search(r"\.toml$|[/\\]", source):
        names = builtin_names(model)
        if source not in names:
            raise InputError(
                f"is not a built-in {model.kind}",
                value=source,
                remedy=f"{did_you_mean(source, names)} A file ends in .toml.",
            )
        path = model.builtin / f"{source}.toml"
    remedy = f"give a {model.kind} file (docs/guide/studies.md)"
    text = read_text(path, str(path), InputError, remedy)
    document = parse(text, str(path), InputError, "see https://toml.io")
    return read(model, {"name": path.stem, **document}, str(path), text)


def builtin_names(model: type[StudyFile]) -> list[str]:
    """Names of those that come with Fairport."""
    return names_in(model.builtin)
