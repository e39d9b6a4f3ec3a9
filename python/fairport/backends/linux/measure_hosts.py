"""`fairport doctor --measure-hosts`: how long real hosts take, at several loads.

The loads are those of outcast: one receiver, a lone sender and its peers, at three rates of the
line. So the receiver gets a packet every 12 us, 120 us and 1.2 ms.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from fairport.backends.linux.host_times import profile
from fairport.backends.run import run_many
from fairport.errors import BackendError
from fairport.scenario import Scenario, load
from fairport.scenario.host_profile import HostProfile
from fairport.scenario.units import Rate

RETRIES = 4
"""Number of runs per rate that may be repeated because the switch was late."""
_RATES = ("10Mbps", "100Mbps", "1Gbps")
_LOAD = (
    "bulk TCP (CUBIC) of {peers} peers and a lone sender to one receiver at {rates}; one program in"
    " Python reads and writes all sockets; hosts are network namespaces with veth pairs"
)
_PEERS = 12


def scenario(rate: str, duration: str = "10s") -> Scenario:
    """The scenario that makes the load at this rate of the line."""
    document: dict[str, Any] = {
        "name": f"measure-hosts-{rate}",
        "duration": duration,
        "topology": {"kind": "two-switch", "peers": _PEERS},
        "link": {"rate": rate, "delay": "0s"},
        "queue": {"kind": "drop-tail", "limit": "11 packets"},
        "tcp": {"stack": "linux-6", "congestion_control": "cubic", "rto_min": "10ms"},
        "traffic": [{"kind": "bulk", "from": "all", "to": "h0", "start_jitter": "10ms"}],
    }
    return load(document)


def measure_hosts(description: str = "") -> HostProfile:
    """The profile of this machine's hosts, from all rates with valid runs.

    Raises BackendError without the privileges, and if no rate has a valid run.
    """
    answers: list[pl.DataFrame] = []
    healths, rates = [], []
    for rate in _RATES:
        for result in run_many(scenario(rate), [1], backend="linux", retries=RETRIES):
            if result.summary["valid"]:
                healths.append(result.summary["health"])
                # hosts of different runs count as different hosts
                host = pl.concat_str(pl.lit(f"{rate} "), "host")
                answers.append(result.tables["answers"].with_columns(host.alias("host")))
                rates.append(rate)
    if not answers:
        raise BackendError(
            "has no valid run, because this machine was too busy with other programs:"
            f" {RETRIES + 1} runs were tried at each rate",
            file="host profile",
            remedy="stop the other programs and measure again; `fairport doctor` checks this"
            " machine",
        )
    method = _LOAD.format(peers=_PEERS, rates=", ".join(rates))
    fastest = max(map(Rate, rates))
    return profile(pl.concat(answers), healths, method, description, rate_max=fastest)
