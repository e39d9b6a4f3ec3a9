"""Runs the runs of a study in worker processes of this machine, one run at a time in each.

Runs come back in the order in which they end. None waits for another, so few of them are in memory.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Any, Protocol, runtime_checkable

from fairport.backends.progress import Report
from fairport.errors import InputError
from fairport.ordered_threads import Stop
from fairport.scenario import Scenario
from fairport.study.runs.one_run import InvalidRunError, LeanRun, Row, measured, simulated
from fairport.study.runs.workers import WorkerDiedError, Workers, shared

# Ctrl-C is noticed within this time.
_WAIT_S = 0.1
# .. and runs under way end within this one
_STOP_S = 0.5


Run = LeanRun | tuple[str, Scenario] | InputError
"""A simulation; a backend and a scenario for it; or the reason why there can be no run."""


@dataclass(frozen=True, slots=True)
class Task:
    """A run that is to be made."""

    point: int
    """Number of its point in the study."""
    seed: int
    run: Run


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that has ended, with its row or with an error."""

    task: Task
    row: Row | None
    error: str = ""


@runtime_checkable
class Executor(Protocol):
    """An object that runs tasks."""

    @property
    def jobs(self) -> int:
        """Runs at a time, as far as it is known now."""

    def ended(self, tasks: Iterator[Task]) -> Generator[Ended | None, None, None]:
        """Runs all tasks. Yields None while none ends, so that the caller can show the progress.

        Close the generator to stop the runs under way.
        """


def outcome(report: Report | None, task: Task) -> Ended:
    """Makes the run in this process. An error is the outcome of the run, not of the study."""
    report = report or (lambda _at_s, _hops: None)
    try:
        match task.run:
            case LeanRun() as run:
                row = simulated(report, run, task.seed)
            case InputError() as refused:
                return Ended(task, None, in_words(refused))
            case (backend, scenario):
                row = measured(report, backend, scenario, task.seed)
        return Ended(task, row)
    except Exception as error:
        return Ended(task, None, in_words(error))


class Local:
    """Worker processes of this machine.

    With `in_process`, threads instead, for the user's own code and for backends in real time. One
    at a time needs no thread, so Ctrl-C reaches the run itself, which clears away what it made.
    """

    def __init__(self, jobs: int, *, in_process: bool = False) -> None:
        self.jobs = jobs
        self._in_process = in_process

    def ended(self, tasks: Iterator[Task]) -> Generator[Ended | None, None, None]:
        """Runs all tasks, as `Executor` describes."""
        if self._in_process and self.jobs == 1:
            for task in tasks:
                yield outcome(None, task)
            return
        stop, workers, taking = Stop(), shared(), Lock()
        found: queue.SimpleQueue[Ended | BaseException | None] = queue.SimpleQueue()

        def work() -> None:
            try:
                while not stop.is_set:
                    with taking:
                        task = next(tasks, None)
                    if task is None:
                        break
                    found.put(self._one(task, workers, stop))
            except BaseException as error:
                found.put(error)
            finally:
                found.put(None)

        threads = [Thread(target=work, daemon=True) for _ in range(self.jobs)]
        left = len(threads)
        try:
            for thread in threads:
                thread.start()
            while left:
                try:
                    # in short steps, because polars' signal handler would resume one long wait
                    one = found.get(timeout=_WAIT_S)
                except queue.Empty:
                    yield None
                    continue
                if one is None:
                    left -= 1
                elif isinstance(one, BaseException):
                    raise one
                else:
                    yield one
        finally:
            stop.set()
            until = time.monotonic() + _STOP_S
            # Ctrl-C may come before all have started; these end without a task
            for thread in filter(Thread.is_alive, threads):
                # a thread that calls the user's code must not be there when the interpreter ends
                thread.join(None if self._in_process else max(0.0, until - time.monotonic()))
            if any(thread.is_alive() for thread in threads):
                workers.close()  # a run that is just starting, or builds a large network

    def _one(self, task: Task, workers: Workers, stop: Stop) -> Ended:
        def report(_at_s: float, _hops: int) -> None:
            stop.check()

        if self._in_process or isinstance(task.run, InputError):
            with stop.interruptible(self._in_process):
                return outcome(report, task)
        error: Any = None
        for _ in range(2):  # the first time, a killed worker is not the run's fault
            try:
                return workers.call(outcome, task, report=report)
            except WorkerDiedError as died:
                stop.check()
                error = died
        return Ended(task, None, f"{error}, twice: perhaps the machine had no memory left")


def in_words(error: Exception) -> str:
    """An error as text for the column `error`."""
    if isinstance(error, InvalidRunError):
        return f"not valid: {error}"
    kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
    return f"{kind}{error}"
