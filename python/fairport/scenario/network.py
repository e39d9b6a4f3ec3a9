"""[link], [switch], [host]: the parts of a network through which a packet passes.

The defaults are those of a data-centre LAN of 1 Gbit/s. Delays, their spread and every rule for
ties are explicit fields, because outcast is an effect of phase: exactly equal delays freeze it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import model_validator
from typing_extensions import Self

from fairport import headers
from fairport.scenario.base import PositivePacketCount, PositiveRate, PositiveSize, Section, refuse
from fairport.scenario.drawn_time import DrawnTime, UniformTime
from fairport.scenario.host_profile import NONE, HostProfile, Profile, resolved
from fairport.scenario.units import ClockError, Duration, PacketCount, Rate, Size


class Link(Section):
    """Every link, except where a custom graph sets its own values."""

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

    @property
    def buffered_overhead(self) -> int:
        """Bytes that a packet takes in a buffer besides its own."""
        return headers.ETHERNET_BUFFERED if self.framing == "ethernet" else 0

    @property
    def wire_overhead(self) -> int:
        """Bytes that a packet takes on the wire besides its own."""
        return headers.ETHERNET_ON_WIRE if self.framing == "ethernet" else 0


class Switch(Section):
    """Every switch."""

    processing_delay: Duration = Duration("1us")
    """Time from the arrival of the last bit to the output queue. The default is that of a
    store-and-forward switch.
    """
    arbitration: Literal["round-robin", "fixed", "random"] = "round-robin"
    """Order in which packets are admitted that arrive in the same picosecond for one output."""
    departure_first: bool = True
    """Whether a departure frees its place in the buffer before an arrival in the same picosecond is
    admitted."""


LINUX_PROFILE = "linux-6-vm"
"""The host profile of every Linux stack. It was measured on one machine: network namespaces of a
virtual machine, joined by veth pairs."""


ADAPTER_TIMES = ("jitter", "interrupt_interval")
"""Fields of a host whose times are the adapter's: they are added to measured and to real times."""


class Host(Section):
    """Every host.

    With a Linux stack a host takes measured times (`profile`), which do not include adapter and
    cable: `delay` and `delay_spread` are added to them. `processing` replaces the measured times.
    """

    delay: Duration = Duration("5us")
    """Latency of the host's stack and adapter, each way. With a profile, whose times include the
    stack, the default is 0."""
    delay_spread: Duration = Duration("1us")
    """Every host draws one constant extra delay, uniform between 0 and this. With 0 and no profile,
    phases freeze. With a profile the default is 0."""
    processing: DrawnTime = UniformTime(kind="uniform", min=Duration("50ns"), max=Duration("150ns"))
    """Time that the host's processor takes for each segment sent or received, one after the other,
    so that no segment overtakes another. With the default's mean a host can handle 10 million
    segments per second. If it is given with a Linux stack, it replaces the measured times."""
    profile: Profile | None = None
    """Measured times of hosts, instead of `processing`: the name of a profile that comes with
    Fairport, the path of a file that `fairport doctor --measure-hosts` has written, or "none". The
    default is "linux-6-vm" if `tcp.stack` is a Linux stack, no `processing` is given and hosts
    forward nothing; otherwise "none"."""
    jitter: Duration = Duration("0s")
    """Each packet reaches the host later by a time drawn uniformly between 0 and this, in order:
    the time of adapter, interrupt and wake-up. It is added to all other times of hosts, also on the
    Linux backend, whose hosts have no adapters."""
    interrupt_interval: Duration = Duration("0s")
    """Shortest time between two interrupts of a host's adapter. Packets that come in between wait
    for the next one and reach the host together, also on the Linux backend. Linux sets it with
    `ethtool -C ... rx-usecs`. With 0 every packet raises an interrupt."""
    queue: PositivePacketCount = PacketCount("1000 packets")
    """Buffer of the host's own output port. The packet that is being sent counts. The default is
    Linux's txqueuelen."""

    @model_validator(mode="after")
    def _one_source_of_times(self) -> Self:
        drawn = "processing" in self.model_fields_set
        if drawn and self.profile not in (None, NONE):
            raise refuse(
                "is given as well as host.processing, and both set how long a host takes",
                'leave one of them out; host = { profile = "linux-6-vm" } replaces the table',
                field="profile",
                show_value=False,
            )
        return self

    def times(self, stack: str, *, forwards: bool) -> HostTimes:
        """Times of hosts with this stack; `forwards`: they forward packets of others."""
        profile = self.profile
        if profile is None:
            drawn = forwards or "processing" in self.model_fields_set
            is_linux = stack.startswith("linux-")
            profile = LINUX_PROFILE if is_linux and not drawn else NONE
        if profile == NONE:
            return HostTimes(self.delay, self.delay_spread, self.processing, None)
        beside = self.beside_measured()
        delay, spread = Duration(beside["delay"]), Duration(beside["delay_spread"])
        return HostTimes(delay, spread, self.processing, profile)

    def beside_measured(self) -> dict[str, str]:
        """The delays that are added to measured and to real times: adapter, interrupt and cable.

        They are in the scenario's units.
        """
        given = self.model_fields_set
        delays = {
            name: str(getattr(self, name)) if name in given else "0s"
            for name in ("delay", "delay_spread")
        }
        return delays | {name: str(getattr(self, name)) for name in ADAPTER_TIMES}


@dataclass(frozen=True)
class HostTimes:
    """How long hosts take, with the defaults of their stack."""

    delay: Duration
    delay_spread: Duration
    processing: DrawnTime
    """Time per segment, without a profile."""
    profile: str | HostProfile | None
    """Their measured times, and the profile's name if it comes with Fairport."""

    def document(self) -> dict[str, Any]:
        """The fields as a scenario writes them, without defaults."""
        times: dict[str, Any] = {"delay": str(self.delay), "delay_spread": str(self.delay_spread)}
        if self.profile is None:
            return times | {"profile": NONE, "processing": self.processing.model_dump()}
        if isinstance(self.profile, HostProfile):
            return times | {"profile": self.profile.model_dump(exclude_none=True)}
        return times | {"profile": self.profile}

    def job(self) -> dict[str, Any]:
        """The section as the engine reads it."""
        measured = {} if self.profile is None else {"profile": resolved(self.profile).job()}
        return {
            "delay_ps": int(self.delay),
            "delay_spread_ps": int(self.delay_spread),
            "processing": self.processing.job(),
        } | measured
