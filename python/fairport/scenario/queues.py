"""Which queue disciplines there are; without a `kind` it is drop-tail."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Tag

from fairport.scenario.early_drop_queues import Pie, Red, Rio, RioPs, WeightedTailDrop
from fairport.scenario.fifo_queues import DropTail, StepMarking
from fairport.scenario.scheduled_queues import (
    CoDel,
    Drr,
    FqCoDel,
    LinuxSfq,
    Sfq,
    SharedBuffer,
    StrictPriority,
)


def _kind(queue: Any) -> str:
    if isinstance(queue, dict):
        return str(queue.get("kind", "drop-tail"))
    return getattr(queue, "kind", "drop-tail")


Queue = Annotated[
    Annotated[DropTail, Tag("drop-tail")]
    | Annotated[StepMarking, Tag("step-marking")]
    | Annotated[Red, Tag("red")]
    | Annotated[Rio, Tag("rio")]
    | Annotated[RioPs, Tag("rio-ps")]
    | Annotated[Pie, Tag("pie")]
    | Annotated[WeightedTailDrop, Tag("weighted-tail-drop")]
    | Annotated[Sfq, Tag("sfq")]
    | Annotated[LinuxSfq, Tag("linux-sfq")]
    | Annotated[Drr, Tag("drr")]
    | Annotated[CoDel, Tag("codel")]
    | Annotated[FqCoDel, Tag("fq-codel")]
    | Annotated[StrictPriority, Tag("strict-priority")]
    | Annotated[SharedBuffer, Tag("shared-buffer")],
    Discriminator(_kind),
]
