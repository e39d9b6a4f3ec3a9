"""`fairport scenario show` and `fairport scenario schema`."""

from __future__ import annotations

from typing import Annotated

import typer

from fairport.cli.examples import epilog
from fairport.cli.group import group
from fairport.cli.options import Assignments, ScenarioName, loaded

app = group("Print a scenario, or the schema of scenario files.")


@app.command(epilog=epilog("scenario show"))
def show(
    name: ScenarioName,
    assignments: Assignments = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON, every default filled in.")
    ] = False,
    job: Annotated[
        bool, typer.Option("--job", help="Print what the engine runs, for programs in Rust.")
    ] = False,
) -> None:
    """Print a scenario as TOML, to start from."""
    from fairport.cli import output
    from fairport.scenario import source_text

    patched = loaded(name, assignments)
    if job:
        from fairport.backends.jobs import job_of

        output.print_json(job_of(patched).document)
    elif json:
        output.print_json(patched.resolved())
    else:
        # an unchanged scenario is shown with its author's comments
        output.print_text(patched.to_toml() if assignments else source_text(name))


@app.command(epilog=epilog("scenario schema"))
def schema() -> None:
    """Print the JSON Schema of scenario files."""
    from fairport.cli import output
    from fairport.scenario import json_schema

    output.print_json(json_schema())
