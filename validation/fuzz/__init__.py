"""Fuzzing: every reader of bytes gets random bytes, and none may fail.

    make validate CASE=fuzz
    make validate CASE=fuzz ARGS="scenario record --seconds 60"

A coverage-guided fuzzer runs each target for ten minutes: Atheris those for readers in Python
(`readers.py`), cargo-fuzz those for readers in Rust (`fuzz/`). What is not installed is skipped
with its reason. What a target fails on is kept below `fuzz/artifacts`, and the status is 1.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from validation import DOCS, ROOT
from validation.case import parser_of
from validation.fuzz.readers import READERS
from validation.markdown import between_markers, cells, part, table

FUZZ = ROOT / "fuzz"
SECONDS = 600
# the targets in Rust, and what they read
RUST = {
    "scripts": "packetdrill scripts, which are run as well",
    "segments": "segments: two TCP endpoints with any settings, and a network that changes them",
    "frames": "frames",
    "captures": "captures: pcap, pcapng, compressed",
    "flows": "captured packets of flows",
    "join": "captures of two ports, joined",
}
_HEADS = ("target", "reads", "by", "executions", "seconds", "faults")
# libFuzzer's last line, and Atheris's
_DONE = re.compile(r"Done (\d+) (?:runs )?in (\d+) second")
_INPUT_BYTES = 1 << 16


@dataclass(frozen=True)
class Target:
    """One target, and the command that runs it."""

    name: str
    reads: str
    by: str
    lacks: str
    """What must be installed; empty if it is there."""
    command: Sequence[str]
    folder: Path


def main(arguments: Sequence[str]) -> int:
    """Runs targets and prints their table; returns 1 if one failed."""
    given = _options(arguments)
    chosen = [
        one for one in _targets(given.seconds) if not given.target or one.name in given.target
    ]
    rows, failed = [], False
    for target in chosen:
        if target.lacks:
            print(f"skipped: {target.name} ({target.lacks})", file=sys.stderr)
            continue
        print(f"{target.name}: {given.seconds} s", file=sys.stderr, flush=True)
        done = subprocess.run(
            target.command,
            cwd=target.folder,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            check=False,
        )
        # a fault ends the fuzzer before this line; errors while the interpreter exits do not count
        found = _DONE.search(done.stderr)
        failed |= found is None
        executions, seconds = (f"{int(found[1]):,}", found[2]) if found else ("?", "?")
        if found is None:
            print(done.stderr[-5000:], file=sys.stderr)
        rows.append(
            [target.name, target.reads, target.by, executions, seconds, "01"[found is None]]
        )
        print(" ".join(rows[-1]), flush=True)
    print(table(_HEADS, rows))
    if given.publish:
        text = table(_HEADS, _with_published(rows))
        between_markers(DOCS / "validation/reliability.md", "fuzz", text)
    return int(failed)


def _targets(seconds: int) -> list[Target]:
    limits = (f"-max_total_time={seconds}", "-timeout=900", "-rss_limit_mb=8192")
    python = "" if find_spec("atheris") else "pip install atheris"
    rust = "" if shutil.which("cargo-fuzz") else "cargo install cargo-fuzz, and a nightly toolchain"
    found = []
    # cargo-fuzz makes its own folders
    (FUZZ / "artifacts").mkdir(exist_ok=True)
    for name, reader in READERS.items():
        command = [sys.executable, "-m", "validation.fuzz.readers", name]
        command += [str(FUZZ / "corpus" / name), f"-artifact_prefix={FUZZ}/artifacts/{name}-"]
        command += [*limits, f"-max_len={_INPUT_BYTES}"]
        found.append(Target(name, reader.reads, "Atheris", python, command, ROOT))
    for name, reads in RUST.items():
        command = ["cargo", "+nightly", "fuzz", "run", name, "--", *limits]
        if name == "captures":
            # a thread that unpacks ends shortly after its reader, so its memory is not a leak
            command.append("-detect_leaks=0")
        found.append(Target(name, reads, "cargo-fuzz", rust, command, FUZZ))
    return found


def _with_published(rows: list[list[str]]) -> list[list[str]]:
    """The page's rows, with these in place of those of the same targets, in the targets' order."""
    text = (DOCS / "validation/reliability.md").read_text(encoding="utf-8")
    known = {row[0]: row for row in [*cells(part(text, "fuzz")), *rows]}
    return [known[name] for name in (*READERS, *RUST) if name in known]


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = parser_of("fuzz", __doc__)
    names = [*READERS, *RUST]
    parser.add_argument("target", nargs="*", help=f"{', '.join(names)}; without any: all")
    parser.add_argument("--seconds", type=int, default=SECONDS, help=f"per target ({SECONDS})")
    parser.add_argument("--publish", action="store_true", help="renew the table in docs/")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.target if name not in names]
    if unknown:
        parser.error(f"`{unknown[0]}` is no target; choose from {', '.join(names)}")
    return given
