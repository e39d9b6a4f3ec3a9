"""Sweep files in TOML: a scenario, axes, seeds, and the numbers to keep.

    scenario = "two-switch"
    seeds = 20
    keep = ["throughput_ratio", "jain_index"]
    where = '"topology.peers" < 50'
    zip = [["link.rate", "queue.limit"]]

    [set]
    duration = "1s"

    [axes]
    "topology.peers" = { from = 1, to = 60, steps = 12, scale = "log" }
    "queue.limit" = ["8KiB", "16KiB"]
    stack = [{ name = "cubic", patch = { "tcp.congestion_control" = "cubic" } }]
    fix = ["none", "red", "dctcp"]

An axis is a field's dotted path, the author's own name with points that have patches, or `fix`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, PrivateAttr, field_validator

from fairport.errors import InputError, did_you_mean
from fairport.run_numbers import NUMBERS
from fairport.scenario import Scenario
from fairport.scenario import load as load_scenario
from fairport.scenario.axes import Points
from fairport.scenario.base import Section, refuse
from fairport.scenario.problems import checked
from fairport.scenario.source import Source
from fairport.study.results import BESIDES, OF_A_RUN
from fairport.toml_files import parse, read_text

_BUILTIN = Path(__file__).parent / "builtin"
_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


class SweepFile(Section):
    """A sweep."""

    of: ClassVar[str] = "a sweep"

    scenario: str
    """Name of a built-in scenario, or the path of a file, from the folder of the sweep file."""
    name: str = Field(default="sweep", pattern=_NAME, max_length=100)
    """Name of the study; results go to `results/NAME`. Default: the file's name."""
    description: str = ""
    """The purpose of the sweep."""
    seeds: int | list[int] = 20
    """Number of seeds per point, from 1 on, or a list of seeds."""
    keep: list[str] | None = None
    """The numbers to keep of each run; default: all."""
    settings: dict[str, Any] = Field(default={}, alias="set")
    """Settings at every point: values by dotted paths."""
    axes: dict[str, Points] = Field(default={}, validate_default=True)
    """The axes: values by dotted paths, or points with patches under a name."""
    titles: dict[str, str] = Field(default={})
    """Names of axes in figures, if they differ."""
    zip: list[list[str]] = Field(default=[])
    """Axes that go together, value by value."""
    quick: dict[str, Any] = Field(default={})
    """Fields that replace those above for a quick look (`--quick`)."""
    where: str = ""
    """A condition in SQL on the axes; points for which it does not hold are left out."""

    _file: str = PrivateAttr(default="")

    @field_validator("seeds")
    @classmethod
    def _some_seeds(cls, seeds: int | list[int]) -> int | list[int]:
        listed = range(1, seeds + 1) if isinstance(seeds, int) else seeds
        if not listed:
            raise refuse("asks for no run", "give 1 or more")
        if min(listed) < 0 or len(set(listed)) < len(listed):
            raise refuse("has a seed twice, or one below 0", "give different whole numbers")
        return seeds

    @field_validator("keep")
    @classmethod
    def _known_numbers(cls, keep: list[str] | None) -> list[str] | None:
        for name in keep or []:
            if name not in NUMBERS:
                raise refuse(f"names `{name}`, which no run has", did_you_mean(name, NUMBERS))
        if keep is not None and not keep:
            raise refuse("names no number", "leave it out to keep all")
        return keep

    @field_validator("axes")
    @classmethod
    def _free_names(cls, axes: dict[str, Any]) -> dict[str, Any]:
        if not axes:
            raise refuse("names no axis", 'give one: "queue.limit" = ["8KiB", "16KiB"]')
        for name in axes:
            if name in (*NUMBERS, *OF_A_RUN, *BESIDES):
                raise refuse(f"names `{name}`, which is a column of every study", "rename the axis")
        for name, at in axes.items():
            if len({point.name for point in at}) < len(at):
                raise refuse("has a value twice", "give each value once", field=name)
        return axes

    @property
    def file(self) -> str:
        """Its name in messages."""
        return self._file or "sweep"

    @property
    def seed_numbers(self) -> Sequence[int]:
        """The seeds of each point."""
        return range(1, self.seeds + 1) if isinstance(self.seeds, int) else self.seeds

    def base(self) -> Scenario:
        """The scenario with the settings of every point. Raises ScenarioError."""
        is_beside = self.scenario.endswith(".toml") and self._file
        source = Path(self._file).parent / self.scenario if is_beside else self.scenario
        return load_scenario(source).patch(self.settings)


def as_list(values: Any) -> Any:
    """A range, tuple or array from Python as the list that TOML has; anything else unchanged."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        return values
    return [one.item() if hasattr(one, "item") else one for one in values]


def read(document: Mapping[str, Any], file: str, text: str = "") -> SweepFile:
    """A sweep from a document with the fields of a file, and its TOML. Raises InputError."""
    sweep = checked(SweepFile, dict(document), Source(file or "sweep", text), InputError)
    sweep._file = file
    return sweep


def builtin_names() -> list[str]:
    """Names of the studies that come with Fairport."""
    return sorted(path.stem for path in _BUILTIN.glob("*.toml"))


def load(source: str | Path, *, quick: bool = False) -> SweepFile:
    """A sweep file, or a built-in study by its name. Raises InputError."""
    if isinstance(source, str) and not re.search(r"\.toml$|[/\\]", source):
        if source not in builtin_names():
            raise InputError(
                "is not a built-in study",
                value=source,
                remedy=f"{did_you_mean(source, builtin_names())} A file ends in .toml.",
            )
        return _quick(_load(_BUILTIN / f"{source}.toml"), quick)
    return _quick(_load(Path(source)), quick)


def _quick(file: SweepFile, is_asked_for: bool) -> SweepFile:
    """The sweep with the fields that `quick` replaces, as a separate study."""
    if not is_asked_for:
        return file
    if not file.quick:
        raise InputError(
            "has no [quick]",
            file=file.file,
            remedy="leave `quick=True` out, or add a section [quick]",
        )
    document = file.model_dump(by_alias=True, exclude_unset=True) | {"name": f"{file.name}-quick"}
    for name, value in document.pop("quick").items():
        both = isinstance(value, dict) and isinstance(document.get(name), dict)
        document[name] = document[name] | value if both else value
    return read(document, file.file)


def _load(path: Path) -> SweepFile:
    text = read_text(path, str(path), InputError, "give a sweep file (docs/guide/studies.md)")
    document = parse(text, str(path), InputError, "see https://toml.io")
    return read({"name": path.stem, **document}, str(path), text)
