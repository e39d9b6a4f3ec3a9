"""Mutants of the crates that decide results, by cargo-mutants: a sample drawn by a seed.

A change is tested with the tests of its own crate; what these do not notice, with those of the
crates that run on it. The guarding fingerprints do not count: they notice everything and say
nothing. `.cargo/mutants.toml` lists the files that are left out, and the survivors that are
accepted, each with its reason.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# the crates, and whose tests see what they do
CRATES = {"record": ("sim",), "net": ("sim",), "tcp": ("sim", "drill"), "sim": ()}
# A change that makes a test endless counts as noticed. An endless loop ends by its own processor
# time, so that a busy machine makes nothing endless; what sleeps for ever ends by the clock.
PROCESSOR_SECONDS = 300
CLOCK_SECONDS = 900
_CHEAP = {
    "CARGO_INCREMENTAL": "1",
    "CARGO_PROFILE_DEV_DEBUG": "0",
    "CARGO_PROFILE_TEST_DEBUG": "0",
    # property tests try fewer examples
    "PROPTEST_CASES": "32",
}


@dataclass(frozen=True)
class Outcome:
    """What became of some mutants; those that do not compile count as none."""

    noticed: int
    endless: int
    missed: list[str]


def tested(folder: Path, given: argparse.Namespace) -> Iterator[tuple[list[str], list[str]]]:
    """A row of the table, and what survived, per crate."""
    if not given.rust:
        return
    if shutil.which("cargo-mutants") is None:
        print("skipped: mutants of Rust (cargo install --locked cargo-mutants)", file=sys.stderr)
        return
    for crate in given.crates or CRATES:
        every = _listed(folder, crate, given.file)
        draw = random.Random(f"{given.seed}/{crate}")
        chosen = sorted(draw.sample(every, min(given.rust, len(every))))
        first = _outcome(folder, crate, (crate,), chosen)
        missed = first.missed
        if missed and CRATES[crate] and not given.own_tests:
            missed = _outcome(folder, crate, CRATES[crate], missed).missed
        count = first.noticed + first.endless + len(first.missed)
        killed = count - len(missed)
        yield [f"crates/{crate}", str(len(every)), str(count), str(killed)], missed


def _listed(folder: Path, crate: str, files: Sequence[str]) -> list[str]:
    """Every mutant of the crate, by the name that cargo-mutants gives it."""
    line = ["cargo", "mutants", "--list", "--package", f"fairport-{crate}"]
    line += [word for file in files for word in ("--file", file)]
    found = subprocess.run(line, cwd=folder / "source", capture_output=True, text=True, check=True)
    return found.stdout.splitlines()


def _outcome(folder: Path, crate: str, tests: Sequence[str], names: Sequence[str]) -> Outcome:
    """Tests these mutants of a crate with the tests of some crates."""
    output = folder / "output"
    shutil.rmtree(output, ignore_errors=True)
    line = ["cargo", "mutants", "--in-place", "--package", f"fairport-{crate}"]
    line += [word for test in tests for word in ("--test-package", f"fairport-{test}")]
    # Whatever `--re` says, cargo-mutants 27 also tests every "delete field" of the files it reads.
    # So it reads the files of these only, and what it tests besides does not count.
    files = sorted({name.partition(":")[0] for name in names})
    line += [word for file in files for word in ("--file", file)]
    line += [word for name in names for word in ("--re", f"^{re.escape(name)}$")]
    line += ["--timeout", str(CLOCK_SECONDS), "--build-timeout", "1800"]
    line += ["--no-times", "--colors", "never", "--output", str(output), "--", "--lib", "--tests"]
    environment = {**os.environ, **_CHEAP, "CARGO_TARGET_DIR": str(folder / "target")}
    subprocess.run(
        line, cwd=folder / "source", env=environment, check=False, preexec_fn=_limit_processor_time
    )
    found = output / "mutants.out"
    caught, endless, missed = (
        [name for name in (found / f"{of}.txt").read_text("utf-8").splitlines() if name in names]
        for of in ("caught", "timeout", "missed")
    )
    return Outcome(len(caught), len(endless), missed)


def _limit_processor_time() -> None:
    """Every process of the tests gets this much processor time."""
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))
