"""Benchmarks that run a program of their own do run: no checker of types sees into it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_benchmark_of_captures_reads_files_and_pipes() -> None:
    small = ["--pairs", "2000", "--long-bytes", "1e6", "--times", "1", "--print-only"]
    done = subprocess.run(
        [sys.executable, "-m", "benches", "captures", *small],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if "frames" in line or "headers" in line]
    assert len(rows) == 3, done.stdout
