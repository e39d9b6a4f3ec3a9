"""Mutants of the crates that decide results, by cargo-mutants: a sample drawn by a seed.

A change is tested with the tests of its own crate; what these do not notice, with those of the
crates that run on it. These tests state facts. What they do not notice the guarded runs may: the
suite fails if a fingerprint of tests/repo/fingerprints.json moves, but it does not say why. So
these are counted apart. `.cargo/mutants.toml` lists the files that are left out, and the survivors
that are accepted, each with its reason.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

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
    """A row of the table, and what survived the tests that state facts, per crate."""
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
        guarded = "" if given.own_tests else str(killed + _guarded(folder, crate, missed))
        yield [f"crates/{crate}", str(len(every)), str(count), str(killed), guarded], missed


def _listed(folder: Path, crate: str, files: Sequence[str]) -> list[str]:
    """Every mutant of the crate, by the name that cargo-mutants gives it."""
    chosen = [word for file in files for word in ("--file", file)]
    return _list(folder, crate, *chosen).splitlines()


def _list(folder: Path, crate: str, *options: str) -> str:
    line = ["cargo", "mutants", "--list", "--package", f"fairport-{crate}", *options]
    found = subprocess.run(line, cwd=folder / "source", capture_output=True, text=True, check=True)
    return found.stdout


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
    subprocess.run(
        line,
        cwd=folder / "source",
        env=_environment(folder),
        check=False,
        preexec_fn=_limit_processor_time,
    )
    found = output / "mutants.out"
    caught, endless, missed = (
        [name for name in (found / f"{of}.txt").read_text("utf-8").splitlines() if name in names]
        for of in ("caught", "timeout", "missed")
    )
    return Outcome(len(caught), len(endless), missed)


def _guarded(folder: Path, crate: str, names: Sequence[str]) -> int:
    """How many of these mutants move a guarded fingerprint, or end its run or make it endless."""
    if not names:
        return 0
    diffs = {one["name"]: one for one in json.loads(_list(folder, crate, "--json", "--diff"))}
    jobs = _guarded_jobs(folder)
    # what differs without a change would count as noticed
    if _moves(folder, jobs):
        raise RuntimeError("the guarded runs have other fingerprints without any change")
    return sum(_moves_with(folder, jobs, diffs[name]) for name in names)


def _guarded_jobs(folder: Path) -> dict[Path, str]:
    """The guarded runs as jobs for the engine, each with its fingerprint."""
    import fairport as fp
    from fairport.backends.jobs import job_of

    sys.path.insert(0, str(Path(__file__).parents[2] / "tests/repo"))
    guard = import_module("fingerprints")
    (folder / "jobs").mkdir(exist_ok=True)
    found = {}
    for number, (name, (scenario, overrides)) in enumerate(guard.CASES.items()):
        file = folder / "jobs" / f"{number}.json"
        file.write_text(json.dumps(job_of(fp.scenario(scenario).patch(overrides)).document))
        found[file] = guard.expected()[name]["fingerprint"]
    return found


def _moves_with(folder: Path, jobs: dict[Path, str], mutant: dict[str, Any]) -> bool:
    file = folder / "source" / mutant["file"]
    before = file.read_text("utf-8")
    subprocess.run(["patch", "--silent", file], input=mutant["diff"], text=True, check=True)
    try:
        return _moves(folder, jobs)
    finally:
        file.write_text(before, "utf-8")


def _moves(folder: Path, jobs: dict[Path, str]) -> bool:
    """Whether any job has another fingerprint with the engine as it is in the copy now."""
    line = ["cargo", "build", "--quiet", "--package", "fairport-sim", "--example", "job"]
    subprocess.run(line, cwd=folder / "source", env=_environment(folder), check=True)
    program = folder / "target/debug/examples/job"
    return any(_fingerprint(program, job) != expected for job, expected in jobs.items())


def _fingerprint(program: Path, job: Path) -> str:
    """Nothing if the run fails or is endless."""
    try:
        done = subprocess.run(
            [program, job],
            capture_output=True,
            text=True,
            check=False,
            timeout=CLOCK_SECONDS,
            preexec_fn=_limit_processor_time,
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout.split()[-1] if done.returncode == 0 else ""


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, **_CHEAP, "CARGO_TARGET_DIR": str(folder / "target")}


def _limit_processor_time() -> None:
    """Every process of the tests gets this much processor time."""
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))
