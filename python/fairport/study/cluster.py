"""Runs on a cluster: Dask's scheduler hands them to its workers, which need only the wheel.

Workers get runs and send rows back; only this process writes the study, so only the scheduler is
shared. If a worker is lost, the scheduler gives its runs to another. If the connection to the
scheduler is lost, unfinished runs are handed out again as soon as there is a scheduler at the
address. A row that comes twice is the same row.
"""

from __future__ import annotations

import logging
import shutil
import socket
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from fairport.errors import InputError
from fairport.study.execution import Ended, Executor, Task, outcome

if TYPE_CHECKING:
    from distributed import Client, Future

_CONNECT_S = 8
_LONGEST_GREETING = 1 << 20
_RECONNECT_S = 60
_POLL_S = 0.2
_WORKER_WAITS_S = 600
# a message to the scheduler costs some milliseconds, so runs travel together
_BATCH = 8
_BATCHES_PER_THREAD = 3


@contextmanager
def connected(address: str) -> Iterator[Executor]:
    """`dask://HOST:PORT`, or `slurm://PARTITION?jobs=20&cores=16&memory=32GB&walltime=04:00:00`.

    Raises InputError within 10 s if there is no scheduler.
    """
    wrong = InputError(
        "is not the address of a cluster",
        file="--cluster",
        value=address,
        remedy="dask://HOST:PORT of a scheduler, or slurm://PARTITION?jobs=20&cores=16",
    )
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise wrong from None
    _require_extra(address)
    if parts.scheme == "dask" and port:
        yield Dask(f"tcp://{parts.hostname}:{port}")
    elif parts.scheme == "slurm" and parts.netloc:
        with _slurm(parts.netloc, dict(parse_qsl(parts.query))) as scheduler:
            yield Dask(scheduler)
    else:
        raise wrong


class Dask:
    """A scheduler at an address, with the workers that it has or will have."""

    def __init__(self, address: str) -> None:
        """Raises InputError if nothing answers, or something that is no scheduler."""
        self._address = address
        self._require_scheduler()
        self._client = self._connected(_CONNECT_S)
        self._threads = 0

    @property
    def jobs(self) -> int:
        """The threads of the workers that have come."""
        return max(1, self._threads)

    def ended(self, tasks: Iterator[Task]) -> Generator[Ended, None, None]:
        """Runs all tasks, as `Executor` describes."""
        waiting: deque[list[Task]] = deque()
        handed_out: dict[Future, list[Task]] = {}
        try:
            while True:
                try:
                    self._hand_out(tasks, waiting, handed_out)
                    if not handed_out:
                        return
                    yield from self._come_back(waiting, handed_out)
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
        self._threads = sum(self._client.nthreads().values())
        while len(handed_out) < self.jobs * _BATCHES_PER_THREAD:
            batch = waiting.popleft() if waiting else list(islice(tasks, _BATCH))
            if not batch:
                return
            # a lost worker is not the fault of its runs: they are tried elsewhere
            future = self._client.submit(_outcomes, batch, pure=False, retries=3)
            handed_out[future] = batch

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
            batch = handed_out.pop(future)
            if future.status == "finished":
                yield from future.result(timeout=_CONNECT_S)
            elif future.status == "error":
                # several workers died of it, or it cannot be sent
                yield from (Ended(task, None, str(future.exception())) for task in batch)
            else:
                waiting.append(batch)
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


def _outcomes(batch: list[Task]) -> list[Ended]:
    """The function that a worker runs."""
    return [outcome(task, lambda _at_s, _hops: None) for task in batch]


@contextmanager
def _slurm(partition: str, options: dict[str, str]) -> Iterator[str]:
    """Starts a scheduler in this process, with workers in Slurm's jobs; returns its address."""
    from dask_jobqueue import SLURMCluster

    jobs = _number(options.pop("jobs", "1"), "jobs")
    known: dict[str, Any] = {"cores": 1, "memory": "2GB", "walltime": "01:00:00", "account": None}
    wrong = [name for name in options if name not in known]
    if wrong:
        raise InputError(
            "is not an option of a Slurm job",
            file="--cluster",
            value=wrong[0],
            remedy=f"jobs, {', '.join(known)}",
        )
    known |= options
    cores = _number(known["cores"], "cores")
    if shutil.which("sbatch") is None:
        raise InputError(
            "needs Slurm, and there is no `sbatch` here",
            file="--cluster",
            value=f"slurm://{partition}",
            remedy="run the command on a login node, or use --cluster dask://HOST:PORT",
        )
    try:
        cluster = SLURMCluster(
            queue=partition,
            cores=cores,
            # a run takes one core and an interpreter
            processes=cores,
            memory=known["memory"],
            walltime=known["walltime"],
            account=known["account"],
            # a worker may start slowly, and a scheduler may come back late
            death_timeout=_WORKER_WAITS_S,
        )
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(
            f"cannot be used: {error}", file="--cluster", value=f"slurm://{partition}"
        ) from None
    with cluster:
        _require_acceptance(cluster.job_script(), partition)
        # a job that ends, by its walltime or by a fault, is replaced
        cluster.adapt(minimum_jobs=jobs, maximum_jobs=jobs)
        yield cluster.scheduler_address


def _require_acceptance(script: str, partition: str) -> None:
    """Slurm's word on the job: Dask would submit one that is refused again and again."""
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
        file.write(script)
        file.flush()
        tried = subprocess.run(
            ["sbatch", "--test-only", file.name], capture_output=True, text=True, check=False
        )
    if tried.returncode != 0:
        said = tried.stderr.strip().splitlines() or [f"status {tried.returncode}"]
        raise InputError(
            f"is refused by Slurm: {said[-1]}",
            file="--cluster",
            value=f"slurm://{partition}",
            remedy="`sinfo` lists partitions and their limits",
        )


def _number(value: str | int, option: str) -> int:
    with suppress(ValueError):
        if int(value) >= 1:
            return int(value)
    raise InputError(
        f"is not a number of {option}",
        file="--cluster",
        value=value,
        remedy=f"a whole number from 1 on, such as {option}=16",
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
