"""ns-2 as a peer: our programs for it, where `ns` is installed (Debian's package ns2)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any


def runs(name: str, options: Mapping[str, object], seeds: Sequence[int]) -> list[Any] | None:
    """What `NAME.tcl` prints for each seed; None where there is no ns-2."""
    ns = shutil.which("ns")
    if ns is None:
        return None
    script = str(Path(__file__).parent / f"{name}.tcl")
    given = [str(word) for pair in options.items() for word in pair]

    def run(seed: int) -> Any:
        command = [ns, script, *given, "seed", str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(run, seeds))
