"""Response times of requests: how long clients waited for their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from matplotlib.figure import Figure

from fairport.figures import distribution, findings
from fairport.figures.drawing import style
from fairport.metrics import completion
from fairport.quantities import QUANTITIES

if TYPE_CHECKING:
    from fairport.result import Result

SUBJECT = "Response times"
CAPTION = (
    "How long clients waited from their request to the last byte of the answer: the share of "
    "requests answered within that time, one line per [[traffic]] of requests. The dots are the "
    "50th, 95th and 99th percentiles. The first request of a connection includes its handshake."
)


_RESPONSE = QUANTITIES["response_s"]


def draw(result: Result) -> Figure:
    """One panel: one cumulative distribution per traffic."""
    asked = completion.asked(result.requests, completion.Span.of(result.summary))
    picture, [[axes]] = style.frame(result, findings.requests(result), SUBJECT, [2.4])
    ours = asked.with_columns(pl.col("lasted_s") * _RESPONSE.factor)
    traffics = ours["traffic"].unique().sort().to_list()
    several = len(traffics) > 1
    drawn = [
        distribution.line(
            axes,
            f"traffic {traffic}" if several else "requests",
            ours.filter(traffic=traffic),
            "lasted_s",
            distribution.LOOKS[number % len(distribution.LOOKS)],
        )
        for number, traffic in enumerate(traffics)
    ]
    if not any(drawn):
        style.say(axes, "no request was answered")
        return picture
    distribution.frame(axes, _RESPONSE.label)
    style.y_label(picture, [axes], "share of requests")
    style.note(picture, distribution.NOTE)
    return picture
