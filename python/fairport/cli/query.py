"""`fairport query`: SQL over the runs of a study."""

from __future__ import annotations

from typing import Annotated

import typer

from fairport.cli.options import Json, refuse_both

CsvOut = Annotated[bool, typer.Option("--csv", help="Print CSV.")]


def query(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Folder or URL of a study.")],
    sql: Annotated[
        str, typer.Argument(metavar="SQL", help="An SQL query (DuckDB) of the table `runs`.")
    ],
    json: Json = False,
    csv: CsvOut = False,
) -> None:
    """Query the runs of a study with SQL.

    The table `runs` has a column for each axis (in double quotes where its name has a dot), `seed`,
    `run_id`, `backend`, `fingerprint`, the numbers that are kept, `caveats`, and `error`, which is
    null for a run that did not fail. `describe runs` lists them.
    """
    from fairport.cli import output
    from fairport.study.results import Study

    refuse_both({"--json": json, "--csv": csv})
    found = Study(study).sql(sql)
    if json:
        output.print_json(output.in_json(found.to_dicts()))
    elif csv:
        output.print_text(output.in_cells(found).write_csv())
    elif found.is_empty():
        output.print_text("no rows\n")
    else:
        import polars.selectors as cs

        output.print_rows(found.with_columns(cs.float().round_sig_figs(6)).to_dicts())
