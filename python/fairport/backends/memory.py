"""Checks before a run whether the machine has enough memory for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from fairport.errors import ResourceError

_OWN_GROUP = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")


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
    machine = _of_the_machine()
    limits = [*_of_the_control_groups(), *([] if machine is None else [machine])]
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


def _of_the_control_groups() -> Iterator[int]:
    """What the limits of a container, a batch job or a service leave (control groups, version 2).

    A limit holds for a group and all groups below it.
    """
    try:
        listed = _OWN_GROUP.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    own = next((line[3:] for line in listed if line.startswith("0::/")), "/")
    group = PurePosixPath(own)
    for one in (group, *group.parents):
        folder = _GROUPS / one.relative_to("/")
        try:
            limit, used, counts = (
                (folder / f"memory.{name}").read_text(encoding="ascii").split()
                for name in ("max", "current", "stat")
            )
        except OSError:
            continue  # the highest group has no limit, unless it is a container's
        if limit[0].isdecimal():
            # the content of files, which the kernel may forget
            cached = dict(zip(counts[::2], counts[1::2], strict=False)).get("inactive_file", "0")
            yield max(0, int(limit[0]) - int(used[0]) + int(cached))


def _shown(count: float) -> str:
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while count >= 1024 and len(units) > 1:
        count /= 1024
        del units[0]
    return f"{count:.1f} {units[0]}"
