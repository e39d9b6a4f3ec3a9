"""All commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

import typer

from fairport.cli import (
    analyze,
    compare,
    doctor,
    fixes,
    linux,
    listing,
    microscope,
    paths,
    plot,
    query,
    report,
    reproduce,
    rerun,
    run,
    scenario,
    script,
    search,
    stack,
    store,
    sweep,
    topology,
    validate,
)
from fairport.cli.examples import epilog
from fairport.cli.group import Commands

# In the order of the help; each is a function, or a group of commands.
_COMMANDS: dict[str, Callable[..., Any] | typer.Typer] = {
    "run": run.run,
    "analyze": analyze.analyze,
    "compare": compare.compare,
    "validate": validate.validate,
    "reproduce": reproduce.reproduce,
    "sweep": sweep.sweep,
    "query": query.query,
    "plot": plot.plot,
    "tune": search.tune,
    "hunt": search.hunt,
    "list": listing.list_scenarios,
    "fixes": fixes.fixes,
    "scenario": scenario.app,
    "stack": stack.app,
    "topology": topology.app,
    "paths": paths.paths,
    "report": report.report,
    "rerun": rerun.rerun,
    "microscope": microscope.microscope,
    "script": script.script,
    "store": store.store,
    "doctor": doctor.doctor,
    "linux": linux.app,
}


def _version(wanted: bool) -> None:
    if wanted:
        from fairport import __version__

        print(f"fairport {__version__}")
        raise typer.Exit()


def _common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


def _program(names: Iterable[str]) -> typer.Typer:
    """The command `fairport` with only these subcommands."""
    made = typer.Typer(
        name="fairport",
        cls=Commands,
        help="A laboratory for TCP fairness in data-centre networks.",
        no_args_is_help=True,
        add_completion=True,
        # plain help, because rich takes 80 ms to import
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_common)
    for name in names:
        command = _COMMANDS[name]
        if isinstance(command, typer.Typer):
            made.add_typer(command, name=name)
        else:
            made.command(name, epilog=epilog(name))(command)
    return made


app = _program(_COMMANDS)


def program(arguments: Sequence[str]) -> typer.Typer:
    """The program for a command line: with only its command, if it begins with one.

    Reading the options of all commands takes 40 ms.
    """
    first = arguments[0] if arguments else ""
    return _program([first]) if first in _COMMANDS else app
