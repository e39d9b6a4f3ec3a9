"""How likely a packet finds room after a drop (Lee et al., Computer Networks 129, 2017, Fig. 5).

Two inputs X and Y of the same rate send packets without a pause to one output of that rate, whose
buffer has room for one more packet. Y1 takes it; X1 arrives a moment later and is dropped. If all
packets have the same length, the rhythm stays: Y takes each place that becomes free, and X2 has no
chance. Payloads drawn from U{rMin..MSS} break the rhythm. The model asks whether X2 and Y2, the
next packet of each input, find room.

The text leaves two things open. They are chosen so that the published numbers result: the remaining
part of the packet that the output is sending is uniformly distributed, and X1 is 100 bytes behind
Y1. Times are counted in bytes on the wire, so the rate (1 Gbit/s in the paper) does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

_HEADER_BYTES = 66
"""Ethernet 14 + 4, preamble 8, IP and TCP 40: on the wire around each payload."""
_GAP_BYTES = 12
"""The gap between two frames: 0.096 us at 1 Gbit/s."""
_BEHIND_BYTES = 100
"""Distance in bytes by which X1 arrives after Y1."""


def enqueue_probability(
    *, seed: int, r_min_bytes: int, mss_bytes: int = 1448, trials: int = 1000
) -> dict[str, float]:
    """Shares of the trials in which X2 finds room, Y2 does, both do, neither does.

    Raises ValueError unless 1 <= r_min_bytes <= mss_bytes and a full packet is longer than the
    distance between X1 and Y1.
    """
    if not 1 <= r_min_bytes <= mss_bytes:
        raise ValueError(f"r_min_bytes is {r_min_bytes}, and must be 1 to {mss_bytes}")
    if mss_bytes + _HEADER_BYTES + _GAP_BYTES <= _BEHIND_BYTES:
        raise ValueError(f"mss_bytes is {mss_bytes}: X1 would never be dropped")
    # Random.random() gives the same numbers in every version of Python
    random = Random(f"{seed}/{r_min_bytes}").random
    outcomes = [_trial(random, r_min_bytes, mss_bytes) for _ in range(trials)]
    return {
        "x2": sum(x2 for x2, _ in outcomes) / trials,
        "y2": sum(y2 for _, y2 in outcomes) / trials,
        "both": sum(x2 and y2 for x2, y2 in outcomes) / trials,
        "neither": sum(not x2 and not y2 for x2, y2 in outcomes) / trials,
    }


def _trial(random: Callable[[], float], r_min_bytes: int, mss_bytes: int) -> tuple[bool, bool]:
    """Whether X2 finds room, and whether Y2 does."""

    def packet_bytes() -> int:
        payload = r_min_bytes + int(random() * (mss_bytes - r_min_bytes + 1))
        return payload + _HEADER_BYTES + _GAP_BYTES

    # Y1 arrived at 0. X1 found no room, so nothing had left by then.
    departure = 0.0
    while departure <= _BEHIND_BYTES:
        departure = random() * packet_bytes()
    arrivals = {"y2": packet_bytes(), "x2": _BEHIND_BYTES + packet_bytes()}
    found = {}
    free = 0
    for which, at in sorted(arrivals.items(), key=lambda arrival: arrival[1]):
        while departure <= at:
            free += 1
            departure += packet_bytes()
        found[which] = free > 0
        free -= found[which]
    return found["x2"], found["y2"]
