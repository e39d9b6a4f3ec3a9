"""[shaper]: token buckets at the ports, as Mininet's links have them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from fairport.scenario.base import PositiveDuration, PositiveRate, PositiveSize, Section
from fairport.scenario.units import Duration, Size


class _Shaper(Section):
    """The fields of every shaper."""

    rate: PositiveRate
    """Long-term rate. Behind the shaper the line still sends at `link.rate`."""
    timer_lateness: Duration = Duration("0s")
    """A wait for tokens ends late by a time drawn from U(0, this), because a kernel's timers are
    never exact. With 0 all shapers run at exactly the same rate, and phases are frozen."""
    hosts: bool = True
    """Whether the hosts' own ports have it, too, as Mininet's links do, or only the switches'
    ports."""

    def job(self) -> dict[str, Any]:
        """The fields that every shaper has, as the engine reads them."""
        return {
            "rate_bps": int(self.rate),
            "timer_lateness_ps": int(self.timer_lateness),
            "hosts": self.hosts,
        }


class TokenBucket(_Shaper):
    """Linux's `sch_tbf` without a peak rate."""

    kind: Literal["tbf"]
    """A token bucket filter: a packet is sent when the bucket holds tokens for the whole packet."""
    burst: PositiveSize = Size("20KB")
    """Size of the bucket, and so the burst that is sent at once after a pause."""
    latency: PositiveDuration | None = None
    """Sizes the switches' buffers as `tc` does: rate · latency + burst, instead of
    `queue.limit`."""

    @property
    def limit_bytes(self) -> int | None:
        """The buffer for this `latency`; it may be larger than any buffer can be."""
        if self.latency is None:
            return None
        return int(self.rate) * int(self.latency) // (8 * 10**12) + int(self.burst)

    def job(self) -> dict[str, Any]:
        """The shaper as the engine reads it."""
        return {"kind": self.kind, "burst_bytes": int(self.burst), **super().job()}


class Htb(_Shaper):
    """One class of Linux's `sch_htb`, with no class to borrow from and a ceiling equal to its rate.

    Its child is the `[queue]`: a pfifo if the limit is in packets, a bfifo if it is in bytes.
    """

    kind: Literal["htb"]
    """A class of the hierarchical token bucket: a packet is sent while there is any credit."""
    burst: PositiveSize = Size("15KiB")
    """Size of the rate's bucket. The default is Mininet's `burst 15k`."""
    cburst: PositiveSize = Size("1600B")
    """Size of the ceiling's bucket. The default is that of `tc`."""

    def job(self) -> dict[str, Any]:
        """The shaper as the engine reads it."""
        bursts = {"burst_bytes": int(self.burst), "cburst_bytes": int(self.cburst)}
        return {"kind": self.kind, **bursts, **super().job()}


Shaper = Annotated[TokenBucket | Htb, Field(discriminator="kind")]
