"""Saves figures as SVG and as PNG, some in a process of their own if there are two processors.

To write a picture's files takes longer than to draw it. So a worker process writes them while this
process draws the next picture, and the report. If the worker already has enough to do, this process
writes the files. One process writes both files of a picture, because matplotlib makes its ticks
while it writes the first: the second file is then half the work.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairport.backends.cores import cores
from fairport.study.runs.workers import WorkerDiedError, shared

if TYPE_CHECKING:
    from matplotlib.figure import Figure


DRAWING = "fairport.figures.drawing.matplotlib_parts"
"""To import this module is to import matplotlib."""

# The worker has its next picture while it writes one.
_MOST_AT_A_TIME = 2
_LOOK_S = 0.005


@dataclass(frozen=True)
class _Sent:
    """A picture that the worker process saves, as a pickle, and its files."""

    done: Future[None]
    content: bytes
    svg: Path
    png: Path

    def finish(self) -> None:
        """Waits until the files are written. Raises the error if that failed."""
        try:
            self.done.result()
        except (WorkerDiedError, OSError):
            # The worker has died, or the disk is full; this process then tries, and reports the
            # error. It does so in its main thread, because all threads share matplotlib's settings.
            _save_content(None, self.content, [self.svg, self.png])


class Saver:
    """Saves pictures. All of them are written when its `with` ends."""

    def __init__(self, threads: ThreadPoolExecutor | None) -> None:
        self._threads = threads
        self._sent: list[_Sent] = []

    def save(self, picture: Figure, path: Path) -> list[Path]:
        """Writes `path` with the endings .png and .svg; returns both paths."""
        png, svg = (path.with_name(f"{path.name}.{ending}") for ending in ("png", "svg"))
        under_way = sum(not one.done.done() for one in self._sent)
        if self._threads is None or under_way == _MOST_AT_A_TIME:
            _save(picture, [svg, png])
            return [png, svg]
        content = pickle.dumps(picture, protocol=pickle.HIGHEST_PROTOCOL)
        # the worker may have been started in another working directory
        there = svg.absolute(), png.absolute()
        # the SVG first, because a report shows it
        done = self._threads.submit(shared().call, _save_content, content, list(there))
        self._sent.append(_Sent(done, content, *there))
        return [png, svg]

    def finish_svgs(self) -> None:
        """Waits until every SVG is written, for a report that shows them."""
        for one in [*self._sent]:
            while not (one.svg.exists() or one.done.done()):
                wait([one.done], timeout=_LOOK_S)
            if one.done.done():
                self._sent.remove(one)
                one.finish()

    def finish(self) -> None:
        """Waits for the files under way. Raises the error if one failed."""
        for one in self._sent:
            one.finish()


@contextmanager
def saver() -> Iterator[Saver]:
    """A Saver. When the `with` is left, even by an exception, nothing is being written any more."""
    if not _has_a_worker():
        yield Saver(None)
        return
    threads = ThreadPoolExecutor(1)
    try:
        found = Saver(threads)
        yield found
        found.finish()
    finally:
        threads.shutdown(cancel_futures=True)


def get_ready(*modules: str, processes: int = 1) -> None:
    """Starts worker processes, for a caller who is going to draw.

    They import matplotlib, and `modules` besides.
    """
    if _has_a_worker():
        shared().start(processes, DRAWING, *modules)


@contextmanager
def beside(function: Callable[..., None], *arguments: Any) -> Iterator[None]:
    """Calls `function(None, *arguments)` in the worker process, beside what is done in the `with`.

    The call has ended when the `with` is left; without a worker process it is then made here.
    """
    if _has_a_worker():
        with ThreadPoolExecutor(1) as thread:
            done = thread.submit(shared().call, function, *arguments)
            yield
        with suppress(WorkerDiedError, OSError):
            return done.result()
    else:
        yield
    function(None, *arguments)


def draw(_: Any, module: str, shown: Any, path: Path) -> None:
    """Draws with this module, and writes `path` with the endings .png and .svg."""
    Saver(None).save(import_module(module).draw(shown), path)


def _has_a_worker() -> bool:
    return cores() > 1


def _save_content(_: Any, content: bytes, paths: list[Path]) -> None:
    _save(pickle.loads(content), paths)


def _save(picture: Figure, paths: list[Path]) -> None:
    from fairport.figures.drawing import style

    for path in paths:
        # The file is complete or not there, because the report may look for it meanwhile.
        partial = path.with_name(f".{path.name}")
        style.save(picture, partial)
        partial.replace(path)
