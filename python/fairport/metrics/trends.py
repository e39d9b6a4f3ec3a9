"""A run over time in at most two hundred steps, which are enough for figures over time.

A run's own tables have one row per drop and per sample of a flow; these means over the steps are
small enough to keep.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import polars as pl
from polars.dataframe.group_by import GroupBy

from fairport.tables import Tables

STEPS = 200


TRENDS = ("goodput_bps", "fct_s", "queue_bytes", "signals_per_s")
"""Trends by their names in `fairport.quantities`. The first two are of each traffic (transfers by
their start), the others of the bottleneck port."""

_SCHEMA: dict[str, Any] = {
    "trend": pl.String,
    "traffic": pl.UInt32,
    "time_s": pl.Float64,
    "value": pl.Float64,
}


def trends(
    tables: Tables, bottleneck: str | None, simulated_s: float, series_interval_s: float
) -> pl.DataFrame:
    """`trend`, `traffic` (null: of the port), `time_s` (the middle of a step) and `value`.

    The goodput is that of watched flows (`[probes] flows`). A step is a whole number of the series'
    intervals, so that all have equally many samples; the last may be shorter. A step without a
    transfer has no `fct_s`.
    """
    step_s = series_interval_s * _at_least(simulated_s / (STEPS * series_interval_s))
    begin_s = pl.col("step") * step_s
    every = pl.select(step=pl.int_range(_at_least(simulated_s / step_s))).with_columns(
        begin_s=begin_s, length_s=(simulated_s - begin_s).clip(upper_bound=step_s)
    )
    flows, port = tables["flows"], pl.col("port") == (bottleneck or "")
    sampled = tables["series"].join(flows.select("flow", "traffic"), on="flow", how="left")
    traffics = sampled.select("traffic").unique()
    # a sample is about the interval before it
    sampled_s = pl.col("time_s") - series_interval_s / 2
    samples = _steps(sampled, sampled_s, step_s).agg(samples=pl.col("time_s").n_unique())
    signals = pl.concat(tables[name].select("time_s", "port") for name in ("drops", "marks"))
    per_step = {
        "goodput_bps": every.join(traffics, how="cross")
        .join(
            _steps(sampled, sampled_s, step_s, "traffic").agg(value=pl.col("goodput_bps").sum()),
            on=["step", "traffic"],
            how="left",
        )
        .join(samples, on="step", how="left")
        .with_columns(pl.col("value") / pl.col("samples")),
        "fct_s": _steps(
            flows.filter(pl.col("fct_s").is_not_null()), pl.col("start_s"), step_s, "traffic"
        ).agg(value=pl.col("fct_s").mean()),
        "queue_bytes": _steps(tables["queue"].filter(port), pl.col("time_s"), step_s).agg(
            value=pl.col("bytes").cast(pl.Float64).mean()
        ),
        "signals_per_s": every.join(
            _steps(signals.filter(port), pl.col("time_s"), step_s).agg(value=pl.len()),
            on="step",
            how="left",
        ).with_columns(pl.col("value") / pl.col("length_s")),
    }
    # a sample at the very end belongs to no step
    rows = [
        table.select("step", pl.col("^traffic$"), "value", trend=pl.lit(trend))
        for trend, table in per_step.items()
    ]
    return (
        pl.concat(rows, how="diagonal_relaxed")
        .join(every, on="step")
        .with_columns(
            pl.col("value").fill_null(0), time_s=pl.col("begin_s") + pl.col("length_s") / 2
        )
        .select(pl.col(name).cast(kind) for name, kind in _SCHEMA.items())
        .sort("trend", "traffic", "time_s")
    )


def _at_least(share: float) -> int:
    """The least whole number that is not below the share, but for rounding; 1 or more."""
    return max(1, ceil(share - 1e-9))


def _steps(table: pl.DataFrame, time: pl.Expr, step_s: float, *also: str) -> GroupBy:
    return table.group_by((time / step_s).floor().cast(pl.Int64).alias("step"), *also)
