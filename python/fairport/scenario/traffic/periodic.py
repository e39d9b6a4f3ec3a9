"""Transfers that are launched again and again."""

from __future__ import annotations

from typing import Any, Literal

from fairport.scenario.base import PositiveDuration, PositiveSize
from fairport.scenario.traffic.base import Ends, ToOneReceiver
from fairport.scenario.units import Duration


class Periodic(ToOneReceiver):
    """Each sender starts a transfer every `period`; one that takes longer delays the next."""

    kind: Literal["periodic"]
    """The workload."""
    size: PositiveSize
    """Bytes of each transfer."""
    period: PositiveDuration
    """Time from launch to launch."""
    jitter: Duration = Duration("0s")
    """Each launch is later by a time drawn uniformly between 0 and this."""
    connections: Literal["new", "persistent"] = "new"
    """Whether each transfer has a connection of its own, or each sender one, idle in between."""

    def workload_pattern(self, ends: Ends) -> dict[str, Any]:
        """What the workload does during the run, as the engine reads it (`PeriodicJob`)."""
        return {
            "size_bytes": int(self.size),
            "period_ps": int(self.period),
            "jitter_ps": int(self.jitter),
            "persistent": self.connections == "persistent",
        }
