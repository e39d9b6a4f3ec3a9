"""Checks before a run whether the machine has enough memory for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fairport.backends import control_groups
from fairport.errors import InputError, ResourceError

if TYPE_CHECKING:
    # a process that draws does without its models
    from fairport.scenario import Scenario

VARIABLE = "FAIRPORT_MEMORY"
"""Environment variable: how much memory runs may use, such as 64GB."""

# by version of control groups: the controller, its files, and the word in memory.stat
_FILES = (
    ("", "memory.max", "memory.current", "inactive_file"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def require(needed_bytes: int, scenario: Scenario, what: str = "") -> None:
    """Raises ResourceError when runs of the scenario need more memory than the machine has left.

    `what` names the runs, by default as the scenario's file.
    """
    available = available_bytes()
    if available is not None and needed_bytes > available:
        # each of its flows has a list of all paths
        spray = scenario.routing.kind == "spray"
        ecmp = 'take `routing = "ecmp"`, with one path per flow, ' if spray else ""
        raise ResourceError(
            f"needs about {_shown(needed_bytes)} of memory,"
            f" and the machine has {_shown(available)} left",
            remedy=f"{ecmp}shorten `duration` ({scenario.duration}), lower `link.rate`"
            f" ({scenario.link.rate}), lengthen the intervals of [probes],"
            " take a smaller topology, or give the run more memory;"
            f" {VARIABLE}=64GB in the environment says how much runs may use",
            file=what or scenario.file,
        )


def that_fit(count: int, needed_bytes: int) -> int:
    """As many of `count` as memory allows, if each needs `needed_bytes`; at least one."""
    available = available_bytes()
    return count if available is None else max(1, min(count, available // max(needed_bytes, 1)))


def available_bytes() -> int | None:
    """Memory that runs may use: what FAIRPORT_MEMORY says, otherwise what the machine has left.

    None if the system does not say. Raises InputError if the variable is not a size.
    """
    allowed = os.environ.get(VARIABLE)
    if allowed:
        return _read(allowed)
    machine = _of_the_machine()
    limits = [*_of_the_control_groups(), *([] if machine is None else [machine])]
    return min(limits, default=None)


def _read(allowed: str) -> int:
    from fairport.scenario.units import Size, UnitError

    try:
        return Size(allowed)
    except UnitError as error:
        raise error.placed(InputError, file="", field=VARIABLE, value=allowed) from None


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
    """What the limits of a container, a batch job or a service leave."""
    for controller, limit_in, used_in, freed in _FILES:
        for limit, used, counts in control_groups.contents(
            controller, limit_in, used_in, "memory.stat"
        ):
            if limit.strip().isdecimal():
                words = counts.split()
                # the content of files, which the kernel may forget
                cached = dict(zip(words[::2], words[1::2], strict=False)).get(freed, "0")
                yield max(0, int(limit) - int(used) + int(cached))


def _shown(count: float) -> str:
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while count >= 1024 and len(units) > 1:
        count /= 1024
        del units[0]
    return f"{count:.1f} {units[0]}"
