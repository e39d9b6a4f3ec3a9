"""The lone flow of `outcast` with hosts and clocks that are exact: here, in ns-3 and in htsim.

Fifteen senders to one receiver of a k = 4 fat-tree for ten seconds. A seed draws the starts and how
much longer each host's link is. ns-3's side is peers/ns3/outcast.cc, htsim's peers/htsim.
"""

from __future__ import annotations

import random
import re
import statistics
import sys
from collections.abc import Callable, Sequence

import fairport as fp

from validation.case import options
from validation.markdown import table
from validation.peers import UnavailableError, htsim, ns3

DURATION_S = 10
FAIR_MBPS = 1e3 / 15
# of the links of hosts, and of those between switches
HOST_US, LINK_US = 80, 25
JITTER_US, SPREAD_US = 10_000, 20
RTO_MIN_PS = 2 * 10**9
_PS_PER_US = 10**6


def fairport(seed: int, **more: object) -> float:
    """Goodput of the lone flow in Mbit/s, without what makes hosts and clocks differ."""
    # a switch's delay is half on each side, as part of its links
    same = {
        "duration": f"{DURATION_S}s",
        "host.delay": f"{1000 * HOST_US - 500 * LINK_US}ns",
        "host.processing": {"kind": "constant", "value": "0s"},
        "link.clock_error": "0ppm",
        **{f"switch.{field}": value for field, value in ns3.TIES.items()},
    }
    flows = fp.run(fp.scenario("outcast").patch(same | more), seed=seed).flows
    return float(flows.filter(hops=2)["goodput_bps"].item()) / 1e6


def in_ns3(seed: int) -> float:
    """The same in ns-3."""
    program = ns3.build().program
    delays = (f"--hostDelay={HOST_US}", f"--linkDelay={LINK_US}")
    printed = ns3.run(program, f"--time={DURATION_S}", f"--seed={seed}", *delays)
    return float(re.findall(r"hop2_mean=([0-9.]+)", printed)[0])


def in_htsim(seed: int) -> float:
    """The same in htsim, whose TCP is NewReno."""
    drawn = random.Random(seed)
    longer_us = [drawn.uniform(0, SPREAD_US) for _ in range(16)]
    flows = []
    for sender in range(1, 16):
        # in a job only links to hosts have the delay of these, and none is longer than others
        own_us = HOST_US - LINK_US + longer_us[0] + longer_us[sender]
        start_ps = round(drawn.uniform(0, JITTER_US) * _PS_PER_US)
        flows.append(htsim.Flow(sender, 0, start_ps, 0, *[round(own_us * _PS_PER_US)] * 2))
    job = htsim.Job(
        k=4,
        duration_ps=DURATION_S * 10**12,
        limit_bytes=16_384,
        link_ps=LINK_US * _PS_PER_US,
        host_ps=HOST_US * _PS_PER_US,
        rto_min_ps=RTO_MIN_PS,
        paths="suffix",
        flows=tuple(flows),
    )
    found = htsim.run(htsim.build(RTO_MIN_PS), job)
    return found.received_bytes[0] * 8 / DURATION_S / 1e6


_SIDES: dict[str, Callable[[int], float]] = {
    f"ns-3 {ns3.VERSION}, BIC": in_ns3,
    "htsim, NewReno": in_htsim,
    "Fairport, BIC": fairport,
    "Fairport, NewReno": lambda seed: fairport(seed, **{"tcp.congestion_control": "newreno"}),
}


def main(arguments: Sequence[str]) -> int:
    """Measures the lone flow in each simulator that is available, and renews the table."""
    given = options("other-simulators", __doc__, arguments, seeds=20)
    rows = []
    for name, measured in _SIDES.items():
        try:
            found = [measured(seed) for seed in given.seeds]
        except UnavailableError as error:
            print(f"{name} was not measured: {error}", file=sys.stderr)
            return 0
        more = sum(goodput > FAIR_MBPS for goodput in found)
        span = f"{min(found):.3g} to {max(found):.3g}"
        rows.append([name, f"{statistics.median(found):.3g}", span, f"{more} of {len(found)}"])
        print(" | ".join(rows[-1]), flush=True)
    heads = ["simulator", "median", "range", "seeds in which it got more than its fair share"]
    given.publish("validation/other-simulators.md", "other-simulators", table(heads, rows))
    return 0
