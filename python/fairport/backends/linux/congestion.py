"""Congestion controls that the kernel lacks: Fairport's own, as BPF programs (`bpf/`).

libbpf loads them; it is installed wherever `ip` is. A control is registered under its own name for
the length of a run. Since Linux 6.4 the kernel removes the name itself when the process ends,
however it ends. On an older kernel the name stays: `leftovers` finds it, because no running process
holds the lock.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from typing_extensions import Self

from fairport.backends.linux import programs
from fairport.backends.linux.programs import ProgramError, libbpf, require

PROGRAMS = {"bic": "fp_bic", "dctcp": "fp_dctcp"}
"""A congestion control's name in scenarios, and in the kernel."""

_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_LOCK = Path("/run/fairport-congestion.lock")
# Linux's numbers for the type of such maps, the flag of maps that end with their link, and the link
_MAP_STRUCT_OPS = 26
_MAP_LINK = 1 << 13
_ATTACH_STRUCT_OPS = 44
# of struct bpf_map_info
_NAME_AT, _NAME_BYTES = 24, 16
_INFO_BYTES = 88
# before version 1.2 libbpf has no links of such maps
_LINKS_ITSELF = 2


class Registered:
    """Congestion controls that are registered in the kernel as long as this object is open."""

    def __init__(self, names: Iterable[str]) -> None:
        self._held: list[_Held] = []
        self._lock: int | None = None
        wanted = list(dict.fromkeys(names))
        if not wanted:
            return
        require()
        self._lock = _locked()
        if self._lock is None:
            raise ProgramError(
                "another run of Fairport has its congestion controls in the kernel:"
                " wait until it ends"
            )
        try:
            _take_back(_registered())
            for name in wanted:
                self._held.append(_Held(PROGRAMS[name]))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Removes them from the kernel. Connections that are still open keep theirs."""
        while self._held:
            self._held.pop().close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def lost_answers(self) -> tuple[int, int]:
        """How many answers of the programs are known not to have reached the kernel.

        The first number is that of windows, which let out segments before they were repaired; the
        second is that of thresholds, which were repaired before a window grew towards them.
        """
        lost = [programs.counted(held.loaded) for held in self._held]
        return sum(one[0] for one in lost), sum(one[1] for one in lost)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def available() -> list[str]:
    """The congestion controls of the running kernel, by the kernel's names."""
    return _AVAILABLE.read_text(encoding="ascii").split()


def leftovers() -> list[str]:
    """Our names that the kernel still has although no run uses them."""
    with _unused() as found:
        return [name for name, _ in found if name in available()]


def remove_leftovers() -> list[str]:
    """Removes leftovers from the kernel; returns their names."""
    with _unused() as found:
        return _take_back(found)


@contextmanager
def _unused() -> Iterator[list[tuple[str, int]]]:
    """Our congestion controls in the kernel, if no run uses them; until the end none can begin."""
    lock = _locked() if os.geteuid() == 0 else None
    found: list[tuple[str, int]] = []
    try:
        if lock is not None:
            with suppress(ProgramError):
                found = _registered()
        yield found
    finally:
        if lock is not None:
            os.close(lock)


class _Held:
    """One registered congestion control."""

    def __init__(self, name: str) -> None:
        # before Linux 6.4 a name cannot end with its process
        try:
            self._open(name, by_link=True)
        except ProgramError:
            self._open(name, by_link=False)

    def _open(self, name: str, *, by_link: bool) -> None:
        library = libbpf()
        self._own_link: int | None = None
        self.loaded = library.bpf_object__open_file(
            str(programs.FOLDER / f"{name}.bpf.o").encode(), None
        )
        if not self.loaded:
            raise _failed(name, "read")
        operations = library.bpf_object__find_map_by_name(self.loaded, name.encode())
        if by_link:
            library.bpf_map__set_map_flags(operations, _MAP_LINK)
        self._link = None
        if library.bpf_object__load(self.loaded) == 0:
            self._link = library.bpf_map__attach_struct_ops(operations)
        problem = None if self._link else _failed(name, "load")
        if self._link and by_link and library.libbpf_minor_version() < _LINKS_ITSELF:
            descriptor = library.bpf_map__fd(operations)
            made = library.bpf_link_create(descriptor, 0, _ATTACH_STRUCT_OPS, None)
            if made < 0:
                problem = _failed(name, "register")
            else:
                self._own_link = made
        if problem:
            self.close()
            raise problem

    def close(self) -> None:
        """Removes it from the kernel."""
        library = libbpf()
        if self._own_link is not None:
            os.close(self._own_link)
        if self._link:
            library.bpf_link__destroy(self._link)
        library.bpf_object__close(self.loaded)


def _failed(name: str, what: str) -> ProgramError:
    number = ctypes.get_errno()
    reason = {
        errno.EEXIST: "its name is taken already",
        errno.EPERM: "this process may not load BPF programs",
    }.get(number, os.strerror(number))
    return ProgramError(f"cannot {what} the congestion control `{name}`: {reason}")


def _locked() -> int | None:
    """The lock that a run with our congestion controls holds; None if another run holds it."""
    descriptor = os.open(_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _registered() -> list[tuple[str, int]]:
    """Our congestion controls in the kernel: name, and number of the map."""
    library = libbpf()
    found = []
    number = ctypes.c_uint32(0)
    while library.bpf_map_get_next_id(number, ctypes.byref(number)) == 0:
        descriptor = library.bpf_map_get_fd_by_id(number)
        if descriptor < 0:
            continue
        info = ctypes.create_string_buffer(_INFO_BYTES)
        length = ctypes.c_uint32(_INFO_BYTES)
        known = library.bpf_obj_get_info_by_fd(descriptor, info, ctypes.byref(length)) == 0
        os.close(descriptor)
        name = info.raw[_NAME_AT : _NAME_AT + _NAME_BYTES].rstrip(b"\0").decode("ascii", "replace")
        kind = int.from_bytes(info.raw[:4], sys.byteorder)
        if known and kind == _MAP_STRUCT_OPS and name in PROGRAMS.values():
            found.append((name, number.value))
    return found


def _take_back(registered: Iterable[tuple[str, int]]) -> list[str]:
    taken = []
    for name, number in registered:
        library = libbpf()
        descriptor = library.bpf_map_get_fd_by_id(number)
        if descriptor >= 0:
            if library.bpf_map_delete_elem(descriptor, ctypes.byref(ctypes.c_uint32(0))) == 0:
                taken.append(name)
            os.close(descriptor)
    return taken
