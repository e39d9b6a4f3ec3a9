"""Checks before a run whether the machine has enough memory for it."""

from __future__ import annotations

import os
from pathlib import Path

from fairport.errors import ResourceError


def require(needed_bytes: int, what: str) -> None:
    """Raises ResourceError when `what` needs more memory than the machine has left."""
    available = available_bytes()
    if available is not None and needed_bytes > available:
        raise ResourceError(
            f"needs about {_shown(needed_bytes)} of memory,"
            f" and the machine has {_shown(available)} left",
            remedy="shorten `duration`, lengthen the intervals of [probes],"
            " or take a smaller topology",
            file=what,
        )


def available_bytes() -> int | None:
    """Memory that this process may still take; None if the system does not say."""
    limits = [limit for limit in (_of_the_machine(), _of_the_control_group()) if limit is not None]
    return min(limits, default=None)


def _of_the_machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _of_the_control_group() -> int | None:
    """The limit of a container (control groups, version 2)."""
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return max(0, int(limit) - int(used)) if limit.isdecimal() and used.isdecimal() else None


def _shown(count: float) -> str:
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while count >= 1024 and len(units) > 1:
        count /= 1024
        del units[0]
    return f"{count:.1f} {units[0]}"
