"""Processor time and memory for reading and analysing captures, compared with tshark.

The captures are made here: so many flows, each with a full-size segment and its ACK in turn, one
microsecond apart. The long one goes through a pipe and is never on a disk. Processor time counts,
of either program: it takes one core, and other work on the machine does not matter much.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from validation import DOCS
from validation.markdown import between_markers, table

FLOWS = 10_000
PAIRS = 500_000
LONG_BYTES = 20e9
HEADERS = 66
FULL = 1514
PAYLOAD = FULL - HEADERS
FILE_HEADER = b"\x4d\x3c\xb2\xa1\x02\x00\x04\x00" + bytes(8) + b"\xff\xff\x00\x00\x01\x00\x00\x00"

_CHUNK = 20_000
_RUN = """
import json, resource, sys, time
from fairport import _core
from fairport.backends.captures.pipes import widen_stdin
widen_stdin()
begin = time.process_time()
raw = _core.analyse_captures(
    [(sys.argv[1], None, "auto")], tunnels=False, window_s=2.0, measure_s=None, packets=False
)
cpu_s = time.process_time() - begin
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "cpu_s": cpu_s, "memory": used.ru_maxrss * 1024,
    "packets": raw["packets"], "bytes": raw["files"][0]["bytes"],
    "flows": len(raw["tables"]["flows"]["flow"]),
}))
"""


def frame(is_ack: bool) -> bytes:
    """The headers of a segment or its ACK, without addresses and numbers that change."""
    length = (52 if is_ack else FULL - 14).to_bytes(2, "big")
    ip = b"\x45\x00" + length + bytes(2) + b"\x40\x00\x40\x06" + bytes(2)
    ends = bytes([10, 0, 0, 1, 10, 1, 0, 1])
    ports = b"\x00\x00\x13\x89"
    if is_ack:
        ends, ports = ends[4:] + ends[:4], ports[2:] + ports[:2]
    tcp = bytes(8) + b"\x80\x10\x7f\xff" + bytes(4) + b"\x01\x01\x08\x0a" + bytes(8)
    return bytes(12) + b"\x08\x00" + ip + ends + ports + tcp


def chunks(pairs: int, snap: int) -> Iterator[bytes]:
    """A capture in pieces: nanosecond pcap, `snap` bytes of each frame at most."""
    yield FILE_HEADER
    data, ack = frame(is_ack=False), frame(is_ack=True)
    kept = min(snap, FULL)
    data += bytes(kept - len(data))
    lengths = [np.array(two, np.uint32).tobytes() for two in ((kept, FULL), (HEADERS, HEADERS))]
    pair = bytes(8) + lengths[0] + data + bytes(8) + lengths[1] + ack
    rows = np.tile(np.frombuffer(pair, np.uint8), (_CHUNK, 1))
    second = 16 + kept
    for first in range(0, pairs, _CHUNK):
        number = np.arange(first, first + _CHUNK, dtype=np.uint64)
        flow, turn = number % FLOWS, number // FLOWS
        for at, later in ((0, 0), (second, 1)):
            ns = (number * 2 + later) * 1000
            put(rows, at, (ns // 10**9).astype("<u4"))
            put(rows, at + 4, (ns % 10**9).astype("<u4"))
        port = (10_000 + flow).astype(">u2")
        put(rows, 16 + 34, port)
        put(rows, second + 16 + 36, port)
        put(rows, 16 + 18, (turn % 65_536).astype(">u2"))
        seq = (turn * PAYLOAD).astype(">u4")
        put(rows, 16 + 38, seq)
        put(rows, second + 16 + 42, ((turn + 1) * PAYLOAD).astype(">u4"))
        stamp = (number // 500).astype(">u4")
        put(rows, 16 + 58, stamp)
        put(rows, second + 16 + 58, stamp)
        put(rows, second + 16 + 62, stamp)
        yield rows[: pairs - first].tobytes()


def put(rows: np.ndarray, at: int, values: np.ndarray) -> None:
    """Writes numbers of several bytes into a column of the rows."""
    width = values.dtype.itemsize
    rows[:, at : at + width] = values.view(np.uint8).reshape(-1, width)


def analysed(file: str, source: Iterator[bytes] | None = None) -> dict[str, float]:
    """What an analysis in a process of its own takes, of a file or of what comes in."""
    process = subprocess.Popen(
        [sys.executable, "-c", _RUN, file],
        stdin=subprocess.PIPE if source is not None else None,
        stdout=subprocess.PIPE,
    )
    if source is not None and process.stdin is not None:
        for chunk in source:
            process.stdin.write(chunk)
    out, _ = process.communicate()
    found: dict[str, float] = json.loads(out)
    return found


def command_s(*command: str) -> float | None:
    """How much processor time a command takes; None where it is not installed."""
    if shutil.which(command[0]) is None:
        return None
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def row(
    name: str,
    found: dict[str, float],
    seconds: float,
    ours_s: float | None = None,
    theirs_s: float | None = None,
) -> list[str]:
    """A row of the table: of the analysis, of the whole command, of tshark."""
    return [
        name,
        f"{found['packets'] / seconds / 1e6:.2f}",
        f"{found['bytes'] / seconds / 1e9:.2f}",
        f"{found['memory'] / 1e6:.0f} MB",
        "" if theirs_s is None else f"{theirs_s:.1f} s",
        "" if theirs_s is None else f"{theirs_s / seconds:.0f}",
        "" if ours_s is None else f"{ours_s:.1f} s",
    ]


def main(arguments: Sequence[str]) -> None:
    """Measures, prints the table, and writes it into the page."""
    parser = argparse.ArgumentParser(prog="python -m benches captures", description=__doc__)
    parser.add_argument("--pairs", type=int, default=PAIRS, help="segments with their ACKs")
    parser.add_argument("--long-bytes", type=float, default=LONG_BYTES)
    parser.add_argument("--times", type=int, default=3, help="analyses of each; the fastest counts")
    parser.add_argument("--print-only", action="store_true")
    options = parser.parse_args(arguments)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, snap in (("full-size frames", FULL), ("headers only", HEADERS)):
            file = Path(folder) / "made.pcap"
            with file.open("wb") as out:
                out.writelines(chunks(options.pairs, snap))
            every = (analysed(str(file)) for _ in range(options.times))
            best = min(every, key=lambda one: one["cpu_s"])
            theirs_s = command_s("tshark", "-q", "-z", "conv,tcp", "-r", str(file))
            ours_s = command_s(sys.executable, "-m", "fairport", "analyze", "--quiet", str(file))
            title = f"{name}, {best['bytes'] / 1e9:.2f} GB"
            rows.append(row(title, best, best["cpu_s"], ours_s, theirs_s))
    pairs = int(options.long_bytes / (FULL + HEADERS + 32))
    long = analysed("-", chunks(pairs, FULL))
    title = f"full-size frames by a pipe, {long['bytes'] / 1e9:.1f} GB"
    rows.append(row(title, long, long["cpu_s"]))
    theirs = ["tshark -q -z conv,tcp", "ratio", "fairport analyze, all of it"]
    heads = ["capture", "million packets/s", "GB/s", "memory", *theirs]
    text = table(heads, rows)
    print(text)
    if not options.print_only:
        between_markers(DOCS / "reference/benchmarks.md", "captures", text)
