"""`fairport paths`: the path of every flow, port by port, and the ports that flows share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairport.cli.options import Assignments, Force, Json, ScenarioName, Width, loaded, refuse_here


def paths(
    scenario: ScenarioName,
    assignments: Assignments = None,
    top: Annotated[
        int,
        typer.Option("--top", metavar="N", min=0, help="Rows of each table; 0 for all."),
    ] = 20,
    figure: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw the paths into this .png, .svg or .pdf file.",
            show_default=False,
        ),
    ] = None,
    wide: Width = "",
    force: Force = False,
    json: Json = False,
) -> None:
    """Print every flow's path and the ports that flows share.

    A summary with the expected bottleneck comes first. Nothing is run.
    """
    from fairport import figures
    from fairport.cli import output
    from fairport.layout import network, sharing

    if figure is None:
        refuse_here({"--width": wide}, "is the width of the figure, and none is asked for")
    else:
        figures.require_file(figure, "--figure", force=force)
    built = network(loaded(scenario, assignments))
    if figure is not None:
        from fairport.figures import paths as drawing
        from fairport.figures.drawing import width

        with width.drawn_at(width.inches(wide)):
            picture = drawing.draw(built)
        figures.save_as(picture, figure, "--figure", force=force)
    if json:
        output.print_json(sharing.document(built))
        return
    output.print_text(sharing.summary(built))
    for rows in (sharing.flow_rows(built), sharing.port_rows(built)):
        if rows:
            output.print_text("\n")
            output.print_rows(rows[:top] if top else rows)
        if 0 < top < len(rows):
            output.print_text(f"... and {len(rows) - top:,} more; `--top 0` prints all\n")
