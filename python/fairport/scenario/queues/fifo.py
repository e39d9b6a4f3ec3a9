"""The queue disciplines that decide when a packet arrives and serve first in, first out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Tag, model_validator
from typing_extensions import Self

from fairport.scenario.base import PositiveLimit
from fairport.scenario.queues.shared import FifoQueue, in_order, length
from fairport.scenario.units import Limit


class DropTail(FifoQueue):
    """First in, first out; what does not fit is dropped."""

    kind: Literal["drop-tail"] = "drop-tail"
    """The queue discipline."""


class StepMarking(FifoQueue):
    """Drop-tail that marks a packet if at least K waits before it: the queue for DCTCP."""

    kind: Literal["step-marking"]
    """ECN marking at one threshold of the present queue (Alizadeh 2010, RFC 8257)."""
    mark_above: PositiveLimit = Limit("20 packets")
    """K: a packet that can be marked is marked if at least this much waits before it, in bytes or
    in packets. The default is the DCTCP paper's for 1 Gbit/s; the paper has 65 packets for 10
    Gbit/s."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        in_order("mark_above", self.mark_above, "limit", self.limit)
        return self

    def job(self) -> dict[str, Any]:
        """The discipline as the engine reads it."""
        return {**super().job(), "mark_above": length(self.mark_above)}

    @property
    def phase(self) -> str:
        """The parameters that decide phases, as a person reads them."""
        return f"{super().phase}; K = {self.mark_above}"


# every discipline of this file, with its kind
Queues = Annotated[DropTail, Tag("drop-tail")] | Annotated[StepMarking, Tag("step-marking")]
