"""Incast: barrier-synchronised blocks from many senders to one receiver (Phanishayee 2008)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from fairport.scenario.base import PositiveSize, refuse
from fairport.scenario.traffic.base import Ends, ToOneReceiver
from fairport.scenario.units import Duration


class Incast(ToOneReceiver):
    """Each sender sends a block; when all have arrived, the next round begins."""

    kind: Literal["incast"]
    """The workload."""
    block: PositiveSize | None = None
    """Bytes that each sender sends in a round ("fixed block"); this or `total`."""
    total: PositiveSize | None = None
    """Bytes that all senders together send in a round ("fixed total"), split evenly, rounded up."""
    rounds: int | None = Field(default=None, ge=1, lt=2**32)
    """Number of rounds; default: until the end."""
    pause: Duration = Duration("0s")
    """Time from a round's end to the next round."""
    jitter: Duration = Duration("0s")
    """Each block starts later by a time drawn uniformly between 0 and this."""
    connections: Literal["new", "persistent"] = "new"
    """Whether each block has a connection of its own, or each sender one for all rounds."""

    @model_validator(mode="after")
    def _one_of_two_sizes(self) -> Self:
        if (self.block is None) == (self.total is None):
            problem = "is missing" if self.block is None else "cannot be combined with `total`"
            raise refuse(
                problem, 'give one of `block = "128KiB"` and `total = "1MiB"`', field="block"
            )
        return self

    def workload_pattern(self, ends: Ends) -> dict[str, Any]:
        """What the workload does during the run, as the engine reads it (`IncastJob`)."""
        if self.block is not None:
            block = int(self.block)
        else:
            block = -(-int(self.total or 0) // len(ends.senders))
        return {
            "block_bytes": block,
            "rounds": self.rounds,
            "pause_ps": int(self.pause),
            "jitter_ps": int(self.jitter),
            "persistent": self.connections == "persistent",
        }
