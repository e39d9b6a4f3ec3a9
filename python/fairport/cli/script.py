"""`fairport script`: packetdrill scripts, run against the stacks of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairport.cli.options import Quiet
from fairport.cli.statuses import BAD_INPUT, CHECK_FAILED


def script(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="FILE|FOLDER", help="Scripts, or folders of `.pkt` files."),
    ],
    stack: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The stack.  [default: the one that the script names, or today's Linux]",
            show_default=False,
        ),
    ] = None,
    tolerance: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Tolerance of times.  [default: what the script says, or else 4ms]",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, one entry per script.")] = False,
    quiet: Quiet = False,
) -> None:
    """Run packetdrill scripts against the TCP stacks.

    Exit status 1: a script fails; 2: a script cannot be read. Nothing in back-quotes is
    executed. Lines that the engine ignores are listed as notes on stderr.
    """
    from fairport.cli import output
    from fairport.cli.console import err
    from fairport.errors import InputError
    from fairport.scenario.units import Duration, UnitError
    from fairport.scripts import find, run

    try:
        span = None if tolerance is None else Duration(tolerance)
    except UnitError as error:
        raise error.placed(InputError, file="", field="--tolerance", value=tolerance) from None
    results = [run(path, stack, span) for path in find(paths)]
    if json:
        output.print_json([result.document() for result in results])
    else:
        for result in results:
            if not quiet:
                for note in result.notes:
                    where = f"{result.path}:{note['line']}"
                    err().print(f"{where}: {note['text']}", soft_wrap=True)
            if not (quiet and result.holds):
                output.print_text(result.text() + "\n")
        held = sum(result.holds for result in results)
        output.print_text(f"{held} of {len(results)} scripts hold\n")
    for result in results:
        if result.error:
            err().print(f"error: {result.error}", soft_wrap=True)
    if any(result.error for result in results):
        raise typer.Exit(BAD_INPUT)
    if not all(result.holds for result in results):
        raise typer.Exit(CHECK_FAILED)
