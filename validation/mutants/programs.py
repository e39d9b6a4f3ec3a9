"""Test programs of crates: built once, and run within limits of time and memory."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# A change that makes a test endless counts as noticed. An endless loop is ended by its processor
# time, and a program that sleeps for ever by the clock. Both limits have a minimum, and are a
# multiple of the program's time without a change.
LEAST_SECONDS = 15
TIMES_UNCHANGED = 5
CLOCK_FACTOR = 3
MEMORY_BYTES = 6_000_000_000
_MARK = re.compile(rb"mutating\s*::\s*(?:is\s*\(\s*(\d+)|end\s*\()")


@dataclass(frozen=True)
class Program:
    """A program, where it is run, and how long it takes without a change."""

    line: tuple[str, ...]
    folder: Path
    seconds: float = 20.0

    def output(self, mutant: int) -> str | None:
        """Its output with this mutant (0: none); None if it fails or takes too long."""
        limit = int(max(LEAST_SECONDS, TIMES_UNCHANGED * self.seconds))

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        try:
            done = subprocess.run(
                self.line,
                cwd=self.folder,
                env={**os.environ, **_QUICK, "FAIRPORT_MUTANT": str(mutant)},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                errors="replace",
                check=False,
                timeout=CLOCK_FACTOR * limit,
                preexec_fn=limited,
            )
        except subprocess.TimeoutExpired:
            return None
        return done.stdout if done.returncode == 0 else None

    def timed(self) -> Program:
        """The same with its time. Fails if the program does, as it would notice every change."""
        start = time.monotonic()
        if Program(self.line, self.folder, 60).output(0) is None:
            raise RuntimeError(f"`{' '.join(self.line)}` fails without any change")
        return Program(self.line, self.folder, time.monotonic() - start)


# property tests try fewer examples, and neither shrink a failure nor save it
_QUICK = {
    "PROPTEST_CASES": "32",
    "PROPTEST_MAX_SHRINK_ITERS": "0",
    "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
    "RUST_BACKTRACE": "0",
}


@dataclass(frozen=True)
class Tree:
    """A copy of the sources, and where it is built."""

    sources: Path
    target: Path

    def cargo(self, *words: str) -> tuple[bool, list[dict[str, Any]]]:
        """Whether it succeeded, and its messages."""
        cheap = {
            "CARGO_PROFILE_DEV_DEBUG": "0",
            "CARGO_PROFILE_TEST_DEBUG": "0",
            "CARGO_TARGET_DIR": str(self.target),
            "RUSTFLAGS": "--cap-lints=warn -Awarnings",
        }
        done = subprocess.run(
            ["cargo", *words, "--quiet", "--message-format=json"],
            cwd=self.sources,
            env={**os.environ, **cheap},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        )
        return done.returncode == 0, [json.loads(line) for line in done.stdout.splitlines()]

    def test_programs(self, crates: Sequence[str]) -> list[Program] | None:
        """The test programs of these crates, the library's first; None if one does not build."""
        packages = [word for crate in crates for word in ("--package", f"fairport-{crate}")]
        built, messages = self.cargo("test", "--no-run", "--lib", "--tests", *packages)
        found = sorted(
            (message["target"]["kind"] != ["lib"], message["executable"], message["manifest_path"])
            for message in messages
            if message.get("executable") and message["profile"]["test"]
        )
        line = ("--quiet", "--test-threads=1")
        programs = [Program((file, *line), Path(manifest).parent) for _, file, manifest in found]
        return programs if built else None

    def job_program(self) -> str | None:
        """The program that runs a job; None if it does not build."""
        words = ("--package", "fairport-sim", "--example", "job")
        built = self.cargo("build", *words)[0]
        return str(self.target / "debug/examples/job") if built else None

    def not_compiling(self, crate: str) -> set[int]:
        """The mutants in which the compiler found errors."""
        compiles, messages = self.cargo("check", "--package", f"fairport-{crate}")
        errors = [
            message["message"]
            for message in messages
            if message["reason"] == "compiler-message" and message["message"]["level"] == "error"
        ]
        found = {mutant for error in errors for mutant in self._mutants_of(error)}
        if not compiles and not found:
            raise RuntimeError("\n".join(error["rendered"][-2000:] for error in errors[:3]))
        return found

    def _mutants_of(self, error: dict[str, Any]) -> set[int]:
        """The mutant that contains the error's main place, or else another of its places."""
        for span in sorted(error["spans"], key=lambda span: not span["is_primary"]):
            file = self.sources / span["file_name"]
            if not file.exists():
                continue  # in the standard library
            marks = list(_MARK.finditer(file.read_bytes()[: span["byte_start"]]))
            if marks and marks[-1][1]:
                return {int(marks[-1][1])}
        return set()
