"""`fairport topology export`: a scenario's network in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairport.cli.examples import epilog
from fairport.cli.group import group
from fairport.cli.options import Assignments, Force, ScenarioName, loaded

app = group("Export a scenario's network to other tools.")


@app.command(epilog=epilog("topology export"))
def export(
    scenario: ScenarioName,
    name: Annotated[
        str,
        typer.Option(
            "--format", metavar="NAME", help="graphml, json (node-link), dot, or mininet."
        ),
    ],
    assignments: Assignments = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file.  [default: stdout]", show_default=False),
    ] = None,
    force: Force = False,
) -> None:
    """Print or write the network of a scenario."""
    from fairport.cli import output
    from fairport.files import write_text
    from fairport.layout import network
    from fairport.layout.export import exported

    built = network(loaded(scenario, assignments))
    text = exported(built, name)
    if out is None:
        output.print_text(text)
    else:
        write_text(out, "--out", text, force=force)
