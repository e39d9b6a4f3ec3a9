"""The small topologies: two switches, dumbbell, star, and the testbed of TCPRand."""

from __future__ import annotations

from typing import Literal

from fairport.scenario.topology.base import TopologySection, count


class TwoSwitch(TopologySection):
    """Two switches and one link between them.

    Receiver `h0` and the lone sender `h1` are at `s0`, the peers `h2`.. at `s1`.
    """

    kind: Literal["two-switch"]
    """Two switches and one link between them."""
    peers: int = count()
    """Hosts behind the second switch, which share one ingress port of the first."""


class Dumbbell(TopologySection):
    """Hosts on two sides of one link: `h0`.. at switch `left`, the rest at switch `right`."""

    kind: Literal["dumbbell"]
    """Hosts on two sides of one link."""
    left: int = count(10)
    """Hosts on the left."""
    right: int = count(10)
    """Hosts on the right."""


class Star(TopologySection):
    """All hosts at one switch, for incast: `h0`.. at `s0`."""

    kind: Literal["star"]
    """All hosts at one switch."""
    hosts: int = count(41, least=2)
    """Number of hosts. The default is one receiver and the 40 senders of Lee 2017."""


class Testbed(TopologySection):
    """The three senders and the receiver of TCPRand's testbed (Lee 2017, figure 7).

    They are at three switches in a row: receiver `h0` and `h1` (S1) at `s0`, `h2` (S2) at `s1`,
    `h3` (S4) at `s2`.
    """

    kind: Literal["testbed"]
    """Three senders at three switches in a row."""
