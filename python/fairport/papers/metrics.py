"""The metrics that claims of papers name: numbers of one run, or of some of its flows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from fairport.metrics import censored, completion, fairness
from fairport.metrics.completion import Span
from fairport.quantities import QUANTITIES, Quantity

if TYPE_CHECKING:
    from fairport.record import Record

Value = Callable[["Record", "Of"], float | None]


@dataclass(frozen=True, slots=True)
class Of:
    """The flows and the drop runs that a metric is about."""

    hop_class: str = ""
    length: int = 1
    traffic: int | None = None
    """Index of the scenario's `[[traffic]]`; None: all."""
    sizes: Sequence[int] | None = None
    """Transfers of more bytes than the first and at most the second; None: all."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A number of a run, and how it is shown to people."""

    quantity: Quantity
    value: Value
    of_class: bool = False
    """Whether it is a number of a hop class."""


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


def _run_shares(record: Record, hop_class: pl.Expr) -> dict[int, float]:
    """The share of each length among the drop runs of these classes' flows in the measurement."""
    flows = record.flows.filter(hop_class)["flow"]
    runs = record.drop_runs.filter(pl.col("flow").is_in(flows.implode()))
    total = int(runs["measured"].sum())
    by_length = runs.group_by("length").agg(pl.col("measured").sum()).sort("length")
    return {length: count / total for length, count in by_length.iter_rows()} if total else {}


def _share_of_runs(record: Record, of: Of) -> float | None:
    shares = _run_shares(record, fairness.hop_class() == of.hop_class)
    return shares.get(of.length, 0.0) if shares else None


def _share_of_longer_runs(record: Record, of: Of) -> float | None:
    shares = _run_shares(record, fairness.hop_class() == of.hop_class)
    return sum(share for n, share in shares.items() if n > of.length) if shares else None


def _runs_apart(record: Record, of: Of) -> float | None:
    one, others = (
        _run_shares(record, which)
        for which in (fairness.hop_class() == of.hop_class, fairness.hop_class() != of.hop_class)
    )
    if not one or not others:
        return None
    lengths = sorted(one.keys() | others.keys())
    return sum(abs(one.get(n, 0.0) - others.get(n, 0.0)) for n in lengths) / 2


def _of_traffic(record: Record, of: Of) -> pl.DataFrame:
    flows = record.flows
    if of.sizes is not None:
        above, most = of.sizes
        flows = flows.filter((pl.col("size_bytes") > above) & (pl.col("size_bytes") <= most))
    return flows if of.traffic is None else flows.filter(traffic=of.traffic)


def _goodput_per_sender_jain(record: Record, of: Of) -> float | None:
    senders = (
        _of_traffic(record, of)
        .group_by("src", maintain_order=True)
        .agg(pl.col("goodput_bps").mean())
    )
    return fairness.jain_index(senders["goodput_bps"])


def _number(found: Any) -> float | None:
    """A float from Polars' result, or None."""
    return None if found is None else float(found)


def _measured_transfers(record: Record, of: Of) -> pl.DataFrame:
    """Transfers that started within the measurement; one under way at the end has its age."""
    return completion.transfers(_of_traffic(record, of), Span.of(record.summary))


def _fct_mean(record: Record, of: Of) -> float | None:
    ours = _measured_transfers(record, of)
    return censored.mean(ours["lasted_s"], ours["is_over"])


def _fct_max(record: Record, of: Of) -> float | None:
    return _number(_measured_transfers(record, of)["lasted_s"].max())


def _fct_variation(record: Record, of: Of) -> float | None:
    fct = _measured_transfers(record, of)["fct_s"].drop_nulls()
    return _number(fct.std() / fct.mean()) if fct.len() > 1 else None  # type: ignore[operator]


def _jain_of_launches(record: Record, of: Of) -> float | None:
    """The mean over launches of periodic transfers of Jain's index of their durations.

    A launch is one transfer of each sender, all started at the same instant and completed.
    """
    transfers = _of_traffic(record, of)
    senders = transfers["src"].n_unique()
    measured = transfers.filter(pl.col("start_s") >= record.summary["measure"]["from_s"])
    indices = [
        fairness.jain_index(members["fct_s"])
        for _, members in measured.group_by("start_s", maintain_order=True)
        if members["fct_s"].count() == senders
    ]
    return _number(pl.Series(indices, dtype=pl.Float64).mean())


def _goodput_ratio_of_traffic(record: Record, of: Of) -> float | None:
    bulk = record.flows.filter(workload="bulk")
    mean = pl.col("goodput_bps").mean()
    one, others = (
        _number(bulk.filter(which).select(mean).item())
        for which in (pl.col("traffic") == of.traffic, pl.col("traffic") != of.traffic)
    )
    return one / others if one is not None and others else None


def _segments_per_byte(record: Record, of: Of) -> float | None:
    flows = _of_traffic(record, of)
    delivered = int(flows["delivered_bytes"].sum())
    return int(flows["segments_sent"].sum()) / delivered if delivered else None


def _sum_of(column: str) -> Value:
    return lambda record, of: float(_of_traffic(record, of)[column].sum())


def _blackouts(record: Record, of: Of) -> float | None:
    return float(record.blackouts.filter(pl.col("length") >= of.length)["runs"].sum())


def _blackout_length(record: Record, _: Of) -> float | None:
    worst: dict[str, Any] | None = record.summary["bottleneck"]
    if not worst:
        return None
    dark = record.blackouts.filter(port=worst["port"])
    runs = int(dark["runs"].sum())
    return int((dark["length"] * dark["runs"]).sum()) / runs if runs else None


def _window_correlation(record: Record, _: Of) -> float | None:
    return _number(record.windows["correlation"].mean())


def _bottleneck_queue(record: Record, _: Of) -> float | None:
    worst: dict[str, Any] | None = record.summary["bottleneck"]
    return float(worst["queue_mean_bytes"]) if worst else None


def _bottleneck_signals(record: Record, _: Of) -> float | None:
    """The share of the packets arriving at the bottleneck that it dropped or marked."""
    worst: dict[str, Any] | None = record.summary["bottleneck"]
    if not worst:
        return None
    arrivals, drops, marks = (
        record.ports.filter(port=worst["port"]).select("arrivals", "drops", "marks").row(0)
    )
    return float((drops + marks) / arrivals) if arrivals else None


def _of_model(key: str) -> Value:
    return lambda record, _: float(record.summary["model"][key])


def _power(record: Record, of: Of) -> float | None:
    """Throughput over delay; each flow's mean round trip weighs as much as it delivered."""
    flows = _of_traffic(record, of).filter(pl.col("rtt_mean_s").is_not_null())
    weight = pl.col("measured_bytes").cast(pl.Float64)
    delay = _number(flows.select((pl.col("rtt_mean_s") * weight).sum() / weight.sum()).item())
    # flows that have delivered nothing have no weight, and no delay either
    return float(flows["goodput_bps"].sum()) / delay if delay and delay > 0 else None


def _round_goodput(record: Record, _: Of) -> float | None:
    rounds: dict[str, float] | None = record.summary.get("rounds")
    return rounds["goodput_bps"] if rounds else None


METRICS = {
    "throughput_ratio": Metric(
        QUANTITIES["throughput_ratio"], _of_class("throughput_ratio"), of_class=True
    ),
    "goodput_spread": Metric(
        Quantity("largest over smallest goodput", form=".2f"), _spread, of_class=True
    ),
    "rtt_mean_s": Metric(QUANTITIES["rtt_mean_s"], _of_class("rtt_mean_s"), of_class=True),
    "timeouts": Metric(Quantity("timeouts", form=".0f"), _of_class("timeouts"), of_class=True),
    "timeout_period_s": Metric(
        QUANTITIES["timeout_period_s"], _of_class("timeout_period_s"), of_class=True
    ),
    "drop_run_share": Metric(
        Quantity("share of drop runs of that length", "%", 100, ".1f"),
        _share_of_runs,
        of_class=True,
    ),
    "longer_drop_run_share": Metric(
        Quantity("share of longer drop runs", "%", 100, ".2f"), _share_of_longer_runs, of_class=True
    ),
    "drop_runs_apart": Metric(
        Quantity("part of the drop runs' histogram apart from the others'", "%", 100, ".1f"),
        _runs_apart,
        of_class=True,
    ),
    "goodput_bps_total": Metric(QUANTITIES["goodput_bps_total"], _of_run("goodput_bps_total")),
    "utilisation": Metric(Quantity("utilisation", form=".3f"), _of_run("utilisation")),
    "goodput_bps_of_traffic": Metric(
        Quantity("goodput of all its flows", "kbit/s", 0.001, ".0f"), _sum_of("goodput_bps")
    ),
    "goodput_ratio_of_traffic": Metric(
        Quantity("goodput ratio", form=".3f"), _goodput_ratio_of_traffic
    ),
    "fct_mean_s": Metric(Quantity("mean completion time", "s", 1, ".3g"), _fct_mean),
    "fct_max_s": Metric(Quantity("longest completion time", "s", 1, ".3g"), _fct_max),
    "fct_variation": Metric(Quantity("coefficient of variation"), _fct_variation),
    "jain_index_of_launches": Metric(
        Quantity("Jain index of launches", form=".3f"), _jain_of_launches
    ),
    "timeouts_total": Metric(
        Quantity("timeouts of all its flows", form=".0f"), _sum_of("timeouts")
    ),
    "timeout_period_s_total": Metric(
        Quantity("timeout period of all its flows", "s", 1, ".2f"), _sum_of("timeout_period_s")
    ),
    "segments_per_byte": Metric(
        Quantity("segments sent", "/MB", 1000000.0, ".0f"), _segments_per_byte
    ),
    "blackouts": Metric(Quantity("blackouts of that length and more", form=".0f"), _blackouts),
    "blackout_length": Metric(
        Quantity("mean length of the bottleneck's blackouts", "packets", 1, ".2f"), _blackout_length
    ),
    "window_correlation": Metric(
        Quantity("correlation of windows", form=".2f"), _window_correlation
    ),
    "bottleneck_queue_bytes": Metric(
        Quantity("mean queue of the bottleneck", "kB", 0.001, ".1f"), _bottleneck_queue
    ),
    "bottleneck_signal_share": Metric(
        Quantity("drop and mark share of the bottleneck", "%", 100, ".2f"), _bottleneck_signals
    ),
    "power": Metric(Quantity("goodput over RTT", "Mbit/s/s", 1e-06, ".3g"), _power),
    "round_goodput_bps": Metric(
        Quantity("goodput within rounds", "Mbit/s", 1e-06, ".0f"), _round_goodput
    ),
    "jain_index_of_senders": Metric(
        Quantity("Jain index over senders", form=".3f"), _goodput_per_sender_jain
    ),
    "enqueued_x2": Metric(Quantity("P(X2 finds room)", form=".3f"), _of_model("x2")),
    "enqueued_y2": Metric(Quantity("P(Y2 finds room)", form=".3f"), _of_model("y2")),
    "enqueued_both": Metric(Quantity("P(both find room)", form=".3f"), _of_model("both")),
    "enqueued_neither": Metric(Quantity("P(neither finds room)", form=".3f"), _of_model("neither")),
    "jain_index": Metric(QUANTITIES["jain_index"], _of_run("jain_index")),
}
"""All metrics, by the names that claims use."""
