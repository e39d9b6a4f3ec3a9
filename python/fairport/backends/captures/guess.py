"""A scenario made from captures: the joined switch, its ports, and the long flows.

The network is a guess. A sender with an ingress port of its own is placed at the joined switch;
senders that share one are placed at another switch behind it. The length of a sender's link follows
from the shortest round-trip time of its flows. Queue and rate are taken from the captures. TCP is
that of today's Linux, whatever the hosts run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from fairport.metrics import fairness
from fairport.scenario import Scenario
from fairport.tables import Tables

SEED = 1
"""The scenario's seed, which is the default of every scenario."""

MOST_FLOWS = 200
"""Most long flows that a scenario has: those with most data."""

_DEFAULT_RATE_BPS = 1_000_000_000
# a slower rate is no link: the captures then show next to nothing
_SLOWEST_BPS = 10_000
# common rates of links; a measured rate may be at most 7 % below one of them
_RATES_BPS = [step * 10**power for power in range(6, 12) for step in (1, 2, 2.5, 4, 5)]
_TOLERANCE = 0.07
# time of the defaults, in s: host.delay 4 times, switch.processing_delay, and 2 links'
# serialization
_BASE_RTT_S = 55e-6
_SHORTEST_S = 1e-3
# 104 days: a damaged timestamp may be later, but a scenario lasts at most 106 days
_LONGEST_S = 9e6
# relative to the most bytes that waited at the port; a packet has 1518 bytes
_PACKET_BYTES = 1518
_SMALLEST_LIMIT_BYTES = 2 * _PACKET_BYTES


def scenario(raw: Mapping[str, Any], tables: Tables, name: str, port: str | None) -> Scenario:
    """The scenario of the flows through this output. It is valid, whatever was captured."""
    flows = _long_flows(tables)
    receiver = _receiver(flows)
    flows = flows.filter(pl.col("dst") == receiver)
    peaks = {one["port"]: one["peak_bps"] for one in raw["outputs"]}
    rate_bps = _rate_bps(peaks.get(port), flows)
    duration_s = min(max(raw["duration_s"], _SHORTEST_S), _LONGEST_S)
    hosts = {address: f"h{number}" for number, address in enumerate([receiver, *_senders(flows)])}
    document = {
        "name": name,
        "description": _description(port, flows, receiver),
        "duration": f"{duration_s:.6f}s",
        "topology": _topology(flows, hosts),
        "link": {"rate": _as_rate(rate_bps)},
        "queue": {"kind": "drop-tail", "limit": f"{_limit_bytes(tables, port)}B"},
        "tcp": {"stack": "linux-6"},
        "traffic": [_traffic(flow, hosts, duration_s) for flow in flows.iter_rows(named=True)]
        or [{"kind": "bulk", "from": "h1", "to": "h0"}],
    }
    return Scenario.model_validate(document)


def _long_flows(tables: Tables) -> pl.DataFrame:
    """The compared flows with most data, each with its ingress port."""
    flows = fairness.compared(tables["flows"]).filter(pl.col("delivered_bytes") > 0)
    largest = flows.sort("delivered_bytes", descending=True).head(MOST_FLOWS).sort("flow")
    ports = tables["conversations"].select("flow", "ingress_port")
    return largest.join(ports, on="flow", how="left", maintain_order="left")


def _receiver(flows: pl.DataFrame) -> str:
    """The host that receives most of the flows."""
    counts = flows.group_by("dst").len().sort("len", "dst", descending=[True, False])
    return str(counts["dst"][0]) if counts.height else "receiver"


def _senders(flows: pl.DataFrame) -> list[str]:
    return flows["src"].unique(maintain_order=True).to_list() or ["sender"]


def _rate_bps(peak_bps: float | None, flows: pl.DataFrame) -> float:
    """The line's rate: the rate of the busiest 10 ms, rounded to that of a link."""
    most = peak_bps or float(flows["goodput_bps"].sum())
    # a damaged length may make one packet of megabytes
    most = min(most, _RATES_BPS[-1])
    if most < _SLOWEST_BPS:
        return _DEFAULT_RATE_BPS
    nominal = next((rate for rate in _RATES_BPS if most <= rate * (1 + _TOLERANCE)), most)
    return nominal if most >= nominal * (1 - _TOLERANCE) else float(f"{most:.3g}")


def _as_rate(bps: float) -> str:
    return f"{bps / 1e9:g}Gbps" if bps >= 1e9 else f"{bps / 1e6:g}Mbps"


def _limit_bytes(tables: Tables, port: str | None) -> int:
    """The buffer: the most bytes that waited in it, if any packet was dropped."""
    ports = tables["ports"].filter(port=port or "")
    if ports.is_empty() or ports["drops"].sum() == 0:
        return 128 * 1024
    return max(int(ports["queue_max_bytes"][0]), _SMALLEST_LIMIT_BYTES)


def _topology(flows: pl.DataFrame, hosts: Mapping[str, str]) -> dict[str, Any]:
    ports: dict[str | None, list[str]] = {}
    for row in flows.unique("src", maintain_order=True).iter_rows(named=True):
        ports.setdefault(row["ingress_port"], []).append(row["src"])
    if not ports:
        ports = {None: _senders(flows)}
    shortest = dict(flows.group_by("src").agg(pl.col("rtt_min_s").min()).iter_rows())
    receiver = next(iter(hosts.values()))
    links: list[dict[str, Any]] = [{"ends": [receiver, "s0"]}]
    switches = ["s0"]
    for port, senders in ports.items():
        switch = "s0"
        if port is not None and len(senders) > 1:
            switch = f"s{len(switches)}"
            switches.append(switch)
            links.append({"ends": [switch, "s0"]})
        links += [_link(hosts[sender], switch, shortest.get(sender)) for sender in senders]
    return {"kind": "graph", "hosts": list(hosts.values()), "switches": switches, "links": links}


def _link(host: str, switch: str, rtt_s: float | None) -> dict[str, Any]:
    link: dict[str, Any] = {"ends": [host, switch]}
    if rtt_s is not None:
        # there and back
        link["delay"] = f"{max(0, round((rtt_s - _BASE_RTT_S) / 2 * 1e9))}ns"
    return link


def _traffic(
    flow: Mapping[str, Any], hosts: Mapping[str, str], duration_s: float
) -> dict[str, Any]:
    start_s = min(max(flow["start_s"], 0.0), duration_s * 0.999)
    made: dict[str, Any] = {
        "kind": "bulk",
        "from": hosts[flow["src"]],
        "to": hosts[flow["dst"]],
        "start": f"{round(start_s * 1e9)}ns",
    }
    if flow["size_bytes"]:
        made["size"] = f"{flow['size_bytes']}B"
    return made


def _description(port: str | None, flows: pl.DataFrame, receiver: str) -> str:
    where = f"at {port}" if port else "in one capture"
    return (
        f"Made from captures: {flows.height} long flows to {receiver} {where}. The network is a"
        " guess: check queue, rates and TCP before you rely on it."
    )
