"""The progress of runs: what a backend reports of one, and what callers see of all."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock

from fairport.errors import require_function

Report = Callable[[float, int], None]
"""Called several times per second during a run, with the simulated (or measured) seconds and the
packet-hops so far."""


@dataclass(frozen=True, slots=True)
class Done:
    """The progress of one run or of several."""

    runs: float
    """Runs done; a run under way counts with the simulated share of its time."""
    of: int
    """Runs in all, except those that the store had."""
    reused: int
    """Runs that the store had."""
    packet_hops: int
    """Packet-hops so far."""


Progress = Callable[[Done], None]
"""Called from any thread, one at a time."""


class Tally:
    """Adds up the reports of several runs."""

    def __init__(self, of: int, progress: Progress | None, reused: int = 0) -> None:
        """`of` and `reused` are those of `Done`. Raises InputError for what is no function."""
        require_function(progress, "progress")
        self._of, self._reused, self._progress = of, reused, progress
        self._runs: dict[Hashable, float] = {}
        self._hops: dict[Hashable, int] = {}
        self._lock = Lock()

    @property
    def begun(self) -> int:
        """How many runs or parts have begun."""
        return len(self._runs)

    def add(self, part: Hashable, runs: float, packet_hops: int) -> None:
        """Reports how many runs of a part are done; less than before if one is made again."""
        with self._lock:
            self._runs[part], self._hops[part] = runs, packet_hops
            if self._progress is not None:
                done, hops = sum(self._runs.values()), sum(self._hops.values())
                # a damaged record was counted as reused
                of = max(self._of, len(self._runs))
                self._progress(Done(done, of, self._reused, hops))

    def of_run(
        self, run: Hashable, duration_s: float, check: Callable[[], None] = lambda: None
    ) -> Report:
        """The callback of one run, which `check` may end by raising."""

        def report(at_s: float, packet_hops: int) -> None:
            check()
            self.add(run, min(at_s / duration_s, 1.0), packet_hops)

        return report

    def of_part(self, part: Hashable) -> Progress:
        """The callback of a part of the runs."""
        return lambda done: self.add(part, done.runs, done.packet_hops)
