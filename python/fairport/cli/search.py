"""`fairport tune` and `fairport hunt`: the best settings, the worst scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fairport.cli.group import resumable
from fairport.cli.options import Jobs, Json, Quiet, RestartStudy, results_folder

if TYPE_CHECKING:
    from fairport.study.searched import Goal, Searched

File = Annotated[
    str, typer.Argument(metavar="NAME|FILE", help="A search file in TOML, or a built-in search.")
]
Trials = Annotated[int, typer.Option(metavar="N", min=1, help="Total number of points to try.")]
Out = Annotated[str, results_folder("results/NAME")]


def tune(
    file: File,
    trials: Trials = 50,
    out: Out = "",
    force: RestartStudy = False,
    json: Json = False,
    quiet: Quiet = False,
    jobs: Jobs = None,
) -> None:
    """Find the best settings of a fix, a stack or a queue.

    Built in: tune-red, tune-dctcp, tune-tcprand. The same command continues where it stopped, and
    one with more --trials continues a finished search. The points are a study (`fairport query`,
    `fairport plot`).
    """
    _search("tune", file, trials, out, jobs, force=force, json=json, quiet=quiet)


def hunt(
    file: File,
    trials: Trials = 50,
    out: Out = "",
    force: RestartStudy = False,
    json: Json = False,
    quiet: Quiet = False,
    jobs: Jobs = None,
) -> None:
    """Find the scenario within bounds that treats a flow worst.

    Built in: hunt-outcast. Works like `fairport tune`, and looks for the smallest objective.
    """
    _search("hunt", file, trials, out, jobs, force=force, json=json, quiet=quiet)


def _search(
    goal: Goal,
    source: str,
    trials: int,
    out: str,
    jobs: int | None,
    *,
    force: bool,
    json: bool,
    quiet: bool,
) -> None:
    from fairport.cli import output
    from fairport.cli.progress import sweep_bar
    from fairport.study.making import Listeners
    from fairport.study.search import search
    from fairport.study.search_file import SearchFile
    from fairport.study.study_file import load

    file = load(SearchFile, source)
    with resumable(), sweep_bar(file.name, shown=not quiet) as bar:
        done = search(
            file,
            goal,
            trials=trials,
            folder=out or f"results/{file.name}",
            force=force,
            jobs=jobs,
            listeners=Listeners(status=bar),
        )
    if json:
        output.print_json(done.document())
    elif not quiet:
        _show(done)


def _show(done: Searched) -> None:
    """Prints the best points in a table, and how to run the first."""
    from fairport.cli import output
    from fairport.quantities import counted
    from fairport.scenario.patch import assignment
    from fairport.study.caveats_of_runs import caveats_of_runs

    if not done.found:
        output.print_text(f"{done.study.place.name}: no point of {done.trials} has a result\n")
        return
    output.print_rows(done.rows)
    best = " ".join(f"--set {assignment(*one)}" for one in done.found[0].values.items())
    word = "Best" if done.goal == "tune" else "Worst"
    seeds = counted(len(done.study.definition.seeds), "seed")
    caveats = "".join(f"{one.sentence}\n" for one in caveats_of_runs(done.study))
    output.print_text(
        f"{word} of {done.trials} points, {seeds} each:\n  {best}\n"
        f"{done.conclusion}\n{caveats}"
        f"The points are the study {done.study.place.name}.\n"
    )
