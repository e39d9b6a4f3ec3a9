"""Flow completion times: how long transfers took, by size, and against the empty network.

A flow's completion time (FCT) is from its start, handshake included, to the delivery of its last
byte. Its slowdown is the FCT over `ideal_fct_s`: the same data sent at once over the empty path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from fairport.metrics.censored import bounds, quantiles

# The groups of the literature (pFabric, PIAS): sizes in bytes above the first and up to the second.
GROUPS: dict[str, tuple[float, float]] = {
    "<= 100 KB": (0, 100e3),
    "100 KB-10 MB": (100e3, 10e6),
    "> 10 MB": (10e6, float("inf")),
}

SIZES = dict(zip(("small", "medium", "large"), GROUPS, strict=True))
"""The groups by the words that name them in numbers, such as `small_fct_p99_s`."""


@dataclass(frozen=True, slots=True)
class Span:
    """The times of a run, in seconds."""

    measure_from_s: float
    measure_to_s: float
    end_s: float

    @staticmethod
    def of(summary: Mapping[str, Any]) -> Span:
        """The times of the run with this summary."""
        measure = summary["measure"]
        return Span(measure["from_s"], measure["to_s"], summary["simulated_s"])

    @property
    def starts(self) -> pl.Expr:
        """Whether a row's `start_s` is within the measurement."""
        start = pl.col("start_s")
        return (start >= self.measure_from_s) & (start < self.measure_to_s)


def transfers(flows: pl.DataFrame, span: Span) -> pl.DataFrame:
    """TCP flows of a given size that started within the measurement, with their `slowdown`.

    `is_over`: whether the flow was complete at the end of the run; `lasted_s`: its completion time,
    or its age then or when it was stopped; `lasted_ideals`: the same as a multiple of
    `ideal_fct_s`.
    """
    ideal = pl.col("ideal_fct_s")
    lasted = pl.coalesce("fct_s", pl.coalesce("end_s", span.end_s) - pl.col("start_s"))
    return flows.filter(
        pl.col("size_bytes").is_not_null(), ideal.is_not_null(), span.starts
    ).with_columns(
        slowdown=pl.col("fct_s") / ideal,
        is_over=pl.col("fct_s").is_not_null(),
        lasted_s=lasted,
        lasted_ideals=lasted / ideal,
    )


def begun(rows: pl.DataFrame, took: str, span: Span) -> pl.DataFrame:
    """The requests or rounds that began within the measurement, as `transfers` gives transfers.

    `took` is the column that says how long each took, null if it is not over.
    """
    return rows.filter(span.starts).with_columns(
        is_over=pl.col(took).is_not_null(),
        lasted_s=pl.coalesce(took, span.end_s - pl.col("start_s")),
    )


def asked(requests: pl.DataFrame, span: Span) -> pl.DataFrame:
    """The requests made within the measurement."""
    return begun(requests, "response_s", span)


def in_group(name: str) -> pl.Expr:
    """Whether a flow's size is in that group."""
    above, most = GROUPS[name]
    size = pl.col("size_bytes")
    return (size > above) & (size <= most)


def summary(flows: pl.DataFrame, span: Span) -> dict[str, Any] | None:
    """Completion times and slowdowns of all transfers and by group of size; None without any.

    `flows` minus `completed` is the number still under way at the end, or stopped. Quantiles count
    them with their ages (`fairport.metrics.censored`); the mean is that of the completed transfers.
    `bounds` names the quantiles that are lower bounds, if there are any.
    """
    ours = transfers(flows, span)
    if ours.is_empty():
        return None
    groups = {"all": ours} | {name: ours.filter(in_group(name)) for name in GROUPS}
    return {name: _figures(group) for name, group in groups.items() if not group.is_empty()}


def _figures(group: pl.DataFrame) -> dict[str, Any]:
    counts = {"flows": group.height, "completed": group["fct_s"].count()}
    times = _quantiles(group["fct_s"], group["lasted_s"], "fct", "_s")
    ratios = _quantiles(group["slowdown"], group["lasted_ideals"], "slowdown", "")
    known_only = [*times.pop("bounds", []), *ratios.pop("bounds", [])]
    return counts | times | ratios | ({"bounds": known_only} if known_only else {})


def _quantiles(values: pl.Series, lasted: pl.Series, name: str, unit: str) -> dict[str, Any]:
    """Mean and quantiles of `values` (null if not over), with how long each has `lasted`."""
    parts = {"median": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    shares = {f"{name}_{part}{unit}": share for part, share in parts.items()}
    found: dict[str, Any] = {f"{name}_mean{unit}": values.mean()}
    is_over = values.is_not_null()
    if not is_over.any():
        return found | dict.fromkeys(shares)
    found |= dict(zip(shares, quantiles(lasted, is_over, list(shares.values())), strict=True))
    known_only = bounds(lasted, is_over, shares)
    return found | ({"bounds": known_only} if known_only else {})


def rounds_summary(rounds: pl.DataFrame, flows: pl.DataFrame, span: Span) -> dict[str, Any] | None:
    """Completion times of the rounds of incast that began within the measurement and are done.

    None without any.
    """
    incast = flows.filter(pl.col("workload") == "incast")["traffic"].unique()
    ours = begun(rounds.filter(pl.col("traffic").is_in(incast.implode())), "completion_s", span)
    rounds = ours.filter("is_over")
    if rounds.is_empty():
        return None
    times = rounds["completion_s"]
    median, p99, most = quantiles(times, times.is_not_null(), (0.5, 0.99, 1.0))
    return {
        "rounds": rounds.height,
        "completion_mean_s": times.mean(),
        "completion_median_s": median,
        "completion_p99_s": p99,
        "completion_max_s": most,
        "goodput_bps": rounds_goodput_bps(rounds),
    }


def rounds_goodput_bps(done: pl.DataFrame) -> float:
    """Goodput while rounds last: their bytes over the sum of their times."""
    return float(done["bytes"].sum()) * 8 / float(done["completion_s"].sum())


def requests_summary(requests: pl.DataFrame, span: Span) -> dict[str, Any] | None:
    """Response times of the requests made within the measurement; None without any.

    `requests` minus `answered` is the number without an answer at the end. Quantiles count them
    up to their ages; the mean is that of the answered ones.
    """
    ours = asked(requests, span)
    if ours.is_empty():
        return None
    return {"requests": ours.height, "answered": ours["response_s"].count()} | _quantiles(
        ours["response_s"], ours["lasted_s"], "response", "_s"
    )


def udp_summary(flows: pl.DataFrame) -> dict[str, Any] | None:
    """Datagrams that UDP sources sent, lost and delivered; None without any source."""
    udp = flows.filter(pl.col("protocol") == "udp")
    if udp.is_empty():
        return None
    return {
        "flows": udp.height,
        "goodput_bps_total": float(udp["goodput_bps"].sum()),
        "sent": int(udp["segments_sent"].sum()),
        "drops": int(udp["drops"].sum()),
    }
