"""The corpus of `make attack`: inputs that broke an earlier version, and none of which does now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_what_broke_an_earlier_version_does_not_break_this_one() -> None:
    command = [sys.executable, "-m", "validation", "attack", "--attempts", "0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
    assert "| corpus |" in done.stdout
