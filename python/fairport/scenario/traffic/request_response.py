"""Requests and answers on connections that stay open: remote procedure calls, keep-alive."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from fairport.scenario.drawn_time import ConstantTime, DrawnTime
from fairport.scenario.selectors import Selector
from fairport.scenario.traffic.base import Ends, TrafficSection
from fairport.scenario.traffic.sizes import Sizes, distribution
from fairport.scenario.units import Duration


class RequestResponse(TrafficSection):
    """Clients that send a request, are answered on the same connection, think, and ask again."""

    selector_fields: ClassVar[tuple[str, str]] = ("servers", "clients")

    kind: Literal["request-response"]
    """The workload."""
    servers: Selector
    """Who answers; connections are assigned to them in turn."""
    clients: Selector
    """Who opens connections and asks."""
    connections: int = Field(default=1, ge=1, le=100_000)
    """Connections of each client; each has one request under way at a time."""
    requests: int | None = Field(default=None, ge=1, le=4_000_000_000)
    """Number of requests on each connection; default: until the end."""
    request: Sizes = "100B"
    """Bytes of a request: fixed ("100B"), uniform ("100B..10kB"), or from a distribution as in
    `poisson`."""
    response: Sizes
    """Bytes of an answer, written like those of a request."""
    think: DrawnTime = ConstantTime(kind="constant", value=Duration("0s"))
    """Time from an answer's last byte to the next request on that connection."""
    jitter: Duration = Duration("0s")
    """Each connection is opened later by a time drawn uniformly between 0 and this."""

    @property
    def selectors(self) -> tuple[Any, Any]:
        """The hosts that send, and those that receive."""
        return self.servers, self.clients

    def workload_pattern(self, ends: Ends) -> dict[str, Any]:
        """What the workload does during the run, as the engine reads it (`RequestResponseJob`)."""
        return {
            "connections": self.connections,
            "requests": self.requests,
            "request": distribution(self.request).job(),
            "response": distribution(self.response).job(),
            "think": self.think.job(),
            "jitter_ps": int(self.jitter),
        }
