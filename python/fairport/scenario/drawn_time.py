"""A time that is drawn anew each time: constant ("1ms"), uniform or exponential."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator
from typing_extensions import Self

from fairport.scenario.base import PositiveDuration, Section, refuse
from fairport.scenario.units import Duration


class ConstantTime(Section):
    """The same every time."""

    kind: Literal["constant"]
    """The same every time."""
    value: Duration
    """The time."""

    def __str__(self) -> str:
        """The text that a person reads."""
        return str(self.value)

    def job(self) -> dict[str, Any]:
        """The time as the engine reads it (`Processing`)."""
        return {"kind": self.kind, "value_ps": int(self.value)}


class UniformTime(Section):
    """Drawn uniformly."""

    kind: Literal["uniform"]
    """Drawn uniformly each time."""
    min: Duration
    """The shortest."""
    max: Duration
    """The longest."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min > self.max:
            raise refuse("is above `max`", "exchange the two", field="min")
        return self

    def __str__(self) -> str:
        """The text that a person reads."""
        return f"U({self.min}, {self.max})"

    def job(self) -> dict[str, Any]:
        """The time as the engine reads it (`Processing`)."""
        return {"kind": self.kind, "min_ps": int(self.min), "max_ps": int(self.max)}


class ExponentialTime(Section):
    """Drawn from an exponential distribution."""

    kind: Literal["exponential"]
    """Exponentially distributed."""
    mean: PositiveDuration
    """Its mean."""

    def __str__(self) -> str:
        """The text that a person reads."""
        return f"Exp({self.mean})"

    def job(self) -> dict[str, Any]:
        """The time as the engine reads it (`Processing`)."""
        return {"kind": self.kind, "mean_ps": int(self.mean)}


def _constant(time: Any) -> Any:
    """A plain time is constant."""
    return {"kind": "constant", "value": time} if isinstance(time, str) else time


DrawnTime = Annotated[
    Annotated[ConstantTime | UniformTime | ExponentialTime, Field(discriminator="kind")],
    BeforeValidator(
        _constant, json_schema_input_type=Duration | ConstantTime | UniformTime | ExponentialTime
    ),
]
