"""`fairport topology export`: a scenario's network in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Networks in the formats of other tools.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def _group() -> None:
    pass


@app.command()
def export(
    scenario: Annotated[
        str, typer.Argument(metavar="NAME|FILE", help="A built-in scenario, or a TOML file.")
    ],
    name: Annotated[
        str, typer.Option("--format", help="graphml, json (node-link), dot, or mininet.")
    ],
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Override a field first."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The file.  [default: stdout]", show_default=False)
    ] = None,
) -> None:
    """Print or write the network of a scenario."""
    from fairport.cli import output
    from fairport.layout import network
    from fairport.layout.export import exported, write
    from fairport.scenario import load, read_assignments

    built = network(load(scenario).patch(read_assignments(assignments or [])))
    text = exported(built, name)
    if out is None:
        output.print_text(text)
    else:
        write(text, out)
