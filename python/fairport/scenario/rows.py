"""Rows of values from a first to a last: whole numbers, numbers, quantities with units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fairport.scenario.base import refuse
from fairport.scenario.units import Duration, PacketCount, Quantity, Rate, Size, UnitError

End = int | float | str
Scale = Literal["linear", "log"]

MOST_VALUES = 1_000_000
"""The most values of a row."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of quantity: the suffix of names that hold it as a number, and its numbers."""

    quantity: type[Quantity]
    suffix: str
    factor: float
    """Factor from the quantity's base unit to that of the suffix."""

    def read(self, text: str) -> int:
        """The quantity in its base unit. Raises UnitError."""
        return int(self.quantity(text))

    def shown(self, count: int) -> str:
        """This many base units, with a unit."""
        return str(self.quantity.of(count))


_KINDS = (
    Kind(Duration, "_s", 1e-12),
    Kind(Rate, "_bps", 1),
    Kind(Size, "_bytes", 1),
    Kind(PacketCount, "_packets", 1),
)


def kind_of(values: Sequence[Any]) -> Kind | None:
    """The kind of quantity that all the texts have."""
    if not values or not all(isinstance(value, str) for value in values):
        return None
    for kind in _KINDS:
        try:
            for value in values:
                kind.read(value)
        except UnitError:
            continue
        return kind
    return None


def in_base_units(values: Sequence[Any]) -> tuple[str, list[float]] | None:
    """For texts that are quantities of one kind: the suffix of their unit, and the numbers."""
    kind = kind_of(values)
    if kind is None:
        return None
    return kind.suffix, [kind.read(value) * kind.factor for value in values]


def check_finite(*ends: End) -> None:
    """Refuses ends without numbers between them."""
    for end in ends:
        if isinstance(end, float) and not math.isfinite(end):
            raise refuse(f"has an end of {end}", "give a finite number", show_value=False)


def row(first: End, last: End, steps: int | None, scale: Scale) -> list[Any]:
    """The values; whole numbers stay whole, so a logarithmic row may have fewer than `steps`."""
    check_finite(first, last)
    if isinstance(first, str) and isinstance(last, str):
        return _quantities(first, last, steps, scale)
    if isinstance(first, str) or isinstance(last, str):
        raise refuse("has a number at one end and a text at the other", "give both a unit, or none")
    whole = isinstance(first, int) and isinstance(last, int)
    if steps is None:
        if not whole:
            raise refuse("has no `steps`", "say how many values, such as `steps = 10`")
        if scale == "log":
            raise refuse("has no `steps`", "a logarithmic row needs them: `steps = 10`")
        every = range(int(first), int(last) + 1)
        if every[MOST_VALUES:]:
            raise refuse("has more values than any study", "say how many, such as `steps = 10`")
        return list(every)
    values = _spaced(first, last, steps, scale)
    return sorted({round(value) for value in values}) if whole else values


def _quantities(first: str, last: str, steps: int | None, scale: Scale) -> list[str]:
    kind = kind_of([first, last])
    if kind is None:
        raise refuse(
            f"goes from `{first}` to `{last}`, which are not two quantities of one kind",
            'write both with units of one kind: { from = "4KiB", to = "1MiB", steps = 9 }',
            show_value=False,
        )
    if steps is None:
        raise refuse("has no `steps`", "say how many values, such as `steps = 10`")
    spaced = _spaced(kind.read(first), kind.read(last), steps, scale)
    return [kind.shown(count) for count in dict.fromkeys(round(value) for value in spaced)]


def _spaced(first: float, last: float, steps: int, scale: Scale) -> list[float]:
    """This many values, including both ends. Raises for a logarithm of zero."""
    if scale == "log" and (first <= 0 or last <= 0):
        raise refuse("has no logarithm", "begin above zero, or leave `scale` out")
    intervals = steps - 1
    try:
        if scale == "log":
            values = [first * (last / first) ** (step / intervals) for step in range(intervals)]
        else:
            values = [first + (last - first) * step / intervals for step in range(intervals)]
        are_numbers = all(map(math.isfinite, values))
    except OverflowError:
        are_numbers = False
    if not are_numbers:
        raise refuse("has a number with too many digits", "give smaller numbers")
    return [*values, last]  # a power may miss it by a rounding
