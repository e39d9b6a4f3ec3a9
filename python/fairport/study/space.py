"""The space of a search: fields of a scenario with their bounds, and points drawn from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag, model_validator
from typing_extensions import Self

from fairport.scenario.axes import Combination, Point, named
from fairport.scenario.base import Section, refuse
from fairport.scenario.rows import check_finite, kind_of
from fairport.study.points import StudyPoint, in_column

if TYPE_CHECKING:
    import optuna


class Bounds(Section):
    """A field's least and greatest value: numbers, or quantities with a unit."""

    of: ClassVar[str] = "a search's space"

    first: int | float | str = Field(alias="from")
    """The least value."""
    last: int | float | str = Field(alias="to")
    """The greatest."""
    scale: Literal["linear", "log"] = "linear"
    """Whether equal differences or equal ratios are equally likely."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        check_finite(self.first, self.last)
        low, high, _ = self.range()
        if not low < high:
            raise refuse("has no room between its ends", "give a greater `to`", show_value=False)
        if self.scale == "log" and low <= 0:
            raise refuse("has no logarithm", "begin above zero, or leave `scale` out")
        return self

    def range(self) -> tuple[float, float, Callable[[float], Any]]:
        """The ends as numbers, and a function that makes a value of a number."""
        if isinstance(self.first, str) and isinstance(self.last, str):
            kind = kind_of([self.first, self.last])
            if kind is None:
                raise refuse(
                    "has ends that are not quantities of one kind",
                    'write both with a unit: { from = "4KiB", to = "1MiB" }',
                    show_value=False,
                )
            low, high = kind.read(self.first), kind.read(self.last)
            # three digits, as people would write
            return (
                low,
                high,
                lambda count: kind.shown(min(max(int(float(f"{count:.3g}")), low), high)),
            )
        if isinstance(self.first, str) or isinstance(self.last, str):
            raise refuse("has a number at one end and a text at the other", "give both a unit")
        if isinstance(self.first, int) and isinstance(self.last, int):
            return self.first, self.last, int
        return float(self.first), float(self.last), lambda value: float(f"{value:.6g}")


Dimension = Annotated[
    Annotated[Bounds, Tag("bounds")]
    | Annotated[Annotated[list[Any], Field(min_length=2)], Tag("values")],
    Discriminator(lambda written: "values" if isinstance(written, list) else "bounds"),
]
"""Bounds, or a list of the values that a field may have."""


@dataclass(frozen=True)
class Space:
    """Fields by dotted paths, with their possible values."""

    dimensions: Mapping[str, Dimension]

    def point(self, trial: optuna.trial.Trial) -> StudyPoint:
        """The values that the trial suggests."""
        return self.at({path: self._suggested(trial, path) for path in self.dimensions})

    def at(self, values: Mapping[str, Any]) -> StudyPoint:
        """The point with these values."""
        return StudyPoint(
            Combination({path: Point(**named(value)) for path, value in values.items()})
        )

    def corners(self) -> list[StudyPoint]:
        """The points with all least and with all greatest values, to be checked."""
        return [
            self.at({path: _end(of, is_last) for path, of in self.dimensions.items()})
            for is_last in (False, True)
        ]

    def _suggested(self, trial: optuna.trial.Trial, path: str) -> Any:
        of = self.dimensions[path]
        if isinstance(of, list):
            # the database takes no lists and tables
            named_so = {in_column(value): value for value in of}
            return named_so[trial.suggest_categorical(path, list(named_so))]
        low, high, value_of = of.range()
        is_log = of.scale == "log"
        if isinstance(low, int) and isinstance(high, int):
            return value_of(trial.suggest_int(path, low, high, log=is_log))
        return value_of(trial.suggest_float(path, low, high, log=is_log))


def _end(of: Dimension, is_last: bool) -> Any:
    if isinstance(of, list):
        return of[-1 if is_last else 0]
    low, high, value_of = of.range()
    return value_of(high if is_last else low)
