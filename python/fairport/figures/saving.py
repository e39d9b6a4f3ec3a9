"""Saves figures as PNG and as SVG, the PNGs in a process of their own if there are two processors.

Writing a picture's PNG takes as long as everything else about it. So a worker process writes it as
soon as the picture is drawn, while this process writes the SVG, draws the next picture, and writes
the report. If the worker has nothing else to do, as before the first picture, it writes the SVG as
well.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairport.backends.cores import cores
from fairport.study.workers import WorkerDiedError, shared

if TYPE_CHECKING:
    from matplotlib.figure import Figure


DRAWING = "fairport.figures.drawing"
"""To import this module is to import matplotlib."""


@dataclass(frozen=True)
class _Sent:
    """A picture that the worker process saves, as a pickle, and the files that it writes."""

    done: Future[None]
    content: bytes
    paths: list[Path]

    def finish(self) -> None:
        """Waits until the files are written. Raises the error if that failed."""
        try:
            self.done.result()
        except (WorkerDiedError, OSError):
            # The worker has died, or the disk is full; this process then tries, and reports the
            # error. It does so in its main thread, because all threads share matplotlib's settings.
            _save_content(None, self.content, self.paths)


class Saver:
    """Saves pictures. All of them are written when its `with` ends."""

    def __init__(self, threads: ThreadPoolExecutor | None) -> None:
        self._threads = threads
        self._sent: list[_Sent] = []

    def save(self, picture: Figure, path: Path) -> list[Path]:
        """Writes `path` with the endings .png and .svg; returns both paths."""
        from fairport.figures import style

        png, svg = (path.with_name(f"{path.name}.{ending}") for ending in ("png", "svg"))
        if self._threads is None:
            _save(picture, [png, svg])
            return [png, svg]
        # pickled here, because a thread would do so while the SVG is drawn from the same picture
        content = pickle.dumps(picture, protocol=pickle.HIGHEST_PROTOCOL)
        is_idle = all(one.done.done() for one in self._sent)
        # the worker may have been started in another working directory
        there = [one.absolute() for one in ([png, svg] if is_idle else [png])]
        done = self._threads.submit(shared().call, _save_content, content, there)
        self._sent.append(_Sent(done, content, there))
        if not is_idle:
            style.save(picture, svg)
        return [png, svg]

    def finish_svgs(self) -> None:
        """Waits until every SVG is written, for a report that shows them."""
        for one in [one for one in self._sent if len(one.paths) > 1]:
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
    from fairport.figures import style

    for path in paths:
        # The file is complete or not there, because the report may look for it meanwhile.
        partial = path.with_name(f".{path.name}")
        style.save(picture, partial)
        partial.replace(path)
