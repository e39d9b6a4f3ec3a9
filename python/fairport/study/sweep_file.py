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

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, field_validator

from fairport.errors import InputError, did_you_mean
from fairport.metrics.run_numbers import NUMBERS
from fairport.scenario.axes import Points
from fairport.scenario.base import refuse
from fairport.study import study_file
from fairport.study.points import value_of
from fairport.study.results import BESIDES, OF_A_RUN
from fairport.study.study_file import StudyFile


class SweepFile(StudyFile):
    """A sweep."""

    of: ClassVar[str] = "a sweep"
    kind: ClassVar[str] = "sweep"
    builtin: ClassVar[Path] = Path(__file__).parent / "builtin"

    seeds: int | list[int] = 20
    """Number of seeds per point, from 1 on, or a list of seeds."""
    keep: list[str] | None = None
    """The numbers to keep of each run; default: all."""
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

    @field_validator("axes", mode="before")
    @classmethod
    def _dotted_paths(cls, axes: Any) -> Any:
        for name, axis in axes.items() if isinstance(axes, dict) else ():
            for field, values in axis.items() if isinstance(axis, dict) else ():
                if field != "values" and isinstance(values, list | dict):
                    raise refuse(
                        "is a section in TOML, because the dotted path is not in quotes",
                        f'write "{name}.{field}" = ...',
                        field=name,
                        show_value=False,
                    )
        return cls.refuse_own_fields(axes)

    @field_validator("axes")
    @classmethod
    def _free_names(cls, axes: dict[str, Any]) -> dict[str, Any]:
        if not axes:
            raise refuse("names no axis", 'give one: "queue.limit" = ["8KiB", "16KiB"]')
        for name in axes:
            if name in (*NUMBERS, *OF_A_RUN, *BESIDES):
                remedy = "give `seeds = [..]`" if name == "seed" else "rename the axis"
                raise refuse(f"names `{name}`, which is a column of every study", remedy)
        for name, at in axes.items():
            if len({value_of(point) for point in at}) < len(at):
                raise refuse("has a value twice", "give each value once", field=name)
        return axes

    @property
    def seed_numbers(self) -> Sequence[int]:
        """The seeds of each point."""
        return range(1, self.seeds + 1) if isinstance(self.seeds, int) else self.seeds


def as_list(values: Any) -> Any:
    """A range, tuple or array from Python as the list that TOML has; anything else unchanged."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        return values
    return [one.item() if hasattr(one, "item") else one for one in values]


def load(source: str | Path, *, quick: bool = False) -> SweepFile:
    """A sweep file, or a built-in sweep by its name. Raises InputError."""
    file = study_file.load(SweepFile, source)
    return _quick(file) if quick else file


def _quick(file: SweepFile) -> SweepFile:
    """The sweep with the fields that `quick` replaces, as a separate study."""
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
    return study_file.read(SweepFile, document, file.file)
