"""BCube, whose hosts forward packets."""

from __future__ import annotations

from typing import Literal

from fairport.scenario.topology.base import TopologySection, count


class BCube(TopologySection):
    """BCube (Guo 2009): hosts that forward packets for others, between small switches.

    There are n^(k+1) hosts of k + 1 ports. A host's number in base n is its address in the paper.
    """

    kind: Literal["bcube"]
    """Hosts of several ports that forward, between small switches."""
    n: int = count(4, least=2)
    """Ports of a switch."""
    k: int = count(1, least=0)
    """The highest level of switches `sw<level>.<number>`."""

    @property
    def has_forwarding_hosts(self) -> bool:
        """True: all hosts forward."""
        return True
