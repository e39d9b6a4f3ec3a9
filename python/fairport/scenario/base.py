"""What all sections of a scenario share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError
from typing_extensions import Self

from fairport.errors import ScenarioError, did_you_mean
from fairport.scenario.checking import input_error
from fairport.scenario.source import Source
from fairport.scenario.units import Duration, Limit, PacketCount, Quantity, Rate, Size

Q = TypeVar("Q", bound=Quantity)


class Section(BaseModel):
    """A table of the scenario. It is frozen, refuses unknown fields and never coerces numbers."""

    of: ClassVar[str] = "a scenario"
    """The kind of file that has this table, for messages."""

    # `field_texts` reads the docstrings of fields. A model is built when it is first used, so that
    # only the scenario's, which contains all others, is built, and not each of them before.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    if not TYPE_CHECKING:  # a type checker knows the fields

        def __init__(self, *positional: Any, **fields: Any) -> None:
            """Raises ScenarioError, as loading does."""
            if positional:
                raise ScenarioError(
                    "is not a field and its value",
                    value=positional[0],
                    remedy="`fp.scenario` takes a name, a file or a dictionary",
                )
            try:
                super().__init__(**fields)
            except ValidationError as error:
                check = type(self).model_validate
                raise input_error(error, check, fields, Source(), ScenarioError) from None

        # pydantic's validators need not call it
        __init__.__pydantic_base_init__ = True

    @model_validator(mode="wrap")
    @classmethod
    def _known_fields(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Refuses unknown fields, together with all errors in the known ones."""
        if isinstance(data, cls):
            return handler(data)
        if not isinstance(data, dict):
            raise refuse("must be a table", f"its fields: {', '.join(cls.field_names())}")
        known = cls.field_names()
        unknown = [name for name in data if name not in known]
        if not unknown:
            return handler(data)
        errors = [_unknown(cls._of_kind(), str(name), known) for name in unknown]
        try:
            handler({name: data[name] for name in data if name in known})
        except ValidationError as error:
            errors += [_again(detail) for detail in error.errors(include_url=False)]
        raise ValidationError.from_exception_data(cls.__name__, errors)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuses a change in place; only pydantic's private attributes are set."""
        if not name.startswith("_"):
            raise ScenarioError(
                "cannot be set, because a scenario never changes",
                field=name,
                remedy='`scenario.patch({"queue.limit": "32KiB"})` makes a changed copy',
            )
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        """What completion offers: without pydantic's own methods."""
        hidden = {name for name in dir(BaseModel) if not name.startswith("_")}
        return sorted(set(super().__dir__()) - hidden)

    @classmethod
    def _of_kind(cls) -> str:
        """What has these fields, for messages: another kind of this table may have others."""
        kinds = get_args(cls.model_fields["kind"].annotation) if "kind" in cls.model_fields else ()
        return f'kind "{kinds[0]}"' if kinds else cls.of

    @classmethod
    def field_names(cls) -> list[str]:
        """The fields' names in a file."""
        return [field.alias or name for name, field in cls.model_fields.items()]


def _unknown(of: str, name: str, known: list[str]) -> InitErrorDetails:
    context = {
        "problem": f"is not a field of {of}",
        "remedy": did_you_mean(name, known),
        "field": name,
        "show_value": False,
    }
    kind = PydanticCustomError("unknown_field", "{problem}", context)
    return InitErrorDetails(type=kind, loc=(), input=name)


def _again(detail: ErrorDetails) -> InitErrorDetails:
    """One of pydantic's errors, to be raised again."""
    context = detail.get("ctx", {}) | {"message": detail["msg"]}
    kind = PydanticCustomError(cast("Any", detail["type"]), "{message}", context)
    return InitErrorDetails(type=kind, loc=detail["loc"], input=detail["input"])


def refuse(
    problem: str, remedy: str, *, field: str = "", show_value: bool = True
) -> PydanticCustomError:
    """An error for a validator to raise; `field` is a path below the place where it is raised."""
    return PydanticCustomError(
        "refused",
        "{problem}",
        {"problem": problem, "remedy": remedy, "field": field, "show_value": show_value},
    )


def check_span(start: Duration | None, end: Duration | None) -> None:
    """Refuses a span, of the fields `from` and `to`, that does not end after its start."""
    if start is not None and end is not None and start >= end:
        raise refuse("is not before `to`", "give an earlier begin or a later end", field="from")


def _positive(value: Q) -> Q:
    if value == 0:
        raise refuse("is zero", f'give a value above 0, such as "{value.example}"')
    return value


SHORTEST_STEP = Duration("1us")


def _steppable(value: Duration) -> Duration:
    if value < SHORTEST_STEP:
        raise refuse(f"is shorter than {SHORTEST_STEP}", 'give a longer time, such as "1ms"')
    return value


NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
Name = Annotated[str, Field(pattern=NAME, max_length=100)]
"""A name that may be part of a file's."""
StepDuration = Annotated[Duration, AfterValidator(_steppable)]
"""An interval between steps that the engine does one by one, so it must not be too short."""
PositiveDuration = Annotated[Duration, AfterValidator(_positive)]
PositiveRate = Annotated[Rate, AfterValidator(_positive)]
PositiveSize = Annotated[Size, AfterValidator(_positive)]
PositiveLimit = Annotated[Limit, AfterValidator(_positive)]
PositivePacketCount = Annotated[PacketCount, AfterValidator(_positive)]
