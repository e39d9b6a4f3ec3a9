"""Options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from fairport.scenario import Scenario

MOST_SEEDS = 100_000
"""The most runs of one scenario that a command makes."""

Force = Annotated[
    bool, typer.Option("--force", help="Replace an earlier result when the new one is complete.")
]
Width = Annotated[
    str,
    typer.Option(
        "--width",
        metavar="LENGTH",
        help="Width in print, such as 3.4in or 86mm; no letter is then smaller than 7 pt.",
    ),
]
RestartStudy = Annotated[
    bool, typer.Option("--force", help="Remove the runs of the study that is there, and begin.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Csv = Annotated[bool, typer.Option("--csv", help="Write the tables as CSV too.")]
NoOutput = Annotated[bool, typer.Option("--no-output", help="Write nothing.")]
NoFigures = Annotated[bool, typer.Option("--no-figures", help="Write neither figures nor report.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print errors only (and what --json asks for).")
]
Jobs = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Number of runs at a time.  [default: one per processor]",
        show_default=False,
    ),
]
FirstSeed = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=0,
        help="The seed, or the first of several.  [default: the scenario's]",
        show_default=False,
    ),
]
BackendName = Annotated[
    str,
    typer.Option("--backend", metavar="NAME", help="What runs the scenario: simulation or linux."),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="PATH=VALUE", help="Override a field: queue.limit=32KiB. May be repeated."
    ),
]


def builtin_scenarios(incomplete: str) -> list[str]:
    """For the shell's completion: built-in scenarios, otherwise the files that the shell finds."""
    from fairport.scenario.load import builtin_names

    return [name for name in builtin_names() if name.startswith(incomplete)]


ScenarioName = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE",
        help="A built-in scenario, or a TOML file.",
        autocompletion=builtin_scenarios,
    ),
]
SimulatedTime = Annotated[
    str,
    typer.Option(metavar="TIME", help="Simulated time, such as 10s.  [default: the scenario's]"),
]


def repeats(what: str) -> Any:
    """The option `--repeat` of a command that makes several runs."""
    return typer.Option(
        metavar="N", min=1, max=MOST_SEEDS, help=f"{what}, with consecutive seeds from --seed on."
    )


def results_folder(default: str) -> Any:
    """The option `--out` of a command that writes to `default` without it."""
    return typer.Option(
        metavar="DIR", help=f"Results folder.  [default: {default}]", show_default=False
    )


def loaded(
    name: str, assignments: list[str] | None, duration: str = "", seed: int | None = None
) -> Scenario:
    """The scenario with what `--set`, `--duration` and `--seed` change. Raises ScenarioError."""
    from fairport.scenario import load, read_assignments

    overrides = read_assignments(assignments or [])
    if duration:
        overrides["duration"] = duration
    if seed is not None:
        overrides["seed"] = seed
    return load(name, overrides, by="command line")


def chosen_folder(
    out: Path | None,
    default: str,
    *,
    no_output: bool,
    force: bool,
    files: Mapping[str, tuple[str, object]] | None = None,
    check: Callable[[], object] | None = None,
) -> Path | None:
    """The folder of the results: `--out`, or `results/DEFAULT`; None with `--no-output`.

    `check` raises for bad input. It is called before a folder is refused, because that fault is in
    what the user has just typed.

    Raises OutputError for a folder that may not be replaced, and InputError if `--no-output` is
    given together with `--out` or with one of `files`, as `refuse_without_folder` takes them.
    """
    from pathlib import Path

    from fairport.errors import OutputError
    from fairport.files import refuse_what_is_there

    if not no_output:
        folder = out or Path("results") / default
        try:
            refuse_what_is_there(folder, force=force)
        except OutputError:
            if check is not None:
                check()
            raise
        return folder
    refuse_both({"--out": out is not None, "--no-output": True})
    refuse_without_folder(files or {})
    return None


def refuse_both(given: Mapping[str, bool]) -> None:
    """Raises InputError if two options are given of which one would replace the other."""
    from fairport.errors import InputError

    both = [option for option, is_given in given.items() if is_given]
    if len(both) > 1:
        raise InputError(
            f"cannot go with {both[1]}", field=both[0], remedy="leave one of the two out"
        )


def refuse_here(options: Mapping[str, str], why: str) -> None:
    """Raises InputError if one of these options is given, because it would do nothing."""
    from fairport.errors import InputError

    for option, value in options.items():
        if value:
            raise InputError(why, field=option, value=value, remedy="leave it out")


def refuse_without_folder(
    files: Mapping[str, tuple[str, object]], remedy: str = "leave --no-output out"
) -> None:
    """Raises InputError if an option is given that writes files, because there is no folder.

    `files` has, for each such option, what it writes and whether it is given.
    """
    from fairport.errors import InputError

    for option, (what, is_given) in files.items():
        if is_given:
            raise InputError(f"needs a folder for the {what}", field=option, remedy=remedy)
