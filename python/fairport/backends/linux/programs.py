"""BPF programs: where they are, what they need, and the library that loads them.

libbpf is installed wherever `ip` is. The programs are in `bpf/`, as sources and as objects that fit
every kernel which describes its types.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "bpf"
"""Folder of the sources and objects."""
_BTF = Path("/sys/kernel/btf/vmlinux")
_USERS = Path("/proc/self/uid_map")


class ProgramError(RuntimeError):
    """A program cannot be loaded here; the text says why, and what would help."""


def require() -> None:
    """Raises ProgramError if this process cannot load any of them."""
    if os.geteuid() != 0 or not _is_outside_user_namespaces():
        raise ProgramError("only root outside of user namespaces may load BPF programs")
    if not _BTF.exists():
        raise ProgramError(
            "the kernel does not describe its types (BTF): it needs CONFIG_DEBUG_INFO_BTF"
        )
    libbpf()


def _is_outside_user_namespaces() -> bool:
    """Whether every user of the machine has the same number here (user_namespaces(7))."""
    here, there, count = _USERS.read_text(encoding="ascii").split()[:3]
    return (here, there, count) == ("0", "0", str(2**32 - 1))


@cache
def libbpf() -> Any:
    """libbpf, with the types of the functions used here. Raises ProgramError without it."""
    try:
        library = ctypes.CDLL("libbpf.so.1", use_errno=True)
    except OSError:
        raise ProgramError(
            "libbpf is not installed (Debian and Ubuntu: libbpf1; Fedora: libbpf)"
        ) from None
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    for name, result, arguments in (
        ("bpf_object__open_file", pointer, [text, pointer]),
        ("bpf_object__find_map_by_name", pointer, [pointer, text]),
        ("bpf_map__set_map_flags", number, [pointer, ctypes.c_uint32]),
        ("bpf_object__load", number, [pointer]),
        ("bpf_map__attach_struct_ops", pointer, [pointer]),
        ("bpf_map__fd", number, [pointer]),
        ("bpf_link_create", number, [number, number, number, pointer]),
        ("bpf_link__destroy", number, [pointer]),
        ("bpf_object__close", None, [pointer]),
        ("bpf_map_get_next_id", number, [ctypes.c_uint32, pointer]),
        ("bpf_map_get_fd_by_id", number, [ctypes.c_uint32]),
        ("bpf_obj_get_info_by_fd", number, [number, pointer, pointer]),
        ("bpf_map_delete_elem", number, [number, pointer]),
        ("bpf_map__set_initial_value", number, [pointer, pointer, ctypes.c_size_t]),
        ("bpf_map__value_size", ctypes.c_uint32, [pointer]),
        ("bpf_map_lookup_elem", number, [number, pointer, pointer]),
        ("bpf_object__next_program", pointer, [pointer, pointer]),
        ("bpf_program__attach", pointer, [pointer]),
        ("ring_buffer__new", pointer, [number, pointer, pointer, pointer]),
        ("ring_buffer__poll", number, [pointer, number]),
        ("ring_buffer__free", None, [pointer]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    # its messages are for its own developers
    library.libbpf_set_print(None)
    return library


def counted(loaded: Any) -> list[int]:
    """The counts of a loaded object, each of 64 bits: its variables that begin at 0 (`.bss`)."""
    library = libbpf()
    counts = library.bpf_object__find_map_by_name(loaded, b".bss")
    values = ctypes.create_string_buffer(library.bpf_map__value_size(counts))
    key = ctypes.c_uint32(0)
    library.bpf_map_lookup_elem(library.bpf_map__fd(counts), ctypes.byref(key), values)
    return list(memoryview(values.raw).cast("Q"))
