"""One 2-hop flow to twelve 6-hop ones, then several times as many of both, here and in ns-3.

Experiment `fixed-proportion` of Prakash et al. 2012, in which Fairport finds an outcast
at 5 : 60 and 10 : 120 with every seed. ns-3's side is peers/ns3/outcast.cc.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import fairport as fp
import polars as pl

from validation.case import options
from validation.markdown import spread, table
from validation.peers import ns3

FLOWS_PER_HOST = (1, 5, 10, 20, 30)
DURATION_S = 2
# ns-3 has no delay in a switch. So the delays of the four switches between edge and edge are added
# to the links between switches, and half of the edge switch's delay to each host's link.
SWITCH_US = 25
HOST_US = 30 + SWITCH_US // 2


def fairport(flows: int, seed: int) -> float:
    """Goodput of a 2-hop flow over that of a 6-hop one: as in the paper's experiment."""
    senders = {"traffic.0.from": ["h1", "h4..h15"], "traffic.0.flows": flows}
    ties = {f"switch.{field}": value for field, value in ns3.TIES.items()}
    scenario = fp.scenario("outcast").patch({"duration": f"{DURATION_S}s", **senders, **ties})
    flows_table = fp.run(scenario, seed=seed).flows
    goodputs = dict(flows_table.group_by("hops").agg(pl.mean("goodput_bps")).iter_rows())
    return float(goodputs[2] / goodputs[6])


def in_ns3(program: Path, seed: int, duration_s: float, *options: str) -> tuple[str, float]:
    """The same in ns-3, whose clocks are exact and whose hosts take no time for a segment.

    What it prints, and the ratio.
    """
    printed = ns3.run(
        *(program, "--k=4", f"--time={duration_s}", f"--seed={seed}"),
        *(f"--hostDelay={HOST_US}", f"--linkDelay={SWITCH_US}", *options),
    )
    goodputs = dict(re.findall(r"hop([26])_mean=([0-9.]+)", printed))
    return printed, float(goodputs["2"]) / float(goodputs["6"])


def main(arguments: Sequence[str]) -> int:
    """Measures every proportion on both sides and renews the table."""
    given = options("proportions", __doc__, arguments, seeds=9)
    program = ns3.program("outcast")
    cells = []
    for flows in FLOWS_PER_HOST:
        here = [fairport(flows, seed) for seed in given.seeds]
        there = [in_ns3(program, seed, DURATION_S, f"--perHost={flows}")[1] for seed in given.seeds]
        cells.append([f"{flows} : {12 * flows}", *map(_in_words, [here, there])])
        print(" | ".join(cells[-1]), flush=True)
    heads = ["flows", "here", "ns-3"]
    given.publish("validation/proportions.md", "proportions", table(heads, cells))
    return 0


def _in_words(values: Sequence[float]) -> str:
    outcasts = sum(value < 0.5 for value in values)
    return f"{spread(values, '.2g')}; under a half in {outcasts} of {len(values)}"
