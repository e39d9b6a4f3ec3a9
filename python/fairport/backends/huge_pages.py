"""Moves the memory of a long run into pages of 2 MiB, where Linux can.

A processor remembers where a few thousand pages are. A large simulation has more pages of 4 KiB
than that, and the processor often waits until it has looked one up. The C library asks for large
pages only if the environment said so when the program started. So this module moves what is there
already, a few times during a run, by `madvise` with MADV_COLLAPSE (Linux 6.1 and later). Nothing
happens where that is missing, where the system has no large pages left, or where it gives none.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from pathlib import Path

from fairport.backends.progress import Report

_MADV_COLLAPSE = 25
_PAGE_BYTES = 2 << 20
_FIRST_S = 1.0
_SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def moving(report: Report) -> Report:
    """The same report of a run's progress, which also moves the memory of this process.

    It does so 1 s from now, then after 2 s, 4 s, ... The engine reports every few milliseconds.
    """
    begin = time.perf_counter()
    next_s = _FIRST_S

    def reported(simulated_s: float, packet_hops: int) -> None:
        nonlocal next_s
        if time.perf_counter() - begin >= next_s:
            next_s *= 2
            collapse()
        report(simulated_s, packet_hops)

    return reported


def collapse() -> None:
    """Moves the memory of this process into pages of 2 MiB, where a whole page has room."""
    try:
        if "[never]" in _SETTING.read_text(encoding="utf-8"):
            return  # the system's owner does not want them
        mappings = list(_mappings())
    except OSError:
        return  # not Linux
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for start, end in mappings:
        # if it fails, the memory stays as it is
        madvise(start, end - start, _MADV_COLLAPSE)


def _mappings() -> Iterator[tuple[int, int]]:
    """The parts of the process's memory without files that have room for a large page."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        addresses, access, _, _, inode, *name = line.split()
        if access == "rw-p" and inode == "0" and name in ([], ["[heap]"]):
            start, end = (int(address, 16) for address in addresses.split("-"))
            first_page = -(-start // _PAGE_BYTES) * _PAGE_BYTES
            if first_page + _PAGE_BYTES <= end:
                yield first_page, end
