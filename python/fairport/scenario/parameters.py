"""The parameters of a queue discipline or a congestion control of the user's own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator

from fairport.scenario.base import refuse


def _writable(parameters: dict[str, Any]) -> dict[str, Any]:
    # a run writes its scenario when it is over, which is too late to find that it cannot
    for place, problem in _unwritable(parameters, ""):
        raise refuse(
            problem,
            "give text, true or false, finite numbers, or lists and tables of these",
            field=place.removeprefix("."),
        )
    return parameters


def _unwritable(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Values that a scenario's file cannot have: their places, and what is wrong with each."""
    if isinstance(value, dict):
        for key, one in value.items():
            if isinstance(key, str):
                yield from _unwritable(one, f"{place}.{key}")
            else:
                yield place, f"has the key {key!r}, which is not text"
    elif isinstance(value, (list, tuple)):
        for index, one in enumerate(value):
            yield from _unwritable(one, f"{place}.{index}")
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield place, "is not a finite number"
    elif not isinstance(value, (str, int)):
        yield place, "cannot be written to a scenario's file"


Parameters = Annotated[dict[str, Any], AfterValidator(_writable)]
"""Keyword arguments of a class, of kinds that a scenario's file can have."""
