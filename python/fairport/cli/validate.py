"""`fairport validate`: a scenario in the simulation and over real Linux, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairport.cli.options import (
    Assignments,
    Csv,
    FirstSeed,
    Force,
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
from fairport.cli.statuses import INVALID

if TYPE_CHECKING:
    from fairport.study.validation import Validation


def validate(
    scenario: ScenarioName,
    assignments: Assignments = None,
    duration: SimulatedTime = "",
    repeat: Annotated[int, repeats("Runs on each side")] = 5,
    seed: FirstSeed = None,
    out: Annotated[Path | None, results_folder("results/NAME-validate")] = None,
    force: Force = False,
    no_output: NoOutput = False,
    no_figures: NoFigures = False,
    csv: Csv = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare simulation and real Linux in a scenario (as root).

    Both run the scenario with the same seeds, to validate the simulation. The simulation gets the
    host times, the clock ticks and the adapters of this machine. A Linux run for which the machine
    was too slow does not count and is repeated, at most --repeat times in all. Exit status 3: no
    Linux run was valid.
    """
    import sys

    from fairport.backends.cores import cores
    from fairport.backends.run import run_many
    from fairport.cli import output
    from fairport.cli.progress import pool_bar
    from fairport.storage import save
    from fairport.study.validate import NoValidRunError
    from fairport.study.validate import validate as run

    chosen = loaded(scenario, assignments, duration)
    tables: dict[str, tuple[str, object]] = {"--csv": ("tables", csv)}
    default = f"{chosen.name}-validate"

    def check() -> None:
        run_many(chosen, [chosen.seed]).close()

    folder = chosen_folder(
        out, default, no_output=no_output, force=force, files=tables, check=check
    )
    try:
        with pool_bar(f"validate {chosen.name}", shown=not quiet) as bar:
            found = run(chosen, repeat=repeat, seed=seed, jobs=cores(), progress=bar)
    except NoValidRunError as error:
        print(f"error: {error}\nhint: {error.remedy}", file=sys.stderr)
        raise typer.Exit(INVALID) from None
    if folder is not None:
        save(found, folder, force=force, figures=not no_figures, csv=csv)
    if json:
        output.print_json(found.document())
    elif not quiet:
        _show(found, folder)


def _show(found: Validation, folder: Path | None) -> None:
    from fairport.cli import output
    from fairport.scenario.phase import phase_parameters

    output.print_rows(found.rows)
    for one in found.invalid:
        output.print_text(f"not counted: seed {one['seed']}: {'; '.join(one['faults'])}\n")
    for part, text in phase_parameters(found.simulated).items():
        output.print_text(f"  {part:<7} {text}\n")
    output.print_text(f"{found.conclusion}\n")
    if folder is not None:
        output.print_text(f"{folder}\n")
