"""What each [[traffic]] of a run achieved: the summary's `traffic`.

Each kind of traffic has its own measures: long-lived flows have a share of the line, transfers a
completion time, incast its rounds, requests a response time, datagrams loss and delay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fairport.metrics import completion, fairness
from fairport.metrics.censored import bounds, quantiles
from fairport.metrics.completion import Span
from fairport.quantities import QUANTITIES, in_ms, median_count
from fairport.tables import Tables

"""A transfer of up to this size counts as small, as in pFabric and PIAS."""


def summary(tables: Tables, kinds: Sequence[str], span: Span) -> list[dict[str, Any]]:
    """One entry per [[traffic]], in the order of the scenario, whose kinds are given."""
    return [_entry(tables, index, kind, span) for index, kind in enumerate(kinds)]


def sentence(entries: Sequence[Mapping[str, Any]]) -> str:
    """The outcome of traffic that is transfers, rounds or requests: a sentence for each."""
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
        took = f"; a round took {_at(times, 'median', in_ms(times['median']))}" if times else ""
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
            small = entry["small_fct_s"]
            few = "more than 1 in 100 took longer than" if _is_bound(small, "p99") else ""
            found += f"; of small ones, {few or '99 in 100 took at most'} {in_ms(small['p99'])}"
        return f"{found}."
    return ""


def completed(done: float, of: float) -> str:
    """How many transfers were completed, as a clause."""
    return f"{median_count(done)} of {median_count(of)} transfers were completed"


def slowdown(whose: str, quantiles: Mapping[str, Any]) -> str:
    """The slowdown of transfers, as a clause."""
    median, p99 = (
        _at(quantiles, part, QUANTITIES[f"slowdown_{part}"].shown(quantiles[part]))
        for part in ("median", "p99")
    )
    return f"{whose} slowdown against the empty network is {median} and {p99}"


def answered(done: int, asked: int, times: Mapping[str, Any] | None) -> str:
    """How many requests were answered, and how soon, as a clause."""
    found = f"{done:,} of {asked:,} requests were answered"
    if not done or times is None:
        return found
    median, p99 = (_at(times, part, in_ms(times[part])) for part in ("median", "p99"))
    return f"{found}, in {median} and {p99}"


def _at(quantiles: Mapping[str, Any], part: str, shown: str) -> str:
    """A quantile in words; of a lower bound, that it is one."""
    where = {"median": "at the median", "p99": "at the 99th percentile"}[part]
    return f"{'at least ' * _is_bound(quantiles, part)}{shown} {where}"


def _is_bound(quantiles: Mapping[str, Any], part: str) -> bool:
    return part in (quantiles.get("bounds") or ())


def _entry(tables: Tables, index: int, kind: str, span: Span) -> dict[str, Any]:
    flows = tables["flows"].filter(pl.col("traffic") == index)
    entry: dict[str, Any] = {
        "index": index,
        "kind": kind,
        "flows": flows.height,
        "goodput_bps_total": float(flows["goodput_bps"].sum()),
        "timeouts": int(flows["timeouts"].sum()),
        "drops": int(flows["drops"].sum()),
        "transfers": 0,
        "unfinished": 0,
        "before_measurement": 0,
    }
    if kind == "udp":
        return entry | _datagrams(flows, tables["rtt"])
    if kind == "request-response":
        requests = tables["requests"].filter(pl.col("traffic") == index)
        entry["before_measurement"] = _early(requests, span)
        return entry | _requests(requests, span)
    if flows.height and fairness.is_endless(flows):
        rates = flows["goodput_bps"]
        return entry | {"goodput_bps_min": rates.min(), "jain_index": fairness.jain_index(rates)}
    rounds = tables["rounds"].filter(pl.col("traffic") == index)
    transfers = completion.transfers(flows, span)
    sized = flows.filter(pl.col("ideal_fct_s").is_not_null())
    entry["before_measurement"] = _early(sized, span)
    if sized.is_empty() and kind == "periodic":
        # on connections that stay open, the flows are not the transfers
        entry["before_measurement"] = _early(rounds, span)
        transfers = completion.begun(rounds, "completion_s", span).rename({"bytes": "size_bytes"})
    if not transfers.is_empty():
        entry |= _completion(transfers)
    if kind == "incast":
        entry["before_measurement"] = _early(rounds, span)
        entry["rounds"] = _rounds(completion.begun(rounds, "completion_s", span))
    return entry


def _early(begun: pl.DataFrame, span: Span) -> int:
    """How many of these transfers, rounds or requests began before the measurement."""
    return begun.filter(pl.col("start_s") < span.measure_from_s).height


def _completion(transfers: pl.DataFrame) -> dict[str, Any]:
    """Completion times of transfers, and slowdowns of those with a flow of their own.

    A transfer under way counts with its age.
    """
    found: dict[str, Any] = {
        "transfers": transfers.height,
        "unfinished": int((~transfers["is_over"]).sum()),
        "fct_s": _quantiles(transfers, "lasted_s", ("median", "p99", "max")),
    }
    if "lasted_ideals" in transfers.columns:
        found["slowdown"] = _quantiles(transfers, "lasted_ideals", ("median", "p99"))
    for size, group in completion.SIZES.items():
        of_size = transfers.filter(completion.in_group(group))
        if not of_size.is_empty():
            found[f"{size}_fct_s"] = _quantiles(of_size, "lasted_s", ("median", "p99"))
    return found


# the quantiles of an entry, by their names
_SHARES = {"median": 0.5, "p99": 0.99, "max": 1.0}


def _quantiles(rows: pl.DataFrame, column: str, names: Sequence[str]) -> dict[str, Any]:
    durations, is_over = rows[column], rows["is_over"]
    shares = {name: _SHARES[name] for name in names}
    values = quantiles(durations, is_over, list(shares.values()))
    known_only = bounds(durations, is_over, shares)
    found: dict[str, Any] = dict(zip(names, values, strict=True))
    return found | ({"bounds": known_only} if known_only else {})


def _rounds(rounds: pl.DataFrame) -> dict[str, Any]:
    """Rounds started and done. In their times, the round under way counts with its age."""
    done = int(rounds["is_over"].sum())
    found: dict[str, Any] = {"started": rounds.height, "done": done}
    if done:
        found["time_s"] = _quantiles(rounds, "lasted_s", ("median", "p99", "max"))
        found["goodput_bps"] = completion.rounds_goodput_bps(rounds.filter("is_over"))
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
    delays = fairness.rtt_by(
        rtt.join(flows.select("flow"), on="flow", how="semi").with_columns(all=pl.lit(0)), "all"
    )
    if not delays.is_empty():
        mean, p99 = delays.select("rtt_mean_s", "rtt_p99_s").row(0)
        found["delay_s"] = {"mean": mean, "p99": p99}
    return found
