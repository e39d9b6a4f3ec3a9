"""Sizes of transfers, as one text: fixed "20kB", uniform "2kB..200kB", or a distribution's name."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, ValidationInfo

from fairport.scenario.base import refuse
from fairport.scenario.named_files import absolute
from fairport.scenario.units import Size, UnitError
from fairport.workloads import Cdf, read_cdf
from fairport.workloads.cdf import CdfError, is_file

_RANGE = ".."


def distribution(sizes: str) -> Cdf:
    """The distribution that the text means. Raises CdfError."""
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


def _readable(sizes: str, info: ValidationInfo) -> str:
    if is_file(sizes) and not sizes[:1].isdigit():
        sizes = absolute(sizes, info)
    try:
        distribution(sizes)
    except CdfError as error:
        raise refuse(error.problem, error.remedy) from None
    return sizes


Sizes = Annotated[str, AfterValidator(_readable)]
