"""A queue discipline from outside Fairport: a Python class or a Rust type of the user's own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from fairport.scenario.base import refuse
from fairport.scenario.queue import FifoQueue, length


class CustomQueue(FifoQueue):
    """A discipline that comes with the program that runs the scenario."""

    own_limits: ClassVar[bool] = False

    kind: Literal["custom"]
    """A queue discipline of your own (docs/extending.md)."""
    name: str = Field(min_length=1)
    """The name under which the run gets the discipline: `fp.run(scenario, disciplines={"NAME":
    Class})`."""
    parameters: dict[str, Any] = Field(default={})
    """Its parameters: keyword arguments of the class."""

    @model_validator(mode="after")
    def _can_be_written(self) -> Self:
        # a run writes its scenario when it is over, which is too late to find that it cannot
        for place, problem in _unwritable(self.parameters, "parameters"):
            raise refuse(
                problem,
                "give text, true or false, finite numbers, or lists and tables of these",
                field=place,
            )
        return self

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if "limit" in self.parameters:
            raise refuse(
                "is a field that every queue has",
                "write `limit` beside `name`",
                field="parameters.limit",
            )
        return self

    def job(self) -> dict[str, Any]:
        """The discipline as the engine reads it."""
        return {
            "kind": self.kind,
            "name": self.name,
            "parameters": {**self.parameters, "limit": length(self.limit)},
            "count_in_service": self.count_in_service,
        }


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
