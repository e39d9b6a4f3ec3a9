"""[fabric]: the links between switches, if they differ from other links, and links that failed."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from fairport.scenario.base import PositiveRate, Section
from fairport.scenario.topology.base import LinkLimit
from fairport.scenario.units import Duration


class Fabric(Section):
    """Links between switches, if they differ from [link].

    A link of a custom graph keeps its own values.
    """

    rate: PositiveRate | None = None
    """Their rate; default: that of [link], or the topology's own."""
    delay: Duration | None = None
    """Their propagation delay; default: that of [link]."""
    limit: LinkLimit | None = None
    """Buffer of the ports at their two ends, in bytes; default: that of [queue]."""

    failed: list[str] = Field(default=[])
    """Links that have failed before the run, each by one of its ports, as in the table `ports`:
    ["spine0:1"], or all links of a switch by the switch. Routing sees the network without them."""

    def job(self, topology_rate_bps: int | None) -> dict[str, Any]:
        """The section as the engine reads it, with the topology's rate."""
        return {
            "rate_bps": topology_rate_bps if self.rate is None else int(self.rate),
            "delay_ps": None if self.delay is None else int(self.delay),
            "limit_bytes": None if self.limit is None else int(self.limit),
        }
