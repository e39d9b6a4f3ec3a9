"""`fairport list`: the built-in scenarios."""

from __future__ import annotations

from fairport.cli.options import Json


def list_scenarios(json: Json = False) -> None:
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
