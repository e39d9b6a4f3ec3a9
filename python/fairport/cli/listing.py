"""`fairport list`: the built-in scenarios."""

from __future__ import annotations

from typing import Annotated

import typer


def list_scenarios(
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the built-in scenarios."""
    from fairport.cli import output
    from fairport.scenario import builtin_names, load

    scenarios = [load(name) for name in builtin_names()]
    rows = [
        {
            "name": one.name,
            "description": one.description,
            "duration": str(one.duration),
            "paper": one.paper,
        }
        for one in scenarios
    ]
    if json:
        output.print_json(rows)
    else:
        output.print_rows(rows)
