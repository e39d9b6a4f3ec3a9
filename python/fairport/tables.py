"""The tables of a run: every column, its dtype, its unit and what it means, in one place.

Times are in seconds from the start of the run, sizes in bytes, rates in bit/s. A value that does
not exist (the end of a flow that still runs) is null. `from_core` turns what the engine returns
into these tables; every other backend fills the same columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

Tables = dict[str, pl.DataFrame]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of one table.

    `names` says in which list of names the engine's number is an index, `source` what the engine
    calls the column where that differs, `absent` the integer by which it says "none yet".
    """

    name: str
    dtype: type[pl.DataType]
    unit: str
    text: str
    names: str = ""
    source: str = ""
    absent: int | None = None


def _u32(name: str, unit: str, text: str) -> Column:
    return Column(name, pl.UInt32, unit, text)


def _u64(name: str, unit: str, text: str) -> Column:
    return Column(name, pl.UInt64, unit, text)


def _f64(name: str, unit: str, text: str) -> Column:
    return Column(name, pl.Float64, unit, text)


def _name(name: str, text: str, names: str, source: str = "") -> Column:
    return Column(name, pl.String, "", text, names, source)


_UNSET_U64 = 2**64 - 1

_FLOW = _u32("flow", "", "number of the flow: those known before the run, then by their start")
_TIME = _f64("time_s", "s", "when it happened")
_PORT = _name("port", "output port, e.g. edge0.0:0", "port")
_INGRESS = _name("ingress_port", "port of the same switch by which the packet came in", "port")
_SEQ = _u32("seq", "", "sequence number on the wire (32 bits, wraps)")
_SIZE = _u32("size_bytes", "B", "what the buffer counts for the packet")

SCHEMA: dict[str, tuple[Column, ...]] = {
    "flows": (
        _FLOW,
        _name("src", "sending host", "host"),
        _name("dst", "receiving host", "host"),
        _u32("hops", "", "links between sender and receiver"),
        _u32("traffic", "", "which [[traffic]] of the scenario it is of, from 0"),
        _name("workload", "kind of that traffic", "workload", "traffic"),
        _name("protocol", "transport protocol", "protocol"),
        _name("stack", "stack preset of the sender", "stack"),
        _name("congestion_control", "of the sender", "congestion_control", "stack"),
        _f64("start_s", "s", "when the application opened the connection"),
        _f64("established_s", "s", "when the handshake was done; null: never"),
        _f64("end_s", "s", "when the last byte was delivered; null: still running"),
        Column(
            "size_bytes", pl.UInt64, "B", "what is to be sent; null: endless", absent=_UNSET_U64
        ),
        _u64("delivered_bytes", "B", "delivered in order to the application, whole run"),
        _u64(
            "measured_bytes",
            "B",
            "new bytes that arrived at the receiving host within the measurement",
        ),
        _f64("goodput_bps", "bit/s", "measured_bytes over the length of the measurement"),
        _f64("fct_s", "s", "flow completion time; null: not completed"),
        _f64("ideal_fct_s", "s", "the same in the empty network, all sent at once; null: endless"),
        _u64("segments_sent", "", "segments with payload, resends included"),
        _u64("retransmits", "", "segments sent again"),
        _u64("fast_recoveries", "", "entries into fast recovery"),
        _u64("timeouts", "", "expiries of the retransmission timer"),
        _f64("timeout_period_s", "s", "time stood still until those expiries, in all"),
        _u64("drops", "", "packets of the flow dropped at any port"),
        _u64("marks", "", "packets of the flow marked at any port"),
        _f64("rtt_mean_s", "s", "mean of the sender's RTT samples"),
        _f64("rtt_min_s", "s", "smallest RTT sample"),
        _f64("rtt_max_s", "s", "largest RTT sample"),
    ),
    "series": (
        _f64("time_s", "s", "end of the interval"),
        _FLOW,
        _f64(
            "goodput_bps",
            "bit/s",
            "new bytes that arrived at the receiving host within the interval",
        ),
        _u64("cwnd_bytes", "B", "congestion window at the end of the interval"),
        Column(
            "ssthresh_bytes",
            pl.UInt64,
            "B",
            "slow-start threshold; null: none yet",
            absent=_UNSET_U64,
        ),
        _f64("srtt_s", "s", "smoothed RTT (RFC 6298); null: no sample yet"),
        _u64("in_flight_bytes", "B", "sent and not acknowledged"),
        _f64("rtt_min_s", "s", "smallest RTT sample of the interval; null: none"),
        _f64("rtt_mean_s", "s", "mean RTT sample of the interval; null: none"),
        _f64("rtt_max_s", "s", "largest RTT sample of the interval; null: none"),
        _u64("delivered_bytes", "B", "running total at the end of the interval"),
    ),
    "drops": (
        _TIME,
        _PORT,
        _INGRESS,
        _FLOW,
        _SEQ,
        _SIZE,
        _name("reason", "why the queue discipline refused it", "reason"),
        _u64("port_arrival", "", "which packet at this port it was, from 1"),
        _u64("ingress_arrival", "", "which packet at this port from this ingress port"),
        _u64("flow_arrival", "", "which packet at this port of this flow"),
        _u64("port_accepted", "", "packets that this port had accepted until then"),
    ),
    "marks": (_TIME, _PORT, _INGRESS, _FLOW, _SEQ),
    "timeouts": (
        _FLOW,
        _f64("start_s", "s", "since when the flow stood still"),
        _f64("end_s", "s", "when the timer expired"),
        _f64("rto_s", "s", "the timeout's length as set, backoff included"),
        _u32("backoff", "", "doublings since the last acknowledged segment"),
        _name("cause", "why no fast retransmit came first", "cause"),
        _u32("seq", "", "first unacknowledged octet: the segment that it waits for"),
    ),
    "queue": (
        _TIME,
        _PORT,
        _u64("bytes", "B", "in the buffer at that moment"),
        _u64("packets", "", "in the buffer at that moment"),
    ),
    "ports": (
        _PORT,
        _u64("packets", "", "accepted"),
        _u64("bytes", "B", "accepted"),
        _u64("drops", "", "refused"),
        _u64("marks", "", "accepted and marked"),
        _f64("queue_mean_bytes", "B", "mean occupancy over time"),
        _u64("queue_max_bytes", "B", "largest occupancy"),
        _f64("busy_share", "", "share of the time that the line was sending"),
        _u32("flows", "", "flows whose data is routed through the port"),
        _f64("clock_error_ppm", "ppm", "how much faster than its rate it sends, as drawn"),
    ),
    "rtt": (
        _FLOW,
        _f64("rtt_s", "s", "middle of a bin 1 % wide"),
        _u64("samples", "", "RTT samples of the measurement in the bin"),
    ),
    "rounds": (
        _u32("traffic", "", "which [[traffic]] of the scenario, from 0"),
        _u32("round", "", "number of the round, or of the sender's periodic transfer, from 0"),
        Column(
            "flow", pl.UInt32, "", "flow of a transfer; null: a round of many", absent=2**32 - 1
        ),
        _f64("start_s", "s", "when its data was there to be sent"),
        _f64("end_s", "s", "when the last of it had arrived"),
        _u64("bytes", "B", "all of it"),
        _f64("completion_s", "s", "end_s less start_s"),
    ),
    "requests": (
        _u32("traffic", "", "which [[traffic]] of the scenario, from 0"),
        Column(
            "flow", pl.UInt32, "", "flow of its connection; null: never opened", absent=2**32 - 1
        ),
        _u32("request", "", "which one on its connection, from 0; the first opens it"),
        _f64("start_s", "s", "when the client asked"),
        _f64("end_s", "s", "when it had the whole answer; null: not yet"),
        _u64("request_bytes", "B", "what it asked with"),
        _u64("response_bytes", "B", "what it is answered with"),
        _f64("response_s", "s", "end_s less start_s; null: not yet answered"),
    ),
    "trace": (
        _name("blackout_of", "ingress port whose longest blackout the row belongs to", "port"),
        _TIME,
        _PORT,
        _INGRESS,
        _FLOW,
        _SEQ,
        _SIZE,
        _name("fate", "forwarded or dropped", "fate"),
        _f64("depart_s", "s", "when it left the port; null: dropped"),
    ),
}

# Packet fates as the engine numbers them.
_FATES = ("forwarded", "dropped")
# Transport protocols, likewise.
_PROTOCOLS = ("tcp", "udp")


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
    fill has no rows.
    """
    lists: dict[str, Sequence[str]] = {
        **raw["names"],
        "host": hosts,
        "fate": _FATES,
        "stack": [stack["preset"] for stack in stacks],
        "congestion_control": [_congestion_control(stack) for stack in stacks],
        "protocol": _PROTOCOLS,
        "workload": workloads,
    }
    names = {kind: pl.Series(kind, values, pl.String) for kind, values in lists.items()}
    return {
        table: _frame(columns, raw["tables"].get(table), run_id, names)
        for table, columns in SCHEMA.items()
    }


def empty(table: str) -> pl.DataFrame:
    """`table` with all of its columns and no rows."""
    return pl.DataFrame(schema={"run_id": pl.String} | {c.name: c.dtype for c in SCHEMA[table]})


def _congestion_control(stack: Mapping[str, Any]) -> str:
    """What the stack says, or else what its preset does."""
    own = stack["overrides"].get("congestion_control")
    if own is None:
        from fairport import _core

        own = _core.preset(stack["preset"])["congestion_control"]
    return str(own)


def _frame(
    columns: Sequence[Column],
    raw: Mapping[str, np.ndarray] | None,
    run_id: str,
    names: Mapping[str, pl.Series],
) -> pl.DataFrame:
    data = {c.name: _series(c, raw, names) for c in columns}
    frame = pl.DataFrame(data, schema={c.name: c.dtype for c in columns})
    return frame.select(pl.lit(run_id).alias("run_id"), pl.all())


def _series(
    column: Column, raw: Mapping[str, np.ndarray] | None, names: Mapping[str, pl.Series]
) -> pl.Series:
    if raw is None:
        return pl.Series(column.name, [], column.dtype)
    values = pl.Series(column.name, raw[column.source or column.name])
    if column.names:
        return names[column.names].gather(values).alias(column.name)
    if values.dtype.is_float():
        return values.fill_nan(None)
    if column.absent is not None:
        return (
            values.to_frame().select(pl.col(column.name).replace(column.absent, None)).to_series()
        )
    return values
