"""Which flows share which ports, and where the bottleneck is expected."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from fairport.layout.network import Flow, Network
from fairport.quantities import counted


@dataclass(frozen=True, slots=True)
class SharedPort:
    """A port through which data of at least one flow pass."""

    port: str
    rate_bps: int
    flows: int
    weight: float
    """Number of flows; a flow with several paths counts by the share of paths through this port."""
    by_ingress: dict[str, int]
    """Flows by the ingress port of this port's node, most flows first; empty at the senders. A
    sprayed flow counts at every ingress port by which it comes."""

    @property
    def share_bps(self) -> float:
        """The rate of each flow if all flows had the same and filled the port."""
        return self.rate_bps / self.weight


def shared_ports(network: Network) -> list[SharedPort]:
    """The ports through which data pass, the one with the smallest share first.

    Of ports with equal shares, the one with more ingress ports comes first: behind it the flows
    arrive on one link and no longer compete. Senders' own ports are left out, unless they forward
    for others.
    """
    rates, peers = network.rates_bps(), network.entered_by()
    flows: Counter[str] = Counter()
    weights: dict[str, float] = {}
    ingress: dict[str, Counter[str]] = {}
    for flow in network.flows:
        passed = Counter(port for route in flow.forward for port in route)
        flows.update(passed.keys())
        for port, paths in passed.items():
            weights[port] = weights.get(port, 0) + paths / len(flow.forward)
        for port, before in _steps(flow):
            ingress.setdefault(port, Counter())[peers[before]] += 1
    shared = [
        SharedPort(port, rates[port], flows[port], weights[port], dict(ingress[port].most_common()))
        for port in ingress
    ]
    # to the bit/s, because sums of thirds are not always whole
    return sorted(shared, key=lambda one: (round(one.share_bps), -len(one.by_ingress), one.port))


def expected_bottleneck(network: Network) -> SharedPort | None:
    """The port with the smallest share per flow; None if no two flows share a port."""
    return _smallest_share(shared_ports(network))


def _smallest_share(ports: list[SharedPort]) -> SharedPort | None:
    return next((port for port in ports if port.flows > 1), None)


def _steps(flow: Flow) -> set[tuple[str, str]]:
    """The pairs of an output port and the output port before it."""
    return {(port, before) for route in flow.forward for before, port in pairwise(route)}


def document(network: Network) -> dict[str, Any]:
    """Everything, for programs."""
    ports = shared_ports(network)
    bottleneck = _smallest_share(ports)
    return {
        "scenario": network.scenario.name,
        "routing": network.scenario.resolved()["routing"],
        "bottleneck": bottleneck.port if bottleneck else None,
        "flows": [
            {
                "flow": number if number < network.listed else None,
                "src": flow.src,
                "dst": flow.dst,
                "hops": flow.hops,
                "paths": [list(route) for route in flow.forward],
                "ack_paths": [list(route) for route in flow.backward],
            }
            for number, flow in enumerate(network.flows)
        ],
        "ports": [
            {
                "port": shared.port,
                "rate_bps": shared.rate_bps,
                "flows": shared.flows,
                "by_ingress": shared.by_ingress,
            }
            for shared in ports
        ],
    }


def summary(network: Network) -> str:
    """A summary: the numbers of flows and hosts, their distances, and the port that limits them."""
    flows = network.flows
    ends = len({flow.src for flow in flows}), len({flow.dst for flow in flows})
    by_hops = sorted(Counter(flow.hops for flow in flows).items())
    hops = ", ".join(f"{count:,} of {number} hops" for number, count in by_hops)
    paths = sum(len(flow.forward) for flow in flows)
    several = f" on {paths:,} paths" if paths > len(flows) else ""
    lines = [
        f"{counted(len(flows), 'flow')}{several} from {counted(ends[0], 'host')}"
        f" to {counted(ends[1], 'host')}: {hops}"
    ]
    ports = [port for port in shared_ports(network) if port.flows > 1]
    if ports:
        most = ports[0]
        lines.append(
            f"{counted(len(ports), 'port')} shared by several flows; expected bottleneck"
            f" {most.port}: {most.flows:,} flows share {most.rate_bps / 1e9:g} Gbit/s,"
            f" {_rate(most.share_bps)} each, from"
            f" {counted(len(most.by_ingress), 'ingress port')}"
        )
    return "\n".join(lines) + "\n"


def _rate(bps: float) -> str:
    return f"{bps / 1e9:.4g} Gbit/s" if bps >= 1e10 else f"{bps / 1e6:.4g} Mbit/s"


def flow_rows(network: Network) -> list[dict[str, Any]]:
    """One row per flow: its path, or one of its paths and how many more there are."""
    return [
        {
            "flow": number if number < network.listed else None,
            "from": flow.src,
            "to": flow.dst,
            "hops": flow.hops,
            "path": " ".join(flow.forward[0]) + _more(len(flow.forward) - 1),
        }
        for number, flow in enumerate(network.flows)
    ]


def _more(others: int) -> str:
    return f" (or one of {others} more)" if others else ""


def port_rows(network: Network) -> list[dict[str, Any]]:
    """One row per port that several flows share."""
    rows = [
        {
            "port": shared.port,
            "flows": shared.flows,
            "share of each": _rate(shared.share_bps),
            "flows by ingress port": _inputs(shared.by_ingress),
            "": "",
        }
        for shared in shared_ports(network)
        if shared.flows > 1
    ]
    for first in rows[:1]:
        first[""] = "<- expected bottleneck"
    return rows


def _inputs(by_ingress: dict[str, int]) -> str:
    """Flows by ingress port, as "s0:2: 12, s0:1: 1", or "12 ports: 1 each" for many equal ones."""
    ports_with: dict[int, list[str]] = {}
    for port, count in by_ingress.items():
        ports_with.setdefault(count, []).append(port)
    few = 2
    return ", ".join(
        ", ".join(f"{port}: {count}" for port in ports)
        if len(ports) <= few
        else f"{len(ports)} ports: {count} each"
        for count, ports in ports_with.items()
    )
