"""The outputs of a joined switch: each is assessed alone, and a result is about the worst one.

Flows that leave by different outputs, or by one that was not captured, do not compete. If there is
an outcast, the worst output is the one where the lone class has the smallest share; otherwise it is
the bottleneck, chosen as for runs. The other long flows have the workload `elsewhere`, so that
nothing compares them with those of the worst output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from fairport.backends.captures import words
from fairport.metrics import fairness
from fairport.metrics.drop_runs import blackouts, drop_runs
from fairport.tables import Tables

BULK, SHORT, ELSEWHERE = WORKLOADS = ("bulk", "short", "elsewhere")
"""Kinds of flows, by number in the core's table: long, short, and long through another output than
the one that the result is about."""

_COUNTS = ("arrived", "joined", "missed_at_ingress", "missed_at_egress", "open", "without_ingress")
_OF_PORT = ("drops", "marks", "queue_mean_bytes", "queue_max_bytes")

Summarise = Callable[[Tables], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Assessed:
    """Results about one output: the worst, or the only one, or, without any, a single capture."""

    port: str | None
    tables: Tables
    summary: dict[str, Any]


def assess(
    tables: Tables, outputs: Sequence[Mapping[str, Any]], summarise: Summarise
) -> tuple[Assessed, list[dict[str, Any]]]:
    """The worst output, and each output's entry in the summary, in the order of the captures.

    `outputs` are those of the core; `summarise` makes the summary of tables.
    """
    ports = [str(one["port"]) for one in outputs]
    if not ports:
        return Assessed(None, tables, _summary(tables, summarise, is_joined=False)), []
    assessed = [_at(tables, port, summarise) for port in ports]
    entries = [_entry(one, output) for one, output in zip(assessed, outputs, strict=True)]
    worst = assessed[_worst(assessed, tables["ports"])]
    return replace(worst, tables=_marked(tables, str(worst.port))), entries


def completeness(outputs: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """How complete all captures together are; None if no captures were joined."""
    if not outputs:
        return None
    each = [one["completeness"] for one in outputs]
    joined = [one for one in each if one["joined"]] or each
    return {
        **{count: sum(one[count] for one in each) for count in _COUNTS},
        "delay_min_s": min(one["delay_min_s"] for one in joined),
        "delay_max_s": max(one["delay_max_s"] for one in joined),
        "ended_s": min(
            (one["ended_s"] for one in each if one["ended_s"] is not None), default=None
        ),
    }


def _at(tables: Tables, port: str, summarise: Summarise) -> Assessed:
    """The flows, drops and counts of one output alone."""
    here = tables["conversations"].filter(egress_port=port).select("flow")
    alone = tables | {
        "flows": tables["flows"].join(here, on="flow", how="semi", maintain_order="left"),
        **{name: tables[name].filter(port=port) for name in ("ports", "drops", "marks")},
    }
    return Assessed(port, alone, _summary(alone, summarise, is_joined=True))


def _summary(tables: Tables, summarise: Summarise, *, is_joined: bool) -> dict[str, Any]:
    """The summary, with a verdict in the words of captures."""
    summary = summarise(tables)
    verdict = summary["verdict"]
    if not is_joined:
        verdict |= {"blackout_timeout_share": None}
    verdict |= {"sentence": words.sentence(summary, tables, is_joined=is_joined)}
    return summary


def _worst(assessed: Sequence[Assessed], ports: pl.DataFrame) -> int:
    """The worst output's index: the outcast with the least share, or else the bottleneck."""
    outcast = [
        (one.summary["verdict"]["ratio"], place)
        for place, one in enumerate(assessed)
        if one.summary["verdict"]["outcast"] and one.summary["bottleneck"]["drops"]
    ]
    if outcast:
        return min(outcast)[1]
    has_long = [one.port for one in assessed if (one.tables["flows"]["workload"] == BULK).any()]
    candidates = ports.filter(pl.col("port").is_in(has_long)) if has_long else ports
    worst = fairness.bottleneck(candidates, is_endless=bool(has_long))
    return next(
        (place for place, one in enumerate(assessed) if worst and one.port == worst["port"]), 0
    )


def _marked(tables: Tables, port: str) -> Tables:
    """The tables from the viewpoint of the worst output."""
    flows = tables["flows"]
    ways = tables["conversations"].select("flow", "egress_port")
    output = flows.select("flow").join(ways, on="flow", how="left", maintain_order="left")
    is_here = (output["egress_port"] == port).fill_null(value=False)
    is_long = flows["workload"] == BULK
    if not (is_here & is_long).any():
        return tables | {"trace": tables["trace"].filter(port=port)}
    away = is_long & ~is_here
    number = pl.lit(WORKLOADS.index(ELSEWHERE), flows.schema["traffic"])
    return tables | {
        "flows": flows.with_columns(
            workload=pl.when(away).then(pl.lit(ELSEWHERE)).otherwise("workload"),
            traffic=pl.when(away).then(number).otherwise("traffic"),
        ),
        "trace": tables["trace"].filter(port=port),
    }


def _entry(one: Assessed, output: Mapping[str, Any]) -> dict[str, Any]:
    """What the summary says about an output."""
    (counts,) = one.tables["ports"].filter(port=one.port).select(_OF_PORT).to_dicts()
    runs = drop_runs(one.tables["drops"], "ingress")
    dark = blackouts(one.tables["drops"])
    longest: Any = runs["length"].max()
    return {
        "port": one.port,
        "flows": one.tables["flows"].height,
        "goodput_bps_total": one.summary["goodput_bps_total"],
        "utilisation": one.summary["utilisation"],
        **counts,
        "longest_drop_run": int(longest or 0),
        "blackouts": dark.height,
        "peak_bps": output["peak_bps"],
        "classes": one.summary["classes"],
        "completeness": output["completeness"],
        "verdict": one.summary["verdict"],
    }
