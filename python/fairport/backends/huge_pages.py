"""Moves the memory of a long run into pages of 2 MiB, where Linux can.

A processor remembers where a few thousand pages are. A large simulation has more pages of 4 KiB
than that, and the processor often waits until it has looked one up. The C library asks for large
pages only if the environment said so when the program started. So this module moves what is there
already, a few times during a run, by `madvise` with MADV_COLLAPSE (Linux 6.1 and later). Nothing
happens where that is missing, or where the system has no large pages left.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from pathlib import Path

_MADV_COLLAPSE = 25
_PAGE_BYTES = 2 << 20
_FIRST_S = 0.25
_SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")


class HugePages:
    """What a run calls again and again. It acts 0.25 s after its creation, then 0.5 s, 1 s, ..."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._next_s = _FIRST_S

    def look(self) -> None:
        """Moves the memory of this process, if its time has come."""
        if time.perf_counter() - self._begin >= self._next_s:
            self._next_s *= 2
            collapse()


def collapse() -> None:
    """Moves all memory of this process that is large enough into pages of 2 MiB."""
    try:
        if "[never]" in _SETTING.read_text(encoding="utf-8"):
            return  # the system's owner does not want them
        mappings = list(_mappings())
    except OSError:
        return  # not Linux
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for start, end in mappings:
        first_page = -(-start // _PAGE_BYTES) * _PAGE_BYTES
        # if it fails, the memory stays as it is
        madvise(first_page, end - first_page, _MADV_COLLAPSE)


def _mappings() -> Iterator[tuple[int, int]]:
    """The parts of the process's memory that hold one large page and more, without files.

    Stacks of threads are large too, but mostly empty.
    """
    lines = Path("/proc/self/smaps").read_text(encoding="utf-8", errors="replace").splitlines()
    start = end = 0
    for line in lines:
        first, *rest = line.split()
        if not first.endswith(":"):
            access, _, _, inode, *name = rest
            is_memory = access == "rw-p" and inode == "0" and name in ([], ["[heap]"])
            start, end = (int(it, 16) for it in first.split("-")) if is_memory else (0, 0)
        elif first == "Rss:" and int(rest[0]) * 1024 >= _PAGE_BYTES and end:
            yield start, end
