"""`fairport fixes`: the fixes that `compare` can apply."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairport.cli.options import Json


def fixes(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Print the file of this one, to start from."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--fixes", metavar="DIR", help="A folder of your own fixes.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the fixes for `compare`, or print one's file."""
    from fairport.cli import output
    from fairport.study.fixes import available, load

    if name is not None:
        output.print_text(load([name], folder)[0].text)
        return
    known = available(folder).values()
    if json:
        output.print_json([fix.model_dump() for fix in known])
    else:
        output.print_rows(
            [{"name": fix.name, "title": fix.title, "needs": ", ".join(fix.needs)} for fix in known]
        )
