"""Slurm's jobs as workers of a Dask scheduler in this process; dask-jobqueue submits them.

A job ends by its time limit, with its node, or by a fault. Dask notices lost workers but not lost
jobs, so Slurm's queue is looked at, and a job that is no longer in it is submitted again.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from fairport.errors import InputError

if TYPE_CHECKING:
    from dask_jobqueue import SLURMCluster

_WORKER_WAITS_S = 600
_LOOK_EVERY_S = 10.0
# so many jobs that end without a worker are no accident
_MOST_IN_VAIN = 3
_LEAST_MEMORY_BYTES = 1 << 20


class Jobs:
    """The jobs of one command."""

    def __init__(self, cluster: SLURMCluster, count: int) -> None:
        self._cluster, self._count = cluster, count
        self._look_at = time.monotonic() + _LOOK_EVERY_S
        self._with_worker: set[str] = set()
        self._in_vain = 0
        cluster.scale(jobs=count)

    @property
    def scheduler(self) -> str:
        """The scheduler's address."""
        address: str = self._cluster.scheduler_address
        return address

    def replace_ended(self) -> None:
        """Submits a job in place of each that has ended; looks at the queue every ten seconds.

        Raises InputError if jobs end before they have started a worker.
        """
        if time.monotonic() < self._look_at:
            return
        workers = self._cluster.workers
        submitted = {name: getattr(job, "job_id", "") for name, job in workers.items()}
        queued = _queue()
        self._look_at = time.monotonic() + _LOOK_EVERY_S
        if queued is None:
            return
        here = self._cluster.observed
        # a job's workers have its name and a number
        self._with_worker |= {
            name for name in submitted if any(f"{one}-".startswith(f"{name}-") for one in here)
        }
        ended = {name: number for name, number in submitted.items() if number not in queued}
        if ended:
            self._cluster.sync(self._cluster.scale_down, list(ended))
        # without a number, Slurm did not take the job
        in_vain = [ended[name] for name in ended.keys() - self._with_worker if ended[name]]
        self._in_vain = 0 if here else self._in_vain + len(in_vain)
        self._with_worker -= ended.keys()
        if in_vain and self._in_vain >= _MOST_IN_VAIN:
            raise InputError(
                "has started jobs that ended before they had a worker",
                file="--cluster",
                value="slurm",
                remedy=f"read slurm-{max(in_vain)}.out: each node needs this command's Python"
                " environment, and must reach the host on which this command runs",
            )
        self._cluster.scale(jobs=self._count)


def jobs(partition: str, query: str) -> AbstractContextManager[Jobs]:
    """A scheduler in this process, with workers in Slurm's jobs, which are submitted on entering.

    Raises InputError for options that cannot be, at once.
    """
    options = _options(query)
    count, cores = (_number(options[name], name) for name in ("jobs", "cores"))
    if shutil.which("sbatch") is None:
        raise InputError(
            "needs Slurm, and there is no `sbatch` here",
            file="--cluster",
            value=f"slurm://{partition}",
            remedy="run the command on a login node, or use --cluster dask://HOST:PORT",
        )
    of_each = {
        "cores": cores,
        # a run takes one core and an interpreter
        "processes": cores,
        "memory": _memory(options["memory"]),
        "walltime": options["walltime"],
        "account": options["account"],
    }
    return _submitted(partition, count, of_each)


def cluster_class() -> type[SLURMCluster]:
    """The class of clusters. Once imported, its package would end the program at Ctrl-C as done."""
    at_interrupt = signal.getsignal(signal.SIGINT)
    from dask_jobqueue import SLURMCluster

    if signal.getsignal(signal.SIGINT) is not at_interrupt:
        signal.signal(signal.SIGINT, at_interrupt)
    found: type[SLURMCluster] = SLURMCluster  # the package has no types
    return found


@contextmanager
def _submitted(partition: str, count: int, of_each: Mapping[str, Any]) -> Iterator[Jobs]:
    kind = cluster_class()
    try:
        cluster = kind(
            queue=partition,
            # a worker may start slowly, and a scheduler may come back late
            death_timeout=_WORKER_WAITS_S,
            **of_each,
        )
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(
            f"cannot be used: {error}",
            file="--cluster",
            value=f"slurm://{partition}",
            remedy="check the options after `?`, such as memory=32GB&walltime=04:00:00",
        ) from None
    with cluster:
        _require_acceptance(cluster.job_script(), partition)
        yield Jobs(cluster, count)


def _options(query: str) -> dict[str, Any]:
    known = {"jobs": "1", "cores": "1", "memory": "2GB", "walltime": "01:00:00", "account": None}
    given = parse_qsl(query, keep_blank_values=True)
    names = [name for name, _ in given]
    for name in names:
        if name not in known:
            raise InputError(
                "is not an option of a Slurm job",
                file="--cluster",
                value=name,
                remedy=f"choose among {', '.join(known)}",
            )
        if names.count(name) > 1:
            raise InputError("is given twice", file="--cluster", value=name, remedy="give it once")
    return known | dict(given)


def _queue() -> set[str] | None:
    """The numbers of this user's jobs that wait or run; None if Slurm does not answer now."""
    try:
        said = subprocess.run(
            ["squeue", "--me", "--noheader", "--format=%A"],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return set(said.stdout.split())


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


def _number(value: str, option: str) -> int:
    with suppress(ValueError):
        if int(value) >= 1:
            return int(value)
    raise InputError(
        f"is not a number of {option}",
        file="--cluster",
        value=value,
        remedy=f"give a whole number from 1 on, such as {option}=16",
    )


def _memory(value: str) -> str:
    from dask.utils import parse_bytes

    with suppress(ValueError):
        if parse_bytes(value) >= _LEAST_MEMORY_BYTES:
            return value
    raise InputError(
        "is not an amount of memory",
        file="--cluster",
        value=value,
        remedy="give the memory of a job with its unit, such as memory=32GB",
    )
