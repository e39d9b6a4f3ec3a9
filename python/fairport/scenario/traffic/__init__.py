"""[[traffic]]: who sends what to whom, and when. One file per kind; without a `kind` it is bulk."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Tag

from fairport.scenario.traffic.bulk import Bulk
from fairport.scenario.traffic.incast import Incast
from fairport.scenario.traffic.periodic import Periodic
from fairport.scenario.traffic.poisson import Poisson
from fairport.scenario.traffic.request_response import RequestResponse
from fairport.scenario.traffic.trace import Trace
from fairport.scenario.traffic.udp import Udp
from fairport.scenario.traffic.web import Web


def _kind(traffic: Any) -> str:
    if isinstance(traffic, dict):
        return str(traffic.get("kind", "bulk"))
    return getattr(traffic, "kind", "bulk")


Traffic = Annotated[
    Annotated[Bulk, Tag("bulk")]
    | Annotated[Udp, Tag("udp")]
    | Annotated[Incast, Tag("incast")]
    | Annotated[Poisson, Tag("poisson")]
    | Annotated[Web, Tag("web")]
    | Annotated[Periodic, Tag("periodic")]
    | Annotated[RequestResponse, Tag("request-response")]
    | Annotated[Trace, Tag("trace")],
    Discriminator(_kind),
]
