"""`fairport paths`: the way of every flow, port by port, and where flows meet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairport.cli.options import Assignments, ScenarioName


def paths(
    scenario: ScenarioName,
    assignments: Assignments = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    figure: Annotated[
        Path | None,
        typer.Option(help="Draw the paths into this file (.png, .svg, .pdf).", show_default=False),
    ] = None,
) -> None:
    """Print the paths of all flows, and the ports where flows meet."""
    from fairport.cli import output
    from fairport.layout import network, sharing
    from fairport.scenario import load, read_assignments

    built = network(load(scenario).patch(read_assignments(assignments or [])))
    if figure is not None:
        from fairport.figures import paths as drawing

        drawing.write(built, figure)
    if json:
        output.print_json(sharing.document(built))
        return
    output.print_rows(sharing.flow_rows(built))
    meeting = sharing.port_rows(built)
    if meeting:
        output.print_text("\n")
        output.print_rows(meeting)
