"""The printed trace: the packets that arrived at a port, when, and their fate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from fairport import blackouts

if TYPE_CHECKING:
    from fairport.result import Result


def trace_table(result: Result) -> pl.DataFrame:
    """The packets around the starved class's blackout, in order, as the paper prints its trace.

    Columns: `ingress` port, `time_us` of arrival, `fate`, `egress` port, `depart_us`, `flow`. Times
    are in microseconds from the first of these packets; a dropped packet has no egress. It has no
    rows if no blackout was recorded.
    """
    shown = blackouts.shown(result.tables, result.summary)
    packets = result.trace.clear() if shown is None else shown.packets
    microseconds = (pl.col("time_s", "depart_s") - pl.col("time_s").first()) * 1e6
    return packets.with_columns(microseconds).select(
        ingress="ingress_port",
        time_us="time_s",
        fate="fate",
        egress=pl.when(pl.col("fate") == "forwarded").then("port"),
        depart_us="depart_s",
        flow="flow",
    )
