"""A process of a run, as a program: `python -m fairport.backends.linux.child DESCRIPTOR PARENT`.

It does not import the program that started the run, as a spawned process of `multiprocessing`
would: that program may be a script without a guard, and must not run again. Through the pipe come a
function and its task; reports go back. It ends with its parent, which is also the one that hears
Ctrl-C: it starts this program with that signal blocked.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from multiprocessing.connection import Connection

_PR_SET_PDEATHSIG = 1


def main(descriptor: int, parent: int) -> None:
    """Runs the function that comes through the pipe."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    reports = Connection(descriptor)
    function, task = reports.recv()
    try:
        function(reports, task)
    except Exception as error:  # the parent reports every exception
        reports.send(("failed", f"{type(error).__name__}: {error}"))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
