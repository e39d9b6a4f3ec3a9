"""How Mininet's shapers change outcast, over seeds: the tables of docs/validation/mininet.md.

    python examples/mininet_shapers.py --seeds 20

Chopra & Helsley (2012) saw outcast with a TBF of 128 KB, its opposite with a TBF of 16 KB, and a
starved flow with HTB and 11 packets.
"""

from __future__ import annotations

import argparse
import os
import statistics
from typing import Any

import fairport as fp

Patch = dict[str, Any]

HTB = {"kind": "htb", "rate": "100Mbps", "timer_lateness": "20us"}
TBF_128: Patch = {}
TBF_16: Patch = {"queue.limit": "16KB"}
HTB_11: Patch = {"shaper": HTB, "queue.limit": "11 packets"}
LATE = "shaper.timer_lateness"
LONE_FIRST: Patch = {
    "traffic": [
        {"from": "h1", "to": "h0", "start_jitter": "10ms"},
        {"from": "h2..h13", "to": "h0", "start": "1s", "start_jitter": "10ms"},
    ]
}

# each row's title, and its overrides of the scenario `mininet-shapers`
OBSERVED: list[tuple[str, Patch]] = [
    (f"{name}, timers late by up to {late}", patch | {LATE: late})
    for name, patch in (
        ("TBF, 128 KB", TBF_128),
        ("TBF, 16 KB", TBF_16),
        ("HTB, 11 packets", HTB_11),
    )
    for late in ("0s", "20us", "50us")
]
INTERVENTIONS: list[tuple[str, Patch]] = [
    ("TBF, 16 KB", TBF_16),
    ("  hosts 300 us away", TBF_16 | {"host.delay": "300us"}),
    ("  hosts 600 us away", TBF_16 | {"host.delay": "600us"}),
    ("  hosts 1200 us away", TBF_16 | {"host.delay": "1200us"}),
    ("  RTO at least 200 ms", TBF_16 | {"tcp.rto_min": "200ms"}),
    ("  lone flow 1 s earlier", TBF_16 | LONE_FIRST),
    ("  4 peers", TBF_16 | {"topology.peers": 4}),
    ("TBF, 128 KB", TBF_128),
    ("  hosts 1200 us away", TBF_128 | {"host.delay": "1200us"}),
    ("  RTO at least 200 ms", TBF_128 | {"tcp.rto_min": "200ms"}),
    ("  lone flow 1 s earlier", TBF_128 | LONE_FIRST),
    ("HTB, 11 packets", HTB_11),
    ("  hosts unshaped", HTB_11 | {"shaper.hosts": False}),
    ("  22 packets", HTB_11 | {"queue.limit": "22 packets"}),
    ("  cburst 20 KB as well", HTB_11 | {"shaper.cburst": "20KB", "shaper.burst": "20KB"}),
    ("  16 KB instead", HTB_11 | {"queue.limit": "16KB"}),
    ("  hosts 1200 us away", HTB_11 | {"host.delay": "1200us"}),
    ("  RTO at least 200 ms", HTB_11 | {"tcp.rto_min": "200ms"}),
    ("  lone flow 1 s earlier", HTB_11 | LONE_FIRST),
]


def row(patch: Patch, seeds: int, duration: str) -> str:
    """Median and quartiles of the throughput ratio, and how many runs starve or favour the flow."""
    scenario = fp.scenario("mininet-shapers").patch(patch | {"duration": duration})
    results = fp.run_many(scenario, range(1, seeds + 1), jobs=os.cpu_count() or 1)
    classes = [list(result.summary["classes"].values()) for result in results]
    # the lone flow's class comes first; its peers may all have got nothing
    ratios = sorted(
        lone["throughput_ratio"] if lone["throughput_ratio"] is not None else float("inf")
        for lone, _ in classes
    )
    lower, upper = ratios[len(ratios) // 4], ratios[3 * len(ratios) // 4]
    below = sum(ratio < 0.5 for ratio in ratios)
    above = sum(ratio > 1 for ratio in ratios)
    return (
        f"{statistics.median(ratios):10.2f}  ({lower:.2f} to {upper:.2f})"
        f"   below 1/2: {below}, above 1: {above}"
    )


def main() -> None:
    """Runs everything and prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=5, help="runs of each kind (default: 5)")
    parser.add_argument("--duration", default="10s", help="simulated time per run (default: 10s)")
    options = parser.parse_args()
    for title, rows in (("observed", OBSERVED), ("changed", INTERVENTIONS)):
        print(title)
        for name, patch in rows:
            print(f"{name:45}{row(patch, options.seeds, options.duration)}", flush=True)


if __name__ == "__main__":
    main()
