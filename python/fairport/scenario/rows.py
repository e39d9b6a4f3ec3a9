"""Rows of values from one to another: whole numbers, numbers, quantities with units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from fairport.scenario.base import refuse
from fairport.scenario.units import Duration, PacketCount, Rate, Size, UnitError

_BASE = {Duration: ("_s", 1e-12), Rate: ("_bps", 1), Size: ("_bytes", 1)}

End = int | float | str
Scale = Literal["linear", "log"]

_KINDS = (Duration, Rate, Size)
_COUNTED = (PacketCount,)


def row(first: End, last: End, steps: int | None, scale: Scale) -> list[Any]:
    """The values; whole numbers stay whole, so a row on a logarithmic scale may have fewer."""
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
        return list(range(int(first), int(last) + 1))
    values = _spaced(first, last, steps, scale)
    return sorted({round(value) for value in values}) if whole else values


def in_base_units(values: Sequence[Any]) -> tuple[str, list[float]] | None:
    """Texts that are quantities of one kind: the unit as names end in it, and the numbers."""
    if not values or not all(isinstance(value, str) for value in values):
        return None
    for kind in (*_KINDS, *_COUNTED):
        try:
            quantities = [kind(value) for value in values]
        except UnitError:
            continue
        suffix, factor = _BASE.get(kind, ("_packets", 1))
        return suffix, [int(quantity) * factor for quantity in quantities]
    return None


def _quantities(first: str, last: str, steps: int | None, scale: Scale) -> list[str]:
    for kind in (*_KINDS, *_COUNTED):
        try:
            low, high = kind(first), kind(last)
        except UnitError:
            continue
        if steps is None:
            raise refuse("has no `steps`", "say how many values, such as `steps = 10`")
        counts = dict.fromkeys(round(value) for value in _spaced(int(low), int(high), steps, scale))
        if isinstance(low, PacketCount):
            return [f"{count} packets" for count in counts]
        return [str(low.of(count)) for count in counts]
    raise refuse(
        f"goes from `{first}` to `{last}`, which are not two quantities of one kind",
        'write both with units of one kind: { from = "4KiB", to = "1MiB", steps = 9 }',
        show_value=False,
    )


def _spaced(first: float, last: float, steps: int, scale: Scale) -> list[float]:
    """So many values with both ends. Raises for a logarithm of zero."""
    if scale == "log":
        if first <= 0 or last <= 0:
            raise refuse("has no logarithm", "begin above zero, or leave `scale` out")
        return [first * (last / first) ** (step / (steps - 1)) for step in range(steps)]
    return [first + (last - first) * step / (steps - 1) for step in range(steps)]
