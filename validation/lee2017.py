"""The claims of Lee et al. 2017 that Fairport does not confirm, in the same networks in ns-3.

ns-3's side is peers/ns3/two-switch.cc.
"""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fairport as fp
import polars as pl
from fairport.metrics import fairness

from validation.case import options
from validation.markdown import spread, table
from validation.peers import ns3

FROM_S = 0.25
HOST_US = 30
SPREAD_US = 20
SWITCH_US = 25
# paths of 6 links and of 2: four more switches, two of which are in the program
FAR_US = 2 * SWITCH_US
PROCESSING_US = 5
QUEUE_PACKETS = 100
BLOCK_BYTES = 128_000
PLAIN: dict[str, Any] = {"payload_sizing": "full"}
STATIC: dict[str, Any] = {"payload_sizing": "static", "payload_min": "200B"}
ADAPTIVE: dict[str, Any] = {"payload_sizing": "adaptive", "payload_min": "200B"}
RECOVERIES = ("TcpPrrRecovery", "TcpRfc6937Recovery")
NS3_SIZING = {
    "full": [],
    "static": ["--payloadMin=200"],
    "adaptive": ["--payloadMin=200", "--adaptive=true"],
}


@dataclass(frozen=True)
class Setup:
    """Flows of senders at the receiver's switch and behind it; the seed draws starts and delays."""

    near: int
    far: int
    seed: int
    tcp: dict[str, Any] = field(default_factory=dict)
    sack: bool = True
    blocks: bool = False
    samples: bool = False

    @property
    def end_s(self) -> float:
        """How long a run lasts: windows need longer than shares."""
        return 2.0 if self.samples else 1.0

    def draw(self) -> tuple[list[float], list[float]]:
        """Starts in s, and delays of the senders' links in us."""
        drawn = random.Random(f"{self.near} {self.far} {self.seed}")
        count = range(self.near + self.far)
        starts = [round(drawn.uniform(0, 1e-4 if self.blocks else 1e-3), 7) for _ in count]
        base = [HOST_US + SWITCH_US + (FAR_US if i >= self.near else 0) for i in count]
        return starts, [round(us + drawn.uniform(0, SPREAD_US), 2) for us in base]


SIZINGS = {"CUBIC": PLAIN, "TCPRand": ADAPTIVE}
STATIC_SIZINGS = {"CUBIC": PLAIN, "TCPRand, 200 B": STATIC}


@dataclass(frozen=True)
class Measured:
    """The results of a setup."""

    goodputs_bps: list[float]
    timeouts: list[int]
    round_goodput_bps: float
    correlation: float | None

    @property
    def total(self) -> float:
        """Goodput of all flows, in Mbit/s."""
        return sum(self.goodputs_bps) / 1e6

    @property
    def ratio(self) -> float:
        """The first flow's goodput over the mean of the others'."""
        lone, *others = self.goodputs_bps
        return lone / statistics.mean(others)


def fairport(setup: Setup) -> Measured:
    """This setup in Fairport."""
    result = fp.run(scenario(setup), seed=setup.seed)
    flows = result.flows.sort("flow")
    rounds = result.summary.get("rounds")
    windows = fairness.window_correlation(result.series, FROM_S) if setup.samples else None
    return Measured(
        goodputs_bps=flows["goodput_bps"].to_list(),
        timeouts=flows["timeouts"].to_list(),
        round_goodput_bps=rounds["goodput_bps"] if rounds else 0.0,
        correlation=None if windows is None else windows["correlation"].item(),
    )


def scenario(setup: Setup) -> fp.Scenario:
    """The two switches as a scenario, with ns-3's framing and clocks."""
    starts, delays_us = setup.draw()
    senders = [f"s{i}" for i in range(len(starts))]
    links = [
        {"ends": ["far", "near"], "delay": f"{SWITCH_US}us"},
        {"ends": ["near", "r"], "delay": f"{HOST_US}us"},
        *(
            {"ends": [name, "near" if i < setup.near else "far"], "delay": f"{delays_us[i]}us"}
            for i, name in enumerate(senders)
        ),
    ]
    bulk = [
        {"from": name, "to": "r", "start": f"{starts[i]:.7f}s", "start_jitter": "0s"}
        for i, name in enumerate(senders)
    ]
    incast = {"kind": "incast", "from": senders, "to": "r", "block": f"{BLOCK_BYTES}B"}
    return fp.scenario(
        {
            "name": "two-switches",
            "duration": f"{setup.end_s}s",
            "topology": {
                "kind": "graph",
                "hosts": [*senders, "r"],
                "switches": ["far", "near"],
                "links": links,
            },
            "link": {"rate": "1Gbps", "framing": "none", "clock_error": "0ppm"},
            "switch": {"processing_delay": "0s", **ns3.TIES},
            "queue": {"kind": "drop-tail", "limit": f"{QUEUE_PACKETS} packets"},
            "host": {
                "delay": "0s",
                "delay_spread": "0s",
                "processing": {"kind": "uniform", "min": "0s", "max": f"{PROCESSING_US}us"},
                "queue": "100000 packets",
            },
            "tcp": {
                "stack": "ns3",
                "congestion_control": "cubic",
                "rto_min": "2ms",
                "timestamps": False,
                "ack_policy": "every-segment",
                "sack": setup.sack,
                **setup.tcp,
            },
            "measure": {"from": "0s" if setup.blocks else f"{FROM_S}s"},
            "probes": {"series_interval": "1ms"} if setup.samples else {},
            "traffic": [incast | {"jitter": "100us"}] if setup.blocks else bulk,
        }
    )


def in_ns3(program: Path, setup: Setup, recovery: str) -> Measured:
    """This setup in ns-3, with one of its classes of recovery."""
    starts, delays_us = setup.draw()
    printed = ns3.run(
        *(program, f"--near={setup.near}", f"--seed={setup.seed}"),
        f"--starts={','.join(map(str, starts))}",
        f"--delays={','.join(map(str, delays_us))}",
        *(f"--between={SWITCH_US}", f"--queue={QUEUE_PACKETS}", f"--processing={PROCESSING_US}"),
        *(f"--time={setup.end_s}", f"--from={0 if setup.blocks else FROM_S}"),
        f"--sack={str(setup.sack).lower()}",
        *NS3_SIZING[setup.tcp.get("payload_sizing", "full")],
        *((f"--block={BLOCK_BYTES}",) if setup.blocks else ()),
        *(("--sample=1",) if setup.samples else ()),
        f"--recovery={recovery}",
    )
    found = json.loads(printed)
    flows = found["flows"]
    windows = pl.DataFrame({str(i): flow["cwnd_bytes"] for i, flow in enumerate(flows)})
    return Measured(
        goodputs_bps=[flow["goodput_bps"] for flow in flows],
        timeouts=[flow["timeouts"] for flow in flows],
        round_goodput_bps=found["round_goodput_bps"],
        correlation=windows.select(pl.corr("0", "1")).item() if setup.samples else None,
    )


Value = Callable[[Measured], float]


def rows(seeds: range) -> Iterator[tuple[str, list[Setup], Value]]:
    """A row of the table: its title, its setup for each seed, and the number that is compared."""
    for name, tcp in SIZINGS.items():
        setups = [Setup(2, 0, seed, tcp, samples=True) for seed in seeds]
        yield f"correlation of two windows, {name}", setups, lambda it: it.correlation or 0.0
    for n in (2, 16, 112):
        for name, tcp in SIZINGS.items():
            setups = [Setup(1, n, seed, tcp) for seed in seeds]
            yield f"ratio of one flow to {n}, {name}", setups, lambda it: it.ratio
    for name, tcp in SIZINGS.items():
        setups = [Setup(40, 0, seed, tcp, blocks=True) for seed in seeds]
        yield (
            f"goodput of incast, Mbit/s, {name}",
            setups,
            lambda it: it.round_goodput_bps / 1e6,
        )
    for name, tcp in STATIC_SIZINGS.items():
        setups = [Setup(1, 14, seed, tcp, sack=False) for seed in seeds]
        yield f"goodput of 1 and 14, no SACK, Mbit/s, {name}", setups, lambda it: it.total


def main(arguments: Sequence[str]) -> int:
    """Measures every setup on both sides and renews the table."""
    given = options("lee2017", __doc__, arguments, seeds=3)
    program = ns3.program("two-switch")
    cells = []
    for words, setups, value in rows(given.seeds):
        here = [value(fairport(setup)) for setup in setups]
        there = [[value(in_ns3(program, setup, one)) for setup in setups] for one in RECOVERIES]
        cells.append([words, *(spread(values, ".3g") for values in [here, *there])])
        print(" | ".join(cells[-1]), flush=True)
    heads = ["what", "here", "ns-3 as it is", "ns-3's PRR as RFC 6937 counts"]
    given.publish("validation/lee2017.md", "lee2017", table(heads, cells))
    return 0
