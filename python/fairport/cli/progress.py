"""Progress of a command on stderr: a bar in a terminal, otherwise a line every ten seconds.

If it will take more than ten seconds, a line says so after the first second, when the speed is
known.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from fairport.cli.console import err, err_is_terminal
from fairport.quantities import in_millions

if TYPE_CHECKING:
    from fairport.backends.progress import Done, Progress
    from fairport.scenario import Scenario
    from fairport.study.making import Status

LINE_EVERY_S = 10.0
"""Time between two lines without a terminal."""
ANNOUNCED_S = 10.0
"""Work that takes longer is announced."""
_KNOWN_AFTER_S = 1.0
"""After this time the speed shows how long the whole will take."""


class Move(Protocol):
    """Called with how much is done, of how much, and a function that describes it."""

    def __call__(self, done: float, total: float | None, state: Callable[[float], str]) -> None:
        """`state` is called with the seconds since the start."""


@contextmanager
def progress_bar(
    scenario: Scenario, runs: int, *, shown: bool, backend: str = "simulation", jobs: int = 1
) -> Iterator[Progress | None]:
    """Progress of runs of one scenario in simulated time; None if none is shown."""

    def needs() -> str:
        from fairport import backends

        prepared = backends.get(backend).prepare(scenario, scenario.seed)
        memory_bytes = min(jobs, runs) * prepared.estimate.memory_bytes
        return f" and {max(memory_bytes / 1e9, 0.1):.1f} GB of memory"

    with _watch(scenario.name, shown=shown, needs=needs) as watch:
        if watch is None:
            yield None
            return
        total = runs * scenario.duration.seconds

        def move(done: Done) -> None:
            at_s = done.runs * scenario.duration.seconds
            watch(
                at_s,
                total,
                lambda elapsed: (
                    f"{at_s:.2f} of {total:g} s simulated{_speed(done.packet_hops, elapsed)}"
                ),
            )

        yield move


@contextmanager
def reading_bar(
    files: Iterable[str], *, shown: bool
) -> Iterator[Callable[[int, int], None] | None]:
    """Progress of reading captures: packets and bytes so far."""
    with _watch(f"reading {', '.join(files)}", shown=shown) as watch:
        if watch is None:
            yield None
            return
        yield lambda packets, read_bytes: watch(
            packets,
            None,
            lambda _: f"{packets / 1e6:.1f} million packets, {read_bytes / 1e6:.0f} MB",
        )


@contextmanager
def pool_bar(name: str, *, shown: bool) -> Iterator[Progress | None]:
    """Progress of the runs of a comparison or reproduction."""
    with _watch(name, shown=shown) as watch:
        if watch is None:
            yield None
            return

        def move(done: Done) -> None:
            reused = f" ({done.reused} more from the store)" if done.reused else ""
            watch(
                done.runs,
                done.of,
                lambda elapsed: (
                    f"{done.runs:.1f} of {done.of} runs{reused}{_speed(done.packet_hops, elapsed)}"
                ),
            )

        yield move


@contextmanager
def sweep_bar(name: str, *, shown: bool) -> Iterator[Callable[[Status], None]]:
    """Progress of the runs of a sweep, which announces itself how long it takes."""
    with _watch(name, shown=shown, is_announced=False) as watch:

        def move(status: Status) -> None:
            failed = f", {status.failed} failed" if status.failed else ""
            reused = f", {status.reused} made before" if status.reused else ""
            total = status.of - status.reused
            running = min(status.running, total - status.done)
            if watch is not None:
                watch(
                    status.done,
                    total,
                    lambda elapsed: (
                        f"{status.done} of {total} runs, {running} running{failed}{reused}"
                        + _rate(status.done, elapsed)
                    ),
                )

        yield move


def duration(seconds: float) -> str:
    """A duration for people: 40 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _rate(runs: int, elapsed_s: float) -> str:
    if not runs or not elapsed_s:
        return ""
    per_s = runs / elapsed_s
    return f", {per_s:.1f} runs/s" if per_s >= 1 else f", {60 * per_s:.1f} runs/min"


def _speed(packet_hops: int, elapsed_s: float) -> str:
    if not packet_hops or not elapsed_s:
        return ""
    return f", {in_millions(packet_hops / elapsed_s)} packet-hops/s"


@contextmanager
def _watch(
    name: str, *, shown: bool, is_announced: bool = True, needs: Callable[[], str] = lambda: ""
) -> Iterator[Move | None]:
    """Shows the progress; `needs` returns what else the work needs, for the announcement."""
    if not shown:
        yield None
        return
    announce = _Announcement(name, needs) if is_announced else None
    if not err_is_terminal():
        yield _Lines(name, announce)
        return
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[state]}"),
    )
    with Progress(*columns, console=err(), transient=True) as bar:
        task = bar.add_task(name, total=None, state="")

        def move(done: float, total: float | None, state: Callable[[float], str]) -> None:
            if announce is not None:
                announce.once_known(done, total)
            bar.update(task, completed=done, total=total)
            left_s = bar.tasks[task].time_remaining
            # at the beginning, because a narrow terminal cuts the end
            left = "" if left_s is None else f"{duration(left_s)} left, "
            bar.update(task, state=left + state(bar.tasks[task].elapsed or 0.0))

        yield move


class _Pace:
    """How fast it goes since its first step. Set-up before that does not count.

    A run that is not valid is made again. The time that it took does not count.
    """

    def __init__(self, first: tuple[float, float] | None = None) -> None:
        self.first = first
        """When the first step was, and how far it was."""
        self.last = first or (0.0, 0.0)
        """The same for the last one."""

    def left_s(self, now: float, done: float, total: float | None) -> float | None:
        """The time until the end; None while the speed is not known."""
        if not done and self.last[1]:
            # the only run is made again: as after the set-up, nothing is known yet
            self.first, self.last = None, (now, 0.0)
        if not total or not done:
            return None
        if self.first is None:
            self.first = now, done
        elif done < self.last[1]:
            # it goes on from there as fast as before
            again, gained = done - self.first[1], self.last[1] - self.first[1]
            spent_s = (self.last[0] - self.first[0]) * again / gained if again > 0 else 0.0
            self.first = now - spent_s, min(done, self.first[1])
        self.last = now, done
        elapsed_s, gained = now - self.first[0], done - self.first[1]
        if elapsed_s < _KNOWN_AFTER_S or not gained:
            return None
        return elapsed_s * (total - done) / gained


class _Announcement:
    """Announces once that the work takes long."""

    def __init__(self, name: str, needs: Callable[[], str]) -> None:
        self.name, self.needs = name, needs
        self.started, self.is_made = monotonic(), False
        self.pace = _Pace()

    def once_known(self, done: float, total: float | None) -> None:
        """Called at every step."""
        now = monotonic()
        left_s = None if self.is_made else self.pace.left_s(now, done, total)
        if left_s is None:
            return
        self.is_made = True
        whole_s = now - self.started + left_s
        if whole_s > ANNOUNCED_S:
            text = f"{self.name}: takes about {duration(whole_s)}{self.needs()}"
            err().print(text, soft_wrap=True)


class _Lines:
    """A line every ten seconds, for a pipe or a file."""

    def __init__(self, name: str, announcement: _Announcement | None) -> None:
        self.name, self.announcement = name, announcement
        self.started = monotonic()
        self.next = self.started + LINE_EVERY_S
        # runs that are counted when they end may end all at once: their first one says nothing
        self.pace = announcement.pace if announcement else _Pace((self.started, 0.0))

    def __call__(self, done: float, total: float | None, state: Callable[[float], str]) -> None:
        if self.announcement is not None:
            self.announcement.once_known(done, total)
        now = monotonic()
        left_s = self.pace.left_s(now, done, total)
        if now < self.next:
            return
        self.next = now + LINE_EVERY_S
        left = f", {duration(left_s)} left" if left_s else ""
        print(f"{self.name}: {state(now - self.started)}{left}", file=sys.stderr, flush=True)
