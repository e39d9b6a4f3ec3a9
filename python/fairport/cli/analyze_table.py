"""What `fairport analyze` prints: the table by hop class, completeness, the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairport.cli.console import err, out
from fairport.cli.run_table import that_fits, totals


def warn(summary: Mapping[str, Any]) -> None:
    """Says on stderr what could not be read."""
    damaged = [file for file in summary["captures"]["files"] if file["damaged_at_byte"] is not None]
    notes = summary["captures"]["notes"]
    for note in notes[: len(damaged)]:
        err().print(f"warning: {note}", soft_wrap=True)


def show(summary: dict[str, Any], scenario: Path | None) -> None:
    """Prints the summary of captures."""
    console = out()
    console.print(that_fits(console, summary, None))
    console.print(totals(summary, None))
    console.print(_circumstances(summary))
    complete = summary["captures"]["completeness"]
    if complete is not None:
        console.print(_complete(summary["captures"], complete))
    damaged = [file for file in summary["captures"]["files"] if file["damaged_at_byte"] is not None]
    for note in summary["captures"]["notes"][len(damaged) :]:
        console.print(f"  {note}", style="dim", soft_wrap=True)
    console.print(f"\n{summary['verdict']['sentence']}", style="bold", soft_wrap=True)
    if scenario is not None:
        console.print(f"What to try: fairport compare {scenario}", soft_wrap=True)
    report = [file for file in summary["files"] if file.endswith("report.html")]
    for file in report:
        console.print(file, soft_wrap=True)


def _circumstances(summary: Mapping[str, Any]) -> str:
    measure, files = summary["measure"], summary["captures"]["files"]
    size = sum(file["bytes"] for file in files)
    packets = summary["packet_hops"]
    return (
        f"{len(files)} capture{'s' if len(files) != 1 else ''}, {packets} packets of TCP and UDP,"
        f" {size / 1e6:.1f} MB, read in {summary['wall_s']:.2f} s;"
        f" measured from {measure['from_s']:.3f} s to {measure['to_s']:.3f} s"
        f" of {summary['simulated_s']:.3g} s"
    )


def _complete(captures: Mapping[str, Any], complete: Mapping[str, Any]) -> str:
    left = complete["joined"] + complete["missed_at_ingress"]
    share = f"{100 * complete['joined'] / left:.4g} %" if left else "none"
    return (
        f"from {', '.join(captures['ingress'])} to {captures['egress']}: {complete['arrived']}"
        f" packets came in, {left} left; {share} of these were seen on both sides, between"
        f" {1e6 * complete['delay_min_s']:.1f} and {1e6 * complete['delay_max_s']:.1f} us apart"
    )
