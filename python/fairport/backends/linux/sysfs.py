"""Writes a setting below /sys/class/net of the present network namespace.

/sys shows the network namespace of the process that mounted it. So it is mounted again for the
present namespace, at no path: nobody else sees that mount, and it ends with its descriptor.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

from fairport.backends.linux.namespaces import called

# syscalls(2): the same numbers on every architecture
_FSOPEN, _FSCONFIG, _FSMOUNT = 430, 431, 432
_CREATE = 6
_CLOSE_ON_EXEC = 1
_NO_WAY = ctypes.c_void_p(0)


def write(name: str, value: str) -> None:
    """Writes a file below /sys/class/net. Raises OSError without the privileges for it."""
    with _mounted() as folder:
        file = os.open(f"class/net/{name}", os.O_WRONLY, dir_fd=folder)
        try:
            os.write(file, value.encode())
        finally:
            os.close(file)


@contextmanager
def _mounted() -> Iterator[int]:
    """A descriptor of the root of a sysfs of the present namespace."""
    context = called("syscall", _FSOPEN, ctypes.c_char_p(b"sysfs"), _CLOSE_ON_EXEC)
    try:
        called("syscall", _FSCONFIG, context, _CREATE, _NO_WAY, _NO_WAY, 0)
        root = called("syscall", _FSMOUNT, context, _CLOSE_ON_EXEC, 0)
    finally:
        os.close(context)
    try:
        yield root
    finally:
        os.close(root)
