"""Fuzz targets for the readers in Python: any bytes are read, or refused with a message.

    python -m validation.fuzz.readers scenario FOLDER -max_total_time=600

The fuzzer is Atheris (`pip install atheris`), libFuzzer for Python; its options come after the
target. FOLDER is the corpus; sound files are put into it first. `python -m validation fuzz` runs
all targets, these and those of `fuzz/` for the readers in Rust.
"""

from __future__ import annotations

import importlib
import io
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory


@dataclass(frozen=True)
class Reader:
    """A reader, with an example of sound input."""

    reads: str
    read: Callable[[bytes, Path], None]
    """Reads the bytes; may write them into the folder. An exception is a fault."""
    sound: Callable[[], Iterator[bytes]]


def _scenario(content: bytes, folder: Path) -> None:
    from fairport.errors import InputError
    from fairport.scenario import load, parse

    path = folder / "any.toml"
    path.write_bytes(content)
    try:
        scenario = load(path)
    except InputError as error:
        _is_said(error)
        return
    assert parse(scenario.to_toml(), "again.toml") == scenario, "what is written is read again"


def _import(content: bytes, folder: Path) -> None:
    from fairport.errors import InputError
    from fairport.scenario.topology.reading import read_graph

    path = folder / ("net.json" if content.lstrip()[:1] in (b"{", b"[") else "net.graphml")
    path.write_bytes(content)
    try:
        read_graph(path)
    except InputError as error:
        _is_said(error)


def _distribution(content: bytes, folder: Path) -> None:
    from fairport.errors import InputError
    from fairport.workloads.cdf import read_cdf

    path = folder / "sizes.cdf"
    path.write_bytes(content)
    try:
        sizes = read_cdf(str(path))
    except InputError as error:
        _is_said(error)
        return
    least, most = sizes.points[0][0], sizes.points[-1][0]
    # a size of 0 is drawn as 1
    mean = sizes.mean_bytes / sizes.unit_bytes
    assert least <= mean <= max(most, 1), "a mean is between the extremes"


def _trace(content: bytes, folder: Path) -> None:
    from fairport.errors import InputError
    from fairport.scenario.named_files import FileWithDigest
    from fairport.scenario.traffic.trace import Trace

    path = folder / ("flows.parquet" if content.startswith(b"PAR1") else "flows.csv")
    path.write_bytes(content)
    trace = Trace(kind="trace", file=FileWithDigest(path=str(path)))
    try:
        assert len(trace.selectors) == 2
    except InputError as error:
        _is_said(error)


def _host_map(content: bytes, folder: Path) -> None:
    from fairport.backends.captures.groups import read_map
    from fairport.errors import InputError

    path = folder / "map.csv"
    path.write_bytes(content)
    try:
        read_map(path)
    except InputError as error:
        _is_said(error)


def _record(content: bytes, _: Path) -> None:
    """The bytes as a record, and as one of the members of a sound archive."""
    from fairport.record import DamagedRecordError, Record

    for archive in (content, _with_member(content)):
        try:
            Record.from_bytes(archive)
        except DamagedRecordError:
            continue


def _with_member(content: bytes) -> bytes:
    """A record whose archive is sound, and one member of which is these bytes."""
    member = content[0] if content else 0
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(_kept())) as old, zipfile.ZipFile(changed, "w") as new:
        names = old.namelist()
        for number, name in enumerate(names):
            damaged = number == member % len(names)
            new.writestr(name, content[1:] if damaged else old.read(name))
    return changed.getvalue()


def _is_said(error: Exception) -> None:
    said = str(error)
    assert said, "an error is a sentence"
    assert "\n" not in said, said


@cache
def _kept() -> bytes:
    """The record of a short run."""
    import fairport as fp
    from fairport.record import Record

    return Record.of(fp.run(fp.scenario("outcast").patch({"duration": "1ms"}), 1)).to_bytes()


def _sound_scenarios() -> Iterator[bytes]:
    from fairport.scenario import builtin_names, source_text

    return (source_text(name).encode() for name in builtin_names())


def _sound_imports() -> Iterator[bytes]:
    from fairport.layout import network
    from fairport.layout.export import exported

    for name in ("two-switch", "outcast"):
        for form in ("graphml", "json"):
            yield exported(network(name), form).encode()


def _sound_distributions() -> Iterator[bytes]:
    from fairport import workloads

    assert workloads.__file__ is not None
    return (path.read_bytes() for path in Path(workloads.__file__).parent.glob("*.cdf"))


def _sound_traces() -> Iterator[bytes]:
    import polars as pl

    rows = b"start_s,src,dst,size_bytes\n0.0,h1,h0,10000\n0.0001,h2,h0,5000\n"
    yield rows
    table = io.BytesIO()
    pl.read_csv(rows).write_parquet(table)
    yield table.getvalue()


def _sound_host_maps() -> Iterator[bytes]:
    yield b"address,name,hops\n10.0.0.1,h1,2\n10.0.0.0/24,others,4\n2001:db8::/64,far,6\n"


def _sound_records() -> Iterator[bytes]:
    yield _kept()
    with zipfile.ZipFile(io.BytesIO(_kept())) as archive:
        for number, name in enumerate(archive.namelist()):
            yield bytes([number]) + archive.read(name)


READERS = {
    "scenario": Reader("scenarios: TOML", _scenario, _sound_scenarios),
    "import": Reader("networks: GraphML, node-link JSON", _import, _sound_imports),
    "distribution": Reader("distributions of sizes", _distribution, _sound_distributions),
    "trace": Reader("traces of flows: CSV, Parquet", _trace, _sound_traces),
    "host-map": Reader("names and hops of captured hosts: CSV", _host_map, _sound_host_maps),
    "record": Reader("records of studies", _record, _sound_records),
}


def main(arguments: Sequence[str]) -> int:
    """Runs the fuzzer on one target, until its options end it or it finds a fault."""
    name, corpus, *options = arguments
    try:
        atheris = importlib.import_module("atheris")
    except ImportError:
        print("skipped: readers in Python (pip install atheris)", file=sys.stderr)
        return 3
    with atheris.instrument_imports(include=["fairport", "networkx"]):
        reader = READERS[name]
        sound = list(reader.sound())
    folder = Path(corpus)
    folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(sound):
        (folder / f"sound-{number}").write_bytes(content)
    with TemporaryDirectory(prefix="fairport-fuzz-") as scratch:
        atheris.Setup(
            [f"validation.fuzz.readers {name}", corpus, *options],
            lambda content: reader.read(content, Path(scratch)),
        )
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
