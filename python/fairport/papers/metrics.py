"""What claims are about: a number of one run, from its record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from fairport import metrics

if TYPE_CHECKING:
    from fairport.record import Record

Value = Callable[["Record", "Of"], float | None]


@dataclass(frozen=True, slots=True)
class Of:
    """Of which flows, and of which drop runs."""

    hop_class: str = ""
    length: int = 1
    traffic: int | None = None
    """Which `[[traffic]]` of the scenario; without it, all."""
    sizes: Sequence[int] | None = None
    """Transfers of more bytes than the first and at most the second; without it, all."""


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


def _run_shares(record: Record, hop_class: pl.Expr) -> dict[int, float]:
    """Of the drop runs of these classes' flows in the measurement, the share of each length."""
    flows = record.flows.filter(hop_class)["flow"]
    runs = record.drop_runs.filter(pl.col("flow").is_in(flows.implode()))
    total = int(runs["measured"].sum())
    by_length = runs.group_by("length").agg(pl.col("measured").sum()).sort("length")
    return {length: count / total for length, count in by_length.iter_rows()} if total else {}


def _share_of_runs(record: Record, of: Of) -> float | None:
    shares = _run_shares(record, metrics.hop_class() == of.hop_class)
    return shares.get(of.length, 0.0) if shares else None


def _share_of_longer_runs(record: Record, of: Of) -> float | None:
    shares = _run_shares(record, metrics.hop_class() == of.hop_class)
    return sum(share for n, share in shares.items() if n > of.length) if shares else None


def _runs_apart(record: Record, of: Of) -> float | None:
    one, others = (
        _run_shares(record, which)
        for which in (metrics.hop_class() == of.hop_class, metrics.hop_class() != of.hop_class)
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


def _goodput_of_traffic(record: Record, of: Of) -> float | None:
    return float(_of_traffic(record, of)["goodput_bps"].sum())


def _goodput_per_sender_jain(record: Record, of: Of) -> float | None:
    senders = _of_traffic(record, of).group_by("src").agg(pl.col("goodput_bps").mean())
    return metrics.jain_index(senders["goodput_bps"])


def _number(found: Any) -> float | None:
    """What Polars gives for one number, or for none."""
    return None if found is None else float(found)


def _measured_transfers(record: Record, of: Of) -> pl.DataFrame:
    """Those that were started within the measurement, as the summary's `fct` counts them."""
    return _of_traffic(record, of).filter(
        pl.col("start_s") >= record.summary["measure"]["from_s"], pl.col("fct_s").is_not_null()
    )


def _fct_mean(record: Record, of: Of) -> float | None:
    return _number(_measured_transfers(record, of)["fct_s"].mean())


def _fct_max(record: Record, of: Of) -> float | None:
    return _number(_measured_transfers(record, of)["fct_s"].max())


def _fct_variation(record: Record, of: Of) -> float | None:
    fct = _measured_transfers(record, of)["fct_s"]
    return _number(fct.std() / fct.mean()) if fct.len() > 1 else None  # type: ignore[operator]


def _jain_of_launches(record: Record, of: Of) -> float | None:
    """The mean, over the launches of periodic transfers, of the index over their durations."""
    launch = pl.col("start_s").rank("ordinal").over("src").alias("launch")
    by_launch = _of_traffic(record, of).with_columns(launch).group_by("launch")
    senders = _of_traffic(record, of)["src"].n_unique()
    indices = [
        metrics.jain_index(members["fct_s"])
        for _, members in by_launch
        if members["fct_s"].count() == senders
        and members["start_s"].min() >= record.summary["measure"]["from_s"]
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
    """The share of what came to the bottleneck that it dropped or marked."""
    worst: dict[str, Any] | None = record.summary["bottleneck"]
    if not worst:
        return None
    packets, drops, marks = (
        record.ports.filter(port=worst["port"]).select("packets", "drops", "marks").row(0)
    )
    return float((drops + marks) / (packets + drops))


def _of_model(key: str) -> Value:
    return lambda record, _: float(record.summary["model"][key])


def _power(record: Record, of: Of) -> float | None:
    """Throughput over delay; each flow's mean round trip weighs as much as it delivered."""
    flows = _of_traffic(record, of).filter(pl.col("rtt_mean_s").is_not_null())
    weight = pl.col("measured_bytes").cast(pl.Float64)
    delay = _number(flows.select((pl.col("rtt_mean_s") * weight).sum() / weight.sum()).item())
    return float(flows["goodput_bps"].sum()) / delay if delay else None


def _round_goodput(record: Record, _: Of) -> float | None:
    rounds: dict[str, float] | None = record.summary.get("rounds")
    return rounds["goodput_bps"] if rounds else None


METRICS = {
    "throughput_ratio": Metric(
        "throughput ratio", _of_class("throughput_ratio"), form=".3f", of_class=True
    ),
    "goodput_spread": Metric("largest over smallest goodput", _spread, form=".2f", of_class=True),
    "rtt_mean_s": Metric("mean RTT", _of_class("rtt_mean_s"), "ms", 1e3, ".3f", of_class=True),
    "timeouts": Metric("timeouts", _of_class("timeouts"), form=".0f", of_class=True),
    "timeout_period_s": Metric(
        "timeout period", _of_class("timeout_period_s"), "s", 1, ".2f", of_class=True
    ),
    "drop_run_share": Metric(
        "share of drop runs of that length", _share_of_runs, "%", 100, ".1f", of_class=True
    ),
    "longer_drop_run_share": Metric(
        "share of longer drop runs", _share_of_longer_runs, "%", 100, ".2f", of_class=True
    ),
    "drop_runs_apart": Metric(
        "part of the drop runs' histogram apart from the others'",
        _runs_apart,
        "%",
        100,
        ".1f",
        of_class=True,
    ),
    "goodput_bps_total": Metric(
        "total goodput", _of_run("goodput_bps_total"), "Mbit/s", 1e-6, ".1f"
    ),
    "utilisation": Metric("utilisation", _of_run("utilisation"), form=".3f"),
    "goodput_bps_of_traffic": Metric(
        "goodput of all its flows", _goodput_of_traffic, "kbit/s", 1e-3, ".0f"
    ),
    "goodput_ratio_of_traffic": Metric("goodput ratio", _goodput_ratio_of_traffic, form=".3f"),
    "fct_mean_s": Metric("mean completion time", _fct_mean, "s", 1, ".3g"),
    "fct_max_s": Metric("longest completion time", _fct_max, "s", 1, ".3g"),
    "fct_variation": Metric("coefficient of variation", _fct_variation),
    "jain_index_of_launches": Metric("Jain index of launches", _jain_of_launches, form=".3f"),
    "timeouts_total": Metric("timeouts of all its flows", _sum_of("timeouts"), form=".0f"),
    "timeout_period_s_total": Metric(
        "timeout period of all its flows", _sum_of("timeout_period_s"), "s", 1, ".2f"
    ),
    "segments_per_byte": Metric("segments sent", _segments_per_byte, "/MB", 1e6, ".0f"),
    "blackouts": Metric("blackouts of that length and more", _blackouts, form=".0f"),
    "blackout_length": Metric(
        "mean length of the bottleneck's blackouts", _blackout_length, "packets", 1, ".2f"
    ),
    "window_correlation": Metric("correlation of windows", _window_correlation, form=".2f"),
    "bottleneck_queue_bytes": Metric(
        "mean queue of the bottleneck", _bottleneck_queue, "kB", 1e-3, ".1f"
    ),
    "bottleneck_signal_share": Metric(
        "drop and mark share of the bottleneck", _bottleneck_signals, "%", 100, ".2f"
    ),
    "power": Metric("goodput over RTT", _power, "Mbit/s/s", 1e-6, ".3g"),
    "round_goodput_bps": Metric("goodput within rounds", _round_goodput, "Mbit/s", 1e-6, ".0f"),
    "jain_index_of_senders": Metric(
        "Jain index over senders", _goodput_per_sender_jain, form=".3f"
    ),
    "enqueued_x2": Metric("P(X2 finds room)", _of_model("x2"), form=".3f"),
    "enqueued_y2": Metric("P(Y2 finds room)", _of_model("y2"), form=".3f"),
    "enqueued_both": Metric("P(both find room)", _of_model("both"), form=".3f"),
    "enqueued_neither": Metric("P(neither finds room)", _of_model("neither"), form=".3f"),
    "jain_index": Metric("Jain index", _of_run("jain_index"), form=".3f"),
}
"""By the names that claims use."""
