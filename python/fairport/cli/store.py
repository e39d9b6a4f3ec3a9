"""`fairport store`: the runs that are kept, so that they are not run again."""

from __future__ import annotations

from typing import Annotated

import typer

from fairport.cli.options import Json


def store(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all of them.")] = False,
    json: Json = False,
) -> None:
    """Say how many runs are kept and where, or remove them.

    `compare` and `reproduce` keep their runs, so that none is run twice. FAIRPORT_STORE names
    another folder.
    """
    from fairport.cli import output
    from fairport.study.store import Store

    kept = Store()
    if clear:
        kept.clear()
    records, size_bytes = kept.size()
    if json:
        output.print_json(
            {"folder": str(kept.folder), "records": records, "size_bytes": size_bytes}
        )
    else:
        output.print_text(f"{kept.folder}: {records} runs, {size_bytes / 1e6:.1f} MB\n")
