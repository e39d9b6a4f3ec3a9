"""`fairport stack list` and `fairport stack show`."""

from __future__ import annotations

from typing import Annotated

import typer

from fairport.cli.examples import epilog
from fairport.cli.group import group
from fairport.cli.options import Json

app = group("List the TCP stacks, or print one's settings.")


@app.command("list", epilog=epilog("stack list"))
def list_stacks(json: Json = False) -> None:
    """List the stack presets."""
    from fairport.cli import output
    from fairport.scenario.stacks import stack, stack_names

    rows = [{"stack": name, "about": stack(name).about} for name in stack_names()]
    if json:
        output.print_json(rows)
    else:
        output.print_rows(rows)


@app.command(epilog=epilog("stack show"))
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A stack preset.")],
    json: Json = False,
) -> None:
    """Print a stack's settings, their meaning and source."""
    from fairport.cli import output
    from fairport.scenario.stacks import stack

    shown = stack(name)
    if json:
        output.print_json(shown.document())
    else:
        output.print_text(shown.to_toml())
