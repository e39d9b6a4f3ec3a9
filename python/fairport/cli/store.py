"""`fairport store`: the runs that are kept, so that they are not run again."""

from __future__ import annotations

from typing import Annotated

import typer

from fairport.cli.options import Json


def store(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all kept runs.")] = False,
    json: Json = False,
) -> None:
    """Show how many runs are kept and where, or remove them.

    Every command keeps the numbers of its runs; `compare` and `reproduce` keep their tables, too.
    Studies, comparisons and reproductions use them and do not make such a run again.
    FAIRPORT_STORE names another folder.
    """
    from fairport.cli import output
    from fairport.quantities import counted
    from fairport.study.runs.store import Store

    kept = Store()
    if clear:
        kept.clear()
    records, size_bytes = kept.size()
    runs = kept.numbers().height
    if json:
        output.print_json(
            {
                "folder": str(kept.folder),
                "runs": runs,
                "records": records,
                "size_bytes": size_bytes,
            }
        )
    else:
        output.print_text(
            f"{kept.folder}: {counted(runs, 'run')} of this version;"
            f" the tables of {records}; {size_bytes / 1e6:.1f} MB\n"
        )
