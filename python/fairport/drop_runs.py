"""Drop runs and blackouts, from a table of drops: one implementation for all backends.

A *drop run* is a series of drops of consecutive arrivals at one output port: by ingress port, by
flow, or of the port as a whole (Prakash et al. 2012, 3.2; always say which). A *blackout* is a run
by ingress port during which packets of another ingress port were accepted.

`fairport.metrics` exports these functions together with its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

By = Literal["ingress", "flow", "port"]

# The group within which a run is counted, and the count of arrivals that shows whether it
# continues.
_MEMBER: dict[By, tuple[list[str], str]] = {
    "ingress": (["port", "ingress_port"], "ingress_arrival"),
    "flow": (["port", "flow"], "flow_arrival"),
    "port": (["port"], "port_arrival"),
}


def drop_runs(drops: pl.DataFrame, by: By) -> pl.DataFrame:
    """The drop runs of a table of drops, which must be in order of time, as backends write it.

    Columns: the port and the ingress port or flow; `first_s`, `last_s`: times of the first and the
    last drop; `length` in packets; `others_accepted`: packets that the port accepted between the
    arrivals of the first and the last packet, which can only be of other ingress ports (flows);
    `flows`: how many flows were hit.
    """
    runs = _find_runs(drops, by)
    first, last = runs.order[runs.starts], runs.order[runs.starts + runs.lengths - 1]
    time_s = drops["time_s"].to_numpy()[runs.order]
    return drops[first].select(
        *_MEMBER[by][0],
        first_s=pl.Series(np.minimum.reduceat(time_s, runs.starts)),
        last_s=pl.Series(np.maximum.reduceat(time_s, runs.starts)),
        length=pl.Series(runs.lengths),
        others_accepted=drops["port_accepted"].gather(last) - pl.col("port_accepted"),
        flows=pl.lit(1, pl.UInt32) if by == "flow" else pl.Series(_flows_hit(drops, runs)),
    )


def blackouts(drops: pl.DataFrame) -> pl.DataFrame:
    """Drop runs by ingress port, of at least 2, while as many packets of others were accepted.

    A run of n drops has n - 1 gaps and so room for n - 1 accepted packets at line rate: the four
    drops of the paper's own trace have three packets of the other port between them. So "as many"
    means one for every gap.
    """
    runs = drop_runs(drops, "ingress")
    return runs.filter(
        (pl.col("length") >= 2) & (pl.col("others_accepted") >= pl.col("length") - 1)
    )


def ingress_summary(drops: pl.DataFrame) -> pl.DataFrame:
    """Drops at each port by ingress port, most drops first.

    Columns: `port`, `ingress_port`, `flows` hit, `drops`, `share`: drops over the packets that had
    arrived from that ingress port at its last drop, `blackouts`, `drops_in_blackouts`,
    `longest_run` in packets.
    """
    pair = ["port", "ingress_port"]
    length = pl.col("length")
    runs = drop_runs(drops, "ingress").group_by(pair).agg(longest_run=length.max())
    dark = blackouts(drops).group_by(pair).agg(blackouts=pl.len(), drops_in_blackouts=length.sum())
    return (
        drops.group_by(pair)
        .agg(
            flows=pl.col("flow").n_unique(),
            drops=pl.len(),
            share=pl.len() / pl.col("ingress_arrival").max(),
        )
        .join(dark, on=pair, how="left")
        .join(runs, on=pair, how="left")
        .with_columns(pl.col("blackouts", "drops_in_blackouts").fill_null(0))
        .sort("drops", *pair, descending=[True, False, False])
    )


def timeout_runs(timeouts: pl.DataFrame, drops: pl.DataFrame) -> pl.DataFrame:
    """`timeouts` with `run_length`: the length of the drop run that the timeout follows.

    That is the run by ingress port that contains the last drop, before the timeout's end, of the
    segment for which the flow waits (same flow, same `seq`). It is null if no such drop is recorded
    (an ACK was lost, or the timeout is spurious).
    """
    runs = _find_runs(drops, "ingress")
    length = np.empty(drops.height, np.int64)
    length[runs.order] = np.repeat(runs.lengths, runs.lengths)
    awaited = (
        drops.select("flow", "seq", "time_s", run_length=pl.Series(length))
        .join(timeouts.select("flow", "seq").unique(), on=["flow", "seq"], how="semi")
        .sort("time_s")
    )
    return (
        timeouts.with_row_index("order")
        .sort("end_s")
        .join_asof(
            awaited,
            left_on="end_s",
            right_on="time_s",
            by=["flow", "seq"],
            strategy="backward",
            check_sortedness=False,
        )
        .sort("order")
        .drop("order", "time_s")
    )


@dataclass(frozen=True, slots=True)
class Runs:
    """Drop runs as row numbers: run i is rows `order[starts[i] : starts[i] + lengths[i]]`."""

    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    lengths: NDArray[np.intp]


def _find_runs(drops: pl.DataFrame, by: By) -> Runs:
    members, count = _MEMBER[by]
    columns = (
        column.cast(pl.Categorical).to_physical() if column.dtype == pl.String else column
        for column in drops.select(members)
    )
    return find_runs([column.to_numpy() for column in columns], drops[count].to_numpy())


def find_runs(members: Sequence[NDArray[Any]], arrival: NDArray[Any]) -> Runs:
    """Rows grouped by `members` (numbers of ports, flows), cut where an arrival was accepted.

    `arrival` is the running count of the group's arrivals, by row. Within a group, rows come in the
    order of their arrivals: a discipline that pushes out what waits drops in another order.
    """
    key = np.zeros(len(arrival), np.uint64)
    for member in members:
        number = member.astype(np.uint64)
        key = key * (number.max(initial=np.uint64(0)) + np.uint64(1)) + number
    # In the narrowest type that holds it, because numpy sorts 16 bits by radix: 50 times faster.
    key = key.astype(np.min_scalar_type(int(key.max(initial=np.uint64(0)))))
    order = np.argsort(key, kind="stable")
    if not _is_ordered(key[order], arrival[order]):  # rare, and much slower
        order = np.lexsort((arrival, key))
    key, arrival = key[order], arrival[order]
    goes_on = (key[1:] == key[:-1]) & (arrival[1:] == arrival[:-1] + np.uint64(1))
    starts = np.flatnonzero(np.concatenate([np.ones(min(len(key), 1), bool), ~goes_on]))
    return Runs(order, starts, np.diff(starts, append=len(key)))


def _is_ordered(key: NDArray[Any], arrival: NDArray[Any]) -> bool:
    """Whether the arrivals of each group are in order."""
    return not np.any((key[1:] == key[:-1]) & (arrival[1:] < arrival[:-1]))


def _flows_hit(drops: pl.DataFrame, runs: Runs) -> NDArray[np.uint32]:
    """How many different flows each run hit; only runs of at least 2 need counting."""
    run = np.repeat(np.arange(len(runs.starts), dtype=np.uint64), runs.lengths)
    several = np.repeat(runs.lengths > 1, runs.lengths)
    flow = drops["flow"].to_numpy()[runs.order][several]
    pairs = np.sort(run[several] << np.uint64(32) | flow)
    new = np.concatenate([np.ones(min(len(pairs), 1), bool), pairs[1:] != pairs[:-1]])
    hit = np.bincount((pairs[new] >> np.uint64(32)).astype(np.intp), minlength=len(runs.starts))
    return np.maximum(hit, 1).astype(np.uint32)
