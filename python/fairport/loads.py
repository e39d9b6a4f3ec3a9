"""What each [[traffic]] of a run achieved: the summary's `traffic`.

Each kind of load has its own measures: long-lived flows have a share of the line, transfers a
completion time, incast its rounds, requests a response time, datagrams loss and delay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from fairport import completion, metrics
from fairport.censored import quantiles
from fairport.completion import Span
from fairport.quantities import QUANTITIES
from fairport.tables import Tables

SMALL_BYTES = 100e3
"""A transfer of up to this size counts as small, as in pFabric and PIAS."""

FEW_TIMEOUTS = 5
"""A run shorter than this many minimum RTOs has a caveat."""


RATE_STRETCH = 10
"""Hosts that are this many times as fast as the link on which their times were measured have a
caveat: up to there the times were compared with Linux."""


@dataclass(frozen=True, slots=True)
class Load:
    """What a summary must know about a [[traffic]] besides the tables."""

    kind: str
    rounds: int | None = None
    """Number of rounds of an incast; None: until the end."""
    start_s: float = 0.0
    """When its first round begins."""
    stop_s: float | None = None
    """No round begins from this time on; None: the end of the run."""
    pause_s: float = 0.0
    """Time from a round's end to the next round."""


def summary(tables: Tables, loads: Sequence[Load], span: Span) -> list[dict[str, Any]]:
    """One entry per [[traffic]], in the order of the scenario."""
    return [_entry(tables, index, load, span) for index, load in enumerate(loads)]


def caveats(found: Mapping[str, Any]) -> list[str]:
    """What a reader must know before the numbers of a run, one sentence each."""
    said = []
    simulated_s, rto_min_s = found["simulated_s"], found.get("rto_min_s")
    if rto_min_s and simulated_s < FEW_TIMEOUTS * rto_min_s:
        said.append(
            f"The run lasts {_ms(simulated_s)}, less than {FEW_TIMEOUTS} minimum RTOs of"
            f" {_ms(rto_min_s)}: a flow that waits for one timeout has little time left to recover."
        )
    rate = QUANTITIES["goodput_bps"].with_unit
    goodput_bps, measured_bps = found.get("host_goodput_bps_max"), found.get("host_times_rate_bps")
    if goodput_bps and measured_bps and goodput_bps > RATE_STRETCH * measured_bps:
        said.append(
            f"A host has up to {rate(goodput_bps)} here, but the times that hosts take were"
            f" measured at up to {rate(measured_bps)}. Busier hosts take other times;"
            " `--set host.profile=none` shows what these times change."
        )
    if found.get("ecn_is_idle"):
        said.append(
            "Senders use ECN, but no switch marked a packet: the queues dropped instead. Choose a"
            ' `queue` that marks, such as "step-marking" for DCTCP.'
        )
    waiting = [one for one in found.get("traffic", []) if one["unfinished"]]
    if waiting:
        each = ", ".join(
            f"{_count(one['unfinished'])} of {_count(one['transfers'])} of traffic {one['index']}"
            f" ({one['kind']})"
            for one in waiting
        )
        said.append(
            f"Not all transfers were complete when the run ended: {each} were not. They count"
            " with their ages, so the high percentiles of such traffic may be lower bounds."
        )
    early = [
        one
        for one in found.get("traffic", [])
        if one["before_measurement"] and not one["transfers"]
    ]
    if early:
        each = ", ".join(
            f"{_count(one['before_measurement'])} of traffic {one['index']} ({one['kind']})"
            for one in early
        )
        said.append(
            f"All transfers of some traffic began before the measurement, at"
            f" {_ms(found['measure']['from_s'])}, and do not count: {each}. With `measure.from ="
            ' "0s"` they count.'
        )
    left_out = found.get("decisions_left_out")
    if left_out:
        said.append(
            f"The table `decisions` is full: the last {left_out:,.0f} decisions of TCP are missing"
            " from it."
        )
    return said


def host_queue_drop_share(
    flows: pl.DataFrame, ports: pl.DataFrame, drops: pl.DataFrame
) -> float | None:
    """Share of all drops that were in the hosts' own queues; None without drops.

    A packet that a [[loss]] drops at a host's port never reached the host's queue.
    """
    hosts = pl.concat([flows["src"], flows["dst"]]).unique()
    at_host = pl.col("port").str.replace(":[^:]*$", "").is_in(hosts.implode())
    dropped = pl.col("drops")
    in_all, there = ports.select(dropped.sum(), dropped.filter(at_host).sum().alias("there")).row(0)
    there -= drops.filter(at_host & (pl.col("reason") == "loss")).height
    return there / in_all if in_all else None


def host_goodput_bps_max(flows: pl.DataFrame) -> float | None:
    """Goodput of the host that sends or receives most; None without TCP."""
    of_tcp = flows.filter(pl.col("protocol") == "tcp")
    sums = [of_tcp.group_by(end).agg(pl.col("goodput_bps").sum()) for end in ("src", "dst")]
    return pl.concat([one["goodput_bps"] for one in sums]).max()  # type: ignore[return-value]


def drops_without_marks(tables: Tables) -> bool:
    """Whether queues dropped packets, and none was marked."""
    is_queues = pl.col("reason") != "loss"
    return tables["marks"].is_empty() and not tables["drops"].filter(is_queues).is_empty()


def _count(flows: float) -> str:
    """Of several seeds a median, which may be a half."""
    return f"{flows:,.1f}".removesuffix(".0")


def _ms(value_s: float) -> str:
    return f"{value_s * 1e3:,.4g} ms" if value_s < 1 else f"{value_s:,.4g} s"


def sentence(entries: Sequence[Mapping[str, Any]]) -> str:
    """The outcome of loads that are transfers, rounds or requests: a sentence for each."""
    said = [_outcome(entry) for entry in entries]
    several = sum(map(bool, said)) > 1
    return " ".join(
        f"Traffic {entry['index']}: {text}" if several else text
        for entry, text in zip(entries, said, strict=True)
        if text
    )


def _outcome(entry: Mapping[str, Any]) -> str:
    if "rounds" in entry:
        rounds = entry["rounds"]
        times = rounds.get("time_s")
        took = f"; a round took {_ms(times['median'])} at the median" if times else ""
        return f"{rounds['done']} of {rounds['started']} rounds of incast were completed{took}."
    if "requests" in entry:
        asked, done = entry["requests"]["asked"], entry["requests"]["done"]
        times = entry["requests"].get("time_s")
        return f"{answered(done, asked, times)}."
    if "fct_s" in entry:
        done = entry["transfers"] - entry["unfinished"]
        found = completed(done, entry["transfers"])
        if not done:
            return f"{found}."
        if "slowdown" in entry:
            found += f"; {slowdown('their', entry['slowdown'])}"
        if "small_fct_s" in entry:
            found += f"; of small ones, 99 in 100 took at most {_ms(entry['small_fct_s']['p99'])}"
        return f"{found}."
    return ""


def completed(done: float, of: float) -> str:
    """How many transfers were completed, as a clause."""
    return f"{_count(done)} of {_count(of)} transfers were completed"


def slowdown(whose: str, quantiles: Mapping[str, float], *, p99_is_bound: bool = False) -> str:
    """The slowdown of transfers, as a clause. A bound: that transfer was still under way."""
    median, p99 = (
        QUANTITIES[f"slowdown_{part}"].shown(quantiles[part]) for part in ("median", "p99")
    )
    return (
        f"{whose} slowdown against the empty network is {median} at the median and"
        f" {'at least ' * p99_is_bound}{p99} at the 99th percentile"
    )


def answered(done: int, asked: int, times: Mapping[str, float] | None) -> str:
    """How many requests were answered, and how soon, as a clause."""
    found = f"{done:,} of {asked:,} requests were answered"
    if not done or times is None:
        return found
    median, p99 = _ms(times["median"]), _ms(times["p99"])
    return f"{found}, in {median} at the median and {p99} at the 99th percentile"


def _entry(tables: Tables, index: int, load: Load, span: Span) -> dict[str, Any]:
    flows = tables["flows"].filter(pl.col("traffic") == index)
    entry: dict[str, Any] = {
        "index": index,
        "kind": load.kind,
        "flows": flows.height,
        "goodput_bps_total": float(flows["goodput_bps"].sum()),
        "timeouts": int(flows["timeouts"].sum()),
        "drops": int(flows["drops"].sum()),
        "transfers": 0,
        "unfinished": 0,
        "before_measurement": 0,
    }
    if load.kind == "udp":
        return entry | _datagrams(flows, tables["rtt"])
    if load.kind == "request-response":
        requests = tables["requests"].filter(pl.col("traffic") == index)
        entry["before_measurement"] = _early(requests, span)
        return entry | _requests(requests, span)
    if flows.height and metrics.is_endless(flows):
        rates = flows["goodput_bps"]
        return entry | {"goodput_bps_min": rates.min(), "jain_index": metrics.jain_index(rates)}
    rounds = tables["rounds"].filter(pl.col("traffic") == index)
    transfers = completion.transfers(flows, span)
    of_a_size = flows.filter(pl.col("ideal_fct_s").is_not_null())
    entry["before_measurement"] = _early(rounds if of_a_size.is_empty() else of_a_size, span)
    if not transfers.is_empty():
        entry |= _completion(transfers)
    elif load.kind == "periodic":
        entry |= _on_open_connections(rounds, flows, span)
    if load.kind == "incast":
        entry["rounds"] = _rounds(rounds.filter(pl.col("flow").is_null()), load, span)
    return entry


def _early(begun: pl.DataFrame, span: Span) -> int:
    """How many of these transfers, rounds or requests began before the measurement."""
    return begun.filter(pl.col("start_s") < span.measure_from_s).height


def _completion(transfers: pl.DataFrame) -> dict[str, Any]:
    """Completion times and slowdowns of transfers; a transfer under way counts with its age."""
    small = transfers.filter(pl.col("size_bytes") <= SMALL_BYTES)
    found: dict[str, Any] = {
        "transfers": transfers.height,
        "unfinished": int(transfers["fct_s"].null_count()),
        "fct_s": _quantiles(transfers, "lasted_s", ("median", "p99", "max")),
        "slowdown": _quantiles(transfers, "lasted_ideals", ("median", "p99")),
    }
    if not small.is_empty():
        found["small_fct_s"] = _quantiles(small, "lasted_s", ("median", "p99"))
    return found


def _on_open_connections(launched: pl.DataFrame, flows: pl.DataFrame, span: Span) -> dict[str, Any]:
    """The same for periodic transfers that share a connection; only finished ones count."""
    over = launched.filter(span.starts).select(
        "bytes", lasted_s="completion_s", is_over=pl.lit(True)
    )
    under_way = flows.filter(pl.col("delivered_bytes") < pl.col("size_bytes")).height
    found: dict[str, Any] = {"transfers": over.height + under_way, "unfinished": under_way}
    if not over.is_empty():
        found["fct_s"] = _quantiles(over, "lasted_s", ("median", "p99", "max"))
        small = over.filter(pl.col("bytes") <= SMALL_BYTES)
        if not small.is_empty():
            found["small_fct_s"] = _quantiles(small, "lasted_s", ("median", "p99"))
    return found


_SHARES = {"median": 0.5, "p99": 0.99, "max": 1.0}


def _quantiles(rows: pl.DataFrame, column: str, names: Sequence[str]) -> dict[str, float]:
    shares = [_SHARES[name] for name in names]
    return dict(zip(names, quantiles(rows[column], rows["is_over"], shares), strict=True))


def _rounds(rounds: pl.DataFrame, load: Load, span: Span) -> dict[str, Any]:
    """Rounds started and done. In their times, the round under way counts with its age."""
    done = rounds.height
    began_s = rounds["end_s"].max() + load.pause_s if done else load.start_s  # type: ignore[operator]
    latest_s = span.end_s if load.stop_s is None else min(load.stop_s, span.end_s)
    goes_on = (load.rounds is None or done < load.rounds) and began_s < latest_s
    lasted = pl.DataFrame(
        {
            "lasted_s": rounds["completion_s"].to_list() + [span.end_s - began_s] * goes_on,
            "is_over": [True] * done + [False] * goes_on,
        },
        schema={"lasted_s": pl.Float64, "is_over": pl.Boolean},
    )
    found: dict[str, Any] = {"started": done + goes_on, "done": done}
    if done:
        found["time_s"] = _quantiles(lasted, "lasted_s", ("median", "p99", "max"))
    return found


def _requests(requests: pl.DataFrame, span: Span) -> dict[str, Any]:
    """Requests of the span; one without an answer counts with its age."""
    ours = completion.asked(requests, span)
    done = int(ours["is_over"].sum())
    found: dict[str, Any] = {"asked": ours.height, "done": done}
    if not ours.is_empty():
        found["time_s"] = _quantiles(ours, "lasted_s", ("median", "p99"))
    return {"requests": found, "transfers": ours.height, "unfinished": ours.height - done}


def _datagrams(flows: pl.DataFrame, rtt: pl.DataFrame) -> dict[str, Any]:
    """Loss over the whole run, and one-way delay of datagrams that arrived in the measurement."""
    sent, drops = int(flows["segments_sent"].sum()), int(flows["drops"].sum())
    found: dict[str, Any] = {"sent": sent, "loss_share": drops / sent if sent else None}
    delays = metrics.rtt_by(
        rtt.join(flows.select("flow"), on="flow", how="semi").with_columns(all=pl.lit(0)), "all"
    )
    if not delays.is_empty():
        mean, p99 = delays.select("rtt_mean_s", "rtt_p99_s").row(0)
        found["delay_s"] = {"mean": mean, "p99": p99}
    return found
