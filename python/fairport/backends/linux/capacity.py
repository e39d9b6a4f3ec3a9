"""Whether this machine can forward what a scenario asks for (`demand`), estimated before a run.

What the machine forwards is measured: for a second the switch gets more than it can carry. Only
scenarios that ask for much are worth that second, and have hosts that receive on processors of
their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from fairport.errors import BackendError
from fairport.scenario import Scenario, load
from fairport.scenario.units import Rate

LITTLE = 80_000
"""Frames per second that any machine forwards: two thirds of a line of 1 Gbit/s."""
_PROBE_S = 0.7
_PROBES = 3
# what an estimate may be wrong before a run is refused
_MARGIN = 1.1
# frames per second: a line of 1 Gbit/s and its ACKs
_WITHIN_CALLS = 130_000


def processors_of_hosts(needed: float) -> list[int]:
    """Where hosts receive if the switch is to forward so many frames per second.

    None: the receiving host's TCP runs where the switch does, within its call for the frame. That
    is 6 to 8 us per frame, which it does not have if there are many. Else it has the first
    processor for itself.
    """
    return sorted(os.sched_getaffinity(0))[1:] if needed > LITTLE else []


def within_calls(needed: float, only_receiving: set[str]) -> set[str]:
    """Which of the hosts that only receive do so within the switch's calls, and not in threads.

    They take 4 us for a segment, and answer it at once, so all do unless there are too many frames.
    """
    return only_receiving if needed <= _WITHIN_CALLS else set()


def require(needed: float, rate_bps: int, measured: Callable[[], float]) -> None:
    """Raises BackendError if the machine forwards fewer frames per second than that.

    `rate_bps` is the rate of the scenario's links, `measured` says what the machine forwards.
    """
    if needed <= LITTLE:
        return
    here = measured()
    if needed <= here * _MARGIN:
        return
    fitting = Rate.of(max(1, int(rate_bps * here / needed / 1e6)) * 10**6)
    raise BackendError(
        f"asks the switch for about {needed:,.0f} frames per second, and this machine forwards"
        f" {here:,.0f} now",
        field="link.rate",
        value=str(Rate.of(rate_bps)),
        remedy=f'give at most "{fitting}", or fewer receivers; stop other programs; or use'
        " --backend simulation",
    )


@lru_cache(maxsize=1)
def forwarded_per_s() -> float:
    """Frames per second that the switch forwards here if it gets more than it can carry.

    Where that is little, something came between: it is measured again.
    """
    from fairport.backends.linux import BACKEND

    scenario = overload(pairs=2, duration_s=_PROBE_S)
    most = 0.0
    for _ in range(_PROBES):
        health = BACKEND.prepare(scenario, 1, is_checked=False).run().health
        most = max(most, health["frames_out"] / _PROBE_S)
        if most > LITTLE:
            break
    return most


def backlog_losses() -> int:
    """Frames that the processors of hosts have lost so far, because too many waited for them."""
    rows = Path("/proc/net/softnet_stat").read_text(encoding="ascii").splitlines()
    return sum(int(row.split()[1], 16) for row in rows)


def overload(*, pairs: int, duration_s: float) -> Scenario:
    """Bulk flows between pairs of hosts over links that are faster than the switch."""
    document: dict[str, Any] = {
        "name": "capacity",
        "duration": f"{duration_s}s",
        "topology": {"kind": "star", "hosts": 2 * pairs},
        "link": {"rate": "10Gbps", "delay": "0s"},
        "queue": {"kind": "drop-tail", "limit": "200 packets"},
        "tcp": {"stack": "linux-6", "congestion_control": "cubic", "rto_min": "10ms"},
        "traffic": [{"from": f"h{2 * one + 1}", "to": f"h{2 * one}"} for one in range(pairs)],
    }
    return load(document)
