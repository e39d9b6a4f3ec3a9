"""Drop runs and blackouts, from a table of drops: one implementation for all backends.

A *drop run* is a series of drops of consecutive arrivals at one output port: by ingress port, by
flow, or of the port as a whole (Prakash et al. 2012, 3.2; always say which). A *blackout* is a run
by ingress port during which packets of another ingress port were accepted.
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
    "flow": (["port", "flow", "is_backward"], "flow_arrival"),
    "port": (["port"], "port_arrival"),
}

# What a segment and the timeout that waits for it have in common.
_SEGMENT = ["flow", "is_backward", "seq"]


def drop_runs(drops: pl.DataFrame, by: By) -> pl.DataFrame:
    """The drop runs of a table of drops, which must have all drops of a port.

    Columns: the port and the ingress port, or the flow and its direction; `first_s`, `last_s`:
    times of the first and the last drop; `length` in packets; `others_accepted`: packets that
    arrived between the run's first and last and were not dropped, which can only be of other
    ingress ports (flows); `flows`: how many flows were hit.
    """
    runs = _find_runs(drops, by)
    time_s = drops["time_s"].to_numpy()[runs.order]
    return drops[runs.order[runs.starts]].select(
        *_MEMBER[by][0],
        first_s=pl.Series(np.minimum.reduceat(time_s, runs.starts)),
        last_s=pl.Series(np.maximum.reduceat(time_s, runs.starts)),
        length=pl.Series(runs.lengths),
        others_accepted=pl.Series(
            others_accepted(runs, _number(drops["port"]), drops["port_arrival"].to_numpy())
        ),
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
    segment for which the flow waits: the same flow, direction and `seq`. A pure ACK has the `seq`
    of its sender's next segment, but is no segment. The length is null if no such drop is recorded
    (an ACK was lost, or the timeout is spurious).
    """
    runs = _find_runs(drops, "ingress")
    length = np.empty(drops.height, np.int64)
    length[runs.order] = np.repeat(runs.lengths, runs.lengths)
    awaited = (
        drops.select(*_SEGMENT, "time_s", "is_pure_ack", run_length=pl.Series(length))
        .filter(~pl.col("is_pure_ack"))
        .drop("is_pure_ack")
        .join(timeouts.select(_SEGMENT).unique(), on=_SEGMENT, how="semi")
        .sort("time_s")
    )
    return (
        timeouts.with_row_index("order")
        .sort("end_s")
        .join_asof(
            awaited,
            left_on="end_s",
            right_on="time_s",
            by=_SEGMENT,
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
    return find_runs([_number(column) for column in drops.select(members)], drops[count].to_numpy())


def _number(column: pl.Series) -> NDArray[Any]:
    """The column, with a number for each text."""
    is_text = column.dtype == pl.String
    return (column.cast(pl.Categorical).to_physical() if is_text else column).to_numpy()


def find_runs(members: Sequence[NDArray[Any]], arrival: NDArray[Any]) -> Runs:
    """Rows grouped by `members` (numbers of ports, flows), cut where an arrival was not dropped.

    `arrival` is the running count of the group's arrivals, by row.
    """
    key, order = _by_arrival(members, arrival)
    arrival = arrival[order]
    goes_on = (key[1:] == key[:-1]) & (arrival[1:] == arrival[:-1] + np.uint64(1))
    starts = np.flatnonzero(np.concatenate([np.ones(min(len(key), 1), bool), ~goes_on]))
    return Runs(order, starts, np.diff(starts, append=len(key)))


def others_accepted(
    runs: Runs, port: NDArray[Any], port_arrival: NDArray[Any]
) -> NDArray[np.int64]:
    """How many packets arrived between the first and the last of each run and were not dropped.

    `port` and `port_arrival` are of all drops, by row. The difference of `port_accepted` is the
    same if packets are dropped on arrival. A discipline that drops later accepts them first.
    """
    _, order = _by_arrival([port], port_arrival)
    drops_before = np.empty(len(order), np.int64)  # at this port, and all drops at ports before it
    drops_before[order] = np.arange(len(order))
    passed = port_arrival.astype(np.int64) - drops_before
    first, last = runs.order[runs.starts], runs.order[runs.starts + runs.lengths - 1]
    between: NDArray[np.int64] = passed[last] - passed[first]
    return between


def _by_arrival(
    members: Sequence[NDArray[Any]], arrival: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The rows in order of group and arrival, after the group of each as one number."""
    key = np.zeros(len(arrival), np.uint64)
    for member in members:
        number = member.astype(np.uint64)
        key = key * (number.max(initial=np.uint64(0)) + np.uint64(1)) + number
    # In the narrowest type that holds it, because numpy sorts 16 bits by radix: 50 times faster.
    key = key.astype(np.min_scalar_type(int(key.max(initial=np.uint64(0)))))
    order = np.argsort(key, kind="stable")
    group, count = key[order], arrival[order]
    # Rows are in order of time. A discipline that pushes packets out drops the latest first.
    if ((group[1:] == group[:-1]) & (count[1:] < count[:-1])).any():
        order = np.lexsort((arrival, key))
    return group, order


def _flows_hit(drops: pl.DataFrame, runs: Runs) -> NDArray[np.uint32]:
    """How many different flows each run hit; only runs of at least 2 need counting."""
    run = np.repeat(np.arange(len(runs.starts), dtype=np.uint64), runs.lengths)
    several = np.repeat(runs.lengths > 1, runs.lengths)
    flow = drops["flow"].to_numpy()[runs.order][several]
    pairs = np.sort(run[several] << np.uint64(32) | flow)
    new = np.concatenate([np.ones(min(len(pairs), 1), bool), pairs[1:] != pairs[:-1]])
    hit = np.bincount((pairs[new] >> np.uint64(32)).astype(np.intp), minlength=len(runs.starts))
    return np.maximum(hit, 1).astype(np.uint32)
