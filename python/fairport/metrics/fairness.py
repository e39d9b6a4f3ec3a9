"""From a run's tables to its summary: hop classes, fairness, the bottleneck. Pure functions.

`fairport.summary` says what the keys mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairport.metrics import completion
from fairport.metrics.completion import Span
from fairport.metrics.drop_runs import drop_runs, timeout_runs
from fairport.metrics.verdict import Waiting, verdict
from fairport.tables import Tables

NO_VERDICT = "These flows are compared by how long they take, not by their goodput."
"""The verdict's sentence for transfers and requests, if the caller does not know the
[[traffic]]."""

UNKNOWN_HOPS = "hops unknown"
"""The class of flows whose hop count the backend cannot know."""

# A drop run of more packets takes the whole of a small window, so three duplicate ACKs cannot come
# back (RFC 5681 3.2).
_LONGEST_HARMLESS = 2


def window_correlation(series: pl.DataFrame, from_s: float) -> pl.DataFrame:
    """Pearson's correlation of the congestion windows of each pair of flows, from `from_s` on.

    Columns: `flow`, `other`, `correlation` (null for a window that does not change). Only times at
    which both flows have a sample count.
    """
    windows = series.filter(pl.col("time_s") >= from_s).select("flow", "time_s", "cwnd_bytes")
    rows = []
    flows = windows["flow"].unique().sort().to_list()
    for flow, other in combinations(flows, 2):
        one, two = (windows.filter(pl.col("flow") == number) for number in (flow, other))
        both = one.join(two, on="time_s", suffix="_other").select("cwnd_bytes", "cwnd_bytes_other")
        moves = all(window.n_unique() > 1 for window in both)
        rows.append((flow, other, both.select(pl.corr(*both.columns)).item() if moves else None))
    schema = {"flow": pl.UInt32, "other": pl.UInt32, "correlation": pl.Float64}
    return pl.DataFrame(rows, schema, orient="row")


def waiting(caused: pl.DataFrame, flows: int, from_s: float, to_s: float) -> Waiting:
    """How long these flows waited for timers in [from_s, to_s], and how much of it after drop runs.

    `caused` is what `timeout_runs` returned, for these flows.
    """
    period = pl.col("end_s").clip(from_s, to_s) - pl.col("start_s").clip(from_s, to_s)
    after_run = pl.col("run_length").fill_null(0) > _LONGEST_HARMLESS
    in_all, after_runs = caused.select(
        period.sum().alias("in_all"), period.filter(after_run).sum().alias("after_runs")
    ).row(0)
    share = after_runs / in_all if in_all > 0 else None
    return Waiting(in_all / flows, to_s - from_s, share)


def jain_index(rates: pl.Series | NDArray[np.float64]) -> float | None:
    """Jain's fairness index, (sum x)^2 / (n sum x^2): 1 for equal rates, 1/n for one taker.

    None when all rates are zero.
    """
    squares = float((rates * rates).sum())
    return float(rates.sum()) ** 2 / (len(rates) * squares) if squares > 0 else None


def hop_class() -> pl.Expr:
    """The name of a flow's hop class, e.g. "2-hop"."""
    return pl.format("{}-hop", pl.col("hops")).fill_null(UNKNOWN_HOPS).alias("hop_class")


def class_name(hops: int | None) -> str:
    """The name of the hop class of flows with this many hops; None: unknown."""
    return UNKNOWN_HOPS if hops is None else f"{hops}-hop"


def class_summary(
    flows: pl.DataFrame, rtt: pl.DataFrame, drops: pl.DataFrame
) -> dict[str, dict[str, Any]]:
    """Key figures by hop class, in order of hops; keys as in the summary.

    Rates are over the measurement. `throughput_ratio` is the class's mean over the mean of the
    class with most flows (if there are several, the one with most hops). `longest_drop_run` is by
    flow: the most packets in a row that any flow of the class lost at a port. The RTT is that of
    all samples of the class's flows together, to the half per cent of a histogram's bin.
    """
    goodput = pl.col("goodput_bps")
    runs = drop_runs(drops, "flow").group_by("flow").agg(longest=pl.col("length").max())
    classes = (
        flows.join(runs, on="flow", how="left")
        .group_by("hops")
        .agg(
            flows=pl.len(),
            goodput_bps_mean=goodput.mean(),
            goodput_bps_min=goodput.min(),
            goodput_bps_max=goodput.max(),
            timeouts=pl.col("timeouts").sum(),
            timeout_period_s=pl.col("timeout_period_s").sum(),
            drops=pl.col("drops").sum(),
            longest_drop_run=pl.col("longest").max().fill_null(0),
        )
        .with_columns(hop_class())
        .join(
            rtt_by(rtt.join(flows.select("flow", hop_class()), on="flow"), "hop_class"),
            on="hop_class",
            how="left",
        )
        .sort("hops")
    )
    if classes.is_empty():
        return {}
    reference = classes.sort("flows", "hops")["goodput_bps_mean"][-1]
    ratio = pl.col("goodput_bps_mean") / reference if reference > 0 else pl.lit(None, pl.Float64)
    classes = classes.select(
        "hops",
        "flows",
        "goodput_bps_mean",
        "goodput_bps_min",
        "goodput_bps_max",
        ratio.alias("throughput_ratio"),
        "timeouts",
        "timeout_period_s",
        "drops",
        "longest_drop_run",
        "rtt_mean_s",
        "rtt_p99_s",
    )
    return {class_name(row.pop("hops")): row for row in classes.to_dicts()}


def rtt_by(rtt: pl.DataFrame, group: str) -> pl.DataFrame:
    """`rtt_mean_s` and `rtt_p99_s` of each group, from merged histograms; `rtt` has the group."""
    samples = pl.col("samples")
    reached = samples.cum_sum() >= 0.99 * samples.sum()
    merged = rtt.group_by(group, "rtt_s").agg(samples.sum()).sort(group, "rtt_s")
    return merged.group_by(group, maintain_order=True).agg(
        rtt_mean_s=(pl.col("rtt_s") * samples).sum() / samples.sum(),
        rtt_p99_s=pl.col("rtt_s").filter(reached).first(),
    )


def bottleneck(ports: pl.DataFrame, *, is_endless: bool) -> dict[str, Any] | None:
    """Of the ports that drop, the one that most flows pass; among equals, that with most drops.

    The port with most drops could be one upstream that the lone flow does not pass. This is about
    flows that always have more to send. The number of transfers that pass a port says only how
    many were started, so with transfers the bottleneck is the port with most drops. Without any
    drop it is the busiest port.
    """
    dropping = pl.when(pl.col("drops") > 0).then("flows").otherwise(0)
    worst = ports.sort(
        dropping if is_endless else "drops",
        "drops",
        "busy_share",
        descending=True,
        maintain_order=True,
    )
    columns = ["port", "drops", "marks", "queue_mean_bytes", "queue_max_bytes"]
    return next(worst.select(columns).head(1).iter_rows(named=True), None)


def summary(tables: Tables, span: Span) -> dict[str, Any]:
    """The part of the summary that follows from the tables, whatever filled them.

    `utilisation` is that of the line, not of its payload rate: the share of the whole run in which
    the line behind the bottleneck port was sending, framing included, or its shaper held a packet
    back.
    """
    drops, ports = tables["drops"], tables["ports"]
    everything, flows = tables["flows"], compared(tables["flows"])
    classes = class_summary(flows, tables["rtt"], drops)
    worst = bottleneck(ports, is_endless=is_endless(flows))
    busy = ports.filter(pl.col("port") == worst["port"])["busy_share"][0] if worst else None
    found = _verdict(tables, flows, classes, span)
    if not is_endless(flows) and "short" not in flows["workload"]:
        # Transfers are compared by how long each took, not by goodput, so there can be no outcast.
        # Of short flows of captures nobody knows how long they would have taken.
        found = dict.fromkeys(found, None) | {"sentence": NO_VERDICT}
    return {
        "classes": classes,
        "goodput_bps_total": float(
            everything.filter(pl.col("protocol") == "tcp")["goodput_bps"].sum()
        ),
        "utilisation": busy,
        "jain_index": jain_index(flows["goodput_bps"]),
        "bottleneck": worst,
        "fct": completion.summary(everything, span),
        "rounds": completion.rounds_summary(tables["rounds"], everything, span),
        "requests": completion.requests_summary(tables["requests"], span),
        "udp": completion.udp_summary(everything),
        "verdict": found,
    }


def _verdict(
    tables: Tables, flows: pl.DataFrame, classes: Mapping[str, Any], span: Span
) -> dict[str, Any]:
    """The verdict on the compared flows, of which `classes` are the key figures."""
    caused = timeout_runs(tables["timeouts"], tables["drops"]).join(
        flows.select("flow", hop_class()), on="flow", how="left"
    )
    from_s, to_s = span.measure_from_s, span.measure_to_s
    waited = {
        name: waiting(caused.filter(pl.col("hop_class") == name), one["flows"], from_s, to_s)
        for name, one in classes.items()
    }
    if tables["timeouts"].is_empty():
        # the kernel's own disciplines: the flows waited, and nobody knows when
        waited = {
            name: Waiting(one["timeout_period_s"] / one["flows"], to_s - from_s, None)
            for name, one in classes.items()
        }
    return verdict(classes, waited, established(flows))


def compared(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows whose goodputs are compared: the bulk flows; if there are none, all TCP flows.

    If there are endless bulk flows, those of a given size are left out: their size decides how
    much they deliver within the measurement.
    """
    bulk = flows.filter(pl.col("workload") == "bulk")
    if bulk.is_empty():
        return flows.filter(pl.col("protocol") == "tcp")
    endless = bulk.filter(pl.col("ideal_fct_s").is_null())  # in captures, all that are long
    return bulk if endless.is_empty() else endless


def is_endless(flows: pl.DataFrame) -> bool:
    """Whether the flows always have more to send, so that their goodputs can be compared.

    Captures do not show what a sender has left to send: there, all long flows count as endless.
    """
    is_long = pl.col("workload").is_in(["bulk", "elsewhere"]) & pl.col("ideal_fct_s").is_null()
    return flows.filter(~is_long & pl.col("size_bytes").is_not_null()).is_empty()


def established(flows: pl.DataFrame) -> Mapping[str, int]:
    """How many flows of each hop class completed their handshake."""
    counts = flows.group_by(hop_class()).agg(pl.col("established_s").count())
    return dict(counts.iter_rows())
