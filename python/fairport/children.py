"""Processes of this program's own modules, with the same interpreter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# As `python -m`, which also imports from the working folder before all other places, where a user
# may have a `queue.py` or a `random.py`. Python 3.10 has no option against it.
_MODULE = (
    "import sys; sys.path = [part for part in sys.path if part]; import runpy; "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)


def started(
    module: str, *arguments: str, environment: Mapping[str, str] | None = None, **options: Any
) -> subprocess.Popen[bytes]:
    """Starts `python -m module` with these arguments; `options` are those of Popen.

    It imports from the same places as this process, and has the variables of `environment` besides.
    Ctrl-C reaches every process of a terminal; this one does not receive it, because its parent
    alone ends it.
    """
    # an empty part means the working folder, which may change before the child imports
    path = os.pathsep.join(part or str(Path.cwd()) for part in sys.path)
    with _without_interrupts():
        return subprocess.Popen(
            [sys.executable, "-c", _MODULE, module, *arguments],
            env=os.environ | (environment or {}) | {"PYTHONPATH": path},
            **options,
        )


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Processes that are started here do not receive Ctrl-C, not even while Python starts."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
