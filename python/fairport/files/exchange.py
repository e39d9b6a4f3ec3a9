"""Exchanges the names of two paths in one step, if the system and the file system can.

Linux has `renameat2` with RENAME_EXCHANGE, macOS `renamex_np` with RENAME_SWAP. Network file
systems and Windows have neither.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2


def exchange(one: Path, other: Path) -> bool:
    """Exchanges what is at the two paths; does nothing and returns False if that is impossible."""
    if sys.platform == "win32":
        return False
    names = os.fsencode(one), os.fsencode(other)
    libc = ctypes.CDLL(None)
    try:
        if sys.platform == "darwin":
            return bool(libc.renamex_np(*names, _RENAME_SWAP) == 0)
        first, second = names
        done = libc.renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _RENAME_EXCHANGE)
    except AttributeError:  # an old C library
        return False
    return bool(done == 0)
