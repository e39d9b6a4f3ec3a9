"""Nodes, links and the flows' paths, as the engine builds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairport.scenario import Scenario, load

Route = tuple[str, ...]
"""Output ports in their order, the sending host's first."""


@dataclass(frozen=True, slots=True)
class Node:
    """A host or a switch."""

    name: str
    is_host: bool
    forwards: bool
    """Whether it forwards for others: switches do, and hosts of a BCube."""
    height: int
    """Links to the nearest host: 0 for hosts, 1 for edge switches, one more per layer."""


@dataclass(frozen=True, slots=True)
class LinkLayout:
    """A link, the same in both directions."""

    ends: tuple[str, str]
    """Names of the nodes that it joins."""
    ports: tuple[str, str]
    """Names of the ports at its ends."""
    rate_bps: int
    delay_ps: int
    limit_bytes: int | None
    """Buffer of the two ports, if it differs from the scenario's."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow's paths. If there are several in one direction, each packet takes one of them."""

    src: str
    dst: str
    hops: int
    """Links of the shortest path between the two, however the flow is routed."""
    forward: tuple[Route, ...]
    backward: tuple[Route, ...]

    @property
    def ports(self) -> set[str]:
        """All ports through which its data may pass."""
        return {port for route in self.forward for port in route}


@dataclass(frozen=True, slots=True)
class Network:
    """The network of a scenario, with the paths of its flows."""

    scenario: Scenario
    nodes: tuple[Node, ...]
    links: tuple[LinkLayout, ...]
    """Links in the order in which they number their nodes' ports."""
    flows: tuple[Flow, ...]
    """The flows known before a run, by their numbers; then one for each pair of hosts between which
    a workload may start flows."""
    listed: int
    """How many of the flows are known before a run."""

    @property
    def hosts(self) -> list[str]:
        """Names of the hosts, in their order."""
        return [node.name for node in self.nodes if node.is_host]

    @property
    def switches(self) -> list[str]:
        """Names of the switches."""
        return [node.name for node in self.nodes if not node.is_host]

    @property
    def layers(self) -> dict[int, list[str]]:
        """Names of the nodes by their height."""
        layers: dict[int, list[str]] = {}
        for node in self.nodes:
            layers.setdefault(node.height, []).append(node.name)
        return layers

    def rates_bps(self) -> dict[str, int]:
        """Rate at which each port sends: that of its link, or of its shaper if that is lower."""
        rates = {port: link.rate_bps for link in self.links for port in link.ports}
        shaper = self.scenario.shaper
        unshaped = set() if shaper is None or shaper.hosts else set(self.hosts)
        return {
            port: rate if node_of(port) in unshaped else self.scenario.shaped_bps(rate)
            for port, rate in rates.items()
        }

    def entered_by(self) -> dict[str, str]:
        """The port at the other end of each port's link."""
        return {port: peer for link in self.links for port, peer in (link.ports, link.ports[::-1])}


def node_of(port: str) -> str:
    """The node that a port belongs to."""
    return port.rpartition(":")[0]


def network(scenario: str | Path | Mapping[str, Any] | Scenario) -> Network:
    """The network of a scenario. Raises ScenarioError for one that cannot be built."""
    from fairport.backends.simulation import layout

    scenario = load(scenario)
    raw = layout(scenario)
    ports, nodes = raw["ports"], raw["nodes"]

    def routes(paths: list[list[int]]) -> tuple[Route, ...]:
        return tuple(tuple(ports[port] for port in path) for path in paths)

    return Network(
        scenario=scenario,
        nodes=tuple(Node(**node) for node in nodes),
        links=tuple(
            LinkLayout(
                ends=(nodes[link["ends"][0]]["name"], nodes[link["ends"][1]]["name"]),
                ports=(ports[link["ports"][0]], ports[link["ports"][1]]),
                rate_bps=link["rate_bps"],
                delay_ps=link["delay_ps"],
                limit_bytes=link["limit_bytes"],
            )
            for link in raw["links"]
        ),
        flows=tuple(
            Flow(
                src=flow["src"],
                dst=flow["dst"],
                hops=flow["hops"],
                forward=routes(flow["forward"]),
                backward=routes(flow["backward"]),
            )
            for flow in raw["flows"]
        ),
        listed=raw["listed"],
    )
