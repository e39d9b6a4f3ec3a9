"""The cells of a run's tables as the page prints them; the scripts get those of each seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from fairport.figures import hop_classes
from fairport.figures.groups import traffics
from fairport.metrics import fairness, shown_blackout, traffic_table
from fairport.metrics.drop_runs import ingress_summary
from fairport.quantities import QUANTITIES, counted, group_label

if TYPE_CHECKING:
    from fairport.result import Result

# Columns of the table by hop class.
CLASS_COLUMNS = (
    "goodput_bps_mean",
    "goodput_bps_min",
    "goodput_bps_max",
    "throughput_ratio",
    "timeouts",
    "timeout_period_s",
    "drops",
    "longest_drop_run",
    "rtt_mean_s",
    "rtt_p99_s",
)
_FCT_COLUMNS = (
    "flows",
    "completed",
    "fct_mean_s",
    "fct_median_s",
    "fct_p95_s",
    "fct_p99_s",
    "slowdown_median",
    "slowdown_p99",
)
# columns of the table by ingress port
_INGRESS = ("flows", "drops", "share", "blackouts", "drops_in_blackouts", "longest_run")


def heading(key: str) -> tuple[str, str]:
    """A column's heading and its unit."""
    return QUANTITIES[key].heading, QUANTITIES[key].unit


def key_figures(result: Result, paper: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    """The few numbers beside the verdict: name, value, meaning."""
    found = []
    summary: Mapping[str, Any] = result.summary
    verdict = summary["verdict"]
    if verdict["ratio"] is not None:
        note = "goodput of the lone class over that of its peers"
        found.append(("Throughput ratio", _shown("throughput_ratio", verdict["ratio"]), note))
    if verdict["blackout_timeout_share"] is not None:
        share = f"{100 * verdict['blackout_timeout_share']:.0f} %"
        note = "of its timeout periods follow drop runs of 3 or more packets"
        found.append(("After drop runs", share, note))
    compared = fairness.compared(result.flows)
    # a transfer's goodput is that of its size, and one flow is always even
    if summary["jain_index"] is not None and compared.height > 1 and fairness.is_endless(compared):
        note = "1 is fair" + _beside(paper, "jain_index")
        found.append(("Jain index", _shown("jain_index", summary["jain_index"]), note))
    # a run of UDP alone has no hop classes
    of_udp = summary["udp"] and not summary["classes"]
    total = (summary["udp"] if of_udp else summary)["goodput_bps_total"]
    note = "all TCP flows" if summary["udp"] and not of_udp else "all flows"
    note += _beside(paper, "goodput_bps_total")
    found.append(("Total goodput", _shown("goodput_bps_total", total), note))
    if summary["utilisation"] is not None:
        note = f"of the line of {summary['bottleneck']['port']}"
        found.append(("Utilisation", _shown("utilisation", summary["utilisation"]), note))
    if summary.get("host_queue_drop_share"):
        share = _shown("host_queue_drop_share", summary["host_queue_drop_share"])
        found.append(("Drops at hosts", share, "of all drops are in hosts' own queues"))
    return found


def _shown(key: str, value: float) -> str:
    return QUANTITIES[key].with_unit(value)


def _beside(paper: Mapping[str, Any] | None, key: str) -> str:
    return f"; paper {QUANTITIES[key].shown(paper[key])}" if paper and key in paper else ""


def classes(result: Result, paper: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """One row per hop class, and below it a row with the paper's numbers."""
    colours = {one.name: one.look.colour for one in hop_classes.of(result.flows)}
    rows = []
    for name, ours in result.summary["classes"].items():
        label = f"{name} ({counted(ours['flows'], 'flow')})"
        rows.append({"class": name, "label": label, "colour": colours[name], "cells": _cells(ours)})
        theirs = paper["classes"].get(name) if paper else None
        if theirs:
            rows.append({"class": name, "label": "paper", "colour": "", "cells": _cells(theirs)})
    return rows


def _cells(figures_of_class: Mapping[str, Any]) -> list[str]:
    numbers = dict(figures_of_class)
    # the order of drops that were inferred is not known
    if numbers.get("drops") and not numbers.get("longest_drop_run"):
        numbers["longest_drop_run"] = None
    return [QUANTITIES[key].shown(numbers.get(key)) for key in CLASS_COLUMNS]


def traffic(result: Result) -> tuple[list[tuple[str, str]], list[dict[str, Any]]]:
    """Headings and rows by [[traffic]].

    The fastest link decides whether totals are in Mbit/s or in Gbit/s: it is the same for all
    seeds.
    """
    keys, rows = traffic_table.table(result.summary)
    line_bps = max(map(int, result.scenario.link_rates()))
    shown = [
        QUANTITIES[key].at_size(line_bps) if key == "goodput_bps_total" else QUANTITIES[key]
        for key in keys
    ]
    looks = {
        one.name.split(" with ")[0]: {"label": one.name, "class": one.name, "colour": one.colour}
        for one in traffics(result)
    }
    return [(one.heading, one.unit) for one in shown], [
        {
            **looks.get(name, {"label": name}),
            "cells": [
                one.cell(number, is_bound=is_bound)
                for one, number, is_bound in zip(shown, numbers, bounds, strict=True)
            ],
        }
        for name, numbers, bounds in rows
    ]


def completion(summary: Mapping[str, Any]) -> tuple[list[tuple[str, str]], list[dict[str, Any]]]:
    """Headings and rows of completion times by size of the transfers."""
    groups = summary["fct"] or {}
    return [heading(key) for key in _FCT_COLUMNS], [
        {
            "label": group_label(name),
            "cells": [
                QUANTITIES[key].cell(one.get(key), is_bound=key in (one.get("bounds") or ()))
                for key in _FCT_COLUMNS
            ],
        }
        for name, one in groups.items()
    ]


def ingress(result: Result) -> list[dict[str, Any]]:
    """The drops of each ingress port at the bottleneck port."""
    worst = result.summary["bottleneck"]
    if worst is None:
        return []
    at_port = result.drops.filter(pl.col("port") == worst["port"])
    hit = at_port.join(result.flows.select("flow", fairness.hop_class()), on="flow")
    by_port = hit.group_by("ingress_port").agg(pl.col("hop_class").unique().sort())
    of_classes = {port: ", ".join(names) for port, names in by_port.iter_rows()}
    return [
        {
            "label": row["ingress_port"],
            "cells": [
                of_classes.get(row["ingress_port"], ""),
                *(
                    f"{100 * row[key]:.1f}" if key == "share" else f"{row[key]:,.0f}"
                    for key in _INGRESS
                ),
            ],
        }
        for row in ingress_summary(at_port).iter_rows(named=True)
    ]


def trace_table(result: Result) -> pl.DataFrame:
    """The packets around the starved class's blackout, in order, as the paper prints its trace.

    Columns: `ingress` port, `time_us` of arrival, `fate`, `egress` port, `depart_us`, `flow`. Times
    are in microseconds from the first of these packets; a dropped packet has no egress. It has no
    rows if no blackout was recorded.
    """
    shown = shown_blackout.shown(result.tables, result.summary)
    packets = result.trace.clear() if shown is None else shown.packets
    microseconds = (pl.col("time_s", "depart_s") - pl.col("time_s").first()) * 1e6
    return packets.with_columns(microseconds).select(
        ingress="ingress_port",
        time_us="time_s",
        fate="fate",
        egress=pl.when(pl.col("fate") == "forwarded").then("port"),
        depart_us="depart_s",
        flow="flow",
    )
