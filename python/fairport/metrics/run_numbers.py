"""The numbers of one run of a study: its columns, made from arrays in well under a millisecond.

They are the summary's numbers, under flat names; filling tables of polars would take longer than
many runs. `tests/python/test_run_numbers.py` compares the two. A number that does not apply to a
run (completion times where no flow ends) is None. A comparison of fixes has metrics of its own
(`study.comparison.metrics`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairport.metrics import fairness
from fairport.metrics.drop_runs import find_runs, others_accepted
from fairport.metrics.traffic_table import flat, is_bound
from fairport.metrics.verdict import is_outcast, lone_and_peers
from fairport.tables import Tables

Numbers = dict[str, float | bool | None]
Array = NDArray[Any]

_NONE = np.uint64(2**64 - 1)

_BY_SIZE = {
    "small": "of up to 100 kB",
    "medium": "of more than 100 kB and up to 10 MB",
    "large": "of more than 10 MB",
}

NUMBERS: dict[str, str] = {
    "outcast": "whether the lone class gets less than half of its peers' mean goodput",
    "throughput_ratio": "mean goodput of the lone class over that of its peers",
    "jain_index": "over the flows that are compared; 1 is fair",
    "goodput_bps_total": "of all TCP flows",
    "utilisation": "of the line behind the bottleneck port",
    "timeouts": "of all flows",
    "timeout_period_s": "time that flows stood still until their timers expired",
    "drops": "packets, at all ports",
    "marks": "packets, at all ports",
    "drop_runs_ge2": "two or more consecutive packets of one flow that a port dropped",
    "longest_drop_run": "by flow, in packets",
    "blackouts": "of ingress ports, at all output ports",
    "longest_blackout": "in packets",
    "rtt_mean_s": "over the samples of all TCP flows",
    "rtt_p99_s": "over the samples of all TCP flows",
    "queue_mean_bytes": "at the bottleneck port",
    "queue_max_bytes": "at the bottleneck port",
    "lone_goodput_bps_mean": "of the lone class",
    "lone_timeouts": "of the lone class",
    "lone_timeout_period_s": "of the lone class",
    "peers_goodput_bps_mean": "of the class that it is compared with",
    "peers_goodput_bps_min": "of the class that it is compared with",
    "peers_goodput_bps_max": "of the class that it is compared with",
    "first_traffic_share": "of the goodput of all TCP flows, if there is more than one traffic",
    "rounds_done": "of the first incast",
    "round_time_median_s": "of the first incast",
    "round_time_p99_s": "of the first incast",
    "round_goodput_bps": "of the first incast, while its rounds last",
    "transfers": "of the first traffic that is transfers or requests",
    "unfinished": "of those, what was under way at the end, or stopped",
    "fct_median_s": "of the first traffic that is transfers",
    "fct_p99_s": "of the first traffic that is transfers",
    **{
        f"{size}_fct_{part}_s": f"of transfers {what}, of the first traffic that has them"
        for size, what in _BY_SIZE.items()
        for part in ("median", "p99")
    },
    "slowdown_median": "of the first traffic that is transfers, against the empty network",
    "slowdown_p99": "of the first traffic that is transfers, against the empty network",
    "response_median_s": "of the first traffic that is requests",
    "response_p99_s": "of the first traffic that is requests",
    "loss_share": "of the first traffic of UDP",
    "delay_mean_s": "of the first traffic of UDP",
    "delay_p99_s": "of the first traffic of UDP",
    "lower_bounds": "how many of these medians and percentiles are lower bounds",
}
"""Every number by name, with what it is a number of."""

_OF_TRAFFIC = frozenset(list(NUMBERS)[list(NUMBERS).index("rounds_done") :])

MAY_BE_BOUNDS = frozenset(
    name
    for name in _OF_TRAFFIC
    if ("_median" in name or "_p99" in name) and not name.startswith("delay")
)
"""The medians and percentiles that are lower bounds if too much was still under way at the end."""

TYPES: dict[str, type[pl.DataType]] = dict.fromkeys(NUMBERS, pl.Float64) | {"outcast": pl.Boolean}
"""Types of the columns that hold the numbers."""


@dataclass(frozen=True, slots=True)
class Arrays:
    """The input of the numbers: columns by table, as numpy arrays.

    A missing number is NaN, or the largest value of an integer type; ports are numbers.
    """

    tables: Mapping[str, Mapping[str, Array]]
    is_tcp: Array
    """Whether each flow is TCP."""
    is_bulk: Array
    """Whether each flow is of a bulk traffic."""

    @staticmethod
    def of_engine(raw: Mapping[str, Any], workloads: Sequence[str]) -> Arrays:
        """The arrays that `_core.Simulation.run` returned; `workloads` are the traffic's kinds."""
        flows = raw["tables"]["flows"]
        bulk = np.array([kind == "bulk" for kind in workloads] or [False])
        return Arrays(
            tables=raw["tables"],
            is_tcp=flows["protocol"] == raw["names"]["protocol"].index("tcp"),
            is_bulk=bulk[flows["traffic"]],
        )

    @staticmethod
    def of_tables(tables: Tables) -> Arrays:
        """The arrays of the tables that any backend fills."""
        flows = tables["flows"]
        return Arrays(
            tables={name: _columns(tables[name]) for name in ("flows", "ports", "rtt", "drops")},
            is_tcp=(flows["protocol"] == "tcp").to_numpy(),
            is_bulk=(flows["workload"] == "bulk").to_numpy(),
        )


def numbers(arrays: Arrays, traffic: Sequence[Mapping[str, Any]] = ()) -> Numbers:
    """All of `NUMBERS` for a run.

    `traffic` is the summary's; entries of long-lived flows may be left out.
    """
    tables = arrays.tables
    flows = tables["flows"]
    # as `fairness.compared` chooses
    endless = arrays.is_bulk & np.isnan(flows["ideal_fct_s"])
    compared = next((of for of in (endless, arrays.is_bulk) if of.any()), arrays.is_tcp)
    rates = flows["goodput_bps"][compared]
    found: Numbers = dict.fromkeys(NUMBERS)
    found |= {
        "jain_index": fairness.jain_index(rates),
        "goodput_bps_total": float(flows["goodput_bps"][arrays.is_tcp].sum()),
        "first_traffic_share": _first_traffic_share(flows, arrays.is_tcp),
        "timeouts": float(flows["timeouts"].sum()),
        "timeout_period_s": float(flows["timeout_period_s"].sum()),
        "drops": float(tables["ports"]["drops"].sum()),
        "marks": float(tables["ports"]["marks"].sum()),
    }
    is_endless = bool((flows["size_bytes"][compared] == _NONE).all())
    found |= _classes(flows, compared, is_endless=is_endless)
    found |= _bottleneck(tables["ports"], is_endless=is_endless)
    found |= _drop_runs(tables["drops"])
    found |= _rtt(tables["rtt"], arrays.is_tcp)
    bounds: dict[str, bool] = {}
    # in reverse, so that the numbers of the first traffic that has them stay
    for entry in reversed(traffic):
        of_entry = {name: value for name, value in flat(entry).items() if name in _OF_TRAFFIC}
        found |= of_entry
        bounds |= {name: is_bound(entry, name) for name in of_entry}
    if any("median" in name or "p99" in name for name in bounds):
        found["lower_bounds"] = float(sum(bounds.values()))
    return found


def _first_traffic_share(flows: Mapping[str, Array], is_tcp: Array) -> float | None:
    rates, traffic = flows["goodput_bps"][is_tcp], flows["traffic"][is_tcp]
    in_all = float(rates.sum())
    if in_all <= 0 or (traffic == 0).all():
        return None
    return float(rates[traffic == 0].sum()) / in_all


def _classes(flows: Mapping[str, Array], compared: Array, *, is_endless: bool) -> Numbers:
    """The numbers of the lone class and its peers, which are the verdict's."""
    hops, rates = flows["hops"][compared], flows["goodput_bps"][compared]
    members = {f"{count}-hop": hops == count for count in np.unique(hops)}
    classes = {
        name: {"flows": int(of.sum()), "goodput_bps_mean": float(rates[of].mean())}
        for name, of in members.items()
    }
    lone, peers = lone_and_peers(classes)
    found: Numbers = {}
    if peers:
        theirs = rates[members[peers]]
        found |= {
            "peers_goodput_bps_mean": float(theirs.mean()),
            "peers_goodput_bps_min": float(theirs.min()),
            "peers_goodput_bps_max": float(theirs.max()),
        }
    if lone:
        ours = members[lone]
        ours_bps, theirs_bps = (classes[name]["goodput_bps_mean"] for name in (lone, peers))
        found |= {
            "lone_goodput_bps_mean": ours_bps,
            "lone_timeouts": float(flows["timeouts"][compared][ours].sum()),
            "lone_timeout_period_s": float(flows["timeout_period_s"][compared][ours].sum()),
        }
        if is_endless:
            found["throughput_ratio"] = ours_bps / theirs_bps if theirs_bps > 0 else None
            found["outcast"] = is_outcast(ours_bps, theirs_bps)
    return found


def _bottleneck(ports: Mapping[str, Array], *, is_endless: bool) -> Numbers:
    """The numbers of the port that `fairness.bottleneck` finds."""
    drops = ports["drops"]
    if not len(drops):
        return {}
    crossed = np.where(drops > 0, ports["flows"], 0) if is_endless else drops
    # the last key counts most; among equals the first wins, as in a stable sort
    order = np.lexsort((np.arange(len(drops))[::-1], ports["busy_share"], drops, crossed))
    worst = order[-1]
    return {
        "utilisation": float(ports["busy_share"][worst]),
        "queue_mean_bytes": float(ports["queue_mean_bytes"][worst]),
        "queue_max_bytes": float(ports["queue_max_bytes"][worst]),
    }


def _drop_runs(drops: Mapping[str, Array]) -> Numbers:
    port = drops["port"]
    of_flow = [port, drops["flow"], drops["is_backward"]]
    by_flow = find_runs(of_flow, drops["flow_arrival"]).lengths
    runs = find_runs([port, drops["ingress_port"]], drops["ingress_arrival"])
    others = others_accepted(runs, port, drops["port_arrival"])
    dark = runs.lengths[(runs.lengths >= 2) & (others >= runs.lengths - 1)]
    return {
        "drop_runs_ge2": float((by_flow >= 2).sum()),
        "longest_drop_run": float(by_flow.max(initial=0)),
        "blackouts": float(len(dark)),
        "longest_blackout": float(dark.max(initial=0)),
    }


def _rtt(rtt: Mapping[str, Array], is_tcp: Array) -> Numbers:
    # the one-way delays of datagrams are in the same table
    samples = np.where(is_tcp[rtt["flow"]], rtt["samples"], 0).astype(np.float64)
    in_all = float(samples.sum())
    if in_all <= 0:
        return {}
    order = np.argsort(rtt["rtt_s"], kind="stable")
    reached = np.cumsum(samples[order]) >= 0.99 * in_all
    return {
        "rtt_mean_s": float((rtt["rtt_s"] * samples).sum()) / in_all,
        "rtt_p99_s": float(rtt["rtt_s"][order][np.argmax(reached)]),
    }


def _columns(table: pl.DataFrame) -> dict[str, Array]:
    """The columns of numbers, and the ports as numbers."""
    found: dict[str, Array] = {}
    for column in table.iter_columns():
        if column.dtype == pl.String:
            if column.name in ("port", "ingress_port"):
                codes = column.cast(pl.Categorical).to_physical()
                found[column.name] = (codes + 1).fill_null(0).to_numpy()
        elif column.dtype == pl.UInt64 and column.null_count():
            found[column.name] = column.fill_null(int(_NONE)).to_numpy()
        else:
            found[column.name] = column.to_numpy()
    return found
