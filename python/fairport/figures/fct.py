"""Slowdown of transfers against the empty network, by group of size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from fairport.figures import distribution, findings
from fairport.figures.drawing import style, width
from fairport.metrics import completion
from fairport.quantities import group_label

if TYPE_CHECKING:
    from fairport.result import Result

SUBJECT = "Slowdown by size"
CAPTION = (
    "How many times longer transfers took than in the empty network: the share of transfers with "
    "at most that slowdown, one line per group of sizes. A transfer alone is above 1 because of "
    "its handshake and slow start. The dots are the 50th, 95th and 99th percentiles. "
    "A transfer under way at the end counts with its age, so a line may end below 1."
)


def draw(result: Result) -> Figure:
    """One panel: one cumulative distribution per group."""
    ours = completion.transfers(result.flows, completion.Span.of(result.summary))
    picture, [[axes]] = style.frame(result, findings.transfers(result, ours.height), SUBJECT, [2.4])
    drawn = [
        distribution.line(
            axes,
            group_label(name),
            ours.filter(completion.in_group(name)),
            "lasted_ideals",
            look,
        )
        for name, look in zip(completion.GROUPS, distribution.LOOKS, strict=False)
    ]
    if not any(drawn):
        style.say(axes, "no transfer completed")
        return picture
    against = "" if width.is_narrow() else ": completion time / that in the empty network"
    distribution.frame(axes, f"slowdown{against}")
    style.y_label(picture, [axes], "share of transfers")
    style.note(picture, distribution.NOTE)
    return picture
