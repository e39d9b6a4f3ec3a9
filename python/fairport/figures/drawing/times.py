"""Axes of times: values are in seconds, labels in the unit that suits the longest of them."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import Formatter

from fairport.quantities import Quantity, time_at_size


class _InUnit(Formatter):
    """Labels of an axis whose values are in base units."""

    def __init__(self, quantity: Quantity) -> None:
        self.quantity = quantity

    def __call__(self, value: float, pos: int | None = None) -> str:
        # not a rest of a sum, such as 0.30000000000000004
        return f"{float(f'{value * self.quantity.factor:.6g}'):,.10g}"


def name_axis(panel: Axes, most_s: float, since: str = "") -> None:
    """Names the horizontal axis of times in seconds, in the unit that suits the longest."""
    quantity = time_at_size(most_s)
    panel.xaxis.set_major_formatter(_InUnit(quantity))
    panel.set_xlabel(f"{quantity.label}{since}", labelpad=2)


def label_axis(panel: Axes, most_s: float) -> str:
    """Sets the labels of a vertical axis of times in seconds; returns its unit."""
    quantity = time_at_size(most_s)
    panel.yaxis.set_major_formatter(_InUnit(quantity))
    return quantity.unit
