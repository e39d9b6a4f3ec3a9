"""Whether this machine can forward the frames of a scenario (`demand`), estimated before a run.

The machine's capacity is measured: for a second the switch gets more frames than it can forward.
Only demanding scenarios are worth that second; their hosts receive on other processors than the
switch's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from fairport.errors import BackendError
from fairport.scenario import Scenario, load
from fairport.scenario.units import Rate

LITTLE = 80_000
"""Frames per second that any machine forwards: two thirds of a line of 1 Gbit/s."""
_PROBE_S = 0.7
_PROBES = 3
# factor by which an estimate may be wrong before a run is refused
_MARGIN = 1.1
# frames per second: a line of 1 Gbit/s and its ACKs
_WITHIN_CALLS = 130_000


def processors_of_hosts(needed: float) -> list[int]:
    """The processors on which hosts receive if the switch must forward `needed` frames per second.

    An empty list means that a receiving host's TCP runs within the switch's call for the frame.
    That takes 6 to 8 us per frame, which is too long if there are many frames. In that case the
    switch has the first processor to itself.
    """
    return sorted(os.sched_getaffinity(0))[1:] if needed > LITTLE else []


def within_calls(needed: float, only_receiving: set[str]) -> set[str]:
    """The hosts that receive within the switch's calls and not in threads.

    These are the hosts that only receive: they take 4 us per segment and answer it at once. If
    there are too many frames, no host receives within the calls.
    """
    return only_receiving if needed <= _WITHIN_CALLS else set()


def require(needed: float, rate_bps: int, measured: Callable[[], float]) -> None:
    """Raises BackendError if the machine forwards fewer frames per second than `needed`.

    `rate_bps` is the rate of the scenario's links; `measured` returns what the machine forwards.
    """
    if needed <= LITTLE:
        return
    here = measured()
    if needed <= here * _MARGIN:
        return
    fitting = Rate.of(max(1, int(rate_bps * here / needed / 1e6)) * 10**6)
    raise BackendError(
        f"needs about {needed:,.0f} frames per second from the switch, and this machine forwards"
        f" {here:,.0f} now",
        field="link.rate",
        value=str(Rate.of(rate_bps)),
        remedy=f'give at most "{fitting}", or fewer receivers; stop other programs; or use'
        ' `backend="simulation"`',
    )


@cache
def forwarded_per_s(frames_out: Callable[[Scenario], int]) -> float:
    """Frames per second that the switch forwards here if it gets more than it can carry.

    `frames_out` runs a scenario, however demanding, and returns how many frames left the switch. If
    they are few, something disturbed the measurement, and it is repeated.
    """
    scenario = overload(pairs=2, duration_s=_PROBE_S)
    most = 0.0
    for _ in range(_PROBES):
        most = max(most, frames_out(scenario) / _PROBE_S)
        if most > LITTLE:
            break
    return most


def backlog_losses() -> int:
    """Frames lost so far because too many waited for the processors of hosts."""
    rows = Path("/proc/net/softnet_stat").read_text(encoding="ascii").splitlines()
    return sum(int(row.split()[1], 16) for row in rows)


def overload(*, pairs: int, duration_s: float) -> Scenario:
    """A scenario of bulk flows between pairs of hosts, over links faster than the switch."""
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
