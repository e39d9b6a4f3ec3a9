"""The dumbbell-and-dancehall of studies of web traffic."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from fairport.scenario.base import PositiveRate, Section, refuse
from fairport.scenario.topology.base import TopologySection, count
from fairport.scenario.units import Duration, Rate


class RouterLink(Section):
    """A link between two routers, both ways alike."""

    rate: PositiveRate
    """Its rate."""
    delay: Duration
    """Its propagation delay."""

    def job(self) -> dict[str, Any]:
        """The section as the engine reads it."""
        return {"rate_bps": int(self.rate), "delay_ps": int(self.delay)}


def _link(rate: str, delay: str) -> RouterLink:
    return RouterLink(rate=Rate(rate), delay=Duration(delay))


class Dancehall(TopologySection):
    """Servers behind their own routers, two links in a row, clients with different delays.

    The dumbbell-and-dancehall of Guo & Matta 2001. Hosts: servers by router, clients at `right`,
    clients at `middle`. The defaults are those of the ns-2 example `varybell`; the paper's own
    numbers are not known.
    """

    kind: Literal["dancehall"]
    """Servers, two links in a row, and clients with different delays."""
    server_routers: list[RouterLink] = Field(
        default=[_link("1.5Mbps", delay) for delay in ("20ms", "30ms", "40ms", "60ms")],
        min_length=1,
    )
    """The links from the servers' routers `router0`.. to `left`."""
    servers_per_router: int = count(10)
    """Servers at each of these routers."""
    left: RouterLink = _link("10Mbps", "20ms")
    """The link from `left` to `middle`."""
    right: RouterLink = _link("3Mbps", "20ms")
    """The link from `middle` to `right`."""
    clients: int = count(420)
    """Clients at `right`."""
    middle_clients: int = count(0, least=0)
    """Clients at `middle`."""
    client_rates: list[PositiveRate] = Field(
        default=[Rate("22Mbps"), Rate("32Mbps")], min_length=2, max_length=2
    )
    """Rate of the first client's link and of the last one's; evenly spaced between."""
    client_delays: list[Duration] = Field(
        default=[Duration("10ms"), Duration("100ms")], min_length=2, max_length=2
    )
    """Propagation delay of the first client's link and of the last one's."""

    @model_validator(mode="after")
    def _one_direction(self) -> Self:
        for name in ("client_rates", "client_delays"):
            first, last = getattr(self, name)
            if first > last:
                raise refuse("ends below its beginning", "exchange the two", field=name)
        return self

    def job(self) -> dict[str, Any]:
        """The section as the engine reads it."""
        return {
            "kind": self.kind,
            "server_routers": [link.job() for link in self.server_routers],
            "servers_per_router": self.servers_per_router,
            "left": self.left.job(),
            "right": self.right.job(),
            "clients": self.clients,
            "middle_clients": self.middle_clients,
            "client_rate_bps": [int(rate) for rate in self.client_rates],
            "client_delay_ps": [int(delay) for delay in self.client_delays],
        }
