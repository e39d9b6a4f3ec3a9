"""A network given node by node and link by link."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from fairport.scenario.base import PositiveRate, Section, refuse
from fairport.scenario.topology.base import LinkLimit, TopologySection
from fairport.scenario.topology.names import wrong_names
from fairport.scenario.units import Duration, Limit, Rate


class GraphLink(Section):
    """A link of a custom graph, both ways alike."""

    ends: list[str] = Field(min_length=2, max_length=2)
    """The two nodes that it joins."""
    rate: PositiveRate | None = None
    """Its rate; default: that of [link]."""
    delay: Duration | None = None
    """Its propagation delay; default: that of [link]."""
    limit: LinkLimit | None = None
    """Buffer of the ports at its two ends, in bytes; default: that of [queue]."""

    def job(self) -> dict[str, Any]:
        """The section as the engine reads it."""
        return {
            "ends": self.ends,
            "rate_bps": None if self.rate is None else int(self.rate),
            "delay_ps": None if self.delay is None else int(self.delay),
            "limit_bytes": None if self.limit is None else int(self.limit),
        }


class Graph(TopologySection):
    """A network given node by node and link by link."""

    kind: Literal["graph"]
    """A custom graph."""
    hosts: list[str] = Field(min_length=2)
    """Names of the hosts; each has one link."""
    hosts_forward: bool = False
    """Whether hosts forward packets for others; then they may have several links."""
    switches: list[str]
    """Names of the switches."""
    links: list[GraphLink]
    """The links."""

    @model_validator(mode="after")
    def _names(self) -> Self:
        for place, problem, remedy in wrong_names([*self.hosts, *self.switches]):
            switch = place - len(self.hosts)
            field = f"hosts.{place}" if switch < 0 else f"switches.{switch}"
            raise refuse(problem, remedy, field=field)
        return self

    def job(self) -> dict[str, Any]:
        """The section as the engine reads it."""
        return self.model_dump() | {"links": [link.job() for link in self.links]}

    @property
    def has_forwarding_hosts(self) -> bool:
        """Whether the graph says that its hosts forward."""
        return self.hosts_forward

    def link_rates(self, rate: Rate) -> set[Rate]:
        """The rates of the links, their own or `rate`."""
        return {one.rate or rate for one in self.links}

    def link_delays(self, delay: Duration) -> set[Duration]:
        """The propagation delays of the links, their own or `delay`."""
        return {delay if one.delay is None else one.delay for one in self.links}

    def limits(self) -> dict[str, Limit]:
        """The limits of links that have their own."""
        return {
            f"links.{index}.limit": link.limit
            for index, link in enumerate(self.links)
            if link.limit is not None
        }
