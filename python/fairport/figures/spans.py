"""The beginning of a run and the whole of it: does unfairness even out with time?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from fairport.figures import over_time
from fairport.figures.drawing import width
from fairport.quantities import time_at_size

if TYPE_CHECKING:
    from fairport.result import Result

SPANS = (0.2, 0.4, 1.0)
"""The spans, each from the start of the run, as shares of it."""


def title(span: float, result: Result) -> str:
    """The name of a span, with its length if there is room."""
    share = f"first {100 * span:.0f} %" if span < 1 else "whole run"
    if width.is_narrow():
        return share
    end_s = over_time.end_s(result)
    return f"{share} ({time_at_size(end_s).with_unit(span * end_s)})"


def rates(samples: pl.DataFrame, until_s: float) -> dict[int, float]:
    """Rate of each flow's delivered data from the start to `until_s`, in bit/s."""
    # Half a nanosecond: the series' times are sums of their interval.
    rows = samples.filter(pl.col("time_s") <= until_s + 5e-10)
    if rows.is_empty():
        return {}
    last = rows.group_by("flow").agg(pl.col("delivered_bytes").max() * 8, pl.col("time_s").max())
    # a flow whose samples begin later has delivered nothing
    nothing = dict.fromkeys(samples["flow"].unique().to_list(), 0.0)
    return nothing | {flow: bits / time for flow, bits, time in last.iter_rows()}
