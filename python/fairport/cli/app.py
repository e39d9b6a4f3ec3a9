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
from fairport.cli.examples import epilog
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


app.command("run", epilog=epilog("run"))(run.run)
app.command("analyze", epilog=epilog("analyze"))(analyze.analyze)
app.command("compare", epilog=epilog("compare"))(compare.compare)
app.command("validate", epilog=epilog("validate"))(validate.validate)
app.command("reproduce", epilog=epilog("reproduce"))(reproduce.reproduce)
app.command("sweep", epilog=epilog("sweep"))(sweep.sweep)
app.command("query", epilog=epilog("query"))(query.query)
app.command("plot", epilog=epilog("plot"))(plot.plot)
app.command("tune", epilog=epilog("tune"))(search.tune)
app.command("hunt", epilog=epilog("hunt"))(search.hunt)
app.command("list", epilog=epilog("list"))(listing.list_scenarios)
app.command("fixes", epilog=epilog("fixes"))(fixes.fixes)
app.add_typer(scenario.app, name="scenario")
app.add_typer(stack.app, name="stack")
app.add_typer(topology.app, name="topology")
app.command("paths", epilog=epilog("paths"))(paths.paths)
app.command("report", epilog=epilog("report"))(report.report)
app.command("rerun", epilog=epilog("rerun"))(rerun.rerun)
app.command("microscope", epilog=epilog("microscope"))(microscope.microscope)
app.command("script", epilog=epilog("script"))(script.script)
app.command("store", epilog=epilog("store"))(store.store)
app.command("doctor", epilog=epilog("doctor"))(doctor.doctor)
app.add_typer(linux.app, name="linux")
