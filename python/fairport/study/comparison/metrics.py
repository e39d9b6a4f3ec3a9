"""The metrics of a comparison: their definitions, and their values in one run.

Some are about the whole run, others about one part of its traffic. They are not the numbers of a
study (`metrics.run_numbers`), because the flows that they are about are chosen once, in the
scenario without a fix: a fix that lengthens paths (equal-length routing) changes hop counts, but
the lone flow is still the lone flow.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from fairport.metrics import fairness
from fairport.metrics.verdict import lone_and_peers
from fairport.record import Record

Axis = Literal["plain", "zero", "ratio"]
"""How a figure draws a metric: from its least value, from zero, or as a factor around 1."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A number of a run, or of one part of its traffic."""

    text: str
    """Its exact definition."""
    axis: Axis = "zero"


OF_THE_RUN: dict[str, Metric] = {
    "throughput_ratio": Metric(
        "mean goodput of the lone class over that of its peers; 1 is an equal share", "ratio"
    ),
    "jain_index": Metric("over all flows; 1 is fair", "plain"),
    "goodput_bps_total": Metric("of all TCP flows", "plain"),
    "timeouts": Metric("of all flows"),
    "timeout_period_s": Metric(
        "time that flows stood still until their timers expired, of all flows together"
    ),
    "drop_runs_ge2": Metric("two or more consecutive packets of one flow that a port dropped"),
    "rtt_p99_s": Metric("99th percentile of the samples of all TCP flows"),
    "queue_mean_bytes": Metric("at the bottleneck port"),
}
"""The metrics of a whole run, by the names of `fairport.quantities`."""

RANKING_OF_THE_RUN = ("goodput_bps_total", "timeouts", "rtt_p99_s", "queue_mean_bytes")
"""Those of them that can rank fixes, whatever the traffic is."""

_CENSORED = "a transfer under way at the end counts with its age"
_SMALL = f"transfers up to 100 kB; {_CENSORED}"

METRICS: dict[str, Metric] = {
    "throughput_ratio": OF_THE_RUN["throughput_ratio"],
    "jain_index": OF_THE_RUN["jain_index"],
    "goodput_bps_min": Metric("of the slowest long-lived flow"),
    "small_fct_p99_s": Metric(_SMALL),
    "small_fct_median_s": Metric(_SMALL),
    "fct_p99_s": Metric(_CENSORED),
    "fct_median_s": Metric(_CENSORED),
    "slowdown_p99": Metric(f"against the empty network; {_CENSORED}"),
    "slowdown_median": Metric(f"against the empty network; {_CENSORED}"),
    "unfinished": Metric("under way when the run ended"),
    "rounds_done": Metric("of the rounds that began within the measurement"),
    "round_time_median_s": Metric("the round under way counts with its age"),
    "round_time_p99_s": Metric("the round under way counts with its age"),
    "round_goodput_bps": Metric("of the completed rounds, while they last"),
    "response_p99_s": Metric("a request without an answer counts with its age"),
    "response_median_s": Metric("a request without an answer counts with its age"),
    "loss_share": Metric("of the datagrams sent"),
    "delay_p99_s": Metric("one way, of the datagrams that arrived"),
    "delay_mean_s": Metric("one way, of the datagrams that arrived"),
    **{name: OF_THE_RUN[name] for name in RANKING_OF_THE_RUN},
}
"""Every metric that can rank fixes (`--metric`), by the names of `fairport.quantities`."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Which flows are compared with which, and at which port."""

    lone: str
    """Hop class with fewest flows, such as "2-hop"; "" if there is none."""
    peers: str
    lone_flows: Sequence[int]
    peer_flows: Sequence[int]
    port: str | None
    """The bottleneck port."""

    @staticmethod
    def of(record: Record) -> Groups:
        """The groups of a run of the scenario without a fix."""
        lone, peers = lone_and_peers(record.summary["classes"])
        compared = fairness.compared(record.flows)
        if not fairness.is_endless(compared):
            lone = ""  # transfers are compared by their completion times
        hop_class = compared.select("flow", fairness.hop_class())
        members = {
            name: hop_class.filter(pl.col("hop_class") == name)["flow"].to_list()
            for name in filter(None, (lone, peers))
        }
        worst = record.summary["bottleneck"]
        port = worst and worst["port"]
        return Groups(lone, peers, members.get(lone, []), members.get(peers, []), port)


def metrics_of(record: Record, groups: Groups) -> dict[str, Any]:
    """The metrics of one run: `OF_THE_RUN`, and numbers that tables have besides."""
    lone, peers = _part(record, groups.lone_flows), _part(record, groups.peer_flows)
    ours, theirs = _mean(lone["goodput_bps"]), _mean(peers["goodput_bps"])
    runs = record.drop_runs
    several = runs.filter(pl.col("length") >= 2)["runs"].sum()
    at_port = record.ports.filter(pl.col("port") == groups.port)["queue_mean_bytes"]
    long_lived = fairness.compared(record.flows)["goodput_bps"]
    return {
        "seed": record.summary["seeds"][0],
        "throughput_ratio": ours / theirs if ours is not None and theirs else None,
        "jain_index": record.summary["jain_index"],
        "goodput_bps_min": long_lived.min(),
        "goodput_bps_total": record.summary["goodput_bps_total"],
        "timeouts": record.flows["timeouts"].sum(),
        "timeout_period_s": record.flows["timeout_period_s"].sum(),
        "drop_runs_ge2": several,
        "rtt_p99_s": next(iter(record.rtt["rtt_p99_s"]), None),
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
        "host_queue_drop_share": record.summary["host_queue_drop_share"],
        "fingerprint": record.summary["fingerprint"],
    }


class RunTables:
    """Collects the runs of several variants as tables; each variant has its runs in order."""

    def __init__(self, variant: str) -> None:
        """`variant` is the name of the column that says which variant a run is of."""
        self._variant = variant
        self._rows: list[dict[str, Any]] = []
        self._lengths: list[pl.DataFrame] = []

    def add(self, variant: str, record: Record, groups: Groups, **more: Any) -> None:
        """Adds a run, with `more` metrics of it."""
        row = {self._variant: variant} | metrics_of(record, groups) | more
        self._rows.append(row)
        self._lengths.append(
            _drop_run_lengths(record, groups).select(
                pl.lit(variant).alias(self._variant), pl.lit(row["seed"]).alias("seed"), pl.all()
            )
        )

    @property
    def runs(self) -> pl.DataFrame:
        """One row per run."""
        return pl.DataFrame(self._rows, infer_schema_length=None)

    @property
    def drop_runs(self) -> pl.DataFrame:
        """Number of drop runs by flow of each length, for each run."""
        return pl.concat(self._lengths)


def _drop_run_lengths(record: Record, groups: Groups) -> pl.DataFrame:
    """Number of drop runs by flow of each length: `group`, `length`, `runs`."""
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
