"""The attack of `make attack`, for half a minute: its corpus, and the first attempts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_nothing_breaks_within_half_a_minute() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "validation", "attack", "--seconds", "30"],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
    assert "| corpus |" in done.stdout
