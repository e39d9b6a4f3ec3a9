"""What is on the page of a run; how it looks is in page.html and page.css."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from fairport import blackouts, figures, metrics, traffic_table
from fairport.figures import style
from fairport.published import published_figures
from fairport.quantities import QUANTITIES
from fairport.report.inline import embed, picture
from fairport.report.template import fill
from fairport.report.trace import trace_table
from fairport.scenario.phase import phase_parameters

if TYPE_CHECKING:
    from fairport.result import Result

FILE = "report.html"

# Columns of the table by hop class.
_COLUMNS = (
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

# columns of the table by ingress port
_INGRESS = ("flows", "drops", "share", "blackouts", "drops_in_blackouts", "longest_run")


def write(
    result: Result,
    out_dir: Path,
    published: Mapping[str, Any] | None = None,
    over: Mapping[str, Any] | None = None,
) -> Path:
    """Writes `report.html` into `out_dir` and returns its path.

    `over` is the summary over several seeds of which `result` is one: then the page begins with
    what all of them show, from the figure `seeds.svg`.

    `published` is what a paper found, as `published_figures` returns it; by default what the
    scenario names. Figures in `out_dir/figures` are taken as they are; else they are drawn.
    """
    path = out_dir / FILE
    path.write_text(render(result, out_dir / "figures", published, over), encoding="utf-8")
    return path


def render(
    result: Result,
    pictures: Path,
    published: Mapping[str, Any] | None = None,
    over: Mapping[str, Any] | None = None,
) -> str:
    """The page as text."""
    paper = published
    if paper is None and result.scenario.paper:
        paper = published_figures(result.scenario.paper)
    loads, rows = traffic_table.table(result.summary)
    return fill(
        "page.html",
        name=result.scenario.name,
        description=result.scenario.description,
        summary=result.summary,
        spread=result.summary.get("spread", ""),
        over=_over_seeds(over, pictures) if over else None,
        manifest=result.manifest,
        seed=result.seed,
        key_figures=_key_figures(result.summary, paper),
        caveats=(over or result.summary).get("caveats", []),
        traffic_columns=[(_capital(QUANTITIES[key].title), QUANTITIES[key].unit) for key in loads],
        traffic=[(name, _number_cells(loads, numbers)) for name, numbers in rows],
        columns=[(_capital(QUANTITIES[key].title), QUANTITIES[key].unit) for key in _COLUMNS],
        classes=_class_rows(result, paper),
        paper=paper,
        ingress=_ingress_rows(result),
        figures=[
            (kind, figures.kind(kind).CAPTION, picture(result, kind, pictures))
            for kind in figures.kinds(result)
        ],
        trace=list(trace_table(result).iter_rows(named=True)),
        blackout=blackouts.shown(result.tables, result.summary),
        conditions=_conditions(result),
        facts=_facts(result),
    )


def _over_seeds(summary: Mapping[str, Any], pictures: Path) -> dict[str, Any]:
    """What the page says of all seeds: the verdict, the figure, one row per seed."""
    from fairport.figures import seeds

    rows = [
        [
            str(run["seeds"][0]),
            QUANTITIES["throughput_ratio"].shown(run["verdict"]["ratio"]),
            QUANTITIES["jain_index"].shown(run["jain_index"]),
            QUANTITIES["goodput_bps_total"].with_unit(run["goodput_bps_total"]),
            {True: "yes", False: "no", None: ""}[run["verdict"]["outcast"]],
            run["fingerprint"],
        ]
        for run in summary["runs"]
    ]
    numbers = summary["seeds"]
    return {
        "verdict": summary["verdict"],
        "seeds": f"seeds {numbers[0]} to {numbers[-1]}",
        "columns": ("Seed", "Throughput ratio", "Jain index", "Total", "Outcast", "Fingerprint"),
        "rows": rows,
        "caption": seeds.CAPTION,
        "picture": embed(pictures / "seeds.svg", "seeds", summary["verdict"]["sentence"]),
    }


def _key_figures(
    summary: Mapping[str, Any], paper: Mapping[str, Any] | None
) -> list[tuple[str, str, str]]:
    """The few numbers beside the verdict: name, value, what it is."""
    found = []
    verdict = summary["verdict"]
    if verdict["ratio"] is not None:
        note = "goodput of the lone class over that of its peers"
        found.append(("Throughput ratio", _shown("throughput_ratio", verdict["ratio"]), note))
    if verdict["blackout_timeout_share"] is not None:
        share = f"{100 * verdict['blackout_timeout_share']:.0f} %"
        note = "of its timeout periods follow drop runs of 3 or more packets"
        found.append(("After drop runs", share, note))
    if summary["jain_index"] is not None:
        note = "1 is fair" + _beside(paper, "jain_index")
        found.append(("Jain index", _shown("jain_index", summary["jain_index"]), note))
    total = _shown("goodput_bps_total", summary["goodput_bps_total"])
    note = "all flows" + _beside(paper, "goodput_bps_total")
    found.append(("Total goodput", total, note))
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


def _class_rows(result: Result, paper: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """One row per hop class, and one below it with what the paper found."""
    colours = {one.name: one.look.colour for one in style.hop_classes(result.flows)}
    rows = []
    for name, ours in result.summary["classes"].items():
        label = f"{name} ({style.count(ours['flows'], 'flow')})"
        rows.append({"label": label, "colour": colours[name], "cells": _cells(ours)})
        theirs = paper["classes"].get(name) if paper else None
        if theirs:
            rows.append({"label": "paper", "colour": "", "cells": _cells(theirs)})
    return rows


def _cells(figures_of_class: Mapping[str, Any]) -> list[str]:
    return [_spaced(QUANTITIES[key].shown(figures_of_class.get(key))) for key in _COLUMNS]


def _number_cells(keys: Sequence[str], numbers: Sequence[float | None]) -> list[str]:
    return [
        _spaced(QUANTITIES[key].shown(number)) for key, number in zip(keys, numbers, strict=True)
    ]


def _spaced(number: str) -> str:
    """Thousands parted by thin spaces."""
    return number.replace(",", "\u202f")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _ingress_rows(result: Result) -> list[dict[str, Any]]:
    """What each ingress port of the bottleneck port lost."""
    worst = result.summary["bottleneck"]
    if worst is None:
        return []
    rows = metrics.ingress_summary(result.drops)
    at_port = result.drops.filter(pl.col("port") == worst["port"])
    hit = at_port.join(result.flows.select("flow", metrics.hop_class()), on="flow")
    by_port = hit.group_by("ingress_port").agg(pl.col("hop_class").unique().sort())
    classes = {port: ", ".join(names) for port, names in by_port.iter_rows()}
    return [
        {
            "label": row["ingress_port"],
            "cells": [
                f"{100 * row[key]:.1f}" if key == "share" else _spaced(f"{row[key]:,.0f}")
                for key in _INGRESS
            ],
            "classes": classes.get(row["ingress_port"], ""),
        }
        for row in rows.iter_rows(named=True)
        if row["port"] == worst["port"]
    ]


def _conditions(result: Result) -> list[tuple[str, str]]:
    """What determines phases: outcast is an effect of phase."""
    return list(phase_parameters(result.scenario).items())


def _facts(result: Result) -> list[tuple[str, str]]:
    """How the run was made."""
    summary, measure = result.summary, result.summary["measure"]
    speed = summary["packet_hops_per_s"]
    return [
        ("Fingerprint", result.fingerprint),
        ("Seed", str(result.seed)),
        ("Version", f"fairport {summary['version']}, backend {summary['backend']}"),
        ("Simulated", f"{summary['simulated_s']:g} s"),
        ("Measured", f"from {measure['from_s']:.3f} s to {measure['to_s']:.3f} s"),
        (
            "Packet-hops",
            f"{summary['packet_hops'] / 1e6:.2f} million in {summary['wall_s']:.2f} s"
            + (f", {speed / 1e6:.1f} million per second" if speed else ""),
        ),
        *((("Made", result.manifest["started"]),) if "started" in result.manifest else ()),
    ]
