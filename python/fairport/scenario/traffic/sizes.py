"""Sizes of transfers: fixed "20kB", uniform "2kB..200kB", or a distribution's name or file.

A file's content becomes a part of the scenario, so that a run can be repeated without the file.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    model_validator,
)
from typing_extensions import Self

from fairport.scenario.base import Section, refuse
from fairport.scenario.named_files import absolute
from fairport.scenario.units import Size, UnitError
from fairport.workloads import Cdf, read_cdf
from fairport.workloads.cdf import UNIT_END, CdfError, is_file, parse

_RANGE = ".."
_BILLION = 10**9


class SizeDistribution(Section):
    """A distribution of sizes, as its file has it."""

    points: list[Annotated[list[float], Field(min_length=2, max_length=2)]]
    """Sizes, and for each the share of transfers of at most that size."""
    unit: int = Field(default=1, ge=1, lt=UNIT_END)
    """Bytes that a size counts."""

    @model_validator(mode="after")
    def _is_a_distribution(self) -> Self:
        try:
            self.cdf()
        except CdfError as error:
            raise refuse(error.problem, error.remedy, show_value=False) from None
        return self

    def cdf(self) -> Cdf:
        """The distribution. Raises CdfError."""
        lines = [f"{size!r} {share!r}" for size, share in self.points]
        return parse("\n".join([*lines, f"unit {self.unit}"]))


def distribution(sizes: str | SizeDistribution) -> Cdf:
    """The distribution that the value means. Raises CdfError."""
    if isinstance(sizes, SizeDistribution):
        return sizes.cdf()
    if not sizes[:1].isdigit():
        return read_cdf(sizes)
    least, dots, most = sizes.partition(_RANGE)
    bounds = _bytes(least), _bytes(most if dots else least)
    if bounds[0] > bounds[1]:
        raise CdfError("does not rise", remedy='write the smaller size first, such as "2kB..200kB"')
    return Cdf.uniform(*bounds)


def _bytes(text: str) -> int:
    try:
        size = Size(text)
    except UnitError as error:
        raise CdfError(error.problem, remedy=error.remedy) from None
    if size == 0:
        raise CdfError("has a size of zero", remedy="give sizes of 1 B or more")
    return int(size)


def _taken_in(sizes: Any, info: ValidationInfo) -> Any:
    """The sizes for a scenario: a file's path is replaced by its content."""
    if not isinstance(sizes, str):
        if isinstance(sizes, dict | SizeDistribution):
            return sizes
        raise refuse("is not a text", 'write it in quotes, such as "20kB" or "web-search"')
    names_file = is_file(sizes) and not sizes[:1].isdigit()
    try:
        cdf = distribution(absolute(sizes, info) if names_file else sizes)
    except CdfError as error:
        raise refuse(error.problem, error.remedy) from None
    if not names_file:
        return sizes
    points = [[float(size), share / _BILLION] for size, share in cdf.points]
    return {"points": points, "unit": cdf.unit_bytes}


def _form(sizes: Any) -> str:
    return "text" if isinstance(sizes, str) else "table"


Sizes = Annotated[
    Annotated[str, Tag("text")] | Annotated[SizeDistribution, Tag("table")],
    Discriminator(_form),
    BeforeValidator(_taken_in),
]
