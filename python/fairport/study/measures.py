"""The numbers by which runs are compared, each from a run's record and a choice of flows.

Flows are chosen once, in the scenario as it is: a fix that lengthens paths (equal-length routing)
changes hop counts, and the lone flow is still the lone flow.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from fairport import metrics
from fairport.study.record import Record
from fairport.verdict import lone_and_peers


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of one run, and how people are shown it."""

    key: str
    title: str
    unit: str
    factor: float
    """From the base unit to `unit`."""
    form: str
    text: str
    axis: Literal["plain", "zero", "ratio"] = "zero"
    """How a figure draws it: from its least value, from zero, or as a factor around 1."""

    def shown(self, value: float | None) -> str:
        """A value in `unit`, without it."""
        return "" if value is None else format(value * self.factor, self.form)


MEASURES = (
    Measure(
        "throughput_ratio",
        "throughput ratio",
        "",
        1,
        ".2f",
        "mean goodput of the lone class over that of its peers; 1 is an equal share",
        axis="ratio",
    ),
    Measure("jain_index", "Jain index", "", 1, ".3f", "over all flows; 1 is fair", axis="plain"),
    Measure(
        "goodput_bps_total", "total goodput", "Mbit/s", 1e-6, ".1f", "of all flows", axis="plain"
    ),
    Measure("timeouts", "timeouts", "", 1, ",.0f", "of all flows"),
    Measure(
        "timeout_period_s",
        "timeout period",
        "s",
        1,
        ".2f",
        "time that flows stood still until their timers expired, of all flows together",
    ),
    Measure(
        "drop_runs_ge2",
        "drop runs ≥\u00a02",
        "",
        1,
        ",.0f",
        "consecutive packets of one flow that a port dropped, 2 and more of them",
    ),
    Measure("rtt_p99_s", "RTT p99", "ms", 1e3, ".2f", "99th percentile of all flows' samples"),
    Measure("queue_mean_bytes", "mean queue", "kB", 1e-3, ".1f", "at the bottleneck port"),
)


@dataclass(frozen=True, slots=True)
class Groups:
    """Which flows are compared with which, and at which port."""

    lone: str
    """Hop class with fewest flows, such as "2-hop"; "" when there is none."""
    peers: str
    lone_flows: Sequence[int]
    peer_flows: Sequence[int]
    port: str | None
    """The bottleneck port."""

    @staticmethod
    def of(record: Record) -> Groups:
        """The groups of a run of the scenario as it is."""
        lone, peers = lone_and_peers(record.summary["classes"])
        hop_class = record.flows.select("flow", metrics.hop_class())
        members = {
            name: hop_class.filter(pl.col("hop_class") == name)["flow"].to_list()
            for name in (lone, peers)
        }
        worst = record.summary["bottleneck"]
        return Groups(lone, peers, members[lone], members[peers], worst and worst["port"])


def measured(record: Record, groups: Groups) -> dict[str, Any]:
    """The numbers of one run: those of `MEASURES` and some more."""
    lone, peers = _part(record, groups.lone_flows), _part(record, groups.peer_flows)
    ours, theirs = _mean(lone["goodput_bps"]), _mean(peers["goodput_bps"])
    runs = record.drop_runs
    several = runs.filter(pl.col("length") >= 2)["runs"].sum()
    at_port = record.ports.filter(pl.col("port") == groups.port)["queue_mean_bytes"]
    return {
        "seed": record.summary["seeds"][0],
        "throughput_ratio": ours / theirs if ours is not None and theirs else None,
        "jain_index": record.summary["jain_index"],
        "goodput_bps_total": record.summary["goodput_bps_total"],
        "timeouts": record.flows["timeouts"].sum(),
        "timeout_period_s": record.flows["timeout_period_s"].sum(),
        "drop_runs_ge2": several,
        "rtt_p99_s": record.rtt["rtt_p99_s"].first(),
        "queue_mean_bytes": at_port.first(),
        "lone_goodput_bps_mean": ours,
        "lone_timeouts": lone["timeouts"].sum(),
        "lone_timeout_period_s": lone["timeout_period_s"].sum(),
        "peers_goodput_bps_mean": theirs,
        "peers_goodput_bps_min": peers["goodput_bps"].min(),
        "peers_goodput_bps_max": peers["goodput_bps"].max(),
        "drop_runs": runs["runs"].sum(),
        "last_drop_s": runs["last_s"].max(),
        "drops": record.ports["drops"].sum(),
        "marks": record.ports["marks"].sum(),
        "fingerprint": record.summary["fingerprint"],
    }


def drop_run_lengths(record: Record, groups: Groups) -> pl.DataFrame:
    """How many drop runs by flow of each length there were: `group`, `length`, `runs`."""
    group = (
        pl.when(pl.col("flow").is_in(groups.lone_flows))
        .then(pl.lit("lone"))
        .when(pl.col("flow").is_in(groups.peer_flows))
        .then(pl.lit("peers"))
        .otherwise(pl.lit("others"))
    )
    return (
        record.drop_runs.group_by(group.alias("group"), "length")
        .agg(pl.col("runs").sum())
        .sort("group", "length")
    )


def _part(record: Record, flows: Sequence[int]) -> pl.DataFrame:
    return record.flows.filter(pl.col("flow").is_in(flows))


def _mean(values: pl.Series) -> float | None:
    return statistics.fmean(values) if len(values) else None
