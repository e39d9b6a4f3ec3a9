"""A study on a cluster: a real scheduler and real workers, killed in the middle."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import fairport as fp
import polars as pl
import pytest
from conftest import Command, slowness
from fairport.errors import InputError
from fairport.scenario import Scenario
from fairport.study.making import Listeners, Status
from fairport.study.runs.store import Store
from fairport.study.sweep import sweep

pytest.importorskip("distributed", reason="needs the extra `cluster`")
import distributed
from fairport.study.runs.cluster import connected

AXES: dict[str, Any] = {"topology.peers": [2, 3, 4, 5], "queue.limit": ["4KiB", "16KiB"]}


@pytest.fixture
def base() -> Scenario:
    return fp.scenario("two-switch").patch({"duration": "100ms"})


class Cluster:
    """A scheduler at a port and its workers, each a process."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self.start_scheduler()
        self.workers = [self.start_worker() for _ in range(2)]

    @property
    def address(self) -> str:
        return f"dask://127.0.0.1:{self.port}"

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        return self._started(
            *("scheduler", "--host", "127.0.0.1", "--port", str(self.port)), "--no-dashboard"
        )

    def start_worker(self) -> subprocess.Popen[bytes]:
        return self._started(
            *("worker", f"tcp://127.0.0.1:{self.port}", "--nthreads", "1", "--no-nanny"),
            *("--no-dashboard", "--death-timeout", "60"),
        )

    def close(self) -> None:
        for process in self.processes:
            with suppress(ProcessLookupError):
                process.kill()
            process.wait()

    def _started(self, *arguments: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self.processes.append(process)
        return process


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    deadline = time.monotonic() + 60
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", made.port), timeout=1):
            break
        assert time.monotonic() < deadline
        time.sleep(0.1)
    yield made
    made.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the backend needs Linux")
def test_runs_in_real_time_are_refused(base: Scenario, tmp_path: Path, cluster: Cluster) -> None:
    with connected(cluster.address) as executor, pytest.raises(InputError) as raised:
        sweep(base, AXES, folder=tmp_path / "s", backend="linux", executor=executor)
    assert str(raised.value).startswith('backend: "linux" runs in real time')
    assert not (tmp_path / "s").exists()


def test_the_command_runs_on_the_cluster(
    cluster: Cluster, fairport: Command, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text(
        'scenario = "two-switch"\nseeds = 3\n[set]\nduration = "10ms"\n'
        '[axes]\n"queue.limit" = ["4KiB", "8KiB"]\n'
    )
    done = fairport("sweep", "mine.toml", "--cluster", cluster.address, "--json")
    assert done.status == 0, done.err
    # of the cluster, not of this machine
    assert re.search(f", {len(cluster.workers)} at a time", done.err)
    assert json.loads(done.out)["made"] == 6


def test_an_impossible_point_fails_alone(cluster: Cluster, base: Scenario, tmp_path: Path) -> None:
    axes = {"duration": ["5ms", "20ms"], "measure.from": ["1ms", "10ms"]}
    with connected(cluster.address) as executor, pytest.warns(UserWarning, match="2 of 8 runs"):
        runs = sweep(base, axes, seeds=2, folder=tmp_path / "s", executor=executor).to_polars()
    failed = runs.filter(pl.col("error").is_not_null())
    assert set(failed["error"]) == {
        'patch: measure.from: "10ms" is not before the end of the run at 5ms'
    }
    assert (failed.height, runs.height) == (2, 8)


@pytest.mark.parametrize(
    ("option", "value", "problem"),
    [
        ("--backend", "linux", '--backend: "linux" runs in real time, one run at a time'),
        ("--jobs", "7", "--jobs: 7 has no effect on a cluster"),
    ],
)
def test_what_no_cluster_can_do_is_refused_before_it_is_asked(
    fairport: Command, tmp_path: Path, option: str, value: str, problem: str
) -> None:
    (tmp_path / "mine.toml").write_text(
        'scenario = "two-switch"\n[axes]\n"queue.limit" = ["4KiB", "8KiB"]\n'
    )
    # nothing answers there
    done = fairport("sweep", "mine.toml", "--cluster", "dask://127.0.0.1:9", option, value)
    assert (done.status, problem in done.err) == (2, True), done.err


@pytest.mark.parametrize(("batch_s", "most"), [(1e-9, 1), (1e9, 8)])
def test_long_runs_do_not_wait_for_each_other(
    base: Scenario,
    cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    batch_s: float,
    most: int,
) -> None:
    """Eight runs of an hour in one message would keep one worker busy and the others idle."""
    sizes: list[int] = []
    submit = distributed.Client.submit

    def counted(self: Any, function: Any, batch: list[Any], *more: Any, **options: Any) -> Any:
        sizes.append(len(batch))
        return submit(self, function, batch, *more, **options)

    monkeypatch.setattr(distributed.Client, "submit", counted)
    monkeypatch.setattr("fairport.study.runs.cluster._BATCH_S", batch_s)
    with connected(cluster.address) as executor:
        store = Store(tmp_path / "store")
        sweep(base, AXES, seeds=6, folder=tmp_path / "there", store=store, executor=executor)
    assert max(sizes) == most
    assert sum(sizes) == 48


def test_workers_of_another_version_make_no_run(
    base: Scenario, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows would be among those of this version, and look the same."""
    monkeypatch.setattr("fairport.study.runs.cluster.model_version", lambda: "9.9.9-0123456789ab")
    with (
        connected(cluster.address) as executor,
        pytest.raises(InputError, match=r"a worker with version .* and this is 9\.9\.9") as refused,
    ):
        sweep(
            base,
            {"topology.peers": [2]},
            seeds=2,
            folder=tmp_path / "there",
            store=Store(tmp_path / "store"),
            executor=executor,
        )
    assert "install the same Fairport" in refused.value.remedy
    assert not (tmp_path / "there" / "runs").exists()


@pytest.mark.parametrize(("owner", "method"), [("Client", "submit"), ("Future", "result")])
def test_a_connection_that_is_lost_during_a_message_costs_no_run(
    base: Scenario,
    cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: str,
    method: str,
) -> None:
    of = getattr(distributed, owner)
    whole, left = getattr(of, method), iter([False, True])

    def lost_once(*arguments: object, **options: object) -> object:
        if next(left, False):
            raise OSError("the connection is lost")
        return whole(*arguments, **options)

    with connected(cluster.address) as executor:
        monkeypatch.setattr(of, method, lost_once)
        study = sweep(
            base, {"topology.peers": [2, 3]}, seeds=8, folder=tmp_path / "s", executor=executor
        )
    assert next(left, None) is None
    assert study.to_polars()["run_id"].n_unique() == 16


def test_killed_workers_and_a_killed_scheduler_cost_no_run(
    base: Scenario, cluster: Cluster, tmp_path: Path
) -> None:
    """Every run is there once, with the fingerprint that it has here."""

    def break_things(status: Status) -> None:
        if status.done >= 10 and len(cluster.workers) == 2:
            cluster.workers.pop().send_signal(signal.SIGKILL)
        if status.done >= 24 and cluster.scheduler.poll() is None and len(cluster.workers) == 1:
            cluster.scheduler.kill()
            cluster.scheduler.wait()
            cluster.scheduler = cluster.start_scheduler()
            cluster.workers += [cluster.start_worker() for _ in range(2)]

    with connected(cluster.address) as executor:
        study = sweep(
            base,
            AXES,
            seeds=8,
            folder=tmp_path / "there",
            executor=executor,
            listeners=Listeners(status=break_things),
        )
    assert len(cluster.workers) == 3
    there = study.to_polars()
    assert there["run_id"].n_unique() == there.height == 64
    assert there["error"].null_count() == 64
    here = sweep(base, AXES, seeds=8, folder=tmp_path / "here", force=True).to_polars()
    columns = [*AXES, "seed", "run_id", "fingerprint"]
    assert there.select(columns).equals(here.select(columns))
    one = base.patch({axis: here[axis][0] for axis in AXES})
    assert there["fingerprint"][0] == fp.run(one, here["seed"][0]).fingerprint


@pytest.mark.alone
def test_an_address_at_which_nothing_is_is_an_error_within_ten_seconds(
    fairport: Command, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text(
        'scenario = "two-switch"\n[axes]\n"queue.limit" = ["4KiB"]\n'
    )
    slow = slowness()
    begin = time.monotonic()
    done = fairport("sweep", "mine.toml", "--cluster", "dask://127.0.0.1:9")
    assert time.monotonic() - begin < 10 + 2 * slow  # importing the library takes a while
    assert done.status == 2
    assert done.err.splitlines() == [
        'error: --cluster: "dask://127.0.0.1:9" does not answer',
        "hint: start one with `dask scheduler`, and check host, port and firewall",
    ]
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [(b"HTTP/1.1 400 Bad Request\r\n", "is not a Dask scheduler"), (b"", "does not answer")],
)
def test_what_is_no_scheduler_is_an_error(
    monkeypatch: pytest.MonkeyPatch, answer: bytes, problem: str
) -> None:
    monkeypatch.setattr("fairport.study.runs.cluster._CONNECT_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(answer)
                connection.recv(1)  # until the other side goes

        thread = Thread(target=serve)
        thread.start()
        with (
            pytest.raises(InputError, match=problem),
            connected(f"dask://127.0.0.1:{server.getsockname()[1]}"),
        ):
            pass
        thread.join()


@pytest.mark.parametrize(
    "address",
    ["tcp://host:1", "dask://host", "dask://host:99999", "dask://[::1", "nonsense", "slurm://"],
)
def test_what_is_no_address_says_so(address: str) -> None:
    with pytest.raises(InputError, match="is not the address of a cluster"), connected(address):
        pass


def test_slurm_starts_the_workers(
    base: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that runs the job's script on this machine, in place of `sbatch`.

    It keeps a copy, as Slurm does: the script is removed as soon as it is submitted.
    """
    pytest.importorskip("dask_jobqueue", reason="needs the extra `cluster`")
    log = tmp_path / "jobs"
    with slurm(tmp_path, monkeypatch, f'cat "$1" > {log}; setsid sh {log} > /dev/null 2>&1 &'):
        with connected("slurm://short?jobs=1&cores=1&memory=1GB&walltime=00:10:00") as executor:
            study = sweep(
                base, {"topology.peers": [2]}, seeds=2, folder=tmp_path / "s", executor=executor
            )
        assert study.to_polars()["error"].null_count() == 2
        script = log.read_text()
        assert "#SBATCH -p short" in script
        assert "#SBATCH -t 00:10:00" in script


def test_a_job_that_ends_is_replaced(
    base: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time limit ends a job of two workers in the middle of the study."""
    monkeypatch.setattr("fairport.study.runs.slurm._LOOK_EVERY_S", 0.5)
    run = f'cat "$1" > {tmp_path}/job; setsid sh {tmp_path}/job > /dev/null 2>&1 &'
    killed: list[int] = []

    def end_the_job(status: Status) -> None:
        if status.done == 3 and not killed:
            killed.append(int((tmp_path / "pids").read_text()))
            os.killpg(killed[0], signal.SIGKILL)

    with (
        slurm(tmp_path, monkeypatch, run),
        connected("slurm://short?cores=2&memory=1GB") as executor,
    ):
        study = sweep(
            base,
            {"topology.peers": [2]},
            seeds=12,
            folder=tmp_path / "s",
            store=Store(tmp_path / "store"),
            executor=executor,
            listeners=Listeners(status=end_the_job),
        )
        assert len((tmp_path / "pids").read_text().split()) == 2
    assert study.to_polars()["error"].null_count() == 12
    assert killed


def test_jobs_that_end_before_they_have_a_worker_end_the_study(
    base: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes that do not see the environment would otherwise get jobs for ever."""
    monkeypatch.setattr("fairport.study.runs.slurm._LOOK_EVERY_S", 0.1)
    with (
        slurm(tmp_path, monkeypatch, "true &"),
        connected("slurm://short?jobs=2") as executor,
        pytest.raises(InputError, match="ended before they had a worker") as refused,
    ):
        sweep(
            base,
            {"topology.peers": [2]},
            seeds=1,
            folder=tmp_path / "s",
            store=Store(tmp_path / "store"),
            executor=executor,
        )
    assert re.search(r"slurm-\d+\.out", refused.value.remedy)


@contextmanager
def slurm(folder: Path, monkeypatch: pytest.MonkeyPatch, run: str) -> Iterator[None]:
    """Slurm's commands. `run` starts the job "$1" in the background; its process is its number."""
    pids = folder / "pids"
    programs = {
        "sbatch": f'[ "$1" = --test-only ] && exit 0\n{run}\n'
        f'echo $! >> {pids}\necho "Submitted batch job $!"\n',
        "squeue": f"for it in $(cat {pids}); do kill -0 $it 2> /dev/null && echo $it; done; true\n",
        "scancel": "",
    }
    for name, text in programs.items():
        program = folder / name
        program.write_text(f"#!/bin/sh\n{text}")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    try:
        yield
    finally:
        for pid in pids.read_text().split():
            with suppress(ProcessLookupError):
                os.killpg(int(pid), signal.SIGKILL)


def test_no_job_is_submitted_for_a_study_that_is_refused(
    fairport: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("dask_jobqueue", reason="needs the extra `cluster`")
    submitted = tmp_path / "pids"
    submitted.touch()
    mine = 'scenario = "outcast"\n[set]\nduration = "5ms"\n[axes]\n"topology.k" = '
    file, on_slurm = tmp_path / "mine.toml", ("--cluster", "slurm://short?memory=1GB", "-q")
    with slurm(tmp_path, monkeypatch, "true &"):
        file.write_text(mine + "[4, 5]\n")
        refused = fairport("sweep", "mine.toml", *on_slurm)
        assert (refused.status, 'axes."topology.k": 5' in refused.err) == (2, True), refused.err
        # another study is in the folder
        file.write_text(mine + "[4]\n")
        assert fairport("sweep", "mine.toml", "--seeds", "1", "--jobs", "1", "-q").status == 0
        file.write_text(mine.replace("5ms", "6ms") + "[4]\n")
        refused = fairport("sweep", "mine.toml", *on_slurm)
        assert (refused.status, "another study" in refused.err) == (2, True), refused.err
    assert not submitted.read_text()


def test_ctrl_c_stays_an_interrupt_where_jobs_are_submitted() -> None:
    """dask-jobqueue makes it `sys.exit()`: a command that was interrupted would report success."""
    pytest.importorskip("dask_jobqueue", reason="needs the extra `cluster`")
    code = (
        "import signal; from fairport.study.runs import slurm; slurm.cluster_class();"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_job_that_slurm_refuses_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("dask_jobqueue", reason="needs the extra `cluster`")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="there is no `sbatch` here"), connected("slurm://short"):
        pass
    sbatch = tmp_path / "sbatch"
    sbatch.write_text("#!/bin/sh\necho 'sbatch: error: Invalid partition name' >&2\nexit 1\n")
    sbatch.chmod(sbatch.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(InputError, match=r"refused by Slurm: .*Invalid"), connected("slurm://shrt"):
        pass


@pytest.mark.parametrize("option", ["jobs=many", "jobs=0", "cores=-1", "cores=1.5"])
def test_a_number_of_jobs_or_cores_is_one(option: str) -> None:
    pytest.importorskip("dask_jobqueue", reason="needs the extra `cluster`")
    with (
        pytest.raises(InputError, match=f"is not a number of {option.partition('=')[0]}"),
        connected(f"slurm://p?{option}"),
    ):
        pass


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("core=3", "is not an option of a Slurm job"),
        ("jobs", "is not a number of jobs"),
        ("jobs=2&jobs=3", "is given twice"),
        ("memory=32", "is not an amount of memory"),
        ("memory=lots", "is not an amount of memory"),
    ],
)
def test_a_wrong_option_of_slurm_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, problem: str
) -> None:
    pytest.importorskip("dask_jobqueue", reason="needs the extra `cluster`")
    (tmp_path / "sbatch").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=problem), connected(f"slurm://p?{option}"):
        pass


def test_classes_that_a_worker_cannot_import_say_what_to_do(
    cluster: Cluster, base: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("class Mine:\n    def __init__(self, it): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    mine = base.patch({"tcp.congestion_control": "custom:mine"})
    factory = import_module("only_here").Mine
    coded = mine.with_user_code(congestion_controls={"mine": factory})
    folder = tmp_path / "study"
    with connected(cluster.address) as executor, pytest.warns(UserWarning, match="PYTHONPATH"):
        sweep(coded, {"topology.peers": [2]}, seeds=1, folder=folder, executor=executor)
