"""Turns the arrays that the engine returns into the tables of `fairport.tables`.

The engine numbers hosts, ports, stacks and kinds; the numbers are indices into lists of names. A
missing number is the largest of its type, or NaN in a column of f64.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from fairport.scenario.tcp import control_name
from fairport.tables import SCHEMA, Column, Tables, empty

# The list of names into which a column's numbers are indices, if it is not the column's name.
_LISTS = {
    "src": "host",
    "dst": "host",
    "ingress_port": "port",
    "egress_port": "port",
    "blackout_of": "port",
    ("decisions", "cause"): "decision_cause",
    ("packets", "fate"): "packet_fate",
}
# Columns made from another column's numbers: a stack's number also gives its congestion control.
_SOURCES = {"workload": "traffic", "congestion_control": "stack"}

# Polars imports NumPy when it first sees an array. That fails if it happens in two threads at the
# same time, and runs end in threads.
pl.Series(np.empty(0))


def from_core(
    raw: Mapping[str, Any],
    run_id: str,
    hosts: Sequence[str],
    stacks: Sequence[Mapping[str, Any]],
    workloads: Sequence[str],
) -> Tables:
    """The tables of what `_core.Simulation.run` returned.

    `hosts` are the host names in the engine's order, `stacks` the job's stacks (`preset`,
    `overrides`), `workloads` the kinds of the scenario's traffic. A table that the engine did not
    fill has no rows; a column that it did not fill is null.
    """
    lists: dict[str, Sequence[str]] = {
        **raw["names"],
        "host": hosts,
        "stack": [stack["preset"] for stack in stacks],
        "congestion_control": [_congestion_control(stack) for stack in stacks],
        "workload": workloads,
    }
    names = {kind: pl.Series(kind, values, pl.String) for kind, values in lists.items()}
    tables = {table: _frame(table, raw["tables"].get(table), run_id, names) for table in SCHEMA}
    # the engine gives every flow a stack
    of_tcp = pl.when(pl.col("protocol") == "tcp").then(pl.col("stack", "congestion_control"))
    return {**tables, "flows": tables["flows"].with_columns(of_tcp)}


def source(column: Column) -> str:
    """The engine's name for the column from which this one is made."""
    return _SOURCES.get(column.name, column.name)


def _congestion_control(stack: Mapping[str, Any]) -> str:
    """The stack's own value, or else its preset's."""
    own = stack["overrides"].get("congestion_control")
    if own is None:
        from fairport import _core

        own = _core.preset(stack["preset"])["congestion_control"]
    return control_name(own)


def _frame(
    table: str,
    raw: Mapping[str, np.ndarray] | None,
    run_id: str,
    names: Mapping[str, pl.Series],
) -> pl.DataFrame:
    rows = 0 if raw is None else len(next(iter(raw.values())))
    if raw is None or rows == 0:
        return empty(table)
    data = {}
    for column in SCHEMA[table]:
        values = raw.get(source(column))
        if values is None and column.nullable:
            data[column.name] = pl.Series(column.name, [None] * rows, column.dtype)
        elif values is None:
            raise ValueError(f"the engine has no {table}.{column.name}, which is never null")
        elif column.dtype == pl.String:
            kind = _LISTS.get((table, column.name)) or _LISTS.get(column.name, column.name)
            data[column.name] = names[kind][_numbers(column, values)].alias(column.name)
        elif column.dtype == pl.Boolean:
            data[column.name] = pl.Series(values).cast(pl.Boolean)
        else:
            data[column.name] = _numbers(column, values)
    frame = pl.DataFrame(data, schema={c.name: c.dtype for c in SCHEMA[table]})
    return frame.select(pl.lit(run_id).alias("run_id"), pl.all())


def _numbers(column: Column, values: np.ndarray) -> pl.Series:
    series = pl.Series(column.name, values)
    if series.dtype.is_float():
        missing = np.isnan(values)
    elif column.nullable:
        missing = values == np.iinfo(values.dtype).max
    else:
        return series
    # Most columns have no nulls. In a run's small tables, asking polars would cost ten times as
    # much.
    return series.set(pl.Series(missing), None) if missing.any() else series
