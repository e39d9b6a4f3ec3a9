"""The figures of a study: maps, the best of several, lines, and the points of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from fairport.errors import InputError, require_known
from fairport.figures.drawing import style
from fairport.figures.studies.view import View, as_it_is, viewed
from fairport.study.points import FIX

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairport.study.results import Study


@dataclass(frozen=True, slots=True)
class Choice:
    """What a figure shows."""

    x: str
    y: str
    """An axis, or the number."""
    color: str
    """An axis or the number; empty for a single line."""
    number: str


def choose(study: Study, x: str = "", y: str = "", color: str = "", by: str = "") -> Choice:
    """The requested view, with defaults for what is not given. Raises InputError.

    Two axes and a number as colour make a heat map. Two axes and a third as colour make a map of
    which of its values is best, by the number `by`; this is the default for a study of fixes. An
    axis and a number make a family of lines, with an axis as colour. The remaining axes are small
    multiples.
    """
    axes, kept = list(study.axes), study.definition.keep
    if by:
        _known(by, kept, "by")
    by = by or study.first_number()
    asks_for_lines = y != "" and y not in axes
    x = x or next((axis for axis in axes if axis not in (y, color)), axes[0])
    _known(x, axes, "x")
    if x in (y, color):
        raise InputError(
            "is given twice",
            field="y" if x == y else "color",
            value=x,
            remedy="give another axis",
        )
    rest = [axis for axis in axes if axis not in (x, color)]
    y = y or next((axis for axis in rest if axis != FIX), rest[0] if rest else by)
    if asks_for_lines or y not in axes:
        _known(y, [*axes, *kept], "y")
        others = [axis for axis in axes if axis != x]
        color = color or (others[0] if others else "")
        if color:
            _known(color, others, "color")
        return Choice(x, y, color, y)
    color = color or (FIX if FIX in rest and y != FIX else by)
    _known(color, [*kept, *(axis for axis in axes if axis not in (x, y))], "color")
    return Choice(x, y, color, by if color in axes else color)


def draw(
    study: Study,
    *,
    x: str = "",
    y: str = "",
    color: str = "",
    by: str = "",
    where: str = "",
) -> Figure:
    """A figure of a study, as `choose` describes. Raises InputError.

    Of a search it shows a number, `y`, over each axis, or over the axis `x`, unless a second axis
    or a colour is given.
    """
    axes = study.axes
    before = as_it_is(study)
    if not (before.is_empty() or color or y in axes):
        number = y or by or study.first_number()
        _known(number, study.definition.keep, "y" if y else "by")
        return _of_search(study, before, x, number, where)
    chosen = choose(study, x, y, color, by)
    shown = [axis for axis in (chosen.x, chosen.y, chosen.color) if axis in axes]
    view = viewed(study, chosen.number, shown, where)
    with style.applied():
        if chosen.y not in axes:
            from fairport.figures.studies import lines

            return lines.draw(view, chosen.x, chosen.color)
        if chosen.color in axes:
            from fairport.figures.studies import best

            return best.draw(view, chosen.x, chosen.y, chosen.color)
        from fairport.figures.studies import heat

        return heat.draw(view, chosen.x, chosen.y)


def _of_search(study: Study, before: pl.DataFrame, x: str, number: str, where: str) -> Figure:
    from fairport.figures.studies import trials

    axes = list(study.axes)
    if x:
        _known(x, axes, "x")
    view = viewed(study, number, axes, where)
    with style.applied():
        return trials.draw(view, [x] if x else axes, before[number].drop_nulls().to_list())


def _known(name: str, known: Sequence[str], argument: str) -> None:
    require_known(name, known, "cannot be drawn there", field=argument)


__all__ = ["Choice", "View", "choose", "draw"]
