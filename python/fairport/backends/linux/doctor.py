"""What a machine offers to the Linux backend, and the effect of what is missing."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from fairport import _core
from fairport.backends.linux import congestion, namespaces, programs, shapers
from fairport.errors import BackendError

_ETH_P_ALL = 3

IN_USER_NAMESPACE = "unshare -Urnm sh -c 'mount -t tmpfs none /run && exec \"$@\"' -"
"""An ordinary user writes this before a command that needs root."""


@dataclass(frozen=True)
class Finding:
    """One thing that the backend uses."""

    what: str
    is_there: bool
    here: str
    """What was found, in words."""
    cost: str
    """The effect if it is missing; empty if nothing is missing."""

    def document(self) -> dict[str, Any]:
        """The check as a dictionary, for JSON."""
        return asdict(self)


def examine() -> list[Finding]:
    """All checks, in the order in which a run needs them."""
    return [
        _finding("root", _is_root, "the Linux backend does not run; the simulation does"),
        _finding(
            "user namespaces",
            _user_namespaces,
            "an ordinary user can run the simulation only",
        ),
        _finding("network namespaces", _namespaces, "the Linux backend does not run"),
        _finding("raw frames (AF_PACKET)", _raw_frames, "the Linux backend does not run"),
        _finding(
            "scheduling of the switch",
            _scheduling,
            "the kernel interrupts the switch: no valid runs at 1 Gbit/s; as SCHED_OTHER, runs are"
            " valid only on an idle machine",
        ),
        _finding("two processors", _processors, "switch and hosts share one: expect invalid runs"),
        _finding("an idle machine", _idle, "other programs delay frames: such runs are not valid"),
        Finding("congestion controls", True, ", ".join(congestion.available()), ""),
        _finding(
            "BIC and DCTCP as BPF programs",
            _programs,
            "BIC and DCTCP only where the kernel has them itself",
        ),
        _finding(
            "disciplines of the kernel (tc)",
            _disciplines,
            'queue.implementation = "tc" cannot use them; Fairport\'s own switch has all',
        ),
        Finding("kernel", True, os.uname().release, ""),
    ]


def _finding(what: str, check: Callable[[], tuple[bool, str]], cost: str) -> Finding:
    try:
        is_there, here = check()
    except BackendError as error:
        is_there, here = False, f"no: {error.problem}; {error.remedy}"
    except namespaces.ERRORS as error:
        is_there, here = False, f"no: {getattr(error, 'strerror', None) or error}"
    return Finding(what, is_there, here, "" if is_there else cost)


def _programs() -> tuple[bool, str]:
    own = {name for name in congestion.PROGRAMS if name not in congestion.available()}
    try:
        with congestion.Registered(sorted(own)):
            pass
    except programs.ProgramError as error:
        return False, f"no: {error}"
    return True, ", ".join(
        f"{name} as {congestion.PROGRAMS[name]}" for name in sorted(own)
    ) or "the kernel has both"


def _disciplines() -> tuple[bool, str]:
    found = shapers.disciplines()
    missing = [name for name, is_there in found.items() if not is_there]
    there = ", ".join(name for name, is_there in found.items() if is_there) or "none"
    return not missing, f"{there}; not {', '.join(missing)}" if missing else there


def _is_root() -> tuple[bool, str]:
    return os.geteuid() == 0, "yes" if os.geteuid() == 0 else f"no: user {os.geteuid()}"


def has_user_namespaces() -> bool:
    """Whether an ordinary user may be root in a user namespace."""
    tool = shutil.which("unshare")
    if tool is None:
        return False
    asked = [tool, "-Urnm", "mount", "-t", "tmpfs", "none", "/run"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def require_root() -> None:
    """Raises BackendError without the privileges of a run."""
    if os.geteuid() == 0:
        return
    raise BackendError(
        "needs root: it makes network namespaces and reads raw frames",
        field="backend",
        value="linux",
        remedy=(
            f"be root in a namespace of your own, `{IN_USER_NAMESPACE} fairport ..`"
            if has_user_namespaces()
            else "run as root on a machine or in a container of your own"
        )
        + ', or use `backend="simulation"`',
    )


def _user_namespaces() -> tuple[bool, str]:
    if has_user_namespaces():
        return True, f"yes: {IN_USER_NAMESPACE} fairport .."
    return False, "no"


def _namespaces() -> tuple[bool, str]:
    made = namespaces.Namespaces()
    try:
        made.make({0: namespaces.HostSettings((), rto_min_ms=10, initial_window=10)})
    finally:
        made.remove()
    return True, "yes"


def _raw_frames() -> tuple[bool, str]:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL)):
        return True, "yes"


def _scheduling() -> tuple[bool, str]:
    found = _core.scheduling_class()
    return found == "SCHED_DEADLINE", found


def _processors() -> tuple[bool, str]:
    count = len(os.sched_getaffinity(0))
    return count >= 2, str(count)


def _idle() -> tuple[bool, str]:
    load = os.getloadavg()[0]
    return load < 0.5, f"load {load:.1f} over the last minute"
