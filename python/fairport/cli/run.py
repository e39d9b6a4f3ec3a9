"""`fairport run`: runs a scenario, prints its result, writes a folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairport.cli.options import (
    Assignments,
    BackendName,
    Csv,
    FirstSeed,
    Force,
    Jobs,
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
    from fairport.backends.protocol import Observation
    from fairport.scenario import Scenario


def run(
    scenario: ScenarioName,
    assignments: Assignments = None,
    duration: SimulatedTime = "",
    repeat: Annotated[int, repeats("Number of runs")] = 1,
    seed: FirstSeed = None,
    backend: BackendName = "simulation",
    out: Annotated[Path | None, results_folder("results/NAME")] = None,
    force: Force = False,
    no_output: NoOutput = False,
    no_figures: NoFigures = False,
    csv: Csv = False,
    json: Json = False,
    quiet: Quiet = False,
    pcap: Annotated[
        str | None,
        typer.Option(
            "--pcap",
            metavar="PORT,..",
            help="Write captures (pcapng) of packets that arrive for these output ports, and of "
            "those that leave by them. `bottleneck` is the one that most flows pass.",
        ),
    ] = None,
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
        str | None,
        typer.Option(
            "--packets",
            metavar="PORT,..",
            help="Keep one row per packet at these ports, in the table `packets`.",
        ),
    ] = None,
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
    overload: Annotated[
        bool, typer.Option("--overload", help="Allow Poisson arrivals at a load above 1.")
    ] = False,
) -> None:
    """Run a scenario, and say who is starved and why.

    It prints a table by hop class and a verdict, and writes tables, figures and a report.
    `fairport list` has the built-in scenarios.

    `--backend linux` runs it over the kernel's TCP (as root). A run for which the machine was too
    slow does not count and is repeated, at most --repeat times in all.
    Exit status 3: no run was valid.
    """
    if not (no_output or no_figures):
        from fairport.figures.drawing import saving

        saving.get_ready()
    from dataclasses import replace

    from fairport import run_and_save
    from fairport.backends.cores import cores
    from fairport.backends.run import run_many
    from fairport.cli import output, run_table
    from fairport.cli.progress import progress_bar

    chosen = loaded(scenario, assignments, duration, seed)
    if overload:
        chosen = _with_overload(chosen)
    seeds = range(chosen.seed, chosen.seed + repeat)
    observation = _observation(pcap, capture_all, snaplen, packets)
    captures, rows = (observation.captures, observation.packets) if observation else ((), ())
    files: dict[str, tuple[str, object]] = {
        "--capture-all" if capture_all else "--pcap": ("captures", captures),
        "--csv": ("tables", csv),
        "--packets": ("table", rows),
    }

    def check() -> None:
        # captures need a folder, and nothing is written into it before a run
        placed = observation and replace(observation, folder=lambda _: out or Path())
        run_many(chosen, seeds, backend=backend, observation=placed).close()

    folder = chosen_folder(
        out, chosen.name, no_output=no_output, force=force, files=files, check=check
    )
    jobs = jobs or cores()
    with progress_bar(chosen, len(seeds), shown=not quiet, backend=backend, jobs=jobs) as bar:
        summary = run_and_save.run(
            chosen,
            seeds,
            backend=backend,
            folder=folder,
            force=force,
            figures=not no_figures,
            csv=csv,
            jobs=jobs,
            threads=threads or max(1, jobs // len(seeds)),
            observation=observation,
            progress=bar,
        )
    if json:
        output.print_json(summary)
    elif not quiet:
        run_table.show(summary, chosen)
    if not summary["valid"]:
        if quiet and not json:
            faults = "; ".join(summary.get("faults") or [])
            print(f"error: no run was valid: {faults}", file=sys.stderr)
        raise typer.Exit(INVALID)


def _with_overload(scenario: Scenario) -> Scenario:
    """The scenario in which Poisson arrivals may exceed a link's rate."""
    return scenario.patch(
        {
            f"traffic.{index}.overload": True
            for index, traffic in enumerate(scenario.traffic)
            if traffic.kind == "poisson"
        }
    )


def _observation(
    pcap: str | None, capture_all: bool, snaplen: int, packets: str | None
) -> Observation | None:
    """The ports to be captured, and those with a table of packets; None if there are none."""
    from fairport.backends.protocol import EVERY_PORT, Observation
    from fairport.errors import InputError

    captures = (EVERY_PORT,) if capture_all else _ports(pcap, "--pcap")
    observed = _ports(packets, "--packets")
    if snaplen and not captures:
        raise InputError(
            "is about captures, and none is asked for",
            field="--snaplen",
            remedy="add --pcap PORT or --capture-all",
        )
    if not captures and not observed:
        return None
    return Observation(captures=captures, snap_bytes=snaplen, packets=observed)


def _ports(names: str | None, option: str) -> tuple[str, ...]:
    """Splits a list of ports at its commas; none if the option is not given."""
    from fairport.errors import InputError

    if names is None:
        return ()
    ports = tuple(name.strip() for name in names.split(",") if name.strip())
    if not ports:
        raise InputError(
            "names no port", field=option, value=names, remedy=f"such as {option} bottleneck"
        )
    return ports
