"""The k-ary fat-tree."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from fairport.scenario.topology.base import TopologySection, count


class FatTree(TopologySection):
    """A k-ary fat-tree (Al-Fares 2008) of k pods.

    Its k^3/4 hosts are `h0`.. in order of pod, edge switch, host.
    """

    kind: Literal["fat-tree"]
    """A k-ary fat-tree."""
    k: int = count(4, least=2)
    """Ports of every switch; even, at most 64. k = 4 has 16 hosts and 20 switches."""
    oversubscription: int = Field(default=1, ge=1, lt=2**32)
    """How many times the hosts of a rack could fill the links above it: the rate of links between
    switches is [link].rate divided by this. 1: full bisection bandwidth."""

    def job(self) -> dict[str, Any]:
        """The section as the engine reads it. The rates are set elsewhere."""
        return self.model_dump(exclude={"oversubscription"})

    def fabric_rate_bps(self, link_rate_bps: int) -> int | None:
        """The hosts' rate divided by the oversubscription."""
        return None if self.oversubscription == 1 else link_rate_bps // self.oversubscription
