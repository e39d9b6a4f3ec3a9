"""`fairport list`: the built-in scenarios."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fairport.cli.options import Json, builtin_scenarios


def list_scenarios(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Say when to use it.",
            autocompletion=builtin_scenarios,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the built-in scenarios, or say when to use one of them."""
    from fairport.cli import output
    from fairport.scenario import builtin_names

    rows = [_row(one) for one in (builtin_names() if name is None else [name])]
    if json:
        output.print_json(rows)
    elif name is None:
        output.print_rows([{key: row[key] for key in row if key != "when"} for row in rows])
    else:
        output.print_text(
            f"{name}: {rows[0]['description']}\n\n{rows[0]['when']}\n\n"
            f"Run it with `fairport run {name}`; `fairport scenario show {name}` prints its file.\n"
        )


def _row(name: str) -> dict[str, Any]:
    from fairport.scenario import builtin_use, load

    use = builtin_use(name)
    scenario = load(name)
    return {
        "name": name,
        "description": scenario.description,
        "duration": str(scenario.duration),
        "paper": scenario.paper,
        "when": use,
    }
