"""The picture that a newcomer sees first: who is starved, at which port, and what a fix does.

A run's own figures answer one question each, for people who know the words. This one has to be
understood in five seconds by those who do not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fairport as fp
from fairport.figures import hop_classes
from fairport.figures.drawing import style
from fairport.figures.drawing.heading import heading
from fairport.metrics import fairness
from fairport.metrics.verdict import ratio_in_words
from fairport.result import Result
from fairport.study import fixes
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

FIX = "codel"
_WIDE_IN, _TALL_IN, _BOTTOM_IN = 7.2, 1.7, 0.32
# left edges and widths of the panels
_PORT, _WITHOUT, _WITH = (0.12, 2.3), (3.05, 1.9), (5.15, 1.9)
# by hop class: where the flows come in, and whose they are
_FROM = {2: (0.8, "1 flow of the nearest host"), 4: (0.42, "2 flows of the same pod"),
         6: (0.1, "12 flows from afar")}  # fmt: skip


def draw(path: Path) -> None:
    """Runs `outcast` as it is and with the fix, and draws both beside the port."""
    scenario = fp.scenario("outcast")
    (fix,) = fixes.load([FIX])
    results = [fp.run(one, seed=1) for one in (scenario, fix.applied(scenario))]
    before, after = (ratio_in_words(one.summary["verdict"]["ratio"] or 0.0) for one in results)
    head = heading(
        f"The nearest host's flow gets {before} the goodput of those from afar; with CoDel at"
        f" the switch, {after} it",
        "Fifteen flows to one receiver",
        f"the scenario outcast, seed 1, as it is and with the fix {FIX}",
        _WIDE_IN,
    )
    tall = head.tall_in + 0.26 + _TALL_IN + _BOTTOM_IN
    with style.applied():
        picture = style.Picture(figsize=(_WIDE_IN, tall))
        head.write(picture)
        port, *panels = (
            picture.add_axes((left / _WIDE_IN, _BOTTOM_IN / tall, wide / _WIDE_IN, _TALL_IN / tall))
            for left, wide in (_PORT, _WITHOUT, _WITH)
        )
        classes = hop_classes.compared(results[0])
        _draw_port(port, classes)
        panels[1].sharey(panels[0])
        panels[1].tick_params(labelleft=False)
        for panel, result in zip(panels, results, strict=True):
            _draw_bars(panel, result, classes)
        style.panel_title(panels[0], "As it is")
        style.panel_title(panels[1], f"With the fix {FIX}")
        panels[0].set_ylabel("goodput (Mbit/s)")
        style.note(picture, "bar: one flow, number: mean, dotted: fair share")
        style.save(picture, path)


def _draw_bars(panel: Axes, result: Result, classes: list[hop_classes.HopClass]) -> None:
    rates = dict(fairness.compared(result.flows).select("flow", "goodput_bps").iter_rows())
    left = 0.0
    for one in classes:
        at = [left + number for number in range(len(one.flows))]
        heights = [rates[flow] / 1e6 for flow in one.flows]
        panel.bar(at, heights, 0.86, **one.look.bar)
        mean = sum(heights) / len(heights)
        middle = sum(at) / len(at)
        panel.annotate(
            f"{mean:.0f}", (middle, max(heights)), (0, 2), textcoords="offset points",
            ha="center", color=one.look.colour, fontweight="bold",
        )  # fmt: skip
        left += len(at) + 1.2
    panel.set_xticks([])
    style.fair_share(panel, sum(rates.values()) / len(rates) / 1e6)


def _draw_port(panel: Axes, classes: list[hop_classes.HopClass]) -> None:
    """The receiver's switch: one flow comes in by one port, fourteen by another."""
    panel.set_axis_off()
    panel.set(xlim=(0, 1), ylim=(0, 1))
    left, right, upper, lower, out = 0.62, 0.8, 0.7, 0.24, 0.47
    panel.add_patch(Rectangle((left, 0.05), right - left, 0.83, fc=style.GRID, ec=style.MUTED))
    panel.text((left + right) / 2, 0.9, "switch", ha="center", va="bottom", color=style.MUTED)
    for one in reversed(classes):
        start, text = _FROM[one.hops or 0]
        port = upper if len(one.flows) == 1 else lower
        look: dict[str, Any] = {"color": one.look.colour, "linewidth": 1.2 + 0.35 * len(one.flows)}
        panel.plot([0.0, 0.3, 0.5, left], [start, start, port, port], **look)
        aside = -0.13 if one.hops == 6 else 0.05
        panel.text(0.0, start + aside, text, color=one.look.colour, fontsize=7.5)
    for port in (upper, lower):
        panel.plot([left, right], [port, out], color=style.MUTED, linewidth=0.8)
    for place in ((left, upper), (left, lower), (right, out)):
        panel.plot(*place, "s", color=style.INK, markersize=6)
    panel.annotate(
        "", (1.0, out), (right, out), arrowprops={"arrowstyle": "->", "color": style.INK, "lw": 1.2}
    )
    panel.text(0.93, out + 0.06, "receiver", ha="center", fontsize=7.5)
