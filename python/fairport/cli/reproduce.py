"""`fairport reproduce`: published results, run again and compared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairport.cli.group import resumable
from fairport.cli.options import (
    BackendName,
    Force,
    Jobs,
    Json,
    NoFigures,
    NoOutput,
    Quiet,
    Width,
    chosen_folder,
    refuse_here,
    results_folder,
)
from fairport.cli.statuses import CHECK_FAILED


def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID",
            help="Experiments such as prakash2012/one-to-n, or papers. Without one: list them.",
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every experiment.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer seeds, shorter runs.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with status 1 when a claim differs.")
    ] = False,
    backend: BackendName = "simulation",
    out: Annotated[Path | None, results_folder("results/reproduce")] = None,
    force: Force = False,
    no_output: NoOutput = False,
    no_figures: NoFigures = False,
    wide: Width = "",
    json: Json = False,
    quiet: Quiet = False,
    jobs: Jobs = None,
) -> None:
    """Run published experiments again and compare each claim.

    Finished runs are kept (`fairport store`), so an interrupted command continues where it stopped.
    With `--backend linux` (as root), experiments that were run on real hosts run over real TCP as
    well, and each claim has both results.
    """
    if everything and experiments:
        from fairport.errors import InputError

        raise InputError(
            "cannot go with experiments", field="--all", remedy="leave one of the two out"
        )
    if everything and not (no_output or no_figures):
        # before this process imports the same
        from fairport.backends.cores import cores
        from fairport.figures.drawing import saving

        modules = ("fairport.study.runs.one_run", "fairport.storage.reproduction")
        saving.get_ready(*modules, processes=jobs or cores())
    from fairport.cli import output, reproduce_table
    from fairport.cli.progress import pool_bar
    from fairport.figures.drawing import width
    from fairport.papers.catalogue import chosen, entries
    from fairport.storage import reproduction
    from fairport.study.reproduce import document, totals
    from fairport.study.reproduce import reproduce as run

    lists = not experiments and not everything
    if no_output or no_figures or lists:
        refuse_here({"--width": wide}, "is the width of the figures, and none is asked for")
    if lists:
        rows = reproduce_table.listing(entries())
        if json:
            output.print_json(rows)
        else:
            reproduce_table.print_list(rows)
        return
    wanted = entries() if everything else chosen(experiments or [])
    if everything and backend != "simulation":
        wanted = [one for one in wanted if one.experiment.linux is not None]
    folder = chosen_folder(out, "reproduce", no_output=no_output, force=force)
    with width.drawn_at(width.inches(wide)):
        with resumable(), pool_bar("reproduce", shown=not quiet) as bar:
            done = run(wanted, quick=quick, jobs=jobs, progress=bar, backend=backend)
        if folder is not None:
            reproduction.save(done, folder, force=force, figures=not no_figures, jobs=jobs)
    if json:
        output.print_json(document(done))
    elif not quiet:
        reproduce_table.show(done, folder)
    if check and totals(done)["differs"]:
        raise typer.Exit(CHECK_FAILED)
