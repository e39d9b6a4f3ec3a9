"""How the traffic generator waits for its sockets: it looks often while data come, or sleeps."""

from __future__ import annotations

import select
import time

from fairport.backends.linux.ticks import Ticks

# epoll counts in ms; for shorter waits select is used, which counts in us
_FINE_S = 0.002
# Time between two looks at the sockets while data come. To wake this process for each segment would
# cost the switch's processor about as much as TCP does; looking without a pause slows it, too.
_NAP_S = 30e-6


class Waiting:
    """Waits for what an epoll object watches."""

    def __init__(self, epoll: select.epoll, ticks: Ticks | None) -> None:
        """`ticks`: times at which the process must be awake in any case."""
        self._epoll = epoll
        self._ticks = ticks
        self._is_busy = False

    def ready(self, left_s: float) -> list[tuple[int, int]]:
        """Descriptors with events, and the events; waits for some at most `left_s`."""
        ready = self._ready(left_s)
        self._is_busy = bool(ready)
        return ready

    def _ready(self, left_s: float) -> list[tuple[int, int]]:
        if self._ticks is not None:
            now = time.monotonic()
            if self._ticks.is_near(now):
                return self._epoll.poll(0)
            left_s = min(left_s, self._ticks.left_s(now))
        if self._is_busy and left_s > 0:
            time.sleep(min(_NAP_S, left_s))
        elif left_s > _FINE_S:
            return self._epoll.poll(left_s - _FINE_S / 2)
        elif left_s > 0:
            select.select([self._epoll], [], [], left_s)
        return self._epoll.poll(0)
