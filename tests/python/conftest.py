"""What many tests use: the command line in this process and in its own, and short scenarios."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from browser import CHROMIUM, Page, browser
from fairport.result import Result
from fairport.scenario import Scenario, load
from hypothesis import settings

# the time of an example depends on the machine's other work
settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")

# nohup ignores SIGHUP, and a script ignores SIGINT in programs that it starts with `&`. Processes
# inherit ignored signals but no handlers: with a handler here, tests' processes have the default.
for _name in ("SIGINT", "SIGHUP"):
    _number = getattr(signal, _name, None)
    if _number is not None and signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)


@pytest.fixture
def narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 60 columns, with colours."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)


@dataclass
class Outcome:
    status: int
    out: str
    err: str


Command = Callable[..., Outcome]

ENTRY = [sys.executable, "-c", "from fairport.cli import main; main()"]


@pytest.fixture(autouse=True)
def store_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """No test finds the runs of another test, or of the user."""
    folder = tmp_path_factory.mktemp("store")
    monkeypatch.setenv("FAIRPORT_STORE", str(folder))
    return folder


@pytest.fixture
def fairport(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """The command line, run in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Outcome:
        from fairport.cli.app import app

        with pytest.raises(SystemExit) as ended:
            app(list(arguments), prog_name="fairport")
        captured = capsys.readouterr()
        status = ended.value.code
        return Outcome(status if isinstance(status, int) else 0, captured.out, captured.err)

    return run


@pytest.fixture
def fairport_process(tmp_path: Path) -> Command:
    """The command line in a process of its own, with pipes as its streams."""

    def run(*arguments: str) -> Outcome:
        done = subprocess.run(
            [*ENTRY, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={key: value for key, value in os.environ.items() if key != "COLUMNS"},
            timeout=120,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="module")
def chromium() -> Iterator[Page]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed (apt install chromium)")
    with browser() as opened:
        yield opened


@pytest.fixture
def tab(chromium: Page) -> Iterator[Page]:
    """A browser's tab. No test may leave a console error, a request or a refused style there."""
    chromium.messages.clear()
    yield chromium
    assert chromium.messages == []


@pytest.fixture
def short() -> Scenario:
    """`outcast` for 20 ms: a real run in a few milliseconds."""
    return load("outcast").patch({"duration": "20ms", "name": "short"})


def slowness() -> float:
    """How many times longer a process takes now than alone; 1 if nothing else runs."""
    assert "PYTEST_XDIST_WORKER" not in os.environ, "a test of real time is marked `alone`"
    begun, worked = time.monotonic(), time.process_time()
    while time.process_time() - worked < 0.1:
        pass
    return max(1.0, (time.monotonic() - begun) / 0.1)


def timely(run: Callable[[], Result]) -> Result:
    """The first of three runs of real hosts that is valid, or the last if the machine is busy."""
    for _ in range(3):
        result = run()
        if result.summary["valid"]:
            break
    return result


def lack_of_bpf() -> str:
    """Why this machine's kernel cannot load congestion controls; empty if it can."""
    from fairport.backends.linux import programs

    try:
        programs.require()
    except programs.ProgramError as error:
        return str(error)
    return ""


@pytest.fixture
def base() -> Scenario:
    """`two-switch` for 10 ms: what a study's points patch."""
    return load("two-switch").patch({"duration": "10ms"})


@pytest.fixture
def outcast() -> Scenario:
    """The scenario `outcast`, for 150 ms."""
    return load("outcast").patch({"duration": "150ms"})


@pytest.fixture
def custom(outcast: Scenario) -> Scenario:
    """The same with a queue of the user's own, called `mine`."""
    return outcast.patch({"queue": {"kind": "custom", "name": "mine", "limit": "16KiB"}})
