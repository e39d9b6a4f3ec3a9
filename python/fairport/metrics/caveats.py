"""Caveats: what a reader must know before the numbers of a run, one sentence each.

They follow from the run's summary, so that several seeds have those of their medians.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairport.metrics import fairness
from fairport.metrics.completion import Span
from fairport.quantities import QUANTITIES, in_ms, median_count
from fairport.tables import Tables

FEW_TIMEOUTS = 5
"""A run shorter than this many minimum RTOs has a caveat."""

WHOLE = 0.9
"""Compared flows that were established for less than this share of the measurement have a caveat:
their goodput, which is over all of it, is too low by more than the rest."""

RATE_STRETCH = 10
"""Hosts that are this many times as fast as the link on which their times were measured have a
caveat: up to there the times were compared with Linux."""


MEANINGS = {
    "ignored-settings": "the hosts are real, and do not follow all settings of the scenario",
    "short-run": f"the run lasts less than {FEW_TIMEOUTS} minimum RTOs",
    "overfilled-links": "Poisson arrivals and UDP flows offer more than links carry, so datagrams"
    " are lost, or completion times depend on how long the run is",
    "fast-hosts": "hosts are faster than those whose times were measured",
    "idle-ecn": "senders use ECN, but queues dropped packets and marked none",
    "unfinished-transfers": "not all transfers were complete when the run ended",
    "before-measurement": "all transfers of some traffic began before the measurement",
    "outside-measurement": "some compared flows were not there during the measurement",
    "partly-measured": "some compared flows were there for a part of the measurement only",
    "ended-early": "all traffic was over long before the end of the measurement",
    "full-decisions": "the table `decisions` lacks the last decisions of TCP",
}
"""Every caveat by name, with what it says of a run. Studies keep the names."""


def caveats(found: Mapping[str, Any]) -> list[str]:
    """The caveats of a run or of several seeds, from its summary."""
    return list(by_name(found).values())


def by_name(found: Mapping[str, Any]) -> dict[str, str]:
    """The same, by their names in `MEANINGS`."""
    parts = found.get("traffic", [])
    every = {
        "ignored-settings": _ignored_settings(found),
        "short-run": _short_run(found),
        "overfilled-links": _overfilled_links(found),
        "fast-hosts": _fast_hosts(found),
        "idle-ecn": _idle_ecn(found),
        "unfinished-transfers": _unfinished(parts),
        "before-measurement": _before_measurement(parts, found),
        "outside-measurement": _outside_measurement(found),
        "partly-measured": _partly_measured(found),
        "ended-early": _ended_early(found),
        "full-decisions": _decisions_left_out(found),
    }
    return {name: said for name, said in every.items() if said}


def facts(tables: Tables, span: Span, *, uses_ecn: bool) -> dict[str, Any]:
    """What caveats need of a run's tables, by the summary's keys.

    The tables `drops` and `marks` are read only if a sender uses ECN.
    """
    flows = tables["flows"]
    ours = fairness.compared(flows)
    outside = partly = 0
    if fairness.is_endless(ours):
        outside, partly = missed(
            ours["start_s"].to_numpy(),
            ours["established_s"].to_numpy(),
            ours["end_s"].to_numpy(),
            span,
        )
    return {
        "host_goodput_bps_max": host_goodput_bps_max(flows),
        "ecn_is_idle": uses_ecn and drops_without_marks(tables),
        "flows_outside_measurement": outside,
        "flows_partly_measured": partly,
        "traffic_ended_s": _traffic_ended_s(flows, span),
    }


def _ignored_settings(found: Mapping[str, Any]) -> str | None:
    ignored = found.get("ignored_settings")
    if not ignored:
        return None
    return (
        f"The hosts are real, and do not follow these settings: {', '.join(ignored)}. The running"
        " kernel decides about them."
    )


def _short_run(found: Mapping[str, Any]) -> str | None:
    simulated_s, rto_min_s = found["simulated_s"], found.get("rto_min_s")
    if not rto_min_s or simulated_s >= FEW_TIMEOUTS * rto_min_s:
        return None
    return (
        f"The run lasts {in_ms(simulated_s)}, less than {FEW_TIMEOUTS} minimum RTOs of"
        f" {in_ms(rto_min_s)}: a flow that waits for one timeout has little time left to recover."
    )


def _overfilled_links(found: Mapping[str, Any]) -> str | None:
    fullest = found.get("fullest_link")
    if not fullest or fullest["overfilled_ports"] < 1:
        return None
    rate = QUANTITIES["goodput_bps"].with_unit
    port = f"{fullest['port']} (to {fullest['to']})" if fullest["port"] else "the fullest port"
    ratio = fullest["offered_bps"] / fullest["rate_bps"]
    others = median_count(fullest["overfilled_ports"] - 1)
    return (
        f"More arrives than links carry: Poisson arrivals and UDP flows do not slow down, and offer"
        f" {port} {rate(fullest['offered_bps'])}, {ratio:.3g} times its rate of"
        f" {rate(fullest['rate_bps'])}."
        + (f" Ports besides it that are offered too much: {others}." if others != "0" else "")
        + " Datagrams that do not fit are lost. Transfers wait, so completion times depend on how"
        " long the run is."
    )


def _fast_hosts(found: Mapping[str, Any]) -> str | None:
    goodput_bps, measured_bps = found.get("host_goodput_bps_max"), found.get("host_times_rate_bps")
    if not goodput_bps or not measured_bps or goodput_bps <= RATE_STRETCH * measured_bps:
        return None
    rate = QUANTITIES["goodput_bps"].with_unit
    return (
        f"A host has up to {rate(goodput_bps)} here, but the times that hosts take were measured at"
        f" up to {rate(measured_bps)}. Busier hosts take other times; a run with `host.profile ="
        ' "none"` shows what these times change.'
    )


def _idle_ecn(found: Mapping[str, Any]) -> str | None:
    if not found.get("ecn_is_idle"):
        return None
    return (
        "Senders use ECN, but no switch marked a packet: the queues dropped instead. Choose a"
        ' `queue` that marks, such as "step-marking" for DCTCP.'
    )


def _unfinished(parts: Sequence[Mapping[str, Any]]) -> str | None:
    each = ", ".join(
        f"{median_count(one['unfinished'])} of {median_count(one['transfers'])} of traffic"
        f" {one['index']} ({one['kind']})"
        for one in parts
        if one["unfinished"]
    )
    if not each:
        return None
    return (
        f"Not all transfers were complete when the run ended: {each} were not. They count"
        " with their ages, so percentiles of such traffic may be lower bounds."
    )


def _before_measurement(parts: Sequence[Mapping[str, Any]], found: Mapping[str, Any]) -> str | None:
    each = ", ".join(
        f"{median_count(one['before_measurement'])} of traffic {one['index']} ({one['kind']})"
        for one in parts
        if one["before_measurement"] and not _counted(one)
    )
    if not each:
        return None
    return (
        f"All transfers of some traffic began before the measurement, at"
        f" {in_ms(found['measure']['from_s'])}, and do not count: {each}. With `measure.from ="
        ' "0s"` they count.'
    )


def _counted(part: Mapping[str, Any]) -> float:
    """How many of its rounds, transfers or requests count."""
    count: float = part["rounds"]["started"] if "rounds" in part else part["transfers"]
    return count


def _outside_measurement(found: Mapping[str, Any]) -> str | None:
    flows = found.get("flows_outside_measurement")
    if not flows:
        return None
    from_s, to_s = (in_ms(found["measure"][end]) for end in ("from_s", "to_s"))
    return (
        f"{median_count(flows)} of the compared flows began after the measurement, from {from_s} to"
        f" {to_s}, or ended before it: their goodput is 0, though nobody starved them."
    )


def _partly_measured(found: Mapping[str, Any]) -> str | None:
    flows = found.get("flows_partly_measured")
    if not flows:
        return None
    from_s, to_s = (in_ms(found["measure"][end]) for end in ("from_s", "to_s"))
    return (
        f"{median_count(flows)} of the compared flows had a connection for less than"
        f" {100 * WHOLE:.0f} % of the measurement, from {from_s} to {to_s}: goodputs are over all"
        " of it, and do not show how flows share the line while they are there. The table"
        " `series` does."
    )


def _ended_early(found: Mapping[str, Any]) -> str | None:
    ended_s = found.get("traffic_ended_s")
    if ended_s is None:
        return None
    from_s, to_s = (in_ms(found["measure"][end]) for end in ("from_s", "to_s"))
    return (
        f"All traffic was over at {in_ms(ended_s)}: goodputs are over all of the measurement, from"
        f" {from_s} to {to_s}, and are lower than while there was traffic. Set `measure.to` to end"
        " it earlier."
    )


def _decisions_left_out(found: Mapping[str, Any]) -> str | None:
    left_out = found.get("decisions_left_out")
    if not left_out:
        return None
    return (
        f"The table `decisions` is full: the last {left_out:,.0f} decisions of TCP are missing"
        " from it."
    )


def host_queue_drop_share(
    flows: pl.DataFrame, ports: pl.DataFrame, drops: pl.DataFrame
) -> float | None:
    """Share of all drops that were in the hosts' own queues; None without drops.

    A packet that a [[loss]] drops at a host's port never reached the host's queue.
    """
    at_host = _at_host(flows)
    dropped = pl.col("drops")
    in_all, there = ports.select(dropped.sum(), dropped.filter(at_host).sum().alias("there")).row(0)
    there -= drops.filter(at_host & (pl.col("reason") == "loss")).height
    return there / in_all if in_all else None


def _at_host(flows: pl.DataFrame) -> pl.Expr:
    """Whether a row's port is of a host that takes part."""
    hosts = pl.concat([flows["src"], flows["dst"]]).unique()
    return pl.col("port").str.replace(":[^:]*$", "").is_in(hosts.implode())


def host_goodput_bps_max(flows: pl.DataFrame) -> float | None:
    """Goodput of the host that sends or receives most; None without TCP."""
    of_tcp = flows.filter(pl.col("protocol") == "tcp")
    sums = [of_tcp.group_by(end).agg(pl.col("goodput_bps").sum()) for end in ("src", "dst")]
    return pl.concat([one["goodput_bps"] for one in sums]).max()  # type: ignore[return-value]


def missed(
    start_s: NDArray[Any], established_s: NDArray[Any], end_s: NDArray[Any], span: Span
) -> tuple[int, int]:
    """How many endless flows the measurement misses, in whole and in part.

    The first send only before or after it. The others had a connection for less than `WHOLE` of it.
    A time that is NaN has not come.
    """
    from_s, to_s = span.measure_from_s, span.measure_to_s
    is_outside = (start_s >= to_s) | (end_s <= from_s)
    begins, ends = (
        np.clip(np.nan_to_num(times, nan=to_s), from_s, to_s) for times in (established_s, end_s)
    )
    is_part = ends - begins < WHOLE * (to_s - from_s)
    return int(is_outside.sum()), int((is_part & ~is_outside).sum())


def _traffic_ended_s(flows: pl.DataFrame, span: Span) -> float | None:
    """When the last flow ended, if that was before `WHOLE` of the measurement.

    None if a flow was still there, and for endless flows, which `missed` counts.
    """
    if flows.is_empty() or fairness.is_endless(fairness.compared(flows)):
        return None
    if flows["end_s"].has_nulls():
        return None
    last_s: Any = flows["end_s"].max()
    most_s = span.measure_from_s + WHOLE * (span.measure_to_s - span.measure_from_s)
    return float(last_s) if last_s < most_s else None


def drops_without_marks(tables: Tables) -> bool:
    """Whether queues of switches dropped packets, and none was marked."""
    is_queues = (pl.col("reason") != "loss") & ~_at_host(tables["flows"])
    return tables["marks"].is_empty() and not tables["drops"].filter(is_queues).is_empty()
