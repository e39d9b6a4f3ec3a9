"""Where an axis's values lie: numbers and quantities at their value, names side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from fairport.figures.drawing import width
from fairport.figures.drawing.heading import width_in
from fairport.figures.studies.view import TICK_PT, WIDTH_IN, View, tick_label
from fairport.scenario.rows import kind_of

# a logarithmic scale from this ratio of the greatest to the least value on
_LARGEST_SPAN = 8
# free at both ends of the axis, of the distance between the first and the last value
_MARGIN = 0.05
# half of the room between two panels
_BESIDE_IN = 0.08


def of_numbers(values: Sequence[Any]) -> list[float] | None:
    """The values as finite numbers, quantities in base units; None if some are no numbers."""
    kind = kind_of(values)
    if kind is None and any(isinstance(value, str | bool) for value in values):
        return None
    numbers = [float(value if kind is None else kind.read(value)) for value in values]
    return numbers if all(map(math.isfinite, numbers)) else None


def scale(panel: Axes, numbers: Sequence[float]) -> bool:
    """Gives the horizontal axis the scale that suits the numbers; whether it is logarithmic."""
    is_log = min(numbers) > 0 and max(numbers) / min(numbers) > _LARGEST_SPAN
    if is_log:
        panel.set_xscale("log")
    return is_log


def label_values(panel: Axes, view: View, axis: str, numbers: Sequence[float]) -> None:
    """Scales the horizontal axis, and labels the values, leaving out those without room."""
    scale(panel, numbers)
    transform = panel.xaxis.get_transform()
    along = [float(place) for place in transform.transform(numbers)]
    low, high = min(along), max(along)
    labels = [tick_label(view, axis, value) for value in view.values(axis)]
    widths = [width_in(f"{label} ", TICK_PT) for label in labels]
    wide_in = panel.get_position().width * width.of_picture(WIDTH_IN)
    # labels at the ends of neighbouring panels need room side by side
    over_in = max(widths) / 2 - _BESIDE_IN
    share = max(_MARGIN, over_in / (wide_in - 2 * over_in))
    margin = share * (high - low) or 0.5 * abs(low) or 0.5
    ends = transform.inverted().transform([low - margin, high + margin])
    panel.set_xlim(*map(float, ends))
    inches = wide_in / (high - low + 2 * margin)
    shown: list[int] = []
    for index in sorted(range(len(numbers)), key=along.__getitem__):
        if shown:
            apart_in = inches * (along[index] - along[shown[-1]])
            if apart_in < (widths[index] + widths[shown[-1]]) / 2:
                continue
        shown.append(index)
    panel.set_xticks([numbers[index] for index in shown], [labels[index] for index in shown])
    panel.xaxis.set_minor_locator(NullLocator())
