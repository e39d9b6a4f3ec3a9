"""Quantities with units, as scenario files write them: "1Gbps", "16KiB", "25us", "100ppm".

A quantity is an exact integer of its base unit (the engine's: picoseconds, bits per second, bytes,
parts per billion). It remembers how it was written, so that a scenario is written back in its
author's units.

K, M, G are powers of 1000 everywhere; Ki, Mi, Gi are powers of 1024 (IEC 80000-13). So the
papers' "16 KB" buffer of 16384 bytes is `16KiB`.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, ClassVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema
from typing_extensions import Self

from fairport.errors import InputError

_QUANTITY = re.compile(
    r"(?P<number>-?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?)\s*(?P<unit>\D*)"
)
# the engine has 64 bits for times and rates, one of them reserved for sums, and 32 for buffers
_LARGEST = 2**63 - 1
_LARGEST_BUFFER = 2**32 - 1


class UnitError(InputError, ValueError):
    """A text that is not a quantity of the expected kind."""


class Quantity(int):
    """An exact number of base units, and the text from which it was read."""

    what: ClassVar[str]
    example: ClassVar[str]
    base_unit: ClassVar[str]
    units: ClassVar[dict[str, Fraction]]
    written: ClassVar[tuple[str, ...]]
    """The units that `of` writes, the largest first and the base unit last; of some kinds only."""
    largest: ClassVar[int] = _LARGEST

    text: str
    """The quantity as it was written."""
    unit: str
    """The unit as it was written."""

    def __new__(cls, text: str) -> Self:
        """Reads the text. Raises UnitError."""
        value, unit = cls._parse(text)
        self = super().__new__(cls, value)
        self.text = text.strip()
        self.unit = unit
        return self

    @classmethod
    def of(cls, count: int) -> Self:
        """This many base units, in the largest unit that gives a whole number."""
        *larger, base = cls.written
        for unit in larger:
            whole, rest = divmod(count, int(cls.units[unit]))
            if whole and not rest:
                return cls(f"{whole}{unit}")
        return cls(f"{count}{base}")

    @classmethod
    def _parse(cls, text: str) -> tuple[int, str]:
        remedy = f'write {cls.what} as "{cls.example}"; units: {", ".join(cls.units)}'
        match = _QUANTITY.fullmatch(text.strip())
        if match is None:
            raise UnitError(f"cannot be read as {cls.what}", remedy=remedy)
        unit = match["unit"].strip()
        if not unit:
            raise UnitError("has no unit", remedy=remedy)
        if unit not in cls.units:
            raise UnitError(f"has an unknown unit `{unit}`", remedy=_remedy_for(unit, cls.units))
        value = Fraction(match["number"]) * cls.units[unit]
        if value < 0:
            raise UnitError("is negative", remedy="give a value of 0 or more")
        if value.denominator != 1:
            raise UnitError(f"is not a whole number of {cls.base_unit}", remedy="round it")
        if value > cls.largest:
            raise UnitError(
                f"is larger than {cls.largest} {cls.base_unit}", remedy="give a smaller value"
            )
        return int(value), unit

    @classmethod
    def validate(cls, value: Any) -> Self:
        """For pydantic: a quantity of this kind, or the text of one."""
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            try:
                return cls(value)
            except UnitError as error:
                raise _refusal(error.problem, error.remedy) from None
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise _refusal(
                "has no unit", f'write {cls.what} with its unit, in quotes: "{cls.example}"'
            )
        raise _refusal(f"is not {cls.what}", f'write it as "{cls.example}"')

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f'{type(self).__name__}("{self.text}")'

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self.text,)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: Any, _handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.validate, serialization=core_schema.to_string_ser_schema(when_used="always")
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, _schema: core_schema.CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        units = "|".join(re.escape(unit) for unit in cls.units)
        return {
            "type": "string",
            "pattern": rf"^\s*[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{{1,2}})?\s*({units})\s*$",
            "examples": [cls.example],
        }


def _remedy_for(unit: str, units: dict[str, Fraction]) -> str:
    """A unit that differs only in case, which is the usual mistake; nothing else is guessed."""
    nearest = [known for known in units if known.lower() == unit.lower()]
    return f"did you mean `{nearest[0]}`?" if nearest else "units: " + ", ".join(units)


def _refusal(problem: str, remedy: str) -> PydanticCustomError:
    return PydanticCustomError("quantity", "{problem}", {"problem": problem, "remedy": remedy})


def _scaled(**units: int | Fraction) -> dict[str, Fraction]:
    return {name: Fraction(factor) for name, factor in units.items()}


class Duration(Quantity):
    """A span of simulated time, in picoseconds."""

    what = "a duration"
    example = "25us"
    base_unit = "picoseconds"
    units = _scaled(
        s=10**12, ms=10**9, us=10**6, ns=10**3, ps=1, min=60 * 10**12, h=3600 * 10**12
    ) | {
        "\N{MICRO SIGN}s": Fraction(10**6),
        "\N{GREEK SMALL LETTER MU}s": Fraction(10**6),
    }
    written = ("s", "ms", "us", "ns", "ps")

    @property
    def seconds(self) -> float:
        """The span in seconds."""
        return int(self) / 1e12


class Rate(Quantity):
    """A link's rate, in bits per second."""

    what = "a rate"
    example = "1Gbps"
    base_unit = "bits per second"
    units = _scaled(Gbps=10**9, Mbps=10**6, kbps=10**3, Kbps=10**3, bps=1, Tbps=10**12) | {
        "Gbit/s": Fraction(10**9),
        "Mbit/s": Fraction(10**6),
        "kbit/s": Fraction(10**3),
        "bit/s": Fraction(1),
    }
    written = ("Gbps", "Mbps", "kbps", "bps")


_BYTES = _scaled(
    B=1,
    kB=10**3,
    KB=10**3,
    MB=10**6,
    GB=10**9,
    TB=10**12,
    KiB=2**10,
    MiB=2**20,
    GiB=2**30,
    TiB=2**40,
)


class Size(Quantity):
    """An amount of data, in bytes."""

    what = "a size"
    example = "16KiB"
    base_unit = "bytes"
    units = _BYTES
    written = ("GiB", "MiB", "KiB", "B")


class Limit(Quantity):
    """A buffer's limit, in bytes or in packets, as its unit says."""

    what = "a buffer limit"
    example = "16KiB"
    base_unit = "bytes or packets"
    units = _BYTES | _scaled(packets=1, packet=1)
    largest = _LARGEST_BUFFER

    def __eq__(self, other: object) -> bool:
        """As of numbers, except that bytes and packets are never equal."""
        is_other_kind = isinstance(other, Limit) and self.in_packets != other.in_packets
        return not is_other_kind and super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = Quantity.__hash__

    @property
    def in_packets(self) -> bool:
        """Whether packets are counted, not bytes."""
        return self.unit.startswith("packet")


class PacketCount(Quantity):
    """A number of packets."""

    what = "a number of packets"
    example = "1000 packets"
    base_unit = "packets"
    units = _scaled(packets=1, packet=1)
    written = (" packets",)
    largest = _LARGEST_BUFFER


class ClockError(Quantity):
    """A relative error of a clock, in parts per billion."""

    what = "a clock error"
    example = "100ppm"
    base_unit = "parts per billion"
    units = _scaled(ppm=10**3, ppb=1)
    largest = 10**8
