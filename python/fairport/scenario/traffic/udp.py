"""UDP sources: constant bit rate, Poisson, on-off. They do not react to losses."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import model_validator
from typing_extensions import Self

from fairport.scenario.base import PositiveRate, PositiveSize, StepDuration, refuse
from fairport.scenario.traffic.bulk import ListedFlows
from fairport.scenario.units import Size


class Udp(ListedFlows):
    """Datagrams at a given rate."""

    kind: Literal["udp"]
    """The workload."""
    rate: PositiveRate
    """Rate of the payload of each flow; for an on-off source, the rate while it is on."""
    payload: PositiveSize = Size("1472B")
    """Payload of a datagram; with 28 B of headers it must fit the MTU. The default fills 1500 B."""
    pattern: Literal["constant", "poisson", "on-off"] = "constant"
    """"constant": one datagram every payload/rate. "poisson": exponential gaps of that mean.
    "on-off": constant during bursts; bursts and silences have exponential lengths."""
    on_mean: StepDuration | None = None
    """Mean length of a burst of an on-off source."""
    off_mean: StepDuration | None = None
    """Mean length of a silence of an on-off source."""

    @model_validator(mode="after")
    def _has_its_means(self) -> Self:
        for name in ("on_mean", "off_mean"):
            given = getattr(self, name) is not None
            if given != (self.pattern == "on-off"):
                problem = "is for on-off sources" if given else "is missing"
                remedy = "leave it out" if given else f'add `{name} = "10ms"`'
                raise refuse(problem, remedy, field=name)
        if self.tcp is not None:
            raise refuse("has no effect on UDP", "leave it out", field="tcp")
        return self

    def udp(self) -> dict[str, Any]:
        """The source of datagrams as the engine reads it (`UdpJob`)."""
        pattern: dict[str, Any] = {"kind": self.pattern}
        if self.on_mean is not None and self.off_mean is not None:
            pattern |= {"on_mean_ps": int(self.on_mean), "off_mean_ps": int(self.off_mean)}
        return {
            "payload_bytes": int(self.payload),
            "rate_bps": int(self.rate),
            "pattern": pattern,
        }
