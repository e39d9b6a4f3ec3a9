"""How many cores a run may use."""

from __future__ import annotations

import os

from fairport.backends import memory

_MOST = 64
"""No network is cut into more regions, because each would have too few packets to be worth it."""


def cores() -> int:
    """Cores on which this process may run: all, unless it is pinned to some of them."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux pins a process
        return os.cpu_count() or 1


def that_fit(threads: int, needed_bytes: int) -> int:
    """As many of these threads as memory allows: each has tables of all flows and ports.

    `needed_bytes` is what the run needs with one thread.
    """
    threads = min(threads, _MOST)
    available = memory.available_bytes()
    if available is None:
        return threads
    return max(1, min(threads, available // max(needed_bytes, 1)))
