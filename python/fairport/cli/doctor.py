"""`fairport doctor`: what this machine can do for the Linux backend, and its hosts' times."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairport.cli.options import Force, Json, Quiet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairport.scenario.host_profile import HostProfile

_DEFAULT = Path("host-profile.toml")


def doctor(
    measure_hosts: Annotated[
        bool,
        typer.Option(
            "--measure-hosts",
            help="Measure how long hosts take on this machine, and write a host profile (as root;"
            " two minutes).",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"File for the host profile.  [default: {_DEFAULT}]",
            show_default=False,
        ),
    ] = None,
    description: Annotated[
        str, typer.Option(metavar="TEXT", help="Description of the machine in the host profile.")
    ] = "",
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check what this machine offers to the Linux backend.

    It lists what is missing, and its effect. With --measure-hosts, it measures how long
    hosts on this machine take for their answers and writes a host profile. `host.profile = "FILE"`
    uses that profile in a simulation.
    """
    from fairport.cli import output

    if measure_hosts:
        out = out or _DEFAULT
        profile = _measured(out, description, force=force, quiet=quiet)
        if json:
            output.print_json(profile.model_dump(exclude_none=True))
        elif not quiet:
            output.print_rows(_rows(profile))
            print(f"written: {out}", file=sys.stderr)
        return
    _refuse_without_profile({"--out": out, "--description": description, "--force": force})
    findings = []
    if sys.platform == "linux":
        from fairport.backends.linux.doctor import examine

        findings = examine()
    if json:
        output.print_json([finding.document() for finding in findings])
    elif findings:
        output.print_rows(
            [{"what": one.what, "here": one.here, "if it is missing": one.cost} for one in findings]
        )
    else:
        output.print_text("the Linux backend needs Linux; the simulation runs everywhere\n")


def _refuse_without_profile(given: Mapping[str, object]) -> None:
    """Raises InputError for an option that only `--measure-hosts` uses."""
    from fairport.errors import InputError

    for option, value in given.items():
        if value:
            raise InputError(
                "is about the host profile, and none is asked for",
                field=option,
                remedy="add --measure-hosts",
            )


def _measured(out: Path, description: str, *, force: bool, quiet: bool) -> HostProfile:
    from fairport.errors import BackendError
    from fairport.files import require_writable, write_text

    if sys.platform != "linux":
        raise BackendError(
            "needs Linux: it measures the hosts of the Linux backend",
            file="--measure-hosts",
            remedy="run it on a Linux machine, and take the file from there",
        )
    from fairport.backends.linux.measure_hosts import measure_hosts

    require_writable(out, "--out", force=force)
    if not quiet:
        print("measuring: about two minutes, longer beside other programs", file=sys.stderr)
    profile = measure_hosts(description)
    write_text(out, "--out", profile.to_toml(), force=force)
    return profile


def _rows(profile: HostProfile) -> list[dict[str, str]]:
    """A row per kind of answer and load: some of the quantiles."""
    shown = [index for index, level in enumerate(profile.levels) if level in (0.05, 0.5, 0.95)]
    rows = []
    for name, answer in (
        ("segment to ACK", profile.ack),
        ("segment to duplicate ACK", profile.duplicate_ack),
        ("ACK to data", profile.data),
    ):
        for load in answer.loads:
            times = {
                f"{100 * profile.levels[index]:g} %": f"{int(load.times[index]) / 1e6:.1f} us"
                for index in shown
            }
            gap = f"from {load.gap_min} on" if load.gap_min else "shorter"
            rows.append(
                {"from": name, "since the last packet": gap}
                | times
                | {"correlation": f"{answer.correlation:.2f}", "answers": str(load.samples)}
            )
    return rows
