"""Flow completion times: how long transfers took, by size, and against the empty network.

A flow's completion time (FCT) is from its start, handshake included, to the delivery of its last
byte. Its slowdown is the FCT over `ideal_fct_s`: the same data sent at once over the empty path.
"""

from __future__ import annotations

from typing import Any

import polars as pl

# The groups of the literature (pFabric, PIAS): sizes in bytes above the first and up to the second.
GROUPS: dict[str, tuple[float, float]] = {
    "<= 100 KB": (0, 100e3),
    "100 KB-10 MB": (100e3, 10e6),
    "> 10 MB": (10e6, float("inf")),
}


def transfers(flows: pl.DataFrame, from_s: float, to_s: float) -> pl.DataFrame:
    """TCP flows of a given size that started in [from_s, to_s), with their `slowdown`."""
    start = pl.col("start_s")
    return flows.filter(
        pl.col("size_bytes").is_not_null(),
        pl.col("ideal_fct_s").is_not_null(),
        start >= from_s,
        start < to_s,
    ).with_columns(slowdown=pl.col("fct_s") / pl.col("ideal_fct_s"))


def in_group(name: str) -> pl.Expr:
    """Whether a flow's size is of that group."""
    above, most = GROUPS[name]
    size = pl.col("size_bytes")
    return (size > above) & (size <= most)


def summary(flows: pl.DataFrame, from_s: float, to_s: float) -> dict[str, Any] | None:
    """Completion times and slowdowns of all transfers and by group of size; None without any.

    Quantiles are those of the completed transfers, by the nearest rank; `flows` less `completed`
    had not completed at the end and are in none of them.
    """
    ours = transfers(flows, from_s, to_s)
    if ours.is_empty():
        return None
    groups = {"all": ours} | {name: ours.filter(in_group(name)) for name in GROUPS}
    return {name: _figures(group) for name, group in groups.items() if not group.is_empty()}


def _figures(group: pl.DataFrame) -> dict[str, Any]:
    figures: dict[str, Any] = {"flows": group.height, "completed": group["fct_s"].count()}
    for column, unit in (("fct", "_s"), ("slowdown", "")):
        figures |= _quantiles(group[column + unit].drop_nulls(), column, unit)
    return figures


def _quantiles(values: pl.Series, name: str, unit: str) -> dict[str, Any]:
    return {
        f"{name}_mean{unit}": values.mean(),
        f"{name}_median{unit}": values.quantile(0.5, "nearest"),
        f"{name}_p95{unit}": values.quantile(0.95, "nearest"),
        f"{name}_p99{unit}": values.quantile(0.99, "nearest"),
        f"{name}_max{unit}": values.max(),
    }


def sentence(figures: dict[str, Any]) -> str:
    """The outcome of all transfers, in one sentence."""
    whole = figures["all"]
    done = f"{whole['completed']} of {whole['flows']} flows completed"
    if not whole["completed"]:
        return f"{done}."
    return (
        f"{done}; their slowdown against the empty network is {whole['slowdown_median']:.3g} at the"
        f" median and {whole['slowdown_p99']:.3g} at the 99th percentile."
    )


def rounds_summary(rounds: pl.DataFrame) -> dict[str, Any] | None:
    """Completion times of the rounds of incast; None without any."""
    rounds = rounds.filter(pl.col("flow").is_null())
    if rounds.is_empty():
        return None
    times = rounds["completion_s"]
    return {
        "rounds": rounds.height,
        "completion_mean_s": times.mean(),
        "completion_median_s": times.quantile(0.5, "nearest"),
        "completion_p99_s": times.quantile(0.99, "nearest"),
        "completion_max_s": times.max(),
        "goodput_bps": float(rounds["bytes"].sum()) * 8 / float(times.sum()),
    }


def requests_summary(requests: pl.DataFrame, from_s: float, to_s: float) -> dict[str, Any] | None:
    """Response times of the requests made in [from_s, to_s); None without any.

    Quantiles are those of the answered ones, by the nearest rank; `requests` less `answered` had
    no answer at the end and are in none of them.
    """
    start = pl.col("start_s")
    ours = requests.filter(start >= from_s, start < to_s)
    if ours.is_empty():
        return None
    return {"requests": ours.height, "answered": ours["response_s"].count()} | _quantiles(
        ours["response_s"].drop_nulls(), "response", "_s"
    )


def requests_sentence(figures: dict[str, Any]) -> str:
    """The outcome of all requests, in one sentence."""
    done = f"{figures['answered']} of {figures['requests']} requests were answered"
    if not figures["answered"]:
        return f"{done}."
    return (
        f"{done}, in {figures['response_median_s'] * 1e3:.3g} ms at the median and"
        f" {figures['response_p99_s'] * 1e3:.3g} ms at the 99th percentile."
    )


def udp_summary(flows: pl.DataFrame) -> dict[str, Any] | None:
    """What UDP sources sent, lost and delivered; None without any."""
    udp = flows.filter(pl.col("protocol") == "udp")
    if udp.is_empty():
        return None
    return {
        "flows": udp.height,
        "goodput_bps_total": float(udp["goodput_bps"].sum()),
        "sent": int(udp["segments_sent"].sum()),
        "drops": int(udp["drops"].sum()),
    }
