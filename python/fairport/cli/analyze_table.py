"""What `fairport analyze` prints: the table by hop class, completeness, the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairport.cli.console import err, out
from fairport.cli.output import table_of_numbers
from fairport.cli.run_table import that_fits, totals
from fairport.quantities import counted

if TYPE_CHECKING:
    from rich.table import Table

_OF_OUTPUT = (
    *("flows", "Mbit/s", "drops", "drop\nrun", "black-\nouts"),
    *("queue kB\nmax", "ratio", "seen on\nboth sides"),
)
_OF_FLOW = (
    *("Mbit/s", "sent\nagain", "time-\nouts"),
    *("waited\ns", "since\ns", "longest\ns", "silent\ns"),
)


def warn(summary: Mapping[str, Any]) -> None:
    """Prints on stderr what could not be read."""
    for note in summary["captures"]["notes"][: _damaged(summary)]:
        err().print(f"warning: {note}", soft_wrap=True)


def show(summary: Mapping[str, Any], scenario: Path | None) -> None:
    """Prints the summary of captures."""
    console = out()
    if len(summary["captures"]["outputs"]) > 1:
        console.print(_outputs(summary["captures"]["outputs"]))
        console.print(f"\n{summary['bottleneck']['port']}, the worst output:")
    console.print(that_fits(console, summary, None))
    console.print(totals(summary, None))
    if summary["captures"]["slowest"]:
        console.print(_slowest(summary["captures"]["slowest"]))
    console.print(_circumstances(summary))
    complete = summary["captures"]["completeness"]
    if complete is not None:
        console.print(_complete(summary["captures"], complete))
    for note in summary["captures"]["notes"][_damaged(summary) :]:
        console.print(f"  {note}", style="dim", soft_wrap=True)
    console.print(f"\n{summary['verdict']['sentence']}", style="bold", soft_wrap=True)
    if scenario is not None:
        console.print(f"What to try: fairport compare {scenario}", soft_wrap=True)
    for file in summary["files"]:
        if file.endswith("report.html"):
            console.print(file, soft_wrap=True)


def _damaged(summary: Mapping[str, Any]) -> int:
    """Number of damaged files; the first notes are about them."""
    return sum(file["damaged_at_byte"] is not None for file in summary["captures"]["files"])


def _circumstances(summary: Mapping[str, Any]) -> str:
    measure, files = summary["measure"], summary["captures"]["files"]
    size = sum(file["bytes"] for file in files)
    packets = summary["packet_hops"]
    return (
        f"{counted(len(files), 'capture')}, {packets:,} packets of TCP and UDP,"
        f" {size / 1e6:.1f} MB, read in {summary['wall_s']:.2f} s;"
        f" measured from {measure['from_s']:.3f} s to {measure['to_s']:.3f} s"
        f" of {summary['simulated_s']:.3g} s"
    )


def _outputs(outputs: Sequence[Mapping[str, Any]]) -> Table:
    """A row for each output."""
    table = table_of_numbers("output", _OF_OUTPUT)
    for one in outputs:
        ratio = one["verdict"]["ratio"]
        counts = (one["drops"], one["longest_drop_run"], one["blackouts"])
        table.add_row(
            one["port"],
            str(one["flows"]),
            f"{one['goodput_bps_total'] / 1e6:.1f}",
            *map(str, counts),
            f"{one['queue_max_bytes'] / 1e3:.1f}",
            "" if ratio is None else f"{ratio:.3f}",
            _seen_on_both(one["completeness"]),
        )
    return table


def _slowest(flows: Sequence[Mapping[str, Any]]) -> Table:
    """The flows that got least."""
    table = table_of_numbers("slowest flows", _OF_FLOW)
    table.columns[0].overflow = "fold"  # a port that is cut names no flow
    for one in flows:
        waits = (one[key] for key in ("timeout_period_s", "since_s", "longest_wait_s", "silent_s"))
        table.add_row(
            f"{one['from']} > {one['to']}",
            f"{one['goodput_bps'] / 1e6:.3g}",
            str(one["retransmits"]),
            str(one["timeouts"]),
            *("" if not wait else f"{wait:.2f}" for wait in waits),
        )
    return table


def _seen_on_both(complete: Mapping[str, Any]) -> str:
    left = complete["joined"] + complete["missed_at_ingress"]
    return f"{100 * complete['joined'] / left:.4g} %" if left else "none"


def _complete(captures: Mapping[str, Any], complete: Mapping[str, Any]) -> str:
    left = complete["joined"] + complete["missed_at_ingress"]
    share = _seen_on_both(complete)
    ingress, egress = (", ".join(captures[side]) for side in ("ingress", "egress"))
    return (
        f"from {ingress} to {egress}: {complete['arrived']:,}"
        f" packets came in, {left:,} left; {share} of these were seen on both sides, between"
        f" {1e6 * complete['delay_min_s']:.1f} and {1e6 * complete['delay_max_s']:.1f} us apart"
    )
