"""Many flows, and which port's clock is faster: the tables of docs/validation/clocks.md.

The scenario is `outcast-1-to-12`. A row changes it by the override mechanism that `--set` uses.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import fairport as fp

from validation.case import options
from validation.markdown import table

SCENARIO = "outcast-1-to-12"

# The ports that all 6-hop flows pass on their way down, and the one shared with the 2-hop ones.
TRAIN = ("core0:0", "agg0.0:0")
BOTTLENECK = "edge0.0:0"
GROUPS_PPM = {
    "25 and more slower": (-200.0, -25.0),
    "up to 25 slower": (-25.0, 0.0),
    "up to 25 faster": (0.0, 25.0),
    "25 and more faster": (25.0, 200.0),
}
NO_BACKOFF = {"tcp.rto_max": "4ms", "tcp.rto_initial": "3ms"}

# the title of each row -> its overrides, besides those of the links between switches
ROWS: dict[str, dict[str, Any]] = {
    "20 flows per host": {"traffic.0.flows": 20},
    "30 flows per host": {"traffic.0.flows": 30},
    "5 flows per host": {"traffic.0.flows": 5},
    "1 flow per host": {},
    "20 flows per host, RTOs of 4 ms at most": {"traffic.0.flows": 20} | NO_BACKOFF,
}
FABRIC = {"100 ppm slower": "999.9Mbps", "100 ppm faster": "1000.1Mbps"}


def main(arguments: Sequence[str]) -> int:
    """Runs everything, prints it, and renews the page at the end."""
    given = options("clocks", __doc__, arguments, seeds=45)
    text = f"{drawn(len(given.seeds))}\n\n{controlled(min(len(given.seeds), 12))}"
    print(text)
    given.publish("validation/clocks.md", "clocks", text)
    return 0


def drawn(seeds: int) -> str:
    """The ratio by group of seeds: how much faster the 6-hop flows' port is than the bottleneck."""
    runs = [
        (min(clock[port] for port in TRAIN) - clock[BOTTLENECK], ratio)
        for ratio, clock in outcomes(ROWS["20 flows per host"], seeds)
    ]
    rows = []
    for name, (low, high) in GROUPS_PPM.items():
        ratios = [ratio for faster, ratio in runs if low <= faster < high]
        rows.append([name, str(len(ratios)), spread(ratios)])
    return table(["the train is, in ppm", "seeds", "ratio: median (range)"], rows)


def controlled(seeds: int) -> str:
    """The ratio with all links between switches a little slower or faster, same seeds."""
    rows = []
    for name, overrides in ROWS.items():
        cells = [
            spread([ratio for ratio, _ in outcomes(overrides | {"fabric.rate": rate}, seeds)])
            for rate in FABRIC.values()
        ]
        rows.append([name, *cells])
    return table([f"seeds 1 to {seeds}, links between switches", *FABRIC], rows)


def outcomes(overrides: Mapping[str, Any], seeds: int) -> Iterator[tuple[float, dict[str, float]]]:
    """By seed, the 2-hop flows' goodput over that of the others, and each port's clock error."""
    scenario = fp.scenario(SCENARIO).patch(dict(overrides))
    for result in fp.run_many(scenario, range(1, seeds + 1), jobs=os.cpu_count() or 1):
        ports = result.ports.select("port", "clock_error_ppm")
        yield result.summary["classes"]["2-hop"]["throughput_ratio"] or 0.0, dict(ports.iter_rows())


def spread(ratios: Sequence[float]) -> str:
    """Median and range."""
    if not ratios:
        return ""
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.3g})"
