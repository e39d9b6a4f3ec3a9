"""Modules that `fairport --help` must not import, so that it appears at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"polars", "numpy", "matplotlib", "fairport._core", "fairport.scenario"}

PROGRAM = """
import atexit, sys
sys.argv = ["fairport", *sys.argv[1:]]
from fairport.cli import main
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
main()
"""


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["scenario", "--help"]])
def test_help_needs_nothing_heavy(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True
    )
    assert "Usage: fairport" in done.stdout
    loaded = set(done.stderr.split())
    assert "fairport.cli.run" in loaded
    assert not loaded & HEAVY


def test_a_run_without_figures_needs_no_matplotlib(tmp_path: object) -> None:
    arguments = ["run", "outcast", "--duration", "1ms", "--no-output"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True
    )
    assert "matplotlib" not in done.stderr.split()
