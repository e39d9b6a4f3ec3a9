"""Axes: the settings in which the scenarios of a family differ, and all their combinations.

An axis has points. A point sets one value at the axis's dotted path, or several values at paths of
its own. Papers write axes in `experiment.toml`:

    [axes]
    "queue.limit" = ["8KiB", "16KiB", "32KiB"]
    "loss.0.drops" = { prefix = "k", from = 1, to = 10 }
    "link.rate" = { from = "100Mbps", to = "10Gbps", steps = 5, scale = "log" }
    scheme = [{ name = "cubic", label = "CUBIC", patch = { "tcp.congestion_control" = "cubic" } }]

The first axis varies slowest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator
from typing_extensions import Self

from fairport.scenario.base import NAME, Section, refuse
from fairport.scenario.patch import in_toml
from fairport.scenario.rows import MOST_VALUES, row


class Point(Section):
    """One place on an axis."""

    of: ClassVar[str] = "a point of an axis"

    name: str = Field(pattern=NAME)
    """Its part in the names of combinations."""
    label: str = ""
    """Its text in figures and tables; default: its name."""
    value: Any = None
    """The value at the axis's path, if the axis is a path."""
    patch: dict[str, Any] = Field(default={})
    """Further values by dotted paths."""
    number: int | float | None = None
    """The name, if it is a number: the point lies there on its axis."""

    @property
    def title(self) -> str:
        """Its name for people."""
        return self.label or self.name


class Steps(Section):
    """Points as values whose names have a common prefix, or as a row between two values."""

    of: ClassVar[str] = "an axis"

    prefix: str = ""
    """Start of the points' names; the values follow."""
    values: list[Any] = Field(default=[])
    """The values, in order."""
    first: int | float | str | None = Field(default=None, alias="from")
    """Instead of values: the first value of a row of numbers or of quantities."""
    last: int | float | str | None = Field(default=None, alias="to")
    """The last value of the row."""
    steps: int | None = Field(default=None, ge=2, le=MOST_VALUES)
    """Number of values in the row; default: every whole number."""
    scale: Literal["linear", "log"] = "linear"
    """Whether neighbouring values have the same difference or the same ratio."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        is_row = self.first is not None and self.last is not None
        if is_row == bool(self.values) or (self.first is None) != (self.last is None):
            raise refuse("needs values, or from and to", "give one of the two", show_value=False)
        return self

    def points(self) -> list[dict[str, Any]]:
        """The points as a list writes them."""
        values = self.values
        if self.first is not None and self.last is not None:
            values = row(self.first, self.last, self.steps, self.scale)
        return [named(value, self.prefix) for value in values]


def named(value: Any, prefix: str = "") -> dict[str, Any]:
    """A value as a point, whose name holds the letters and digits that names may have."""
    label = in_toml(value) if isinstance(value, list | dict) else str(value)
    name = re.sub(r"[^a-z0-9.]+", "-", label.lower()).strip("-.")
    return {"name": f"{prefix}{name}" or "value", "label": label, "value": value}


def _points(written: Any) -> Any:
    """The points as a list, in whichever way the axis is written."""
    if isinstance(written, dict):
        return Steps.model_validate(written).points()
    if isinstance(written, list):
        return [
            _with_number(one) if isinstance(one, dict | Point) else named(one) for one in written
        ]
    return written


def _with_number(point: Any) -> Any:
    name = point.get("name") if isinstance(point, dict) else None
    if isinstance(name, bool) or not isinstance(name, int | float):
        return point
    return point | {"name": str(name), "number": name}


Points = Annotated[list[Point], BeforeValidator(_points), Field(min_length=1)]
"""The points of an axis: values, `{ prefix, values }`, `{ from, to, steps, scale }`, or points."""


@dataclass(frozen=True)
class Combination:
    """One point of each axis."""

    at: Mapping[str, Point]
    """The points by the names of their axes."""

    @property
    def name(self) -> str:
        """The points' names, in the order of the axes."""
        return "-".join(point.name for point in self.at.values())

    @property
    def patch(self) -> dict[str, Any]:
        """Values by dotted paths; a later axis overrides an earlier one."""
        patch: dict[str, Any] = {}
        for axis, point in self.at.items():
            if point.value is not None:
                patch[axis] = point.value
            patch |= point.patch
        return patch

    def is_at(self, names: Mapping[str, str]) -> bool:
        """Whether it has these points, named by axis."""
        return all(axis in self.at and self.at[axis].name == name for axis, name in names.items())


def combinations(axes: Mapping[str, Sequence[Point]]) -> list[Combination]:
    """Every combination of the axes' points; none without axes."""
    if not axes:
        return []
    return [Combination(dict(zip(axes, one, strict=True))) for one in product(*axes.values())]
