"""What claims are about: a number of one run, from its record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from fairport import metrics

if TYPE_CHECKING:
    from fairport.study.record import Record

Value = Callable[["Record", "Of"], float | None]


@dataclass(frozen=True, slots=True)
class Of:
    """Of which flows, and of which drop runs."""

    hop_class: str = ""
    length: int = 1
    traffic: int | None = None
    """Which `[[traffic]]` of the scenario; without it, all."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A number of a run, and how people are shown it."""

    title: str
    value: Value
    unit: str = ""
    factor: float = 1
    """From the base unit to `unit`."""
    form: str = ".3g"
    of_class: bool = False
    """Whether it is of a hop class."""

    def shown(self, value: float | None) -> str:
        """With its unit."""
        if value is None:
            return "none"
        return f"{format(value * self.factor, self.form)} {self.unit}".rstrip()


def _of_class(key: str) -> Value:
    def value(record: Record, of: Of) -> float | None:
        one: dict[str, float | None] = record.summary["classes"].get(of.hop_class, {})
        return one.get(key)

    return value


def _of_run(key: str) -> Value:
    def value(record: Record, _: Of) -> float | None:
        found: float | None = record.summary[key]
        return found

    return value


def _spread(record: Record, of: Of) -> float | None:
    one: dict[str, float] = record.summary["classes"].get(of.hop_class, {})
    least = one.get("goodput_bps_min")
    return one["goodput_bps_max"] / least if least else None


def _runs(record: Record, of: Of) -> pl.DataFrame:
    """The drop runs of the class's flows."""
    flows = record.flows.filter(metrics.hop_class() == of.hop_class)["flow"]
    return record.drop_runs.filter(pl.col("flow").is_in(flows.implode()))


def _share_of_runs(record: Record, of: Of) -> float | None:
    return _share(_runs(record, of), pl.col("length") == of.length)


def _share_of_longer_runs(record: Record, of: Of) -> float | None:
    return _share(_runs(record, of), pl.col("length") > of.length)


def _share(runs: pl.DataFrame, which: pl.Expr) -> float | None:
    total = int(runs["runs"].sum())
    return int(runs.filter(which)["runs"].sum()) / total if total else None


def _of_traffic(record: Record, of: Of) -> pl.DataFrame:
    flows = record.flows
    return flows if of.traffic is None else flows.filter(traffic=of.traffic)


def _goodput_of_traffic(record: Record, of: Of) -> float | None:
    return float(_of_traffic(record, of)["goodput_bps"].sum())


def _goodput_per_sender_jain(record: Record, of: Of) -> float | None:
    senders = _of_traffic(record, of).group_by("src").agg(pl.col("goodput_bps").mean())
    return metrics.jain_index(senders["goodput_bps"])


def _fct_mean(record: Record, of: Of) -> float | None:
    mean: Any = _of_traffic(record, of)["fct_s"].mean()
    return None if mean is None else float(mean)


def _round_goodput(record: Record, _: Of) -> float | None:
    rounds: dict[str, float] | None = record.summary.get("rounds")
    return rounds["goodput_bps"] if rounds else None


def _starved(record: Record, of: Of) -> float | None:
    flows = record.flows.filter(metrics.hop_class() == of.hop_class)
    return float(flows.filter(pl.col("goodput_bps") == 0).height)


METRICS = {
    "throughput_ratio": Metric(
        "throughput ratio", _of_class("throughput_ratio"), form=".3f", of_class=True
    ),
    "goodput_bps_mean": Metric(
        "mean goodput", _of_class("goodput_bps_mean"), "Mbit/s", 1e-6, ".1f", of_class=True
    ),
    "goodput_spread": Metric("largest over smallest goodput", _spread, form=".2f", of_class=True),
    "rtt_mean_s": Metric("mean RTT", _of_class("rtt_mean_s"), "ms", 1e3, ".3f", of_class=True),
    "rtt_p99_s": Metric(
        "99th percentile of the RTT", _of_class("rtt_p99_s"), "ms", 1e3, ".3f", of_class=True
    ),
    "timeouts": Metric("timeouts", _of_class("timeouts"), form=".0f", of_class=True),
    "timeout_period_s": Metric(
        "timeout period", _of_class("timeout_period_s"), "s", 1, ".2f", of_class=True
    ),
    "longest_drop_run": Metric(
        "longest drop run", _of_class("longest_drop_run"), "packets", 1, ".0f", of_class=True
    ),
    "drop_run_share": Metric(
        "share of drop runs of that length", _share_of_runs, "%", 100, ".1f", of_class=True
    ),
    "longer_drop_run_share": Metric(
        "share of longer drop runs", _share_of_longer_runs, "%", 100, ".2f", of_class=True
    ),
    "starved_flows": Metric("flows without goodput", _starved, form=".0f", of_class=True),
    "goodput_bps_total": Metric(
        "total goodput", _of_run("goodput_bps_total"), "Mbit/s", 1e-6, ".1f"
    ),
    "utilisation": Metric("utilisation", _of_run("utilisation"), form=".3f"),
    "goodput_bps_of_traffic": Metric(
        "goodput of all its flows", _goodput_of_traffic, "kbit/s", 1e-3, ".0f"
    ),
    "fct_mean_s": Metric("mean completion time", _fct_mean, "s", 1, ".3f"),
    "round_goodput_bps": Metric("goodput within rounds", _round_goodput, "Mbit/s", 1e-6, ".0f"),
    "jain_index_of_senders": Metric(
        "Jain index over senders", _goodput_per_sender_jain, form=".3f"
    ),
    "jain_index": Metric("Jain index", _of_run("jain_index"), form=".3f"),
}
"""By the names that claims use."""
