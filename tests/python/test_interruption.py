"""Ctrl-C: status 130, nothing half-written, the terminal as it was."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path

import pydantic_core
import pytest
from conftest import ENTRY, Command
from fairport import ordered_threads

# so long that no test waits for its end
ENDLESS = [
    "run",
    "outcast",
    "--duration",
    "5min",
    "--out",
    "results/endless",
    "--set",
    "probes.series_interval=1h",
    "--set",
    "probes.queue_interval=1h",
]

# a limit on file sizes has the same effect as a full disk: an error in the middle of a write
FULL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); "
# Python 3.11 would keep the first 2000 bytes of a module's bytecode, for later tests
WITHOUT_BYTECODE = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")


def interrupted(folder: Path, *arguments: str, by: int = signal.SIGINT) -> tuple[int, str]:
    """Starts a run, presses Ctrl-C when it is under way, and returns status and stderr."""
    process = subprocess.Popen(
        [*ENTRY, *ENDLESS, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    # the run begins right after its folder's hidden partial folder is made
    while not list(folder.glob("results/.endless.*.partial")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(by)
    out, err = process.communicate(timeout=60)
    assert out == ""
    return process.returncode, err


def interrupted_in_a_terminal(folder: Path, sign: str, *arguments: str) -> tuple[int, str]:
    """Presses Ctrl-C once the sign is shown, and returns the status and all that was shown."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [*ENTRY, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=theirs
    )
    try:
        shown = b""
        while sign.encode() not in shown:
            assert select.select([ours], [], [], 60)[0], shown
            shown += os.read(ours, 1 << 16)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        while select.select([ours], [], [], 0)[0]:
            shown += os.read(ours, 1 << 16)
    finally:
        process.kill()
        os.close(ours)
        os.close(theirs)
    return process.returncode, shown.decode()


@pytest.mark.parametrize("arguments", [[], ["--repeat", "4", "--jobs", "2"], ["--json"]])
def test_ctrl_c_leaves_nothing(tmp_path: Path, arguments: list[str]) -> None:
    status, err = interrupted(tmp_path, *arguments)
    assert status == 130
    assert err == "interrupted: nothing was written\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_who_ends_it_otherwise_finds_nothing_either(tmp_path: Path, name: str) -> None:
    by = getattr(signal, name)
    assert interrupted(tmp_path, by=by) == (128 + by, "interrupted: nothing was written\n")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_leaves_is_removed_by_the_next(tmp_path: Path) -> None:
    """Even gigabytes of captures: the folder has its list from the beginning."""
    process = subprocess.Popen([*ENTRY, *ENDLESS, "--pcap", "bottleneck"], cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("results/.endless.*.partial/captures/*.pcapng")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()
    again = ["run", "two-switch", "--duration", "1ms", "--no-figures", "--out", "results/endless"]
    subprocess.run([*ENTRY, *again], cwd=tmp_path, capture_output=True, check=True)
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["endless"]


_CALLS_IN_NUMPY = """
import json, sys
import fairport as fp
from fairport import _core
from fairport.backends.jobs import job_of
job = job_of(fp.scenario("two-switch").patch({"duration": "1ms"})).document
simulation = _core.Simulation(json.dumps(job))
calls = []
sys.setprofile(lambda frame, event, _: calls.append((event, frame.f_code.co_filename)))
tables = simulation.run()["tables"]
sys.setprofile(None)
print(len(tables) > 0, [file for event, file in calls if event == "call" and "numpy" in file])
"""


def test_ctrl_c_cannot_come_while_the_first_array_is_made() -> None:
    """NumPy's interface is opened where no signal comes: not in the main thread."""
    done = subprocess.run(
        [sys.executable, "-c", _CALLS_IN_NUMPY], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True []\n"


def test_ctrl_c_restores_the_terminal(tmp_path: Path) -> None:
    status, shown = interrupted_in_a_terminal(tmp_path, "packet-hops/s", *ENDLESS)
    assert status == 130
    # the cursor was hidden while the bar moved, and is shown again
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")
    assert "Traceback" not in shown
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_gets_full_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    entry = [*ENTRY[:-1], FULL + ENTRY[-1]]
    done = subprocess.run(
        [*entry, "run", "outcast", "--duration", "20ms"],
        cwd=tmp_path,
        env=WITHOUT_BYTECODE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    error, hint = done.stderr.splitlines()
    assert error == "error: results/outcast: cannot be written: File too large"
    assert hint == "hint: make room, or give another --out"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_too_long_a_name_asks_for_a_shorter_one(
    fairport: Command, tmp_path: Path
) -> None:
    done = fairport("run", "outcast", "--duration", "20ms", "--quiet", "--out", "x" * 300)
    assert done.status == 2
    error, hint = done.err.splitlines()
    assert error.endswith("xxx: cannot be written: File name too long")
    assert hint == "hint: give a shorter --out"
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_gets_full_behind_stdout_is_named_without_a_buffer_too(tmp_path: Path) -> None:
    # as in many containers; Python then takes a write of a part for that of the whole
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [*ENTRY[:-1], FULL + ENTRY[-1], "scenario", "schema"],
            env=WITHOUT_BYTECODE | {"PYTHONUNBUFFERED": "1"},
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, "error: stdout: File too large\n")


def test_ctrl_c_is_heard_while_a_study_waits_for_its_runs(tmp_path: Path) -> None:
    study = ["compare", "outcast", "--fix", "red", "--repeat", "2", "--duration", "5min"]
    status, _ = interrupted_in_a_terminal(tmp_path, "of 4 runs", *study)
    assert status == 130
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_is_heard_while_a_capture_waits_for_its_pipe(tmp_path: Path) -> None:
    header = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
    process = subprocess.Popen(
        [*ENTRY, "analyze", "-", "--out", "found"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    # a packet of which only a part arrives
    process.stdin.write(header + bytes(8) + b"\xff\xff\0\0" * 2 + bytes(1 << 10))
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while unread(process.stdin.fileno()) > 0:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=20)
    assert process.stderr is not None
    assert process.stderr.read() == b"interrupted: nothing was written\n"
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_wait_raises_nothing_but_the_interrupt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # a wait of many steps: concurrent.futures.wait fails here in one of some 400 interrupts
    monkeypatch.setattr(ordered_threads, "_WAIT_S", 1e-5)

    def wait(interrupt_after_s: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, interrupt_after_s)
        ordered_threads.result(Future())

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for turn in range(4000):
            with pytest.raises(KeyboardInterrupt):
                wait(1e-4 + turn % 100 * 3e-6)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def unread(pipe: int) -> int:
    """Bytes in a pipe that its reader has not read yet."""
    import array
    import fcntl
    import termios

    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


class Pressed:
    """A value at which Ctrl-C is pressed when it is looked at."""

    def __repr__(self) -> str:
        raise KeyboardInterrupt


def test_ctrl_c_while_pydantic_builds_a_schema_is_no_traceback(
    fairport: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def built(*_: object) -> None:
        pydantic_core.SchemaSerializer({"type": "literal", "expected": [Pressed()]})

    monkeypatch.setattr("fairport.scenario.source_text", built)
    done = fairport("scenario", "show", "outcast")
    assert (done.status, done.err) == (130, "interrupted: nothing was written\n")
