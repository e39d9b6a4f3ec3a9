"""A worker process: takes calls from its standard input, answers them on its standard output.

Calls and answers are a length of 8 bytes and a pickle. A call is (function, arguments); the
function's first argument is a callback for its progress. Answers are ("progress", values) as often
as the parent can follow, then ("done", value) or ("failed", error). The process ends when its input
ends, so it does not outlive its parent.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import struct
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, BinaryIO

_LENGTH = struct.Struct("<Q")
_REPORT_EVERY_S = 0.1
# as on the command line, most objects of a worker stay in use
_COLLECT_EVERY = 300_000


def send(stream: BinaryIO, value: Any) -> None:
    """Writes one frame."""
    content = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(content)) + content)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Reads one frame. Raises EOFError at the end of the stream."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return pickle.loads(content)


def main(modules: Sequence[str]) -> None:
    """Imports the modules, then answers calls until there are no more."""
    gc.set_threshold(_COLLECT_EVERY)
    # the parent handles Ctrl-C, and ends its workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    calls = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    # output of a library must not come between the frames
    os.dup2(2, 1)
    for name in modules:
        with suppress(Exception):  # the call that needs it says why
            import_module(name)
    try:
        while True:
            function, arguments = receive(calls)
            send(answers, _answer(function, arguments, answers))
    except (EOFError, BrokenPipeError):
        os._exit(0)


def _answer(
    function: Callable[..., Any], arguments: tuple[Any, ...], answers: BinaryIO
) -> tuple[str, Any]:
    last = time.monotonic()

    def report(simulated_s: float, packet_hops: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _REPORT_EVERY_S:
            last = now
            send(answers, ("progress", (simulated_s, packet_hops)))

    try:
        return "done", function(report, *arguments)
    except BrokenPipeError:
        raise
    except BaseException as error:
        return "failed", _portable(error)


def _portable(error: BaseException) -> Exception:
    """The error itself if it can be sent to another process, otherwise its text."""
    try:
        back = pickle.loads(pickle.dumps(error))
    except Exception:
        back = None
    if isinstance(error, Exception) and str(back) == str(error):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
