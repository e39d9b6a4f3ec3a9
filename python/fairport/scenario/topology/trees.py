"""Topologies of layers beside the fat-tree: leaf-spine, three tiers, VL2-like."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from fairport.scenario.topology.base import TopologySection, count


class LeafSpine(TopologySection):
    """Every leaf switch has a link to every spine switch. Hosts are in order of leaf and host."""

    kind: Literal["leaf-spine"]
    """Two layers of switches, each leaf joined to each spine."""
    leaves: int = count(4)
    """Switches to which hosts are connected: `leaf0`.."""
    spines: int = count(2)
    """Switches above them: `spine0`.."""
    hosts_per_leaf: int = count(4)
    """Hosts at each leaf."""


class ThreeTier(TopologySection):
    """A tree of a core switch, aggregation switches and edge switches.

    There is one path between any two hosts. Hosts are in order of aggregation switch, edge switch,
    host.
    """

    kind: Literal["three-tier"]
    """A tree of three layers of switches."""
    aggs: int = count(2)
    """Aggregation switches under the core `core0`: `agg0`.."""
    edges_per_agg: int = count(2)
    """Edge switches under each of them: `edge0.0`.."""
    hosts_per_edge: int = count(4)
    """Hosts at each edge switch."""


class Vl2(TopologySection):
    """The Clos network of VL2 (Greenberg 2009).

    Each rack of hosts is below two aggregation switches, and intermediate switches join all
    aggregation switches. Hosts are in order of rack and host.
    """

    kind: Literal["vl2"]
    """Racks, aggregation switches and intermediate switches, as in VL2."""
    d_a: int = count(4, least=2)
    """Ports of an aggregation switch, half of them up; even. There are d_a/2 intermediate
    switches, `int0`.."""
    d_i: int = count(4, least=2)
    """Ports of an intermediate switch; even. There are d_i aggregation switches, `agg0`.., and
    d_a d_i/4 racks, `tor0`.."""
    hosts_per_rack: int = count(20)
    """Hosts in a rack."""
    speedup: int = Field(default=10, ge=1, lt=2**32)
    """Rate of links between switches over [link].rate, unless [fabric].rate gives it."""

    def job(self) -> dict[str, Any]:
        """The section as the engine reads it, without the speed-up, which only changes rates."""
        return self.model_dump(exclude={"speedup"})

    def fabric_rate_bps(self, link_rate_bps: int) -> int | None:
        """A multiple of the hosts' rate."""
        return link_rate_bps * self.speedup
