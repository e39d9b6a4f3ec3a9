"""The same dumbbell in Fairport and in ns-3; exit status 1 if the two differ by too much.

ns-3's side is peers/ns3/dumbbell.cc.
"""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import fairport as fp
import polars as pl

from validation.case import options
from validation.markdown import table
from validation.peers import ns3

SIMULATED_S = 60
FLOWS = (1, 2, 8)
QUEUE_PACKETS = 40
BOTTLENECK_MS = 8
ALGORITHMS = {"newreno": "TcpNewReno", "cubic": "TcpCubic"}
# in ns-3 TcpNewReno's window grows with the number of ACKs, TcpCubic's with acknowledged data
GROWTH = {"newreno": {"abc": False}, "cubic": {}}
LIMITS = {"goodput": 0.02, "window": 0.10, "loss events": 0.20}
COUNTED = "as RFC 6937 counts"
RECOVERIES = {"as it is": "TcpPrrRecovery", COUNTED: "TcpRfc6937Recovery"}


@dataclass(frozen=True)
class Setup:
    """n flows of one algorithm. The seed draws starts and delays, the same for both sides."""

    algorithm: str
    flows: int
    seed: int

    def draw(self) -> tuple[list[float], list[int]]:
        """Starts in s, and delays of the senders' links in us."""
        drawn = random.Random(f"{self.flows} {self.seed}")
        starts = [round(drawn.uniform(0, 1), 6) for _ in range(self.flows)]
        return starts, [drawn.randint(500, 1500) for _ in range(self.flows)]


@dataclass(frozen=True)
class Measured:
    """The sums over all flows of a setup."""

    goodput_bps: float
    window_bytes: float
    loss_events: float


def fairport(setup: Setup, **tcp: Any) -> Measured:
    """This setup in Fairport, with settings of TCP on top of the preset `ns3`."""
    result = fp.run(scenario(setup, tcp), seed=setup.seed)
    flows, series = result.flows, result.series
    # a series of timeouts counts once, like one stay in ns-3's state CA_LOSS
    timeouts = result.timeouts.filter(pl.col("backoff") == 0).height
    return Measured(
        goodput_bps=int(flows["delivered_bytes"].sum()) * 8 / SIMULATED_S,
        window_bytes=float(series["cwnd_bytes"].to_numpy().mean()),
        loss_events=int(flows["fast_recoveries"].sum()) + timeouts,
    )


def scenario(setup: Setup, tcp: dict[str, Any]) -> fp.Scenario:
    """The dumbbell as a scenario: nothing is random, and headers are counted as in ns-3."""
    starts, delays_us = setup.draw()
    numbers = range(setup.flows)
    links = [
        {"ends": ["left", "right"], "rate": "10Mbps", "delay": f"{BOTTLENECK_MS}ms"},
        *({"ends": [f"s{i}", "left"], "delay": f"{delays_us[i]}us"} for i in numbers),
        *({"ends": ["right", f"r{i}"], "delay": "1ms"} for i in numbers),
    ]
    return fp.scenario(
        {
            "name": "dumbbell",
            "duration": f"{SIMULATED_S}s",
            "topology": {
                "kind": "graph",
                "hosts": [f"{end}{i}" for end in "sr" for i in numbers],
                "switches": ["left", "right"],
                "links": links,
            },
            "link": {"rate": "100Mbps", "framing": "none", "clock_error": "0ppm"},
            "switch": {"processing_delay": "0s", **ns3.TIES},
            "queue": {"kind": "drop-tail", "limit": f"{QUEUE_PACKETS} packets"},
            "host": {
                "delay": "0s",
                "delay_spread": "0s",
                "processing": {"kind": "constant", "value": "0s"},
                "queue": "100000 packets",
            },
            "tcp": {
                "stack": "ns3",
                "congestion_control": setup.algorithm,
                **GROWTH[setup.algorithm],
                **tcp,
            },
            "measure": {"from": "0s"},
            "traffic": [
                {"from": f"s{i}", "to": f"r{i}", "start": f"{starts[i]:.6f}s", "start_jitter": "0s"}
                for i in numbers
            ],
        }
    )


def in_ns3(program: Path, setup: Setup, recovery: str) -> Measured:
    """This setup in ns-3, with one of its classes of recovery."""
    starts, delays_us = setup.draw()
    printed = ns3.run(
        program,
        f"--cc={ALGORITHMS[setup.algorithm]}",
        f"--starts={','.join(map(str, starts))}",
        f"--delays={','.join(map(str, delays_us))}",
        f"--bottleneck={BOTTLENECK_MS}",
        f"--queue={QUEUE_PACKETS}",
        f"--time={SIMULATED_S}",
        f"--recovery={recovery}",
    )
    flows = json.loads(printed)["flows"]
    return Measured(
        goodput_bps=sum(flow["goodput_bps"] for flow in flows),
        window_bytes=statistics.mean(flow["cwnd_bytes"] for flow in flows),
        loss_events=sum(flow["recoveries"] + flow["timeouts"] for flow in flows),
    )


def main(arguments: Sequence[str]) -> int:
    """Measures every setup on both sides; 1 if they differ by more than the limits."""
    given = options("dumbbell", __doc__, arguments, seeds=10)
    program = ns3.program("dumbbell")
    rows, agree = [], True
    for algorithm in ALGORITHMS:
        for flows in FLOWS:
            setups = [Setup(algorithm, flows, seed) for seed in given.seeds]
            ours = _mean([fairport(setup) for setup in setups])
            for label, recovery in RECOVERIES.items():
                theirs = _mean([in_ns3(program, setup, recovery) for setup in setups])
                apart = _apart(ours, theirs)
                within = all(abs(apart[what]) <= limit for what, limit in LIMITS.items())
                agree &= within or recovery != RECOVERIES[COUNTED]
                rows.append(_row(f"{flows} {algorithm}", label, ours, theirs, apart, within))
                print(" | ".join(rows[-1]), flush=True)
    heads = ["flows", "ns-3's PRR", "goodput, Mbit/s", "mean cwnd, KB", "loss events", "within"]
    given.publish("validation/dumbbell.md", "ns-3", table(heads, rows))
    return 0 if agree else 1


def _mean(measured: Sequence[Measured]) -> Measured:
    means = (statistics.mean(column) for column in zip(*map(astuple, measured), strict=True))
    return Measured(*means)


def _apart(ours: Measured, theirs: Measured) -> dict[str, float]:
    """How much larger ours is, as a share of theirs."""
    shares = (a / b - 1 for a, b in zip(astuple(ours), astuple(theirs), strict=True))
    return dict(zip(LIMITS, shares, strict=True))


def _row(
    title: str, label: str, ours: Measured, theirs: Measured, apart: dict[str, float], within: bool
) -> list[str]:
    scales = (1e6, 1e3, 1)
    parts = zip(astuple(ours), astuple(theirs), scales, apart.values(), strict=True)
    cells = [f"{a / by:.4g}, {b / by:.4g} ({more:+.1%})" for a, b, by, more in parts]
    return [title, label, *cells, "yes" if within else "**no**"]
