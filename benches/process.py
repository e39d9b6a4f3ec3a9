"""One measurement per process, so that memory and warm caches of one do not affect the next."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from typing import Any

from validation import ROOT


def in_a_process(file: str, request: str) -> dict[str, Any]:
    """Runs the module in `file` as a program, and returns its answer to the request."""
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
    """The most memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
