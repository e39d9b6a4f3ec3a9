"""Tasks in threads, with their results in the order of the tasks.

A thread that runs the engine or waits for a worker process does not hold the interpreter's lock.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

Task = TypeVar("Task")
Value = TypeVar("Value")

Submit = Callable[[Callable[[], Value]], "Future[Value]"]
"""Starts a call in one of the threads."""

# Ctrl-C is noticed within this time.
_WAIT_S = 0.1


class Stop:
    """Asks tasks that are running to end. Signals reach the main thread only."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._interruptible: set[int] = set()

    def set(self) -> None:
        """Makes `check` raise from now on, and interrupts the threads in `interruptible` code."""
        with self._lock:
            self._event.set()
            for thread in self._interruptible:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
                )

    @contextmanager
    def interruptible(self, is_so: bool = True) -> Iterator[None]:
        """Marks Python code of this thread that may run without end and calls no `check`."""
        thread = threading.get_ident()
        with self._lock:
            self.check()
            if is_so:
                self._interruptible.add(thread)
        try:
            yield
        finally:
            with self._lock:
                self._interruptible.discard(thread)

    @property
    def is_set(self) -> bool:
        """Whether the tasks are to end."""
        return self._event.is_set()

    def check(self) -> None:
        """Raises KeyboardInterrupt if the task must end. The task calls this from time to time."""
        if self._event.is_set():
            raise KeyboardInterrupt


def in_order(
    tasks: Iterable[Task],
    begin: Callable[[Task, Submit[Value]], Future[Value]],
    *,
    threads: int,
    ahead: int,
    stop: Stop,
) -> Generator[Value, None, None]:
    """Yields the result of each task, in the order of the tasks.

    `begin` starts a task, usually with its argument `submit`; it is called in the consumer's
    thread. At most `ahead` tasks have been started and not yet yielded. When the generator is
    closed or raises, waiting tasks are dropped, and `stop` ends running tasks that check it.
    """
    waiting = iter(tasks)
    begun: deque[Future[Value]] = deque()
    with ThreadPoolExecutor(max_workers=threads) as pool:
        try:
            while True:
                for task in islice(waiting, ahead - len(begun)):
                    begun.append(begin(task, pool.submit))
                if not begun:
                    return
                yield result(begun.popleft())
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)


def result(future: Future[Value]) -> Value:
    """The future's result, for the main thread: Ctrl-C ends the wait with KeyboardInterrupt.

    It waits for a lock, because an interrupted `concurrent.futures.wait` can end with
    RuntimeError ("release unlocked lock"), and in short steps, because the signal handler that
    polars installs resumes a wait.
    """
    over = threading.Lock()
    over.acquire()
    future.add_done_callback(lambda _: over.release())
    while not over.acquire(timeout=_WAIT_S):
        pass
    return future.result()
