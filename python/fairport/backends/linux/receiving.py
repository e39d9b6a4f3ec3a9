"""Hosts that receive in kernel threads of their own, on processors that the switch does not use.

This is threaded NAPI. A frame of the switch only wakes the thread, so the switch does not run the
host's TCP. The host's TCP does not run in interrupts of other programs either: there the kernel may
skip BPF programs, and so our congestion controls. For a host that only receives, the switch's call
is better (`capacity.within_calls`). Threads of one processor wait for each other: in a thread a
receiver of many flows answers a segment after 25 to 36 us at the median, within the call after 12
us.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pyroute2 import IPRoute

from fairport.backends.linux import sysfs
from fairport.backends.linux.namespaces import INTERFACE, Host, inside, switch_offload

# above the generator's priority (`processes`), or frames would wait until it has read all sockets
_PRIORITY = 20
_THREAD = f"napi/{INTERFACE}-"


def in_threads(hosts: Sequence[Host], processors: Sequence[int]) -> bool:
    """Makes these hosts receive in threads on these processors; returns whether it could.

    It needs root outside of user and process namespaces. Without it they receive within the call
    that sends to them, as before.
    """
    before = _threads()
    try:
        for host in hosts:
            _begin(host)
        threads = _threads() - before
        if len(threads) < len(hosts):
            raise PermissionError("the kernel's threads are not visible in this process namespace")
        for thread in threads:
            os.sched_setaffinity(thread, processors)
            os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    except OSError:
        for host in hosts:
            with inside(host.namespace):
                switch_offload(INTERFACE, "gro", is_on=False)
        return False
    return True


def _begin(host: Host) -> None:
    with inside(host.namespace), IPRoute() as route:
        (index,) = route.link_lookup(ifname=INTERFACE)
        # A veth pair has NAPI only with receive offload. With a limit of so few bytes it joins no
        # frames.
        route.link("set", index=index, gro_max_size=1)
        switch_offload(INTERFACE, "gro", is_on=True)
        sysfs.write(f"{INTERFACE}/threaded", "1")


def _threads() -> set[int]:
    """The kernel's threads that receive for hosts of this run and of others."""
    found = set()
    for comm in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):
            if comm.read_text(encoding="utf-8", errors="replace").startswith(_THREAD):
                found.add(int(comm.parent.name))
    return found
