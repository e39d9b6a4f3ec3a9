"""All commands."""

from __future__ import annotations

from typing import Annotated

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
from fairport.cli.group import Commands

app = typer.Typer(
    name="fairport",
    cls=Commands,
    help="A laboratory for TCP fairness in data-centre networks.",
    no_args_is_help=True,
    add_completion=True,
    # plain help: rich's takes 80 ms longer to import
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from fairport import __version__

        print(f"fairport {__version__}")
        raise typer.Exit()


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


app.command("run")(run.run)
app.command("analyze")(analyze.analyze)
app.command("compare")(compare.compare)
app.command("validate")(validate.validate)
app.command("reproduce")(reproduce.reproduce)
app.command("sweep")(sweep.sweep)
app.command("query")(query.query)
app.command("plot")(plot.plot)
app.command("tune")(search.tune)
app.command("hunt")(search.hunt)
app.command("list")(listing.list_scenarios)
app.command("fixes")(fixes.fixes)
app.add_typer(scenario.app, name="scenario")
app.add_typer(stack.app, name="stack")
app.add_typer(topology.app, name="topology")
app.command("paths")(paths.paths)
app.command("report")(report.report)
app.command("rerun")(rerun.rerun)
app.command("microscope")(microscope.microscope)
app.command("script")(script.script)
app.command("store")(store.store)
app.command("doctor")(doctor.doctor)
app.add_typer(linux.app, name="linux")
