"""The points of a sweep: all combinations of its axes, with zipped axes together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from fairport.errors import InputError, require_known
from fairport.scenario import Scenario
from fairport.scenario.axes import Combination, Point
from fairport.scenario.patch import in_toml
from fairport.study.fixes import BASELINE
from fairport.study.fixes import load as load_fixes
from fairport.study.sql import matching

FIX = "fix"
"""The axis of this name has names of fixes, files of one's own, and "none"."""

FILE = ".toml"
"""The end of a fix's file."""

Axes = Mapping[str, Sequence[Point]]


@dataclass(frozen=True)
class StudyPoint:
    """One combination, by the axes' names."""

    at: Combination

    @property
    def values(self) -> dict[str, Any]:
        """The contents of the axes' columns: the value, or the name of a point without a value."""
        return {axis: value_of(point) for axis, point in self.at.at.items()}

    @cached_property
    def id(self) -> str:
        """Hash of the settings."""
        content = json.dumps([self.values, self.at.patch], sort_keys=True, default=str)
        return hashlib.blake2b(content.encode(), digest_size=6).hexdigest()

    def applied(self, base: Scenario, folder: Path) -> Scenario:
        """The scenario at this point; a fix comes last. Raises ScenarioError.

        The path of a fix's file starts from the folder.
        """
        patch = dict(self.at.patch)
        fix = patch.pop(FIX, BASELINE)
        scenario = base.patch(patch) if patch else base
        if fix == BASELINE:
            return scenario
        (found,) = load_fixes([folder / fix if fix.endswith(FILE) else fix])
        return found.applied(scenario)

    @property
    def name(self) -> str:
        """The point in messages: `queue.limit = 16KiB, topology.peers = 12`."""
        return ", ".join(f"{axis} = {point.title}" for axis, point in self.at.at.items())


def value_of(point: Point) -> Any:
    """The content of the axis's column at the point."""
    if point.number is not None:
        return point.number
    return point.title if point.value is None else in_column(point.value, point.title)


def label_of(axis: str, point: Point) -> str:
    """The point's name in figures: that of a file without its folder."""
    is_file = axis == FIX and point.title.endswith(FILE)
    return Path(point.title).stem if is_file else point.title


def in_column(value: Any, title: str = "") -> Any:
    """A value as a column has it: lists and tables by their titles, or in TOML."""
    return (title or in_toml(value)) if isinstance(value, list | dict) else value


def count(axes: Axes, zips: Sequence[Sequence[str]], file: str) -> int:
    """Number of points before any is left out."""
    return prod(len(steps) for steps in _steps(axes, zips, file))


def points(axes: Axes, zips: Sequence[Sequence[str]], where: str, file: str) -> list[StudyPoint]:
    """Every point, the first axis slowest. Raises InputError if none is left."""
    every = [
        StudyPoint(Combination({axis: at[axis] for axis in axes}))
        for at in _product(axes, zips, file)
    ]
    if where:
        chosen = matching([one.values for one in every], where, file)
        every = [every[index] for index in chosen]
    if not every:
        raise InputError(
            "leaves no point",
            file=file,
            field="where" if where else "axes",
            value=where or dict(axes),
            remedy="give each axis a value" if not where else "make the condition wider",
        )
    return every


def _product(axes: Axes, zips: Sequence[Sequence[str]], file: str) -> Iterator[dict[str, Point]]:
    for parts in product(*_steps(axes, zips, file)):
        yield {axis: point for part in parts for axis, point in part.items()}


def _steps(axes: Axes, zips: Sequence[Sequence[str]], file: str) -> list[list[dict[str, Point]]]:
    """The axes in groups that are varied together, in order of their first axis."""
    for name in (name for group in zips for name in group):
        require_known(name, axes, "is not an axis", file=file, field="zip")
    steps, done = [], set[str]()
    for axis in axes:
        if axis in done:
            continue
        group = next((list(group) for group in zips if axis in group), [axis])
        lengths = {name: len(axes[name]) for name in group}
        if len(set(lengths.values())) > 1:
            said = ", ".join(f"`{name}` {length}" for name, length in lengths.items())
            raise InputError(
                f"goes through axes of different lengths: {said}",
                file=file,
                field="zip",
                remedy="give them equally many values",
            )
        done |= set(group)
        rows = zip(*(axes[name] for name in group), strict=True)
        steps.append([dict(zip(group, row, strict=True)) for row in rows])
    return steps
