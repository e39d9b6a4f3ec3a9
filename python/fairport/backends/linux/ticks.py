"""When the kernel's clock ticks: its timers expire then, interrupting whichever program runs.

TCP's timers expire at ticks, too. In interrupts of certain programs the kernel skips BPF programs,
and so our congestion controls. If a process with real-time priority is awake at each tick, the
timers interrupt that process instead.
"""

from __future__ import annotations

import statistics
import time

# shows the time of the last tick (time(7)); Python has no name for it
_COARSE = 6
_OBSERVED = 5
# the process is awake from this long before a tick until this long after it
_BEFORE_S = 100e-6
_AFTER_S = 60e-6


class Ticks:
    """Ticks of this machine on the monotonic clock. Finding them takes five ticks."""

    def __init__(self) -> None:
        self._period_s = time.clock_getres(_COARSE)
        seen = [self._next() % self._period_s for _ in range(_OBSERVED)]
        # relative to the first, because they may lie on both sides of a period's end
        apart = [(one - seen[0] + self._period_s / 2) % self._period_s for one in seen]
        self._phase_s = seen[0] - self._period_s / 2 + statistics.median(apart)

    def is_near(self, now: float) -> bool:
        """Whether a tick is about to come, or has just come."""
        return self._since_awake_s(now) < _BEFORE_S + _AFTER_S

    def left_s(self, now: float) -> float:
        """Time from now until a tick is near again."""
        return self._period_s - self._since_awake_s(now)

    def _since_awake_s(self, now: float) -> float:
        return (now - self._phase_s + _BEFORE_S) % self._period_s

    @staticmethod
    def _next() -> float:
        last = time.clock_gettime(_COARSE)
        while time.clock_gettime(_COARSE) == last:
            pass
        return time.monotonic()
