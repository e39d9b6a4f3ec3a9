"""The runs of several seeds side by side: a dot per seed, the median, the middle half."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from fairport.figures import findings, hop_classes, lanes
from fairport.figures.drawing import style, width
from fairport.figures.lanes import Lane
from fairport.metrics import traffic_table
from fairport.metrics.repeats import seeds_in_words

SUBJECT = "Over the seeds"
CAPTION = (
    "Each dot is a seed, the bar is the middle half, the diamond the median. With fewer than four "
    "seeds there is no middle half. Dots in two groups may be two states of the network: then the "
    "median says little of either."
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
_MOST_COLUMNS = 3
_LANE_IN = 0.3


def draw(summary: Mapping[str, Any]) -> Figure:
    """One panel per quantity, one lane per class or [[traffic]]. `summary` is of several seeds."""
    panels = _panels(summary)
    most = width.columns(_MOST_COLUMNS, lanes.WIDTH_IN)
    columns = -(-len(panels) // -(-len(panels) // most))  # rows as even as possible
    rows = [panels[at : at + columns] for at in range(0, len(panels), columns)]
    heights = [_LANE_IN * max(len(kept) for _, kept in row) + 0.1 for row in rows]
    seeds = summary["seeds"]
    of = f"{summary['scenario']}, {seeds_in_words(seeds)}"
    with style.applied():
        gaps = [0.62] * (len(rows) - 1)
        picture, axes = style.panels(
            findings.seeds(summary, panels), SUBJECT, of, heights, gaps, columns, lanes.WIDTH_IN
        )
        for row, places in zip(rows, axes, strict=True):
            for place in places[len(row) :]:
                place.remove()
            for (key, kept), place in zip(row, places, strict=False):
                lanes.draw(place, key, kept)
        lanes.note(picture, "a seed", len(seeds))
    return picture


def _panels(summary: Mapping[str, Any]) -> list[tuple[str, list[Lane]]]:
    runs = summary["runs"]
    panels: list[tuple[str, list[Lane]]] = []
    columns, rows = traffic_table.table(summary)
    if not rows:
        for key in _OF_CLASSES:
            of_key = [
                _lane(name, [run["classes"].get(name, {}).get(key) for run in runs], name)
                for name, one in summary["classes"].items()
                if key != "throughput_ratio" or one[key] != 1
            ]
            panels.append((key, of_key))
        panels.append(("jain_index", [_lane("all flows", [run["jain_index"] for run in runs])]))
    of_runs = [traffic_table.table(run) for run in runs]
    for key in _OF_TRAFFIC:
        if key in columns:
            of_key = [
                _lane(
                    label,
                    [
                        numbers[at][1][names.index(key)] if key in names else None
                        for names, numbers in of_runs
                    ],
                )
                for at, (label, *_) in enumerate(rows)
            ]
            panels.append((key, of_key))
    total = [run["goodput_bps_total"] for run in runs]
    label = "all TCP flows" if summary.get("udp") else "all flows"
    panels.append(("goodput_bps_total", [_lane(label, total)]))
    return [(key, kept) for key, some in panels if (kept := [one for one in some if one.values])]


def _lane(label: str, values: Sequence[float | None], hop_class: str = "") -> Lane:
    colour = (
        hop_classes.look_of(int(hop_class.partition("-")[0])).colour if hop_class else style.INK
    )
    return Lane(label, [value for value in values if value is not None], colour)
