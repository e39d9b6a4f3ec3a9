"""The k-ary fat-tree."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from fairport.scenario.base import refuse
from fairport.scenario.topology.base import TopologySection, count


def _even(k: int) -> int:
    if k < 2 or k % 2:
        raise refuse(
            "must be an even number, 2 or more",
            "a k-ary fat-tree has k/2 hosts at each edge switch: try 4",
        )
    return k


class FatTree(TopologySection):
    """A k-ary fat-tree (Al-Fares 2008) of k pods.

    Its k^3/4 hosts are `h0`.. in order of pod, edge switch, host.
    """

    kind: Literal["fat-tree"]
    """A k-ary fat-tree."""
    k: Annotated[int, AfterValidator(_even)] = 4
    """Ports of every switch; even, at most 64. k = 4 has 16 hosts and 20 switches."""
    oversubscription: int = count(1)
    """How many times the hosts of a rack could fill the links above it: the rate of links between
    switches is [link].rate divided by this. 1: full bisection bandwidth."""

    def job(self) -> dict[str, Any]:
        """The section as the engine reads it. The rates are set elsewhere."""
        return self.model_dump(exclude={"oversubscription"})

    def fabric_rate_bps(self, link_rate_bps: int) -> int | None:
        """The hosts' rate divided by the oversubscription."""
        return None if self.oversubscription == 1 else link_rate_bps // self.oversubscription
