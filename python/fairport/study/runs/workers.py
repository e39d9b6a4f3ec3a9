"""Worker processes that are started once and kept: a call runs in one of them.

The interpreter makes a run's tables and numbers, and it runs one thread at a time. So to use all
processors, each run needs its own interpreter. A worker is a separate program
(`fairport.study.runs.worker`), not a fork and not an import of the caller's script, so a study may
be started from a script's first line, from a notebook and from a thread.
"""

from __future__ import annotations

import atexit
import subprocess
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from threading import Lock
from typing import Any, BinaryIO, TypeVar, cast

from fairport import children
from fairport.backends.progress import Report
from fairport.study.runs.worker import receive, send

Value = TypeVar("Value")

# a run takes one processor; otherwise libraries would start a thread for each processor
_ONE_THREAD = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")


class WorkerDiedError(RuntimeError):
    """A worker process ended in the middle of a run."""


class Workers:
    """A pool of as many processes as there are calls at a time."""

    def __init__(self) -> None:
        self._idle: list[subprocess.Popen[bytes]] = []
        self._busy: set[subprocess.Popen[bytes]] = set()
        self._lock = Lock()

    def start(self, count: int, *modules: str) -> None:
        """Makes sure that `count` processes are there for the next calls.

        New ones import the modules meanwhile.
        """
        with suppress(OSError), self._lock:  # each call then finds out for itself
            self._idle += [_started(*modules) for _ in range(count - len(self._idle))]

    def call(
        self, function: Callable[..., Value], *arguments: Any, report: Report | None = None
    ) -> Value:
        """Returns or raises what `function(report, *arguments)` does in a worker.

        The worker finds the function by its name. If `report` raises, the worker is ended. Raises
        WorkerDiedError.
        """
        process = self._taken()
        try:
            found = _called(process, function, arguments, report)
        except BaseException:
            # busy until it has ended, so that `close` finds it
            _end(process)
            self._put_back(process)
            raise
        self._put_back(process, is_idle=True)
        if isinstance(found, Exception):
            raise found
        value: Value = found[0]
        return value

    def close(self) -> None:
        """Ends all workers; the calls under way raise WorkerDiedError."""
        with self._lock:
            idle, self._idle = self._idle, []
            busy = list(self._busy)
            for process in busy:
                process.kill()
        for process in busy:
            process.wait()
        for process in idle:
            _end(process)

    def _taken(self) -> subprocess.Popen[bytes]:
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.poll() is None:
                    break
                _end(process)
            else:
                process = _started()
            self._busy.add(process)
            return process

    def _put_back(self, process: subprocess.Popen[bytes], *, is_idle: bool = False) -> None:
        with self._lock:
            self._busy.discard(process)
            if is_idle:
                self._idle.append(process)


@cache
def shared() -> Workers:
    """The workers of this process, which end with it."""
    workers = Workers()
    atexit.register(workers.close)
    return workers


def _started(*modules: str) -> subprocess.Popen[bytes]:
    return children.started(
        "fairport.study.runs.worker",
        *modules,
        environment=dict.fromkeys(_ONE_THREAD, "1"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def _called(
    process: subprocess.Popen[bytes],
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    report: Report | None,
) -> Any:
    """A tuple of the value, or the exception that was raised."""
    calls, answers = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout)
    try:
        send(calls, (function, arguments))
        while True:
            kind, content = receive(answers)
            if kind == "failed":
                return content
            if kind == "done":
                return (content,)
            if report is not None:
                report(*content)
    except (EOFError, BrokenPipeError):
        status = process.wait()
        said = f"signal {-status}" if status < 0 else f"status {status}"
        raise WorkerDiedError(f"the worker process ended with {said}") from None


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except BrokenPipeError:
                continue
