"""`fairport rerun`: runs a run again from its manifest and compares the fingerprints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairport.cli.options import Force, Json, results_folder
from fairport.cli.statuses import CHECK_FAILED


def rerun(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `fairport run` wrote.")],
    out: Annotated[Path | None, results_folder("nothing is written")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Repeat a run, and check that its packets are the same.

    Exit status 1: they differ.
    """
    from fairport import run_and_save
    from fairport.cli import output
    from fairport.cli.progress import progress_bar
    from fairport.storage import load_run

    before = load_run(run)
    with progress_bar(before.scenario, 1, shown=True) as bar:
        comparison = run_and_save.rerun(before, folder=out, force=force, progress=bar)
    if json:
        output.print_json(comparison)
    else:
        word = "the same" if comparison["same"] else "DIFFERENT"
        output.print_text(
            f"{comparison['run_id']}: {word}: fingerprint {comparison['fingerprint']}"
            f" (version {comparison['version']}), before {comparison['fingerprint_before']}"
            f" (version {comparison['version_before']})\n"
        )
    if not comparison["same"]:
        raise typer.Exit(CHECK_FAILED)
