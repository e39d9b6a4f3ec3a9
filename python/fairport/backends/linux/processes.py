"""The two processes of a run: one forwards, one holds the sockets.

Both end with their parent, whatever ends it. If permitted, they are scheduled in real time: the
switch before the generator, each on a processor of its own if there are two.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from fairport import _core, children
from fairport.backends.linux import namespaces
from fairport.backends.linux.flows import Key
from fairport.backends.linux.generator_task import GeneratorReport, GeneratorTask
from fairport.backends.linux.traffic_generator import TrafficGenerator

_SWITCH_PRIORITY = 50
_LOAD_PRIORITY = 10
# A process that reports nothing for this long is stuck. On a busy machine its imports alone take
# many seconds.
_SILENT_S = 60.0
# a report takes the switch 160 us, in which no frame leaves
_REPORTED_EVERY_S = 0.5


@dataclass(frozen=True)
class SwitchTask:
    """The task of the switch's process."""

    namespace: str
    job_json: str
    attachments: Sequence[tuple[int, int, str, float]]
    """Interface at the switch; number and address of the host behind it; the silence in seconds
    after which one of its senders may have had a timeout."""
    flows: Sequence[Key]
    """Keys of the flows that are known before the run."""
    tolerated_s: float
    request_ports: tuple[int, int]
    packets: tuple[int, ...]
    """Numbers of the ports whose packets are kept."""
    captures: Sequence[tuple[int, Path, Path]]
    """Numbers of the captured ports, with the files for arriving and for leaving packets."""
    snap_bytes: int
    """Bytes kept of each frame, if more than its headers."""
    zero_s: float
    """The zero of their timestamps, on the switch's clock."""


class Child:
    """A process that reports through a pipe, in pairs of a word and its content.

    Raises ChildError if it cannot be started.
    """

    def __init__(self, name: str, main: Callable[[Connection, Any], None], task: Any) -> None:
        self.name = name
        self.reports, there = multiprocessing.Pipe()
        pipe = there.fileno()
        try:
            self._process = children.started(
                "fairport.backends.linux.child", str(pipe), str(os.getpid()), pass_fds=[pipe]
            )
        except OSError as error:
            raise ChildError(f"the {name} cannot be started: {error}") from None
        finally:
            there.close()
        self.send((main, task))

    def report(self) -> tuple[str, Any]:
        """Its next report. Raises ChildError if it has ended, or reports nothing for long."""
        try:
            if self.reports.poll(_SILENT_S):
                word, content = self.reports.recv()
                if word == "failed":
                    raise ChildError(f"the {self.name}: {content}")
                return word, content
        except (EOFError, ConnectionResetError):
            raise self._early_end() from None
        raise ChildError(f"the {self.name} has not reported for {_SILENT_S:g} s")

    def has_reported(self) -> bool:
        """Whether a report, or its early end, is there to be read at once."""
        return self.reports.poll()

    def wait(self, word: str) -> Any:
        """The content of its next report of this kind."""
        while True:
            found, content = self.report()
            if found == word:
                return content

    @property
    def process(self) -> int:
        """The number of the process."""
        return self._process.pid

    def send(self, content: Any) -> None:
        """Sends the process an object for which it waits. Raises ChildError if it has ended."""
        try:
            self.reports.send(content)
        except (BrokenPipeError, ConnectionResetError):
            raise self._early_end() from None

    def _early_end(self) -> ChildError:
        status = self._process.wait()
        is_killed = status == -signal.SIGKILL
        how = "killed, as the kernel does when memory is short" if is_killed else status
        return ChildError(f"the {self.name} ended early ({how})")

    def close(self) -> None:
        """Ends the process at once."""
        self._process.kill()
        self._process.wait()
        self.reports.close()


class ChildError(RuntimeError):
    """A process of the run could not do its work, or was killed."""


def await_start(reports: Connection) -> Any:
    """Reports `ready`, and waits until all processes of the run are; returns what is then sent.

    On a busy machine one of them may need seconds longer than another. If the switch began at once,
    the run could be over before the generator has its sockets.
    """
    reports.send(("ready", None))
    return reports.recv()


def forward(reports: Connection, task: SwitchTask) -> None:
    """The switch: once it is sent the generator's process, it starts.

    It reports `at`, the monotonic clock at its start, and `done`.
    """
    reported_s = -_REPORTED_EVERY_S

    def stops(now_s: float) -> bool:
        nonlocal reported_s
        if now_s - reported_s >= _REPORTED_EVERY_S:
            reported_s = now_s
            reports.send(("at", (time.monotonic() - now_s, now_s)))
        return False

    namespaces.enter(task.namespace)
    generator: int = await_start(reports)
    processors = sorted(os.sched_getaffinity(0))
    outcome = _core.run_switch(
        task.job_json,
        task.attachments,
        task.flows,
        tolerated_s=task.tolerated_s,
        request_ports=task.request_ports,
        packets=task.packets,
        captures=task.captures,
        snap_bytes=task.snap_bytes,
        zero_s=task.zero_s,
        processor=processors[0] if len(processors) > 1 else None,
        priority=_SWITCH_PRIORITY,
        neighbour=generator,
        stops=stops,
    )
    reports.send(("done", outcome))


def generate_traffic(reports: Connection, task: GeneratorTask) -> None:
    """Once it is sent the scenario's zero, it runs; reports `done` with a GeneratorReport.

    The zero is a time of the monotonic clock.
    """
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) > 1:
        os.sched_setaffinity(0, processors[1:])
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_LOAD_PRIORITY))
    # With thousands of flows a collection takes tens of milliseconds, and there are no cycles.
    gc.disable()
    running = TrafficGenerator(task)
    running.listen()
    report: GeneratorReport = running.run(await_start(reports))
    reports.send(("done", report))
