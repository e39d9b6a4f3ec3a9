"""The network as a Mininet script: the same hosts, switches, links, port numbers and paths.

Mininet's links are shapers (HTB and netem), not the ports of a switch, and its clock is the
machine's. The script says what differs.
"""

from __future__ import annotations

from importlib import resources
from itertools import pairwise
from typing import Any

from fairport import headers
from fairport.layout.network import Network, node_of

# A full Ethernet frame, as a buffer holds it.
_FULL_FRAME_BYTES = 1500 + headers.ETHERNET_BUFFERED


def mininet(network: Network) -> str:
    """A Python script that builds the network and installs the paths of the scenario's flows."""
    names = _names(network)
    template = (resources.files("fairport.layout") / "mininet_template.py").read_text("utf-8")
    hosts = [(names[host], host, _address(i)) for i, host in enumerate(network.hosts)]
    switches = [
        (names[switch], switch, f"{i + 1:016x}") for i, switch in enumerate(network.switches)
    ]
    links = [
        (
            *(names[end] for end in link.ends),
            *(_number(port) for port in link.ports),
            link.rate_bps / 1e6,
            f"{link.delay_ps / 1e6}us",
            _packets(network, link.limit_bytes),
        )
        for link in network.links
    ]
    tables: dict[str, list[Any]] = {
        "HOSTS": hosts,
        "SWITCHES": switches,
        "LINKS": links,
        "RULES": _rules(network, names),
    }
    script = template.replace("SCENARIO", network.scenario.name)
    for name, rows in tables.items():
        listed = "".join(f"    {row!r},\n" for row in rows)
        script = script.replace(f"{name}: list[Any] = []", f"{name}: list[Any] = [\n{listed}]")
    return script


def _names(network: Network) -> dict[str, str]:
    """Names that fit Linux's interfaces: `h0`.. and `s1`.., whatever they are in Fairport."""
    hosts = {host: f"h{i}" for i, host in enumerate(network.hosts)}
    return hosts | {switch: f"s{i + 1}" for i, switch in enumerate(network.switches)}


def _number(port: str) -> int:
    """The port's number in Mininet, where switches count from 1 and hosts from 0."""
    return int(port.rpartition(":")[2]) + 1


def _address(host: int) -> str:
    number = host + 1
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def _packets(network: Network, limit_bytes: int | None) -> int:
    """A buffer in packets, the unit of Mininet's links."""
    limit = network.scenario.queue.limit
    if limit_bytes is None and limit.in_packets:
        return int(limit)
    size_bytes = int(limit) if limit_bytes is None else limit_bytes
    return max(1, size_bytes // _FULL_FRAME_BYTES)


def _rules(network: Network, names: dict[str, str]) -> list[tuple[str, int, str, str, int]]:
    """Switch, ingress port, sender, receiver, output port, for each pair's first path."""
    peers = network.entered_by()
    addresses = {host: _address(i) for i, host in enumerate(network.hosts)}
    rules: dict[tuple[str, int, str, str], int] = {}
    for flow in network.flows:
        ways = ((flow.src, flow.dst, flow.forward), (flow.dst, flow.src, flow.backward))
        for src, dst, routes in ways:
            route = routes[0]
            for before, port in pairwise(route):
                key = (
                    names[node_of(port)],
                    _number(peers[before]),
                    addresses[src],
                    addresses[dst],
                )
                rules.setdefault(key, _number(port))
    return [(*key, port) for key, port in rules.items()]
