"""The progress bar: simulated time, packet-hops per second, time left.

On stderr, in a terminal only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from fairport.cli.console import err

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from fairport.backends.protocol import Progress
    from fairport.scenario import Scenario
    from fairport.study.making import Status
    from fairport.study.pool import Done


@contextmanager
def progress_bar(scenario: Scenario, runs: int, *, shown: bool) -> Iterator[Progress | None]:
    """A callback for the backend that moves the bar; None when there is no bar."""
    if not (shown and err().is_terminal):
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.2f} of {task.total:g} s simulated, {task.fields[speed]}left"),
        TimeRemainingColumn(),
    )
    simulated: dict[int, float] = {}
    hops: dict[int, int] = {}
    lock = Lock()
    with Progress(*columns, console=err(), transient=True) as bar:
        task = bar.add_task(scenario.name, total=runs * scenario.duration.seconds, speed="")

        def move(seed: int, simulated_s: float, packet_hops: int) -> None:
            # several runs may report at once, each from its thread
            with lock:
                simulated[seed], hops[seed] = simulated_s, packet_hops
                elapsed = bar.tasks[task].elapsed
                speed = (
                    f"{sum(hops.values()) / elapsed / 1e6:.1f} M packet-hops/s, " if elapsed else ""
                )
                bar.update(task, completed=sum(simulated.values()), speed=speed)

        yield move


@contextmanager
def reading_bar(
    files: Iterable[str], *, shown: bool
) -> Iterator[Callable[[int, int], None] | None]:
    """The same for captures that are read: packets and bytes so far."""
    if not (shown and err().is_terminal):
        yield None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=err(), transient=True) as bar:
        task = bar.add_task(f"reading {', '.join(files)}", total=None)

        def move(packets: int, read_bytes: int) -> None:
            text = f"{packets / 1e6:.1f} million packets, {read_bytes / 1e6:.0f} MB"
            bar.update(task, description=text)

        yield move


@contextmanager
def pool_bar(name: str, *, shown: bool) -> Iterator[Callable[[Done], None] | None]:
    """The same for the runs of a study."""
    if not (shown and err().is_terminal):
        yield None
        return
    with _bar_of_runs() as bar:
        task = bar.add_task(name, total=None, state="")

        def move(done: Done) -> None:
            elapsed = bar.tasks[task].elapsed
            reused = f" ({done.reused} more from the store)" if done.reused else ""
            speed = f"{done.packet_hops / elapsed / 1e6:.1f} M packet-hops/s, " if elapsed else ""
            state = f"{done.runs:.1f} of {done.of} runs{reused}, {speed}left"
            bar.update(task, completed=done.runs, total=done.of, state=state)

        yield move


@contextmanager
def sweep_bar(name: str, *, shown: bool) -> Iterator[Callable[[Status], None]]:
    """A bar for the runs of a sweep; does nothing where there is none."""
    if not (shown and err().is_terminal):
        yield lambda _: None
        return
    with _bar_of_runs() as bar:
        task = bar.add_task(name, total=None, state="")

        def move(status: Status) -> None:
            elapsed = bar.tasks[task].elapsed
            failed = f", {status.failed} failed" if status.failed else ""
            reused = f", {status.reused} had before" if status.reused else ""
            speed = f"{status.done / elapsed:.1f} runs/s, " if elapsed else ""
            total = status.of - status.reused
            running = min(status.running, total - status.done)
            state = f"{status.done} of {total} runs, {running} running{failed}{reused}, {speed}left"
            bar.update(task, completed=status.done, total=total, state=state)

        yield move


def _bar_of_runs() -> Bar:
    """A bar that has its text in the field `state`."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=err(), transient=True)
