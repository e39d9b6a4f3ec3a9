"""[link], [switch], [host]: what a packet passes on its way.

The defaults are those of a data-centre LAN of 1 Gbit/s. Delays, their spread and every rule for
ties are here in the open, because outcast is an effect of phase: exactly equal delays freeze it.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import model_validator
from typing_extensions import Self

from fairport.scenario.base import PositivePacketCount, PositiveRate, PositiveSize, Section, refuse
from fairport.scenario.drawn_time import DrawnTime, UniformTime
from fairport.scenario.host_profile import Profile, resolved
from fairport.scenario.units import ClockError, Duration, PacketCount, Rate, Size


class Link(Section):
    """Every link, unless a custom graph says otherwise for one."""

    rate: PositiveRate = Rate("1Gbps")
    """Rate on the wire."""
    delay: Duration = Duration("500ns")
    """Propagation delay, one way. The default is 100 m of cable."""
    delay_spread: Duration = Duration("0s")
    """Every link draws one constant extra delay, uniform between 0 and this."""
    mtu: PositiveSize = Size("1500B")
    """Largest IP packet."""
    framing: Literal["ethernet", "none"] = "ethernet"
    """"ethernet": on the wire a packet takes 38 B more (header 14, FCS 4, preamble and SFD 8,
    inter-frame gap 12; IEEE 802.3), in a buffer 18 B more. "none": the IP packet alone."""
    clock_error: ClockError = ClockError("50ppm")
    """Every port's clock runs fast or slow by a constant share drawn uniformly from plus or minus
    this. IEEE 802.3 allows 100 ppm."""


class Switch(Section):
    """Every switch."""

    processing_delay: Duration = Duration("1us")
    """From the last bit in to the output queue. The default is that of a store-and-forward switch.
    """
    arbitration: Literal["round-robin", "fixed", "random"] = "round-robin"
    """Order in which packets that arrive in the same picosecond for one output are taken."""
    departure_first: bool = True
    """Whether a departure frees its buffer before an arrival of the same picosecond is admitted."""


class Host(Section):
    """Every host."""

    delay: Duration = Duration("5us")
    """Latency of the host's stack and adapter, each way."""
    delay_spread: Duration = Duration("1us")
    """Every host draws one constant extra delay, uniform between 0 and this. With 0 all phases
    freeze."""
    processing: DrawnTime = UniformTime(kind="uniform", min=Duration("50ns"), max=Duration("150ns"))
    """Time that the host's processor takes for each segment sent or received, one after the other,
    so that no segment overtakes another. The default's mean lets a host handle 10 million
    segments a second."""
    profile: Profile | None = None
    """Measured times of hosts in place of the three above: the name of a profile that comes with
    Fairport, or the path of a file that `fairport doctor --measure-hosts` has written."""
    queue: PositivePacketCount = PacketCount("1000 packets")
    """Buffer of the host's own output port; the default is Linux's txqueuelen."""

    @model_validator(mode="after")
    def _one_source_of_times(self) -> Self:
        given = self.model_fields_set & {"delay", "delay_spread", "processing"}
        if self.profile is not None and given:
            raise refuse(
                f"is given beside host.{min(given)}, and both say how long a host takes",
                "leave one of them out; --set 'host={profile=\"linux-6-vm\"}' replaces the table",
                field="profile",
                show_value=False,
            )
        return self

    def job(self) -> dict[str, Any]:
        """As the engine takes it."""
        measured = {} if self.profile is None else {"profile": resolved(self.profile).job()}
        return {
            "delay_ps": int(self.delay),
            "delay_spread_ps": int(self.delay_spread),
            "processing": self.processing.job(),
            "queue_packets": int(self.queue),
        } | measured
