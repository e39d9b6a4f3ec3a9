"""One attempt: a command line, run in this process, and what must hold of it.

The status is one of those that are documented, and one for bad input comes with a sentence that
begins with `error:`. No exception leaves the command, and no text says that Fairport itself is at
fault. What takes more than `PATIENCE_S` of the processor or `WAIT_S` is interrupted as by Ctrl-C;
if it has not ended `DEAF_S` after it began, a watchdog ends the process with all stacks. Nothing
half-written stays.
"""

from __future__ import annotations

import faulthandler
import io
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

# processor time, and time by the clock, because a command may wait for its own workers
PATIENCE_S = 5.0
WAIT_S = 60.0
DEAF_S = 900.0
STATUSES = {0: "done", 1: "a check did not hold", 2: "refused", 3: "invalid", 130: "interrupted"}
FAULTS = ("Traceback (most recent", "fault of fairport itself", "panicked at", "RuntimeWarning")


@dataclass(frozen=True)
class Outcome:
    """What a command did; `violation` is empty if that is allowed."""

    status: int
    out: str
    err: str
    seconds: float
    violation: str


def run(arguments: Sequence[str], folder: Path, *, patient: bool = False) -> Outcome:
    """Runs `fairport ARGUMENTS..` in `folder`, the working directory."""
    from fairport.cli.app import app

    written = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(one, encoding="utf-8") for one in written)
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    status, escaped, begun = -1, "", time.monotonic()
    try:
        with nullcontext() if patient else _impatient():
            app(list(arguments), prog_name="fairport")
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0
    except BaseException:  # a panic of the engine is no Exception
        escaped = traceback.format_exc()
    finally:
        sys.stdout, sys.stderr = before
    out.flush()
    err.flush()
    texts = [one.getvalue().decode(errors="replace") for one in written]
    violation = escaped or complaint(status, *texts) or half_written(folder)
    return Outcome(status, texts[0], texts[1], time.monotonic() - begun, violation)


def complaint(status: int, out: str, err: str) -> str:
    """What is wrong with a command's status or its messages; empty if nothing."""
    if status not in STATUSES:
        return f"status {status}: {err[-500:]}"
    for fault in FAULTS:
        if fault in err or fault in out:
            return f"says `{fault}`: {err[-2000:]}"
    if status == 2 and "error:" not in err.lower() and "unreadable" not in out:
        return f"status 2 without an error: {err[-500:]!r}"
    return ""


def half_written(folder: Path) -> str:
    """Hidden files that are left in a folder; empty if none."""
    left = [path.name for path in folder.rglob(".*") if "partial" in path.name]
    return f"left behind: {left[:5]}" if left else ""


@contextmanager
def _impatient() -> Iterator[None]:
    """Ctrl-C after a while, and the end of the process if it does not react."""

    def press(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    timers = (
        (signal.ITIMER_PROF, signal.SIGPROF, PATIENCE_S),
        (signal.ITIMER_REAL, signal.SIGALRM, WAIT_S),
    )
    before = [signal.signal(number, press) for _, number, _ in timers]
    faulthandler.dump_traceback_later(DEAF_S, exit=True, file=2)
    for timer, _, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for timer, _, _ in timers:
            signal.setitimer(timer, 0)
        faulthandler.cancel_dump_traceback_later()
        for (_, number, _), handler in zip(timers, before, strict=True):
            signal.signal(number, handler)
