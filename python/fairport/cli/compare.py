"""`fairport compare`: a scenario without and with fixes, in one table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairport.cli.group import resumable
from fairport.cli.options import (
    Assignments,
    BackendName,
    Csv,
    FirstSeed,
    Force,
    Jobs,
    Json,
    NoFigures,
    NoOutput,
    Quiet,
    ScenarioName,
    SimulatedTime,
    chosen_folder,
    loaded,
    repeats,
    results_folder,
)


def compare(
    scenario: ScenarioName,
    fix: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,..",
            help="Fixes, by name or by the path of a TOML file.  [default: all]",
            show_default=False,
        ),
    ] = None,
    fixes: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder of your own fixes.", show_default=False),
    ] = None,
    assignments: Assignments = None,
    duration: SimulatedTime = "",
    repeat: Annotated[int, repeats("Runs of each fix")] = 10,
    seed: FirstSeed = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Metric that ranks the fixes, such as small_fct_p99_s or rounds_done."
            "  [default: what the scenario's traffic suggests]",
            show_default=False,
        ),
    ] = None,
    backend: BackendName = "simulation",
    out: Annotated[Path | None, results_folder("results/NAME-compare")] = None,
    force: Force = False,
    no_output: NoOutput = False,
    no_figures: NoFigures = False,
    csv: Csv = False,
    json: Json = False,
    quiet: Quiet = False,
    jobs: Jobs = None,
) -> None:
    """Compare fixes: which work in a scenario, and what they need.

    Long-lived flows are compared by their shares, an incast by its rounds, other transfers by their
    completion times, requests by their response times.

    Finished runs are kept (`fairport store`) and are not run again.
    """
    if not (no_output or no_figures):
        from fairport.figures.drawing import saving

        saving.get_ready("fairport.figures.compare")
    from fairport.cli import compare_table, output
    from fairport.cli.progress import pool_bar
    from fairport.storage import save
    from fairport.study.comparison import parts as compared_parts
    from fairport.study.comparison.compare import candidates_of
    from fairport.study.comparison.compare import compare as run

    chosen = loaded(scenario, assignments, duration)
    tables: dict[str, tuple[str, object]] = {"--csv": ("tables", csv)}
    default = f"{chosen.name}-compare"
    names = [name.strip() for part in fix for name in part.split(",")] if fix else None

    def check() -> None:
        compared_parts.check(metric)
        first = chosen.seed if seed is None else seed
        candidates_of(chosen, names, seed=first, backend=backend, folder=fixes)

    folder = chosen_folder(
        out, default, no_output=no_output, force=force, files=tables, check=check
    )
    with resumable(), pool_bar(chosen.name, shown=not quiet) as bar:
        comparison = run(
            chosen,
            names,
            repeat=repeat,
            seed=seed,
            metric=metric,
            backend=backend,
            folder=fixes,
            jobs=jobs,
            progress=bar,
        )
    if folder is not None:
        save(comparison, folder, force=force, figures=not no_figures, csv=csv)
    if json:
        output.print_json(comparison.document())
    elif not quiet:
        compare_table.show(comparison, folder)
