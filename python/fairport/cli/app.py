"""All commands."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
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

# Sections of the help, in their order; each command is a function, or a group of commands.
_SECTIONS: dict[str, dict[str, Callable[..., Any] | typer.Typer]] = {
    "Who is starved, and why": {
        "run": run.run,
        "microscope": microscope.microscope,
        "analyze": analyze.analyze,
    },
    "Which fix works": {
        "compare": compare.compare,
        "tune": search.tune,
    },
    "Many runs": {
        "sweep": sweep.sweep,
        "query": query.query,
        "plot": plot.plot,
        "hunt": search.hunt,
    },
    "Can it be trusted": {
        "reproduce": reproduce.reproduce,
        "validate": validate.validate,
        "script": script.script,
        "rerun": rerun.rerun,
    },
    "Look things up": {
        "list": listing.list_scenarios,
        "fixes": fixes.fixes,
        "paths": paths.paths,
        "scenario": scenario.app,
        "stack": stack.app,
        "topology": topology.app,
    },
    "Results and this machine": {
        "report": report.report,
        "store": store.store,
        "doctor": doctor.doctor,
        "linux": linux.app,
    },
}
_NAMES = {name for commands in _SECTIONS.values() for name in commands}


_ABOUT = """A laboratory for TCP fairness in data-centre networks.

It shows who is starved when many senders share one bottleneck, why it happens at the switch port,
and which fix works.
"""


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


def _program(names: Container[str]) -> typer.Typer:
    """The command `fairport` with only these subcommands."""
    made = typer.Typer(
        name="fairport",
        cls=Commands,
        help=_ABOUT,
        epilog=epilog("fairport"),
        no_args_is_help=True,
        add_completion=True,
        # plain help, because rich takes 80 ms to import
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_common)
    for section, commands in _SECTIONS.items():
        for name, command in commands.items():
            if name not in names:
                continue
            if isinstance(command, typer.Typer):
                made.add_typer(command, name=name, rich_help_panel=section)
            else:
                made.command(name, epilog=epilog(name), rich_help_panel=section)(command)
    return made


app = _program(_NAMES)


def program(arguments: Sequence[str]) -> typer.Typer:
    """The program for a command line: with only its command, if it begins with one.

    Reading the options of all commands takes 40 ms.
    """
    first = arguments[0] if arguments else ""
    return _program([first]) if first in _NAMES else app
