"""Worker processes are kept, end with their call or their parent, and start from any script."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import slowness
from fairport.backends.progress import Report
from fairport.errors import ScenarioError
from fairport.study.runs.workers import WorkerDiedError, Workers


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers()
    yield made
    made.close()


def process(_: Report) -> int:
    return os.getpid()


def reports(report: Report) -> str:
    for step in range(50):
        report(float(step), step)
        time.sleep(0.01)
    return "done"


def refuses(_: Report) -> None:
    raise ScenarioError("is wrong", field="queue.limit", remedy="do it right")


def dies(_: Report) -> None:
    os._exit(9)


def prints(_: Report) -> str:
    print("from a library")
    return "done"


def test_a_worker_is_kept_and_is_another_process(workers: Workers) -> None:
    first = workers.call(process)
    assert first == workers.call(process) != os.getpid()


def imported(_: Report, name: str) -> tuple[int, bool]:
    return os.getpid(), name in sys.modules


def test_workers_that_were_started_have_imported_what_they_were_given(workers: Workers) -> None:
    workers.start(2, "no.such.module", "plistlib")
    first, has_imported = workers.call(imported, "plistlib")
    assert has_imported
    assert workers.call(imported, "plistlib") == (first, True), "the one that is idle again"


@pytest.mark.skipif(sys.platform == "win32", reason="there Ctrl-C is no signal of one process")
def test_workers_that_are_idle_are_not_started_again(workers: Workers) -> None:
    workers.start(1)
    workers.start(2)
    workers.start(1)
    assert len(workers._idle) == 2


def test_a_worker_that_is_only_starting_does_not_hear_ctrl_c(workers: Workers) -> None:
    workers.start(1)
    (starting,) = workers._idle
    starting.send_signal(signal.SIGINT)
    assert workers.call(process) == starting.pid


def test_an_error_arrives_whole_and_the_worker_goes_on(workers: Workers) -> None:
    first = workers.call(process)
    with pytest.raises(ScenarioError, match=r"queue\.limit: is wrong") as raised:
        workers.call(refuses)
    assert raised.value.remedy == "do it right"
    assert workers.call(process) == first


def test_a_dead_worker_is_an_error_and_another_takes_its_place(workers: Workers) -> None:
    first = workers.call(process)
    with pytest.raises(WorkerDiedError, match="status 9"):
        workers.call(dies)
    assert workers.call(process) not in (first, os.getpid())


@pytest.mark.alone
def test_progress_is_reported_and_may_end_the_call(workers: Workers) -> None:
    seen: list[int] = []
    assert workers.call(reports, report=lambda _, hops: seen.append(hops)) == "done"
    assert seen == sorted(seen)
    assert len(seen) >= 2

    def stop(_at: float, _hops: int) -> None:
        raise KeyboardInterrupt

    slow = slowness()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        workers.call(reports, report=stop)
    assert time.monotonic() - begin < 10 * slow


def test_what_is_printed_does_not_come_between(workers: Workers) -> None:
    assert workers.call(prints) == "done"


def test_a_script_needs_no_guard_and_leaves_no_process(tmp_path: Path) -> None:
    """A script that begins with a study: a worker's interpreter must not run the script again."""
    script = tmp_path / "study.py"
    script.write_text(
        "import fairport as fp\n"
        "from fairport.study.runs import workers\n"
        "from fairport.study.runs.pool import run_all\n"
        "short = fp.scenario('outcast').patch({'duration': '5ms'})\n"
        "records = list(run_all([(short, seed) for seed in range(12)], jobs=2))\n"
        "print(len(records), *(one.pid for one in workers.shared()._idle))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    runs, *processes = map(int, done.stdout.split())
    assert runs == 12
    assert len(processes) == 2
    for one in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(one, 0)


def test_a_module_of_the_users_own_in_the_working_folder_does_not_replace_pythons(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "struct.py").write_text("raise RuntimeError('not for fairport')")
    monkeypatch.chdir(tmp_path)
    assert workers.call(process) != os.getpid()
