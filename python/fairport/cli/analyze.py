"""`fairport analyze`: packet captures in, the tables and the verdict of a run out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairport.cli.options import Csv, Force, Json, NoFigures, Quiet, refuse_without_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairport.backends.captures import Source


def analyze(
    captures: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CAPTURE",
            help="pcap or pcapng files, plain, gzip or zstd; - is standard input.",
            show_default=False,
        ),
    ] = None,
    ingress: Annotated[
        list[str] | None,
        typer.Option(
            "--ingress",
            metavar="[PORT=]FILE",
            help="A capture of packets that come in. May be repeated.",
        ),
    ] = None,
    egress: Annotated[
        list[str] | None,
        typer.Option(
            "--egress",
            metavar="[PORT=]FILE",
            help="A capture of packets that leave by an output. May be repeated.",
        ),
    ] = None,
    tunnels: Annotated[
        bool, typer.Option("--tunnels", help="Decode GRE, ERSPAN, VXLAN, Geneve, IP in IP.")
    ] = False,
    hosts: Annotated[
        Path | None,
        typer.Option(
            "--map",
            metavar="FILE",
            help="Hosts' names and hops: CSV with address,name,hops.",
            show_default=False,
        ),
    ] = None,
    start: Annotated[
        float | None,
        typer.Option(
            "--from",
            metavar="SECONDS",
            min=0,
            help="Start of the measurement, from the start of the captures.  "
            "[default: when the long"
            " flows are established]",
            show_default=False,
        ),
    ] = None,
    end: Annotated[
        float | None,
        typer.Option(
            "--to",
            metavar="SECONDS",
            min=0,
            help="End of the measurement, counted in the same way.",
            show_default=False,
        ),
    ] = None,
    window: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0.001, help="Longest time in the switch's queue."),
    ] = 2.0,
    to_scenario: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a scenario made from the captures.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write tables, figures and report there.", show_default=False
        ),
    ] = None,
    force: Force = False,
    packets: Annotated[
        bool, typer.Option("--packets", help="Keep one row per packet at the output.")
    ] = False,
    no_figures: NoFigures = False,
    csv: Csv = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find who is starved, and why, from a switch's captures.

    With captures of both sides of one switch, every drop is found, and drop runs are counted by
    ingress port. With several outputs, the verdict is on the worst one. With one capture, losses
    and timeouts are inferred.
    """
    from fairport.backends import captures as backend
    from fairport.cli import analyze_table, output
    from fairport.cli.progress import reading_bar
    from fairport.files import require_writable, write_text
    from fairport.storage import save
    from fairport.storage.parts import files_below

    if out is None:
        need_folder = {"--csv": ("tables", csv), "--packets": ("table", packets)}
        refuse_without_folder(need_folder, "add --out DIR")
    sources = _sources(captures or [], ingress or [], egress or [])
    if to_scenario is not None:
        require_writable(to_scenario, "--to-scenario", force=force)
    with reading_bar([one.file for one in sources], shown=not quiet) as progress:
        result = backend.analyse(
            sources,
            hosts=hosts,
            measure_s=_measure(start, end),
            window_s=window,
            tunnels=tunnels,
            packets=packets,
            name=to_scenario.stem if to_scenario is not None else "",
            progress=progress,
        )
    summary = result.summary
    if out is not None:
        save(result, out, force=force, figures=not no_figures, csv=csv)
        files = files_below(out)
        summary = summary | {"files": sorted(str(out / file) for file in files)}
    if to_scenario is not None:
        write_text(to_scenario, "--to-scenario", result.scenario.to_toml(), force=force)
    if not quiet:
        analyze_table.warn(summary)
    if json:
        output.print_json(summary)
    elif not quiet:
        analyze_table.show(summary, to_scenario)


def _sources(captures: list[str], ingress: list[str], egress: list[str]) -> list[Source]:
    from fairport.backends.captures import Source
    from fairport.errors import InputError

    found = [Source(file) for file in captures]
    found += [Source(file, "ingress", port) for port, file in _with_ports("--ingress", ingress)]
    found += [Source(file, "egress", port) for port, file in _with_ports("--egress", egress)]
    if not found:
        raise InputError(
            "is missing",
            field="CAPTURE",
            remedy="name capture files, such as: fairport analyze --ingress A=in.pcap --egress"
            " out.pcap",
        )
    return found


def _with_ports(option: str, texts: list[str]) -> Iterator[tuple[str | None, str]]:
    """Reads `PORT=FILE` or `FILE` each. The name of an existing file is always a file."""
    from fairport.errors import InputError

    for text in texts:
        port, separator, file = text.partition("=")
        is_file = not separator or Path(text).exists()
        if not text or not (is_file or file):
            raise InputError("names no file", field=option, value=text, remedy="give [PORT=]FILE")
        yield (None, text) if is_file else (port, file)


def _measure(start: float | None, end: float | None) -> tuple[float, float] | None:
    from fairport.errors import InputError

    if start is None and end is None:
        return None
    # the captures end before this
    span = (start or 0.0, 1e9 if end is None else end)
    if span[0] >= span[1]:
        raise InputError(
            "is not before --to", field="--from", value=start, remedy="give an earlier one"
        )
    return span
