"""[topology]: hosts, switches and the links between them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator
from typing_extensions import Self

from fairport.scenario.base import PositiveLimit, PositiveRate, Section, refuse
from fairport.scenario.units import Duration


def _even(k: int) -> int:
    if k < 2 or k % 2:
        raise refuse(
            "must be an even number, 2 or more",
            "a k-ary fat-tree has k/2 hosts at each edge switch: try 4",
        )
    return k


class FatTree(Section):
    """A k-ary fat-tree (Al-Fares 2008) of k pods.

    Its k^3/4 hosts are `h0`.. in order of pod, edge switch, host.
    """

    kind: Literal["fat-tree"]
    """A k-ary fat-tree."""
    k: Annotated[int, AfterValidator(_even)] = 4
    """Ports of every switch; even. k = 4 has 16 hosts and 20 switches."""


class TwoSwitch(Section):
    """Two switches and one link between them.

    Receiver `h0` and the lone sender `h1` are at `s0`, the peers `h2`.. at `s1`.
    """

    kind: Literal["two-switch"]
    """Two switches and one link between them."""
    peers: int = Field(ge=1)
    """Hosts behind the second switch, which share one ingress port of the first."""


class GraphLink(Section):
    """A link of a custom graph, both ways alike."""

    ends: list[str] = Field(min_length=2, max_length=2)
    """The two nodes that it joins."""
    rate: PositiveRate | None = None
    """Its rate; default: that of [link]."""
    delay: Duration | None = None
    """Its propagation delay; default: that of [link]."""
    limit: PositiveLimit | None = None
    """Buffer of the ports at its two ends, in bytes; default: that of [queue]."""

    @model_validator(mode="after")
    def _bytes(self) -> Self:
        if self.limit is not None and self.limit.in_packets:
            raise refuse(
                "is counted in packets",
                'a link\'s own buffer is given in bytes, such as "16KiB"',
                field="limit",
            )
        return self


class Graph(Section):
    """A network given node by node and link by link."""

    kind: Literal["graph"]
    """A custom graph."""
    hosts: list[str] = Field(min_length=2)
    """Names of the hosts; each has one link."""
    switches: list[str]
    """Names of the switches."""
    links: list[GraphLink]
    """The links."""


Topology = Annotated[FatTree | TwoSwitch | Graph, Field(discriminator="kind")]
