"""All queue disciplines; without a `kind` the discipline is drop-tail.

A discipline is a class in one of three files, with its name in the union at the end of that file.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Tag

from fairport.scenario.queues import early_drop, fifo, scheduled
from fairport.scenario.queues.custom import CustomQueue


def _kind(queue: Any) -> str:
    if isinstance(queue, dict):
        return str(queue.get("kind", "drop-tail"))
    return getattr(queue, "kind", "drop-tail")


Queue = Annotated[
    fifo.Queues | early_drop.Queues | scheduled.Queues | Annotated[CustomQueue, Tag("custom")],
    Discriminator(_kind),
]
