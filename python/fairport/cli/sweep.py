"""`fairport sweep`: a scenario over axes with several seeds per point."""

from __future__ import annotations

from typing import Annotated

import typer

from fairport.cli.group import resumable
from fairport.cli.options import MOST_SEEDS, BackendName, Jobs, Json, Quiet, RestartStudy
from fairport.cli.statuses import RUNS_FAILED


def sweep(
    file: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE",
            help="A sweep file in TOML, or a built-in study: outcast-map, fixes-map,"
            " fabric-memory.",
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Run the quick version that the file describes.")
    ] = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Print the number of runs, and stop.")
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=MOST_SEEDS,
            help="Seeds per point, from 1 on.  [default: the file's]",
            show_default=False,
        ),
    ] = None,
    until_precise: Annotated[
        str,
        typer.Option(
            metavar="SHARE",
            help="Add seeds to each point until half the 95 % interval of the first kept number's"
            " median is at most this share of the median, such as 10%.",
        ),
    ] = "",
    most_seeds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            max=MOST_SEEDS,
            help="The most seeds per point with --until-precise.  [default: 200]",
            show_default=False,
        ),
    ] = None,
    backend: BackendName = "simulation",
    out: Annotated[
        str,
        typer.Option(
            metavar="DIR|URL",
            help="Folder of the study, or a URL such as s3://bucket/study."
            "  [default: results/NAME]",
            show_default=False,
        ),
    ] = "",
    force: RestartStudy = False,
    json: Json = False,
    quiet: Quiet = False,
    jobs: Jobs = None,
    cluster: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Run on a cluster: dask://HOST:PORT, or slurm://PARTITION?jobs=20&cores=16.",
        ),
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Allow more than a million points.")] = False,
) -> None:
    """Run a study: a scenario at many settings, several seeds each.

    Finished runs are kept. The same command continues where it stopped, repeats runs that failed,
    and adds runs that are new in the file. Exit status 1: a run failed; its error is in the column
    `error`. Query the study with `fairport query` and draw it with `fairport plot`.
    """
    from fairport.cli import output, sweep_lines
    from fairport.cli.console import err
    from fairport.cli.progress import sweep_bar
    from fairport.study import making
    from fairport.study import sweep as study
    from fairport.study.sweep_file import load

    loaded = load(file, quick=quick)
    if seeds is not None:
        loaded = loaded.model_copy(update={"seeds": seeds})
    study.check_size(loaded, allowed=yes)
    precise = sweep_lines.precision(until_precise, loaded, most_seeds)
    base = loaded.base()
    if cluster:
        study.check_for_cluster(backend, jobs)
    place = out or f"results/{loaded.name}"
    if estimate:
        plan = study.checked(loaded, base, backend)
        output.print_text(sweep_lines.size_of(loaded, len(plan.points)) + "\n")
        return
    executor = sweep_lines.executor(cluster)
    with resumable(), sweep_bar(loaded.name, shown=not quiet) as bar:

        def say(found: making.Estimate) -> None:
            if not quiet:
                err().print(sweep_lines.estimate(found), soft_wrap=True)

        done, status = study.run(
            loaded,
            base,
            place_of_study=place,
            force=force,
            backend=backend,
            jobs=jobs,
            executor=executor,
            until_precise=precise,
            listeners=making.Listeners(estimate=say, status=bar),
        )
    if json:
        output.print_json(sweep_lines.document(done, status))
    elif not quiet:
        output.print_text(sweep_lines.done(done, status))
    if status.failed:
        raise typer.Exit(RUNS_FAILED)
