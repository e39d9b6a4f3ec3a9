"""What every section of a scenario shares."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from fairport.errors import did_you_mean
from fairport.scenario.units import Duration, Limit, PacketCount, Quantity, Rate, Size

Q = TypeVar("Q", bound=Quantity)


class Section(BaseModel):
    """A table of the scenario. Frozen; unknown fields are refused; numbers are never coerced."""

    of: ClassVar[str] = "a scenario"
    """What kind of file it is a table of, for messages."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, data: Any) -> Any:
        if isinstance(data, cls):
            return data
        if not isinstance(data, dict):
            raise refuse("must be a table", f"its fields: {', '.join(cls.field_names())}")
        for name in data:
            if name not in cls.field_names():
                remedy = did_you_mean(str(name), cls.field_names())
                raise refuse(
                    f"is not a field of {cls.of}", remedy, field=str(name), show_value=False
                )
        return data

    @classmethod
    def field_names(cls) -> list[str]:
        """The names as a file writes them."""
        return [field.alias or name for name, field in cls.model_fields.items()]


def refuse(
    problem: str, remedy: str, *, field: str = "", show_value: bool = True
) -> PydanticCustomError:
    """An error for a validator to raise; `field` is a path below the place where it is raised."""
    return PydanticCustomError(
        "refused",
        "{problem}",
        {"problem": problem, "remedy": remedy, "field": field, "show_value": show_value},
    )


def _positive(value: Q) -> Q:
    if value == 0:
        raise refuse("is zero", f'give a value above 0, such as "{value.example}"')
    return value


PositiveDuration = Annotated[Duration, AfterValidator(_positive)]
PositiveRate = Annotated[Rate, AfterValidator(_positive)]
PositiveSize = Annotated[Size, AfterValidator(_positive)]
PositiveLimit = Annotated[Limit, AfterValidator(_positive)]
PositivePacketCount = Annotated[PacketCount, AfterValidator(_positive)]
