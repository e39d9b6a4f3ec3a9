"""[fabric]: what links between switches have of their own."""

from __future__ import annotations

from typing import Any

from fairport.scenario.base import PositiveRate, Section
from fairport.scenario.topology.base import LinkLimit
from fairport.scenario.units import Duration


class Fabric(Section):
    """Links between switches, where they differ from [link].

    A link of a custom graph that says otherwise has its own.
    """

    rate: PositiveRate | None = None
    """Their rate; default: that of [link], or what the topology says."""
    delay: Duration | None = None
    """Their propagation delay; default: that of [link]."""
    limit: LinkLimit | None = None
    """Buffer of the ports at their two ends, in bytes; default: that of [queue]."""

    def job(self, topology_rate_bps: int | None) -> dict[str, Any]:
        """As the engine takes it, with the rate that the topology says."""
        return {
            "rate_bps": topology_rate_bps if self.rate is None else int(self.rate),
            "delay_ps": None if self.delay is None else int(self.delay),
            "limit_bytes": None if self.limit is None else int(self.limit),
        }
