"""The runs of several seeds side by side: a dot per seed, the median, the middle half."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fairport import traffic_table
from fairport.figures import style
from fairport.quantities import QUANTITIES
from fairport.repeats import FEWEST_FOR_QUARTILES

TITLE = "Over the seeds"
CAPTION = (
    "Each dot is a seed, the bar is the middle half, the diamond the median. With fewer than four "
    "seeds there is no middle half. Dots in two groups mean that the network has two modes: then "
    "the median describes neither."
)

_OF_CLASSES = ("throughput_ratio", "goodput_bps_mean", "timeouts", "timeout_period_s")
_OF_TRAFFIC = (
    "rounds_done",
    "round_time_median_s",
    "small_fct_p99_s",
    "fct_p99_s",
    "response_p99_s",
    "loss_share",
    "delay_p99_s",
)
_WIDTH_IN = 7.2
_MOST_COLUMNS = 3
_LANE_IN = 0.3


@dataclass(frozen=True, slots=True)
class Lane:
    """One number of all seeds."""

    label: str
    values: Sequence[float]
    colour: str


def draw(summary: Mapping[str, Any]) -> Figure:
    """One panel per quantity, one lane per class or load. `summary` is that of several seeds."""
    panels = _panels(summary)
    columns = -(-len(panels) // -(-len(panels) // _MOST_COLUMNS))  # rows as even as possible
    rows = [panels[at : at + columns] for at in range(0, len(panels), columns)]
    heights = [_LANE_IN * max(len(lanes) for _, lanes in row) + 0.1 for row in rows]
    seeds = summary["seeds"]
    of = f"{summary['scenario']}, seeds {seeds[0]} to {seeds[-1]}"
    with style.applied():
        gaps = [0.62] * (len(rows) - 1)
        picture, axes = style.panels(of, TITLE, heights, gaps, columns, _WIDTH_IN)
        for row, places in zip(rows, axes, strict=True):
            for place in places[len(row) :]:
                place.remove()
            for (key, lanes), place in zip(row, places, strict=False):
                _panel(place, key, lanes)
        bar = ", bar: middle half" if len(seeds) >= FEWEST_FOR_QUARTILES else ""
        style.note(picture, f"dot: a seed, diamond: median{bar}")
    return picture


def _panels(summary: Mapping[str, Any]) -> list[tuple[str, list[Lane]]]:
    runs = summary["runs"]
    panels: list[tuple[str, list[Lane]]] = []
    columns, rows = traffic_table.table(summary)
    if not rows:
        for key in _OF_CLASSES:
            lanes = [
                _lane(name, [run["classes"].get(name, {}).get(key) for run in runs], name)
                for name, one in summary["classes"].items()
                if key != "throughput_ratio" or one[key] != 1
            ]
            panels.append((key, lanes))
        panels.append(("jain_index", [_lane("all flows", [run["jain_index"] for run in runs])]))
    of_runs = [traffic_table.table(run) for run in runs]
    for key in _OF_TRAFFIC:
        if key in columns:
            lanes = [
                _lane(
                    label,
                    [
                        numbers[at][1][names.index(key)] if key in names else None
                        for names, numbers in of_runs
                    ],
                )
                for at, (label, _) in enumerate(rows)
            ]
            panels.append((key, lanes))
    total = [run["goodput_bps_total"] for run in runs]
    label = "all TCP flows" if summary.get("udp") else "all flows"
    panels.append(("goodput_bps_total", [_lane(label, total)]))
    return [(key, kept) for key, lanes in panels if (kept := [one for one in lanes if one.values])]


def _lane(label: str, values: Sequence[float | None], hop_class: str = "") -> Lane:
    colour = style.class_look(int(hop_class.partition("-")[0])).colour if hop_class else style.INK
    return Lane(label, [value for value in values if value is not None], colour)


def _panel(axes: Axes, key: str, lanes: Sequence[Lane]) -> None:
    quantity = QUANTITIES[key].at_size(max(max(lane.values) for lane in lanes))
    for place, lane in enumerate(lanes):
        values = np.array(lane.values) * quantity.factor
        # a little apart, so that equal values are visible
        heights = place + 0.16 * np.linspace(-1, 1, len(values)) * (len(values) > 1)
        # a mark on the axis is not cut in two
        look: dict[str, Any] = {"color": lane.colour, "clip_on": False}
        axes.plot(values, heights, "o", alpha=0.6, ms=3, mew=0, **look)
        if len(values) >= FEWEST_FOR_QUARTILES:
            q1, q3 = np.quantile(values, [0.25, 0.75])
            axes.plot([q1, q3], [place, place], color=lane.colour, linewidth=3, alpha=0.35)
        axes.plot([np.median(values)], [place], "D", zorder=3, ms=4.5, mec=style.PAPER, **look)
        axes.annotate(
            lane.label,
            (0, place),
            (2, 7),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            fontsize=6.5,
            color=lane.colour,
            annotation_clip=False,
        )
    axes.set_ylim(len(lanes) - 0.45, -0.65)
    axes.set_yticks([])
    axes.grid(visible=True, axis="x")
    most = max(max(lane.values) for lane in lanes) * quantity.factor
    right = most * 1.08 or 1
    axes.set_xlim(0, right)
    # a label at the right end would run into the first one of the next panel
    ticks = MaxNLocator(5).tick_values(0, right)
    axes.set_xticks([one for one in ticks if 0 <= one < 0.94 * right])
    axes.xaxis.set_major_formatter("{x:,g}")
    style.panel_title(axes, quantity.label)
