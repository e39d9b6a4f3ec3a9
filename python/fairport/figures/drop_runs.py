"""Histogram of drop runs at the bottleneck port, by flow and by ingress port."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, StrMethodFormatter
from numpy.typing import NDArray

from fairport.figures import findings, hop_classes
from fairport.figures.bars import MANY
from fairport.figures.drawing import style
from fairport.figures.drawing.width import is_narrow
from fairport.metrics.drop_runs import drop_runs

if TYPE_CHECKING:
    from fairport.result import Result

SUBJECT = "Drop runs"
CAPTION = (
    "How many consecutive packets are dropped. By flow: consecutive packets of one flow, averaged "
    "over the flows of a hop class; a dot is one flow (of more than 40 flows there are no dots, "
    "and a line marks the most that one flow had). By ingress port: consecutive packets of "
    "one ingress port. A run of three or more on one flow often takes the tail of its window, and "
    "then costs a timeout. The same run spread over many flows costs each of them one packet, "
    "which fast retransmit repairs."
)
# The last bin holds everything from here on.
LONGEST = 10
_MOST_PORTS = 4
_LENGTHS = np.arange(1, LONGEST + 1)


def draw(result: Result) -> Figure:
    """Two panels on logarithmic scales: runs by flow, runs by ingress port."""
    worst = result.summary["bottleneck"]
    drops = result.drops.filter(pl.col("port") == (worst["port"] if worst else ""))
    if worst is None or drops.is_empty():
        said = findings.drop_runs(result, drops)
        picture, [[panel]] = style.frame(result, said, SUBJECT, [0.6])
        style.say(panel, said[0].lower() + said[1:])
        return picture
    runs = drop_runs(drops, "flow")
    title = findings.drop_runs(result, runs)
    picture, [[by_flow], [by_ingress]] = style.frame(result, title, SUBJECT, [1.55, 1.55], [0.45])
    _by_flow(by_flow, result, runs)
    _by_ingress(by_ingress, result, drops)
    where = f"of port {worst['port']}"
    style.panel_title(by_flow, "Packets in a row of one flow", detail=where)
    style.panel_title(by_ingress, "Packets in a row of one ingress port", detail=where)
    style.y_label(picture, [by_flow], "runs per flow")
    style.y_label(picture, [by_ingress], "runs")
    by_ingress.set_xlabel("dropped in a row (packets)", labelpad=2)
    sizes = [len(one.flows) for one in hop_classes.of(result.flows)]
    dots = ", dots are flows" if any(1 < size <= MANY for size in sizes) else ""
    lines = ", lines the most of one flow" if max(sizes) > MANY else ""
    brackets = f"; {hop_classes.IN_BRACKETS}" if is_narrow() else ""
    style.note(picture, f"above: bars are means over the class{dots}{lines}{brackets}")
    return picture


def _by_flow(panel: Axes, result: Result, runs: pl.DataFrame) -> None:
    every = _histograms(runs, int(np.max(result.flows["flow"].to_numpy())) + 1)
    classes = hop_classes.of(result.flows)
    heights = []
    for one, x, width in zip(classes, *_places(len(classes)), strict=True):
        counts = every[one.flows]
        heights.append(counts.mean(axis=0))
        drawn: list[Artist] = list(
            panel.bar(x, heights[-1], width, **one.look.bar, label=one.label)
        )
        if len(one.flows) > MANY:
            most = counts.max(axis=0)
            ends = x - width / 2, x + width / 2
            seen = most > 0
            look: dict[str, Any] = {"color": style.INK, "linewidth": 1}
            drawn.append(panel.hlines(most[seen], ends[0][seen], ends[1][seen], **look))
        elif len(one.flows) > 1:
            spread = np.linspace(-0.35, 0.35, len(one.flows))[:, None] * width
            dots: dict[str, Any] = {"markersize": 1.9, "alpha": 0.7, "markeredgewidth": 0}
            seen = counts > 0
            drawn += panel.plot((x + spread)[seen], counts[seen], "o", color=style.INK, **dots)
        one.mark(drawn, "runs")
    _scale(panel, heights)


def _by_ingress(panel: Axes, result: Result, drops: pl.DataFrame) -> None:
    runs = drop_runs(drops, "ingress")
    ports = (
        drops.group_by("ingress_port")
        .agg(pl.col("flow").n_unique(), lost=pl.len())
        .sort("lost", "ingress_port", descending=[True, False])
        .head(_MOST_PORTS)
        .sort("flow", "ingress_port")
    )
    looks = hop_classes.ingress_looks(result, ports["ingress_port"].to_list())
    heights = []
    for place, (x, width) in enumerate(zip(*_places(ports.height), strict=True)):
        port, flows, _ = ports.row(place)
        heights.append(_histogram(runs.filter(pl.col("ingress_port") == port)))
        of = f" ({hop_classes.flows_in_legend(flows)})"
        room_in = (
            style.panel_in() / _columns(ports.height) - style.HANDLE_IN - style.width_in(of, 8)
        )
        label = style.fitting(port, room_in, 8) + of
        panel.bar(x, heights[-1], width, **looks[port].bar, label=label)
    _scale(panel, heights)


def _places(groups: int) -> tuple[list[NDArray[Any]], list[float]]:
    """The positions of each group's bars, side by side, and their width."""
    width = 0.8 / groups
    return [_LENGTHS + (i - (groups - 1) / 2) * width for i in range(groups)], [
        width * 0.92
    ] * groups


def _histograms(runs: pl.DataFrame, flows: int) -> NDArray[np.intp]:
    """The histogram of each flow, in rows by its number."""
    lengths = np.minimum(runs["length"].to_numpy(), LONGEST).astype(np.intp)
    places = runs["flow"].to_numpy().astype(np.intp) * LONGEST + lengths - 1
    return np.bincount(places, minlength=flows * LONGEST).reshape(flows, LONGEST)


def _histogram(runs: pl.DataFrame) -> NDArray[np.intp]:
    """How many runs have length 1, 2, ..., LONGEST or more."""
    lengths = np.minimum(runs["length"].to_numpy(), LONGEST)
    return np.bincount(lengths, minlength=LONGEST + 1)[1:]


def _columns(groups: int) -> int:
    """How many groups the legend has in a row."""
    return groups if groups <= 3 else -(-groups // 2)


def _scale(panel: Axes, heights: list[NDArray[Any]]) -> None:
    """A logarithmic axis with room for the legend above the bars."""
    seen = np.concatenate([one[one > 0] for one in heights])
    # A bar of one run must be visible, and so must an average below one.
    low, high = seen.min() / 2, max(seen.max(), panel.dataLim.y1)
    columns = _columns(len(heights))
    rows = -(-len(heights) // columns)
    panel.set_yscale("log")
    panel.set_ylim(low, high * (high / low) ** (0.22 * rows))
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high / low > 30 else (1.0, 2.0, 5.0)))
    panel.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    panel.minorticks_off()
    panel.set(xlim=(0.45, LONGEST + 0.55), xticks=_LENGTHS)
    panel.set_xticklabels([*map(str, _LENGTHS[:-1]), f"≥{LONGEST}"])
    panel.legend(
        loc="upper right", ncols=columns, borderaxespad=0, columnspacing=1.2, handlelength=1
    )
