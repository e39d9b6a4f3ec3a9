"""[classifier]: which packets are of short flows, as at the edge routers of RIO-PS."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator

from fairport.scenario.base import PositiveDuration, PositivePacketCount, Section, refuse
from fairport.scenario.units import Duration, PacketCount


def _ratio(value: float) -> float:
    if not 0.001 <= value <= 1e6:
        raise refuse("is not between 0.001 and 1000000", "give a ratio such as 3.0")
    return value


class Classifier(Section):
    """Separates short flows from long ones where they enter the network (Guo & Matta 2001).

    The switch counts each flow's packets: the first ones count as a short flow's (class 1), the
    rest as a long flow's (class 0). Each direction of a connection is a flow of its own.
    """

    threshold: PositivePacketCount = PacketCount("50 packets")
    """L_t: the first packets of a flow, up to this number, are those of a short flow. With
    `short_to_long` this is the first threshold. The default is that of the authors' web script."""
    flow_timeout: PositiveDuration = Duration("1s")
    """T_u: a flow that was silent for longer than this has ended; its next packet begins a new
    flow."""
    interval: PositiveDuration = Duration("10s")
    """T_c: how often the threshold is tuned."""
    short_to_long: Annotated[float, AfterValidator(_ratio)] | None = None
    """SLR: the threshold is tuned until this is the number of short flows per long flow. Without it
    the threshold stays as it is."""

    def job(self) -> dict[str, Any]:
        """The classifier as the engine reads it."""
        tuning = None
        if self.short_to_long is not None:
            ratio = round(self.short_to_long * 10**6)
            tuning = {"interval_ps": int(self.interval), "short_to_long_ppm": ratio}
        return {
            "threshold_packets": int(self.threshold),
            "flow_timeout_ps": int(self.flow_timeout),
            "tuning": tuning,
        }
