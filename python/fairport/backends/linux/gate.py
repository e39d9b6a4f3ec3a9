"""Whether a run on the Linux backend is valid: switch and traffic generator must have been on time.

An invalid run has numbers, too, but they describe the machine, not TCP.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

STALLED_SHARE = 0.005
"""Largest share of a run that may be spent in stalls."""
# the kernel skips a trace program that interrupts itself
_UNSEEN_DROPS = 0.01
# shares of the line's goodput that may be missing, below this rate in bit/s and above
_SLOW_BPS = 200e6
_MISSING_SLOW = 0.03
_MISSING_FAST = 0.06
# a token bucket of one packet loses the time by which its timer is late, on any machine
_MISSING_SHAPERS = 0.2
_LATEST_START_S = 0.001
# RFC 7323 2.3: no receiver offers more
_LARGEST_WINDOW_BYTES = 1 << 30


@dataclass(frozen=True)
class Expectation:
    """What the bottleneck of a scenario requires of the machine."""

    drain_s: float
    """Time in which its full buffer empties."""
    line_goodput_bps: float | None
    """Goodput of a full line; None if it is not known to be full."""
    rate_bps: float

    def within(self, measured_s: float) -> Expectation:
        """The same for a measurement of this length, at whose end a full buffer may be under way.

        What waits behind a hole then has not been delivered.
        """
        if self.line_goodput_bps is None or measured_s <= self.drain_s:
            return replace(self, line_goodput_bps=None)
        share = 1 - self.drain_s / measured_s
        return replace(self, line_goodput_bps=share * self.line_goodput_bps)


def faults(
    health: Mapping[str, Any], expected: Expectation, run_s: float, goodput_bps: float
) -> list[str]:
    """The reasons why a run is not valid; an empty list if it is valid."""
    found = []
    if health["lag_p99_s"] >= expected.drain_s / 2:
        found.append(
            f"1 % of the frames left more than {1e6 * health['lag_p99_s']:.0f} us late; half the"
            f" time in which the buffer empties is {1e6 * expected.drain_s / 2:.0f} us"
        )
    share = health["stalled_s"] / run_s
    if share >= STALLED_SHARE:
        found.append(
            f"for {100 * share:.2f} % of the run frames left more than"
            f" {1e6 * expected.drain_s:.0f} us late, the time in which the buffer empties"
        )
    for key, what in (
        ("ring_losses", "frames were lost before the switch could read them"),
        ("backlog_losses", "frames were lost before a host's processor took them"),
        ("send_errors", "frames were refused by the kernel"),
        ("lost_windows", "windows of the congestion control did not reach the kernel"),
        ("capture_losses", "packets are missing at the end of the captures: writing took too long"),
    ):
        if health[key]:
            found.append(f"{health[key]} {what}")
    is_slow = expected.rate_bps < _SLOW_BPS
    return found + _missing(expected, goodput_bps, _MISSING_SLOW if is_slow else _MISSING_FAST)


def faults_of_shapers(
    health: Mapping[str, Any], expected: Expectation, goodput_bps: float
) -> list[str]:
    """The reasons for a run with the kernel's own disciplines, which keep time themselves."""
    found = []
    if health["events_lost"]:
        found.append(f"{health['events_lost']} packets at the queues were not seen")
    unseen = abs(health["drops_counted"] - health["drops_traced"])
    if unseen > _UNSEEN_DROPS * health["drops_counted"] + 1:
        found.append(
            f"{health['drops_traced']} drops were seen, and the disciplines counted"
            f" {health['drops_counted']}"
        )
    return found + _missing(expected, goodput_bps, _MISSING_SHAPERS)


def faults_of_windows(windows: Mapping[int, int]) -> list[str]:
    """The reasons in the largest congestion window of each flow, in bytes.

    If the kernel skips a BPF program, it takes a word of its memory for a window.
    """
    return [
        f"flow {flow} had a congestion window of {window / 1e9:.3g} GB: its congestion control went"
        " wrong"
        for flow, window in windows.items()
        if window > _LARGEST_WINDOW_BYTES
    ]


def faults_of_generator(
    late_s: float, late_p99_s: float, lost_datagrams: int, expected: Expectation
) -> list[str]:
    """The reasons in a generator that began after the scenario did, or was late during the run.

    What is late comes at once with what is due later.
    """
    found = []
    allowed_s = max(expected.drain_s / 2, _LATEST_START_S)
    if late_p99_s >= allowed_s:
        found.append(
            f"1 % of the flows and writes began more than {1e3 * late_p99_s:.3g} ms late, and"
            f" {1e3 * allowed_s:.3g} ms are allowed (ask for fewer flows per second)"
        )
    if late_s > _LATEST_START_S:
        # its first flows came all at once
        found.append(
            f"the flows began {1e3 * late_s:.3g} ms late: other programs kept the machine busy"
        )
    if lost_datagrams:
        found.append(
            f"{lost_datagrams} datagrams found no room in their hosts' sockets"
            " (the machine's `net.core.rmem_max` limits it)"
        )
    return found


def _missing(expected: Expectation, goodput_bps: float, allowed: float) -> list[str]:
    line = expected.line_goodput_bps
    if line is None:
        return []
    if 1 - goodput_bps / line <= allowed:
        return []
    return [
        f"the line carried {1e-6 * goodput_bps:.1f} Mbit/s of goodput, and at least"
        f" {1e-6 * line * (1 - allowed):.1f} of the {1e-6 * line:.1f} that fill it are due"
        " (repeat the run, set `measure.from` past the start, or lower `link.rate`)"
    ]
