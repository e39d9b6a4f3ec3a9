"""Captures that come through a pipe: they can be read once, and a read may wait for long."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from fairport.ordered_threads import result

Progress = Callable[[int, int], None]
"""Called from time to time with the packets and the bytes read so far."""

_PIPE_BYTES = 1 << 20


def read_in_thread(
    read: Callable[..., dict[str, Any]], progress: Progress | None
) -> dict[str, Any]:
    """Reads in a thread of its own, because Ctrl-C does not end a read that waits for a pipe."""
    done: Future[dict[str, Any]] = Future()
    is_over = threading.Event()

    def go_on(packets: int, size: int) -> None:
        if is_over.is_set():
            raise InterruptedError
        if progress is not None:
            progress(packets, size)

    def work() -> None:
        try:
            done.set_result(read(progress=go_on))
        except Exception as error:
            done.set_exception(error)

    thread = threading.Thread(target=work, daemon=True, name="captures")
    thread.start()
    try:
        return result(done)
    finally:
        is_over.set()
        # after Ctrl-C a reading thread ends soon; a thread that waits ends with the process
        thread.join(timeout=1)


def widen_stdin() -> None:
    """Enlarges a pipe at standard input to 1 MiB, the most that any process may, where possible.

    A new pipe holds 64 KiB, with which its writer and its reader would often wait for each other.
    """
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import fcntl

        fcntl.fcntl(sys.stdin, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
