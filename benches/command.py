"""The whole command, as a user waits for it: wall time and peak memory."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

REPEATS = 5
COMMANDS = [
    ["fairport", "--help"],
    ["fairport", "run", "outcast", "--no-output"],
    ["fairport", "run", "outcast", "--no-figures"],
    ["fairport", "run", "outcast"],
    ["fairport", "compare", "outcast", "--fix", "red,sfq,codel", "--repeat", "1", "--no-figures"],
    ["fairport", "compare", "outcast", "--fix", "red,sfq,codel", "--repeat", "1"],
]


@dataclass(frozen=True)
class Cost:
    """Medians over the repeats."""

    command: str
    wall_s: float
    memory_bytes: int


def measure(command: list[str]) -> Cost:
    """Runs a command in an empty folder each time, where no runs are kept from before."""
    runs = [_once(command) for _ in range(REPEATS)]
    return Cost(
        " ".join(command),
        statistics.median(run[0] for run in runs),
        statistics.median_high(run[1] for run in runs),
    )


def _once(command: list[str]) -> tuple[float, int]:
    program = Path(sys.executable).parent / command[0]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"FAIRPORT_STORE": str(Path(folder, "store"))}
        # an installed package has its compiled modules
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        begin = time.perf_counter()
        process = subprocess.Popen(
            [program, *command[1:]],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return wall_s, usage.ru_maxrss if sys.platform == "darwin" else usage.ru_maxrss * 1024
