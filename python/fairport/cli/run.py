"""`fairport run`: runs a scenario, prints its result, writes a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairport.cli.options import (
    MOST_SEEDS,
    Assignments,
    BackendName,
    Csv,
    Force,
    Jobs,
    Json,
    NoFigures,
    NoOutput,
    Quiet,
    ScenarioName,
    SimulatedTime,
    results_folder,
)

if TYPE_CHECKING:
    from fairport.backends.protocol import Observation

INVALID = 3


def run(
    scenario: ScenarioName,
    backend: BackendName = "simulation",
    duration: SimulatedTime = "",
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Seed of all random numbers.  [default: the scenario's]",
            show_default=False,
        ),
    ] = None,
    repeat: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            max=MOST_SEEDS,
            help="Number of runs, with consecutive seeds from --seed on.",
        ),
    ] = 1,
    assignments: Assignments = None,
    out: Annotated[
        Path | None,
        results_folder("results/NAME"),
    ] = None,
    force: Force = False,
    json: Json = False,
    csv: Csv = False,
    no_output: NoOutput = False,
    no_figures: NoFigures = False,
    quiet: Quiet = False,
    overload: Annotated[
        bool, typer.Option("--overload", help="Allow Poisson arrivals at a load above 1.")
    ] = False,
    jobs: Jobs = None,
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Most cores that one simulation may use. The result does not depend on it.  "
            "[default: all that other runs leave free]",
            show_default=False,
        ),
    ] = None,
    pcap: Annotated[
        str,
        typer.Option(
            "--pcap",
            metavar="PORT,..",
            help="Write captures (pcapng) of packets that arrive for these output ports, and of "
            "those that leave by them. `bottleneck` is the one that most flows pass.",
        ),
    ] = "",
    capture_all: Annotated[
        bool, typer.Option("--capture-all", help="Write captures of every port.")
    ] = False,
    snaplen: Annotated[
        int,
        typer.Option(
            "--snaplen",
            metavar="BYTES",
            min=0,
            max=65_535,
            help="Bytes of each frame in the captures.  [default: its headers]",
            show_default=False,
        ),
    ] = 0,
    packets: Annotated[
        str,
        typer.Option(
            "--packets",
            metavar="PORT,..",
            help="Keep one row per packet at these ports, in the table `packets`.",
        ),
    ] = "",
) -> None:
    """Run a scenario: tables, figures, a verdict.

    `--backend linux` runs it over the kernel's TCP (as root). A run for which the machine was too
    slow does not count and is repeated, at most --repeat times in all.
    Exit status 3: no run was valid.
    """
    if not (no_output or no_figures):
        from fairport.figures import saving

        saving.get_ready()
    from fairport import experiment
    from fairport.backends.cores import cores
    from fairport.backends.protocol import EVERY_PORT
    from fairport.cli import output, run_table
    from fairport.cli.progress import progress_bar
    from fairport.errors import InputError
    from fairport.scenario import load, read_assignments

    overrides = read_assignments(assignments or [])
    if duration:
        overrides["duration"] = duration
    if seed is not None:
        overrides["seed"] = seed
    loaded = load(scenario).patch(overrides, by="command line")
    if overload:
        loaded = loaded.patch(
            {
                f"traffic.{index}.overload": True
                for index, traffic in enumerate(loaded.traffic)
                if traffic.kind == "poisson"
            }
        )
    seeds = range(loaded.seed, loaded.seed + repeat)
    captures = (EVERY_PORT,) if capture_all else _ports(pcap, "--pcap")
    observed = _ports(packets, "--packets")
    if captures and no_output:
        raise InputError(
            "needs a folder for the captures",
            field="--capture-all" if capture_all else "--pcap",
            remedy="leave --no-output out",
        )
    if csv and no_output:
        raise InputError(
            "needs a folder for the tables", field="--csv", remedy="leave --no-output out"
        )
    if observed and no_output:
        raise InputError(
            "needs a folder for the table", field="--packets", remedy="leave --no-output out"
        )
    if snaplen and not captures:
        raise InputError(
            "is about captures, and none is asked for",
            field="--snaplen",
            remedy="add --pcap PORT or --capture-all",
        )
    jobs = jobs or cores()
    with progress_bar(loaded, len(seeds), shown=not quiet, backend=backend, jobs=jobs) as bar:
        summary = experiment.run(
            loaded,
            seeds,
            backend=backend,
            folder=None if no_output else out or Path("results") / loaded.name,
            force=force,
            figures=not no_figures,
            csv=csv,
            jobs=jobs,
            threads=threads or max(1, jobs // len(seeds)),
            observation=_observation(captures, snaplen, observed),
            progress=bar,
        )
    if json:
        output.print_json(summary)
    elif not quiet:
        run_table.show(summary, loaded)
    if not summary["valid"]:
        raise typer.Exit(INVALID)


def _ports(names: str, option: str) -> tuple[str, ...]:
    """Splits a list of ports at its commas."""
    from fairport.errors import InputError

    ports = tuple(name.strip() for name in names.split(",") if name.strip())
    if names and not ports:
        raise InputError(
            "names no port", field=option, value=names, remedy=f"such as {option} bottleneck"
        )
    return ports


def _observation(
    captures: tuple[str, ...], snaplen: int, packets: tuple[str, ...]
) -> Observation | None:
    from fairport.backends.protocol import Observation

    if not captures and not packets:
        return None
    return Observation(captures=captures, snap_bytes=snaplen, packets=packets)
