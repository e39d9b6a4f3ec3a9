"""[[traffic]]: who sends what to whom, and when."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fairport.scenario.base import PositiveSize, Section
from fairport.scenario.selectors import Selector
from fairport.scenario.tcp import TcpSettings
from fairport.scenario.units import Duration


class Bulk(Section):
    """Senders with always more to send, as iperf's, or with a file of a given size."""

    kind: Literal["bulk"] = "bulk"
    """The workload."""
    senders: Selector = Field(alias="from")
    """The senders: a host, a range "h4..h15", "all" (every host but the receiver), or a list of
    these."""
    receiver: str = Field(alias="to")
    """The receiver."""
    flows: int = Field(default=1, ge=1, le=100_000)
    """Flows of each sender."""
    size: PositiveSize | None = None
    """Bytes that each flow sends; without, it sends until the end."""
    start: Duration = Duration("0s")
    """When the flows start."""
    start_jitter: Duration = Duration("1ms")
    """Each flow starts later by a time drawn uniformly between 0 and this."""
    tcp: TcpSettings | None = None
    """Settings of TCP for these flows, at both ends."""
