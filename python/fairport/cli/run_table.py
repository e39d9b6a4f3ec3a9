"""What `fairport run` prints: the table by hop class, the totals, the verdict."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairport.cli.console import out
from fairport.cli.output import new_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from fairport.scenario import Scenario

_Column = tuple[str, str, float, str]

# key of the summary's classes, heading, factor, format
_COLUMNS = (
    ("flows", "flows", 1.0, ".0f"),
    ("goodput_bps_mean", "Mbit/s\nmean", 1e-6, ".1f"),
    ("goodput_bps_min", "\nmin", 1e-6, ".1f"),
    ("goodput_bps_max", "\nmax", 1e-6, ".1f"),
    ("throughput_ratio", "ratio", 1.0, ".3f"),
    ("timeouts", "time-\nouts", 1.0, ".0f"),
    ("timeout_period_s", "period\ns", 1.0, ".2f"),
    ("drops", "drops", 1.0, ".0f"),
    ("longest_drop_run", "drop\nrun", 1.0, ".0f"),
    ("rtt_mean_s", "RTT ms\nmean", 1e3, ".2f"),
    ("rtt_p99_s", "\np99", 1e3, ".2f"),
)

# in a terminal too narrow for all columns these are left out, the first one first
_PLENTY = 10_000
_LEFT_OUT = ("goodput_bps_max", "goodput_bps_min", "timeout_period_s", "rtt_p99_s", "drops")

# heading, key of the summary's completion times, factor, format
_COMPLETION = (
    ("flows", "flows", 1.0, ".0f"),
    ("done", "completed", 1.0, ".0f"),
    ("FCT ms\nmean", "fct_mean_s", 1e3, ".4g"),
    ("\nmedian", "fct_median_s", 1e3, ".4g"),
    ("\np95", "fct_p95_s", 1e3, ".4g"),
    ("\np99", "fct_p99_s", 1e3, ".4g"),
    ("\nmax", "fct_max_s", 1e3, ".4g"),
    ("slowdown\nmean", "slowdown_mean", 1.0, ".3g"),
    ("\nmedian", "slowdown_median", 1.0, ".3g"),
    ("\np99", "slowdown_p99", 1.0, ".3g"),
)


def show(summary: dict[str, Any], scenario: Scenario) -> None:
    """Prints the summary of a run, or of the runs of several seeds."""
    from fairport.papers import published
    from fairport.scenario.phase import phase_parameters

    console = out()
    paper = published(scenario.paper) if scenario.paper else None
    console.print(_that_fits(console, summary, paper))
    if paper is not None:
        console.print(f"paper: {paper['source']}; {paper['read']}", style="dim")
    console.print(_totals(summary, paper))
    if summary["fct"]:
        console.print(_completion_table(summary["fct"]))
    for line in _workloads(summary):
        console.print(line)
    runs = summary.get("runs")
    if runs:
        console.print(_run_table(runs))
    console.print(_circumstances(summary))
    for part, text in phase_parameters(scenario).items():
        console.print(f"  {part:<7} {text}", style="dim")
    console.print(f"\n{summary['verdict']['sentence']}", style="bold")
    for file in _worth_a_look(summary):
        console.print(file, soft_wrap=True)


def _that_fits(console: Console, summary: dict[str, Any], paper: dict[str, Any] | None) -> Table:
    """The table by hop class, without columns that the terminal has no room for."""
    unfolded = console.options.update(width=_PLENTY)
    for left_out in range(len(_LEFT_OUT) + 1):
        columns = [column for column in _COLUMNS if column[0] not in _LEFT_OUT[:left_out]]
        table = _class_table(summary, paper, columns)
        if console.measure(table, options=unfolded).maximum <= console.width:
            break
    return table


def _class_table(
    summary: dict[str, Any], paper: dict[str, Any] | None, columns: Sequence[_Column]
) -> Table:
    table = new_table()
    table.add_column("")
    for _, heading, _, _ in columns:
        table.add_column(heading, justify="right")
    for name, figures in summary["classes"].items():
        table.add_row(name, *_cells(figures, columns))
        theirs = paper["classes"].get(name) if paper else None
        if theirs:
            table.add_row("  paper", *_cells(theirs, columns), style="dim")
    return table


def _cells(figures: Mapping[str, Any], columns: Sequence[_Column]) -> list[str]:
    return [
        "" if figures.get(key) is None else format(figures[key] * factor, form)
        for key, _, factor, form in columns
    ]


def _completion_table(groups: Mapping[str, Mapping[str, Any]]) -> Table:
    """Completion times and slowdowns by size."""
    table = new_table()
    table.add_column("size")
    for heading, _, _, _ in _COMPLETION:
        table.add_column(heading, justify="right")
    for name, figures in groups.items():
        cells = [
            "" if figures[key] is None else format(figures[key] * factor, form)
            for _, key, factor, form in _COMPLETION
        ]
        table.add_row(name, *cells)
    return table


def _workloads(summary: Mapping[str, Any]) -> list[str]:
    """A line on incast, a line on requests, a line on UDP."""
    lines = []
    rounds, requests, udp = summary["rounds"], summary["requests"], summary["udp"]
    if rounds:
        lines.append(
            f"{rounds['rounds']:.0f} rounds: {rounds['completion_mean_s'] * 1e3:.2f} ms mean,"
            f" {rounds['completion_p99_s'] * 1e3:.2f} ms 99th percentile,"
            f" {rounds['goodput_bps'] / 1e6:.1f} Mbit/s while they last"
        )
    if requests and requests["answered"]:
        mean, *others = (
            f"{requests[f'response_{key}_s'] * 1e3:.2f} ms"
            for key in ("mean", "median", "p95", "p99", "max")
        )
        lines.append(
            f"{requests['requests']:.0f} requests, {requests['answered']:.0f} answered: {mean}"
            f" mean; median, 95th, 99th percentile and maximum {', '.join(others)}"
        )
    if udp:
        lines.append(
            f"UDP: {udp['flows']:.0f} flows, {udp['goodput_bps_total'] / 1e6:.1f} Mbit/s,"
            f" {udp['drops']:.0f} of {udp['sent']:.0f} datagrams dropped"
        )
    return lines


def _totals(summary: dict[str, Any], paper: dict[str, Any] | None) -> str:
    def beside(key: str, factor: float, form: str) -> str:
        return f" (paper {format(paper[key] * factor, form)})" if paper and key in paper else ""

    total = f"total {summary['goodput_bps_total'] / 1e6:.1f} Mbit/s"
    parts = [total + beside("goodput_bps_total", 1e-6, ".1f")]
    if summary["jain_index"] is not None:
        parts.append(f"Jain index {summary['jain_index']:.3f}{beside('jain_index', 1, '.3f')}")
    if summary["utilisation"] is not None:
        parts.append(f"link utilisation {100 * summary['utilisation']:.1f} %")
    worst = summary["bottleneck"]
    if worst:
        parts.append(
            f"bottleneck {worst['port']}: {worst['drops']:.0f} drops,"
            f" queue {worst['queue_mean_bytes'] / 1e3:.1f} kB mean,"
            f" {worst['queue_max_bytes'] / 1e3:.1f} kB max"
        )
    return "; ".join(parts)


def _circumstances(summary: dict[str, Any]) -> str:
    measure, seeds = summary["measure"], summary["seeds"]
    parts = [
        f"seed {seeds[0]}" if len(seeds) == 1 else f"medians of seeds {seeds[0]} to {seeds[-1]}",
        f"measured from {measure['from_s']:.3f} s to {measure['to_s']:.3f} s"
        f" of {summary['simulated_s']:g} s",
        f"{summary['packet_hops'] / 1e6:.1f} M packet-hops in {summary['wall_s']:.2f} s",
    ]
    if summary["packet_hops_per_s"] is not None:
        parts.append(f"{summary['packet_hops_per_s'] / 1e6:.1f} M/s")
    if summary["fingerprint"] is not None:
        parts.append(f"fingerprint {summary['fingerprint']}")
    return "; ".join(parts)


def _run_table(runs: Sequence[Mapping[str, Any]]) -> Table:
    table = new_table()
    for heading in ("seed", "ratio", "Jain", "total Mbit/s", "outcast", "fingerprint"):
        table.add_column(heading, justify="right")
    for one in runs:
        verdict = one["verdict"]
        table.add_row(
            str(one["seeds"][0]),
            "" if verdict["ratio"] is None else f"{verdict['ratio']:.3f}",
            "" if one["jain_index"] is None else f"{one['jain_index']:.3f}",
            f"{one['goodput_bps_total'] / 1e6:.1f}",
            "yes" if verdict["outcast"] else "no",
            one["fingerprint"],
        )
    return table


def _worth_a_look(summary: Mapping[str, Any]) -> list[str]:
    """The report, the summary, the folders without their files; of several runs, a folder each."""
    chosen: dict[str, None] = {}
    for file in map(Path, summary["files"]):
        if "runs" in summary and file.name != "summary.json":
            continue
        folder = file.parent.name in ("tables", "figures")
        chosen[f"{file.parent}{os.sep}" if folder else str(file)] = None
    return list(chosen)
