"""The content of a run's page; its look is in page.html and page.css.

Without scripts the page shows everything in tables and static figures. With scripts, `live`
replaces the figures over time by interactive panels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairport import figures
from fairport.backends import DEFAULT
from fairport.figures import over_time
from fairport.metrics import shown_blackout
from fairport.metrics.repeats import seeds_in_words
from fairport.published import published_beside
from fairport.quantities import QUANTITIES, in_millions
from fairport.report import about_run, live, network, rows
from fairport.report.inline import embed, picture
from fairport.report.live.data import document, rtt_in_words
from fairport.report.template import fill_page
from fairport.report.words import words
from fairport.scenario.phase import phase_parameters
from fairport.study import point_statistics

if TYPE_CHECKING:
    from fairport.result import Result

FILE = "report.html"

# The figures that the live panels replace.
_LIVE = ("goodput", "cwnd", "rtt", "queue")


def write(
    result: Result,
    out_dir: Path,
    over: Mapping[str, Any] | None = None,
    others: Sequence[Result] = (),
) -> Path:
    """Writes `report.html` into `out_dir` and returns its path.

    `over` is the summary over several seeds, if `result` is one of several; then the page begins
    with all of them and the figure `seeds.svg`. `others` are the other seeds that a reader can
    choose. Existing figures in `out_dir/figures` are used; missing ones are drawn.
    """
    path = out_dir / FILE
    text = render(result, out_dir / "figures", over, others)
    path.write_text(text, encoding="utf-8")
    return path


def render(
    result: Result,
    pictures: Path,
    over: Mapping[str, Any] | None = None,
    others: Sequence[Result] = (),
) -> str:
    """The page as text."""
    paper = published_beside(result.summary, result.scenario.paper)
    cells = _cells(result, paper)
    runs = sorted([result, *others], key=lambda one: one.seed)
    return fill_page(
        "page.html",
        script=live.script(),
        style=live.style(),
        blocks=[
            (one.seed, live.block(document(one, cells if one is result else _cells(one, paper))))
            for one in runs
        ],
        name=result.scenario.name,
        title=result.title,
        description=result.scenario.description,
        summary=result.summary,
        over=_over_seeds(over, pictures) if over else None,
        seed=result.seed,
        seeds=[one.seed for one in runs],
        most_lines=over_time.MAX_LINES,
        caveats=(over or result.summary).get("caveats", []),
        cells=cells,
        traffic_columns=rows.traffic(result)[0],
        rtt=rtt_in_words(result),
        has_times=any(result.summary[one] for one in ("fct", "rounds", "requests")),
        completion_columns=rows.completion(result.summary)[0],
        columns=[rows.heading(key) for key in rows.CLASS_COLUMNS],
        paper=paper,
        figures=[
            (kind, figures.kind(kind).CAPTION, kind in _LIVE, picture(result, kind, pictures))
            for kind in figures.kinds(result)
        ],
        trace=list(rows.trace_table(result).iter_rows(named=True)),
        blackout=shown_blackout.shown(result.tables, result.summary),
        facts=about_run.facts(result),
        drawing=network.draw(result),
        command=about_run.command(result),
        is_repeatable=result.summary["backend"] == DEFAULT,
        source=result.scenario.to_toml(),
        links=about_run.links(
            result, f"seed-{result.seed}/" if over else "", ["seeds"] if over else []
        ),
        # captures do not show them
        conditions=[] if result.is_captured else list(phase_parameters(result.scenario).items()),
        made=_made(result),
        words=words(),
    )


def _cells(result: Result, paper: Mapping[str, Any] | None) -> dict[str, Any]:
    """The printed part of one seed, which the scripts replace by another seed's."""
    verdict = result.summary["verdict"]
    return {
        "verdict": verdict["sentence"],
        "outcast": bool(verdict["outcast"]),
        "spread": result.summary.get("spread", ""),
        "keys": rows.key_figures(result, paper),
        "classes": rows.classes(result, paper),
        "traffic": rows.traffic(result)[1],
        "completion": rows.completion(result.summary)[1],
        "ingress": rows.ingress(result),
    }


def _over_seeds(summary: Mapping[str, Any], pictures: Path) -> dict[str, Any]:
    """The part about all seeds: the verdict, the figure, one row per seed."""
    from fairport.figures import seeds

    found = [
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
    return {
        "verdict": summary["verdict"],
        "groups": groups_in_words(summary["runs"]),
        "seeds": seeds_in_words(summary["seeds"]),
        "columns": (
            "Seed",
            "Throughput ratio",
            "Jain index",
            "Total goodput",
            "Outcast",
            "Fingerprint",
        ),
        "rows": found,
        "caption": seeds.CAPTION,
        "picture": embed(pictures / "seeds.svg", "seeds", summary["verdict"]["sentence"]),
    }


def groups_in_words(runs: Sequence[Mapping[str, Any]]) -> str:
    """Whether the ratios fall into two groups, as those of a bistable point do; or empty."""
    ratios = [run["verdict"]["ratio"] for run in runs]
    found = point_statistics.groups(np.array([one for one in ratios if one is not None]))
    if found is None:
        return ""
    each = " and ".join(f"{one.mean():.2f} ({len(one)} seeds)" for one in found)
    return f"The throughput ratios fall into two groups: near {each}."


def _made(result: Result) -> list[tuple[str, str]]:
    """How the run was made."""
    summary, measure = result.summary, result.summary["measure"]
    speed = summary["packet_hops_per_s"]
    return [
        ("Fingerprint", result.fingerprint),
        *((("Seed", str(result.seed)),) if not result.is_captured else ()),
        ("Version", f"fairport {summary['version']}, backend {summary['backend']}"),
        ("Duration", f"{summary['simulated_s']:g} s"),
        ("Measured", f"from {measure['from_s']:.4g} s to {measure['to_s']:.4g} s"),
        (
            "Packet-hops",
            f"{in_millions(summary['packet_hops'])} in {summary['wall_s']:.2f} s"
            + (f", {in_millions(speed)} per second" if speed else ""),
        ),
        *((("Made", result.manifest["started"]),) if "started" in result.manifest else ()),
    ]
