"""Other simulators, with Fairport's own programs for them: one folder per simulator.

Here is what building any of them needs.
"""

from __future__ import annotations

import subprocess
from pathlib import Path


class UnavailableError(Exception):
    """A peer is not available here; says why."""


def do(what: str, *command: str | Path) -> str:
    """Runs a command; returns what it printed. Raises UnavailableError."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise UnavailableError(f"could not {what}: {last}")
    return done.stdout
