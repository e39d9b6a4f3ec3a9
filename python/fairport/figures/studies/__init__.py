"""The figures of a study: maps over two axes, the best of several, families of lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairport.errors import InputError, did_you_mean
from fairport.figures import style
from fairport.figures.studies.view import View, viewed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairport.study.results import Study


def draw(
    study: Study,
    *,
    x: str = "",
    y: str = "",
    color: str = "",
    by: str = "",
    where: str = "",
) -> Figure:
    """A figure of a study.

    Two axes and a number as colour are a heat map. Two axes and a third as colour are a map of
    which of its values is best, by the number `by`. An axis and a number are a family of lines,
    with an axis as colour. Axes that are left are small multiples. What is not given is chosen.
    Raises InputError.
    """
    axes, kept = list(study.axes), study.definition.keep
    x = x or axes[0]
    _known(x, axes, "--x")
    rest = [axis for axis in axes if axis != x]
    y = y or (rest[0] if rest and color not in rest else by or kept[0])
    if y in axes:
        if y == x:
            raise InputError("is given twice", file="--y", value=y, remedy="give another axis")
        color = color or by or kept[0]
        _known(color, [*kept, *(axis for axis in rest if axis != y)], "--color")
        number = by or kept[0] if color in axes else color
    else:
        _known(y, [*axes, *kept], "--y")
        color = color or (rest[0] if rest else "")
        if color:
            _known(color, rest, "--color")
        number = y
    _known(number, kept, "--by")
    shown = [axis for axis in (x, y, color) if axis in axes]
    view = viewed(study, number, shown, where)
    with style.applied():
        if y not in axes:
            from fairport.figures.studies import lines

            return lines.draw(view, x, color)
        if color in axes:
            from fairport.figures.studies import best

            return best.draw(view, x, y, color)
        from fairport.figures.studies import heat

        return heat.draw(view, x, y)


def _known(name: str, known: Sequence[str], option: str) -> None:
    if name not in known:
        raise InputError(
            "cannot be drawn there", file=option, value=name, remedy=did_you_mean(name, known)
        )


__all__ = ["View", "draw"]
