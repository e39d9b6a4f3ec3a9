"""One measurement per process: memory and warm caches of one do not count for the next."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def in_a_process(file: str, request: str) -> dict[str, Any]:
    """What the module in `file`, called as a program, answers to the request."""
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, file],
        input=request,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": paths},
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def peak_bytes() -> int:
    """The greatest memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
