"""A queue discipline from outside Fairport: a Python class or a Rust type of the user's own."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from fairport.scenario.base import refuse
from fairport.scenario.parameters import Parameters
from fairport.scenario.queues.shared import FifoQueue, length


class CustomQueue(FifoQueue):
    """A discipline that comes with the program that runs the scenario."""

    own_limits: ClassVar[bool] = False

    kind: Literal["custom"]
    """A queue discipline of your own (docs/extending.md)."""
    name: str = Field(min_length=1)
    """The name under which the run gets the discipline: `fp.run(scenario, disciplines={"NAME":
    Class})`."""
    parameters: Parameters = Field(default={})
    """Its parameters: keyword arguments of the class."""

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
