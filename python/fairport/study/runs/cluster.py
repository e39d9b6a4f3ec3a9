"""Runs on a cluster: Dask's scheduler hands them to its workers, which need only the wheel.

Workers get runs and send rows back; only this process writes the study, so only the scheduler is
shared. If a worker is lost, the scheduler gives its runs to another. If the connection to the
scheduler is lost, unfinished runs are handed out again as soon as there is a scheduler at the
address. A row that comes twice is the same row.
"""

from __future__ import annotations

import logging
import socket
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fairport.errors import InputError
from fairport.study.runs import slurm
from fairport.study.runs.execution import Ended, Executor, Task, outcome
from fairport.study.runs.model_version import model_version

if TYPE_CHECKING:
    from distributed import Client, Future

_CONNECT_S = 8
_LONGEST_GREETING = 1 << 20
_RECONNECT_S = 60
_POLL_S = 0.2
# A message to the scheduler costs some milliseconds, so short runs travel together. Long ones do
# not: they would wait for each other while workers are idle, and be lost together.
_BATCH_S = 0.1
_MOST_IN_A_BATCH = 8
_BATCHES_PER_THREAD = 3


def connected(address: str) -> AbstractContextManager[Executor]:
    """`dask://HOST:PORT`, or `slurm://PARTITION?jobs=20&cores=16&memory=32GB&walltime=04:00:00`.

    Slurm's jobs are submitted when the context is entered. Raises InputError for an address that
    cannot be, at once, and when it is used, within 10 s, if there is no scheduler.
    """
    wrong = InputError(
        "is not the address of a cluster",
        file="--cluster",
        value=address,
        remedy="give a scheduler as dask://HOST:PORT, or Slurm as slurm://PARTITION?jobs=20&cores=16",
    )
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise wrong from None
    _require_extra(address)
    if parts.scheme == "dask" and port:
        return nullcontext(Dask(f"tcp://{parts.hostname}:{port}"))
    if parts.scheme == "slurm" and parts.netloc:
        return _on_slurm(slurm.jobs(parts.netloc, parts.query))
    raise wrong


@contextmanager
def _on_slurm(submitted: AbstractContextManager[slurm.Jobs]) -> Iterator[Executor]:
    with submitted as jobs:
        yield Dask(jobs.scheduler, jobs.replace_ended)


class Dask:
    """A scheduler at an address, with the workers that it has or will have."""

    def __init__(self, address: str, keep_up: Callable[[], None] = lambda: None) -> None:
        """Raises InputError if nothing answers, or something that is no scheduler.

        `keep_up` is called several times per second; it keeps workers there.
        """
        self._address, self._keep_up = address, keep_up
        self._require_scheduler()
        self._client = self._connected(_CONNECT_S)
        self._threads = 0
        self._run_s = _BATCH_S  # the longest of the last runs

    @property
    def jobs(self) -> int:
        """The threads of the workers that have come."""
        return self._threads

    def ended(self, tasks: Iterator[Task]) -> Generator[Ended | None, None, None]:
        """Runs all tasks, as `Executor` describes."""
        waiting: deque[list[Task]] = deque()
        handed_out: dict[Future, list[Task]] = {}
        refused: list[Ended] = []
        possible = _possible(tasks, refused)
        try:
            while True:
                try:
                    self._hand_out(possible, waiting, handed_out)
                    while refused:
                        yield refused.pop(0)
                    if not handed_out:
                        return
                    yield from self._come_back(waiting, handed_out)
                    yield None
                except (OSError, TimeoutError, CancelledError, AttributeError):
                    # a client that has just lost its scheduler raises the last one
                    waiting.extend(handed_out.values())
                    handed_out.clear()
                    self._again()
        finally:
            with suppress(Exception):
                self._client.cancel(list(handed_out), force=True)
            # a client that is closed while it looks for its scheduler logs a traceback
            logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
            with suppress(Exception):
                self._client.close(timeout=1)

    def _hand_out(
        self,
        tasks: Iterator[Task],
        waiting: deque[list[Task]],
        handed_out: dict[Future, list[Task]],
    ) -> None:
        """Keeps every worker's threads busy, with few more runs at the scheduler."""
        self._require_connection()
        self._keep_up()
        self._threads = sum(self._client.nthreads().values())
        while len(handed_out) < max(1, self.jobs) * _BATCHES_PER_THREAD:
            size = max(1, min(int(_BATCH_S / self._run_s), _MOST_IN_A_BATCH))
            if not waiting:
                waiting.append(list(islice(tasks, size)))
            if not waiting[0]:
                waiting.clear()
                return
            # a lost worker is not the fault of its runs: they are tried elsewhere
            future = self._client.submit(_outcomes, waiting[0], pure=False, retries=3)
            # only now: the connection may be lost meanwhile
            handed_out[future] = waiting.popleft()

    def _come_back(
        self, waiting: deque[list[Task]], handed_out: dict[Future, list[Task]]
    ) -> Iterator[Ended]:
        """The runs that have ended meanwhile."""
        deadline = time.monotonic() + _POLL_S
        while not any(future.done() for future in handed_out):
            self._require_connection()
            if time.monotonic() > deadline:
                return
            time.sleep(0.01)
        for future in [one for one in handed_out if one.done()]:
            ended: list[Ended] = []
            if future.status == "finished":
                model, ended = future.result(timeout=_CONNECT_S)
                if model != model_version():
                    raise _other_version(model)
                walls_s = [one.row["wall_s"] for one in ended if one.row]
                self._run_s = max([1e-6, *walls_s])
            elif future.status == "error":
                # several workers died of it, or it cannot be sent
                why = _why(future.exception())
                ended = [Ended(task, None, why) for task in handed_out[future]]
            else:
                waiting.append(handed_out[future])
            # only now: the connection may be lost while the result is fetched
            del handed_out[future]
            yield from ended
            future.release()

    def _require_scheduler(self) -> None:
        """Checks the address: Dask would wait although it is refused, and trust any answer."""
        parts = urlsplit(self._address)
        until = time.monotonic() + _CONNECT_S
        try:
            with socket.create_connection((parts.hostname, parts.port), _CONNECT_S) as one:
                one.settimeout(max(until - time.monotonic(), 0.1))
                # a scheduler speaks first: the length of its greeting, then the greeting
                length = int.from_bytes(one.makefile("rb").read(8), "little")
        except OSError as error:
            raise self._unreachable() from error
        if not 0 < length < _LONGEST_GREETING:
            raise self._unreachable("is not a Dask scheduler")

    def _require_connection(self) -> None:
        if self._client.status != "running":
            raise OSError("the connection to the scheduler is lost")

    def _again(self) -> None:
        """Connects to the scheduler at the address, or waits for one."""
        with suppress(Exception):
            self._client.close(timeout=1)
        self._client = self._connected(_RECONNECT_S)

    def _connected(self, within_s: float) -> Client:
        from distributed import Client

        try:
            return Client(self._address, timeout=within_s, set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise self._unreachable() from error

    def _unreachable(self, why: str = "does not answer") -> InputError:
        return InputError(
            why,
            file="--cluster",
            value=self._address.replace("tcp:", "dask:"),
            remedy="start one with `dask scheduler`, and check host, port and firewall",
        )


def _possible(tasks: Iterator[Task], refused: list[Ended]) -> Iterator[Task]:
    """The tasks that need a worker; the outcomes of the others are added to `refused`.

    An InputError cannot be sent: Dask would set the notes of an exception, which are its own.
    """
    for task in tasks:
        if isinstance(task.run, InputError):
            refused.append(outcome(None, task))
        else:
            yield task


def _outcomes(batch: list[Task]) -> tuple[str, list[Ended]]:
    """The function that a worker runs, with the worker's version of the model."""
    return model_version(), [outcome(None, task) for task in batch]


def _why(error: BaseException | None) -> str:
    """Why runs have no result; if something there cannot be read, what to do about it."""
    said = str(error)
    if "deserialization" not in said:
        return said
    return (
        "cannot be read by the scheduler or by a worker: put your own classes into the program, or"
        " start both with PYTHONPATH=FOLDER, so that they find your module"
    )


def _other_version(model: str) -> InputError:
    return InputError(
        f"has a worker with version {model} of the model, and this is {model_version()}",
        file="--cluster",
        remedy="install the same Fairport there and here, and start the workers again",
    )


def _require_extra(address: str) -> None:
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise InputError(
            "needs the extra `cluster`",
            file="--cluster",
            value=address,
            remedy="pip install 'fairport[cluster]'",
        ) from None
