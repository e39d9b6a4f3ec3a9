"""The printed trace: what came in at a port, when, and what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from fairport.result import Result


def trace_table(result: Result) -> pl.DataFrame:
    """The packets round the worst blackout in order of arrival, as the paper prints its trace.

    Columns: `ingress` port, `time_us` of arrival, `fate`, `egress` port, `depart_us`, `flow`. Times
    are in microseconds from the first of these packets; a dropped packet has no egress. No rows
    when the run had no blackout.
    """
    microseconds = (pl.col("time_s", "depart_s") - pl.col("time_s").first()) * 1e6
    return (
        result.trace.sort("time_s")
        .with_columns(microseconds)
        .select(
            ingress="ingress_port",
            time_us="time_s",
            fate="fate",
            egress=pl.when(pl.col("fate") == "forwarded").then("port"),
            depart_us="depart_s",
            flow="flow",
        )
    )
