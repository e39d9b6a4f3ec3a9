"""What `fairport run` prints: the table by hop class, the totals, the verdict."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairport.cli.console import out
from fairport.cli.output import new_table, table_of_numbers
from fairport.metrics import traffic_table
from fairport.quantities import QUANTITIES, group_label, in_millions, time_at_size
from fairport.summary import is_measured_in_part

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from fairport.scenario import Scenario

# Keys of the summary's classes, with their headings.
_COLUMNS = {
    "flows": "flows",
    "goodput_bps_mean": "Mbit/s\nmean",
    "goodput_bps_min": "\nmin",
    "goodput_bps_max": "\nmax",
    "throughput_ratio": "ratio",
    "timeouts": "time-\nouts",
    "timeout_period_s": "period\ns",
    "drops": "drops",
    "longest_drop_run": "drop\nrun",
    "rtt_mean_s": "RTT ms\nmean",
    "rtt_p99_s": "\np99",
}

_MEAN_MAX = ("mean", "max")
_OF_THE_WHOLE_RUN = "drops, timeouts, queue and utilisation are of the whole run"

# If the terminal is too narrow for all columns, these are left out, the first one first.
_PLENTY = 10_000
_LEFT_OUT = (
    "goodput_bps_max",
    "goodput_bps_min",
    "timeout_period_s",
    "rtt_p99_s",
    "drops",
    "fct_max_s",
    "fct_p95_s",
    "slowdown_median",
    "completed",
    "slowdown_p99",
)

# For flows that are compared by how long they take.
_BY_GOODPUT = ("goodput_bps_mean", "goodput_bps_min", "goodput_bps_max", "throughput_ratio")

# Keys of the summary's completion times, with their headings.
_COMPLETION = {
    "flows": "flows",
    "completed": "done",
    "fct_mean_s": "FCT ms\nmean",
    "fct_median_s": "\nmedian",
    "fct_p95_s": "\np95",
    "fct_p99_s": "\np99",
    "fct_max_s": "\nmax",
    "slowdown_mean": "slowdown\nmean",
    "slowdown_median": "\nmedian",
    "slowdown_p99": "\np99",
}

_MOST_TRAFFIC = 20
"""Rows of the table by traffic. A program may write a [[traffic]] for each pair of hosts."""

_SURVIVORS = "Means are of the transfers that are done, quantiles of all. With ≥: a lower bound."


def show(summary: Mapping[str, Any], scenario: Scenario) -> None:
    """Prints the summary of a run, or of the runs of several seeds."""
    from fairport.published import published_beside
    from fairport.scenario.phase import phase_parameters

    console = out()
    for caveat in summary.get("caveats", []):
        console.print(caveat, style="bold")
    paper = published_beside(summary, scenario.paper)
    if summary["classes"]:
        console.print(that_fits(console, summary, paper))
    if paper is not None:
        console.print(f"paper: {paper['source']}; {paper['read']}", style="dim")
    console.print(totals(summary, paper))
    if summary["fct"]:
        groups = summary["fct"]
        columns = list(_COMPLETION)
        console.print(_narrowed(console, columns, lambda left: _completion_table(groups, left)))
        if any(one["completed"] < one["flows"] for one in summary["fct"].values()):
            console.print(_SURVIVORS, style="dim")
    for by_traffic in traffic_tables(console, summary):
        console.print(by_traffic)
    more = len(summary.get("traffic", [])) - _MOST_TRAFFIC
    if more > 0:
        console.print(
            f"{more:,} more rows of traffic: `--json` and the report have all.", style="dim"
        )
    if summary.get("host_queue_drop_share"):
        share = _shown("host_queue_drop_share", summary["host_queue_drop_share"])
        console.print(f"{share} of the drops are in hosts' own queues.", style="bold")
    runs = summary.get("runs")
    if runs:
        console.print(_run_table(runs))
    console.print(_circumstances(summary))
    phase = phase_parameters(scenario)
    health = summary.get("health")
    if health:
        phase |= {"host": "real, on the Linux backend", "switch": _switch(scenario, health)}
    for part, text in phase.items():
        console.print(f"  {part:<7} {text}", style="dim")
    console.print(f"\n{summary['verdict']['sentence']}", style="bold")
    if summary.get("spread"):
        console.print(summary["spread"])
    for fault in summary.get("faults") or []:
        console.print(f"Not valid: {fault}.", style="bold")
    for line in _left_out(summary):
        console.print(line, style="bold")
    for file in _worth_a_look(summary):
        console.print(file, soft_wrap=True)


def that_fits(console: Console, summary: Mapping[str, Any], paper: dict[str, Any] | None) -> Table:
    """The table by hop class, without the columns for which the terminal has no room."""
    left_out = _BY_GOODPUT if is_about_time(summary) else ()
    columns = [key for key in _COLUMNS if key not in left_out]
    return _narrowed(console, columns, lambda left: _class_table(summary, paper, left))


def _narrowed(
    console: Console, columns: Sequence[str], table_of: Callable[[Sequence[str]], Table]
) -> Table:
    """The table with as many of these columns as the terminal has room for."""
    less = [key for key in _LEFT_OUT if key in columns]
    for count in range(len(less) + 1):
        table = table_of([key for key in columns if key not in less[:count]])
        if _fits(console, table):
            break
    return table


def _fits(console: Console, table: Table) -> bool:
    unfolded = console.options.update(width=_PLENTY)
    return console.measure(table, options=unfolded).maximum <= console.width


def is_about_time(summary: Mapping[str, Any]) -> bool:
    """Whether the run has no long-lived flow, so that goodputs say little."""
    entries = summary.get("traffic", [])
    return bool(entries) and not any("jain_index" in entry for entry in entries)


def _class_table(
    summary: Mapping[str, Any], paper: dict[str, Any] | None, columns: Sequence[str]
) -> Table:
    table = table_of_numbers("", (_COLUMNS[key] for key in columns))
    for name, figures in summary["classes"].items():
        table.add_row(name, *_cells(figures, columns))
        theirs = paper["classes"].get(name) if paper else None
        if theirs:
            table.add_row("  paper", *_cells(theirs, columns), style="dim")
    return table


def _cells(figures: Mapping[str, Any], columns: Iterable[str]) -> list[str]:
    bounds = figures.get("bounds") or ()
    return [
        QUANTITIES[key].cell(figures.get(key), "narrow", is_bound=key in bounds) for key in columns
    ]


def _completion_table(groups: Mapping[str, Mapping[str, Any]], columns: Sequence[str]) -> Table:
    """Completion times and slowdowns by size."""
    table = table_of_numbers("size", (_COMPLETION[key] for key in columns))
    for name, figures in groups.items():
        table.add_row(group_label(name), *_cells(figures, columns))
    return table


def traffic_tables(console: Console, summary: Mapping[str, Any]) -> list[Table]:
    """One row per [[traffic]], of the first few; none if the table by hop class says everything.

    If the terminal is too narrow for all columns, each kind of traffic has a table of its own.
    """
    columns, rows = traffic_table.table(summary)
    rows = rows[:_MOST_TRAFFIC]
    together = _traffic_table(console, columns, rows)
    if not rows or _fits(console, together):
        return [together] if rows else []
    sorts: dict[tuple[int, ...], list[traffic_table.Row]] = {}
    for name, numbers, bounds in rows:
        has = tuple(at for at, number in enumerate(numbers) if number is not None)
        row = (name, [numbers[at] for at in has], [bounds[at] for at in has])
        sorts.setdefault(has, []).append(row)
    return [
        _traffic_table(console, [columns[at] for at in has], members)
        for has, members in sorts.items()
    ]


def _traffic_table(
    console: Console, columns: Sequence[str], rows: Sequence[traffic_table.Row]
) -> Table:
    shown = [
        QUANTITIES[name].at_size(max((row[at] or 0 for _, row, _ in rows), default=None))
        for at, name in enumerate(columns)
    ]
    # the first two columns appear elsewhere, too; the next two, as of transfers, are counts
    for left_out in range(max(1, min(len(columns), 5))):
        headings = (one.label.replace(" ", "\n") for one in shown[left_out:])
        table = table_of_numbers("traffic", headings)
        for name, *cells in rows:
            numbers, bounds = (part[left_out:] for part in cells)
            marked = zip(shown[left_out:], numbers, bounds, strict=True)
            table.add_row(name, *(one.cell(n, "narrow", is_bound=b) for one, n, b in marked))
        if _fits(console, table):
            break
    return table


def totals(summary: Mapping[str, Any], paper: dict[str, Any] | None) -> str:
    """Goodput, fairness and the bottleneck."""

    def beside(key: str) -> str:
        return f" (paper {QUANTITIES[key].shown(paper[key])})" if paper and key in paper else ""

    udp = summary.get("udp")
    if udp and not summary["classes"]:
        parts = [f"total {_shown('goodput_bps_total', udp['goodput_bps_total'])} of UDP"]
    else:
        total = f"total {_shown('goodput_bps_total', summary['goodput_bps_total'])}"
        parts = [total + beside("goodput_bps_total")]
    if summary["jain_index"] is not None and not is_about_time(summary):
        index = _shown("jain_index", summary["jain_index"])
        parts.append(f"Jain index {index}{beside('jain_index')}")
    if summary["utilisation"] is not None:
        parts.append(f"link utilisation {_shown('utilisation', summary['utilisation'])}")
    worst = summary["bottleneck"]
    if worst:
        mean, most = (_shown("queue_bytes", worst[f"queue_{part}_bytes"]) for part in _MEAN_MAX)
        parts.append(
            f"bottleneck {worst['port']}: {worst['drops']:.0f} drops, queue {mean} mean, {most} max"
        )
    return "; ".join(parts)


def _shown(key: str, value: float) -> str:
    return QUANTITIES[key].with_unit(value)


def _circumstances(summary: Mapping[str, Any]) -> str:
    # imports polars, which the commands load while the engine runs
    from fairport.metrics.repeats import seeds_in_words

    measure, seeds = summary["measure"], summary["seeds"]
    simulated_s = summary["simulated_s"]
    time = time_at_size(simulated_s)
    exact = replace(time, form=".3f")
    from_s, to_s = (exact.with_unit(measure[end]) for end in ("from_s", "to_s"))
    parts = [
        f"{'medians of ' if len(seeds) > 1 else ''}{seeds_in_words(seeds)}",
        f"measured from {from_s} to {to_s} of {time.with_unit(simulated_s)}",
        *([_OF_THE_WHOLE_RUN] if is_measured_in_part(summary) else []),
        f"{in_millions(summary['packet_hops'])} packet-hops in {summary['wall_s']:.2f} s",
    ]
    if summary["packet_hops_per_s"] is not None:
        parts.append(f"{in_millions(summary['packet_hops_per_s'])}/s")
    if summary["fingerprint"] is not None:
        parts.append(f"fingerprint {summary['fingerprint']}")
    return "; ".join(parts)


def _switch(scenario: Scenario, health: Mapping[str, float]) -> str:
    """How late the real-time switch was, or that the kernel's own disciplines ran."""
    if "lag_p50_s" not in health:
        return f"bridges and tc; {health['drops_traced']:.0f} drops traced"
    return (
        f"{scenario.switch.processing_delay}; frames left {1e6 * health['lag_p50_s']:.1f} us late"
        f" in the median, {1e6 * health['lag_p99_s']:.0f} us at the 99th percentile"
    )


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
            {True: "yes", False: "no", None: ""}[verdict["outcast"]],
            one["fingerprint"],
        )
    return table


def _left_out(summary: Mapping[str, Any]) -> list[str]:
    """The runs that were made but are not part of the result."""
    invalid = summary.get("invalid_runs") or []
    if not invalid or not summary["valid"]:
        return []
    return [
        f"Not valid and left out: a run with seed {one['seed']}: {'; '.join(one['faults'])}."
        for one in invalid
    ]


def _worth_a_look(summary: Mapping[str, Any]) -> list[str]:
    """The written files to print: report, summary, folders; for several seeds, run folders."""
    chosen: dict[str, None] = {}
    for file in map(Path, summary["files"]):
        of_one_seed = any(one.name.startswith("seed-") for one in list(file.parents)[:2])
        if "runs" in summary and of_one_seed and file.name != "summary.json":
            continue
        folder = file.parent.name in ("tables", "figures")
        chosen[f"{file.parent}{os.sep}" if folder else str(file)] = None
    return list(chosen)
