"""How many cores a run may use."""

from __future__ import annotations

import os
from collections.abc import Iterator

from fairport.backends import control_groups, memory

_MOST = 64
"""No network is cut into more regions, because each would have too few packets to be worth it."""


def cores() -> int:
    """Cores that this process may use: all, unless it is pinned to some, or its time is limited."""
    try:
        here = len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux pins a process
        here = os.cpu_count() or 1
    return max(1, min([here, *_of_the_control_groups()]))


def _of_the_control_groups() -> Iterator[int]:
    """Whole cores by the limits of containers, which may set processor time per period."""
    for (text,) in control_groups.contents("", "cpu.max"):
        quota, period = text.split()
        if quota != "max":
            yield int(quota) // int(period)
    for quota, period in control_groups.contents("cpu", "cpu.cfs_quota_us", "cpu.cfs_period_us"):
        if int(quota) > 0:
            yield int(quota) // int(period)


def that_fit(threads: int, needed_bytes: int) -> int:
    """As many of these threads as memory allows: each has tables of all flows and ports.

    `needed_bytes` is what the run needs with one thread.
    """
    threads = min(threads, _MOST)
    available = memory.available_bytes()
    if available is None:
        return threads
    return max(1, min(threads, available // max(needed_bytes, 1)))
