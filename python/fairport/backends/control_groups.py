"""Limits of the control groups of this process: those of a container, a batch job or a service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_OWN_GROUPS = Path("/proc/self/cgroup")
_ROOT = Path("/sys/fs/cgroup")


def contents(controller: str, *names: str) -> Iterator[list[str]]:
    """The texts of these files in the present group and in each above it.

    `controller` is one of version 1, such as "memory", or empty for version 2. A limit holds for a
    group and all groups below it.
    """
    try:
        listed = _OWN_GROUPS.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in listed:
        _, controllers, own = line.split(":", 2)
        if controller not in controllers.split(","):
            continue
        group = PurePosixPath(own)
        for one in (group, *group.parents):
            folder = _ROOT / controllers / one.relative_to("/")
            try:
                yield [(folder / name).read_text(encoding="ascii") for name in names]
            except OSError:
                continue  # the highest group has no limit, unless it is a container's
