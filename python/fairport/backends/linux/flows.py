"""Flows over real sockets: what each is, which ports identify it, and its outcome.

If the sender opens the connection, it connects to a data port of the receiver. If the receiver asks
first, it connects to a request port of the sender. Each port belongs to a stack, because a listener
passes its congestion control on to the connections that it accepts.
"""

from __future__ import annotations

import math
import socket
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Any

from fairport import _core
from fairport.backends.linux.tcp_info import TcpInfo
from fairport.errors import BackendError

Key = tuple[str, str, int, int, int]
"""Addresses, protocol and ports of a flow's data."""

TCP, UDP = socket.IPPROTO_TCP, socket.IPPROTO_UDP
UDP_PORT = 4000
_DATA_PORT = 5000
_REQUEST_PORT = 10_000
_STACKS = 5000
REQUEST_PORTS = (_REQUEST_PORT, _REQUEST_PORT + _STACKS - 1)
"""The first and the last request port."""
_FIRST_PORT = 20_000
_LAST_PORT = 65_535
SENDER, RECEIVER = 0, 1


@dataclass(frozen=True)
class HostAt:
    """The namespace and the address of a host of the scenario."""

    namespace: str
    address: IPv4Address


def data_port(stack: int) -> int:
    """The port at which a receiver with this stack waits for connections."""
    return _DATA_PORT + stack


def request_port(stack: int) -> int:
    """The port at which a server with this stack waits for connections."""
    return _REQUEST_PORT + stack


@dataclass(frozen=True)
class PayloadSizes:
    """How the payloads of a stack's flows are drawn: TCPRand."""

    r_min: int
    adaptive: str | tuple[float, ...] | None
    """Shape of the adaptive form, by name or in numbers; None: the smallest payload is always
    `r_min`."""


@dataclass(frozen=True)
class Stack:
    """The settings of a flow's sockets."""

    congestion_control: str
    """The kernel's name for it."""
    mss_bytes: int
    """Without options, of which timestamps take a part."""
    payload: PayloadSizes | None
    is_paced: bool = False
    """Whether the kernel spaces the segments, whatever the congestion control."""
    has_nagle: bool = True
    """Whether a short segment waits while an earlier short one is not acknowledged."""


@dataclass(frozen=True)
class FlowSpec:
    """A flow, as the scenario has it and as the network sees it."""

    number: int
    src: int
    dst: int
    stacks: tuple[int, int]
    """Stacks of the sender and of the receiver, as indices into the job's."""
    traffic: int
    size_bytes: int | None
    stays_open: bool
    request_bytes: int | None
    is_udp: bool
    hops: int
    ideal_s: float | None
    local_port: int
    """Port at the side that opens the connection."""

    @property
    def opener(self) -> int:
        """The side that opens the connection."""
        return SENDER if self.request_bytes is None else RECEIVER

    @property
    def remote_port(self) -> int:
        """Port at the side that waits for connections."""
        if self.is_udp:
            return UDP_PORT
        if self.request_bytes is not None:
            return request_port(self.stacks[SENDER])
        return data_port(self.stacks[RECEIVER])

    def host(self, side: int) -> int:
        """The host of this side."""
        return self.src if side == SENDER else self.dst

    def key(self, hosts: Mapping[int, HostAt]) -> Key:
        """Addresses, protocol and ports of its data on the wire."""
        ports = (self.local_port, self.remote_port)
        source, destination = ports if self.opener == SENDER else ports[::-1]
        return (
            str(hosts[self.src].address),
            str(hosts[self.dst].address),
            UDP if self.is_udp else TCP,
            source,
            destination,
        )


class FlowSpecs:
    """Gives the flows of an agenda their ports, always in the order of their numbers."""

    def __init__(self, agenda: _core.Agenda) -> None:
        self._agenda = agenda
        self._of_pair: Counter[tuple[int, int]] = Counter()
        self.all: list[FlowSpec] = []

    def up_to(self, number: int) -> FlowSpec:
        """The flow of this number."""
        while len(self.all) <= number:
            self.all.append(self._spec(self._agenda.flow(len(self.all))))
        return self.all[number]

    def _spec(self, flow: Mapping[str, Any]) -> FlowSpec:
        pair = (flow["src"], flow["dst"])
        port = _FIRST_PORT + self._of_pair[pair]
        self._of_pair[pair] += 1
        if port > _LAST_PORT:
            raise BackendError(
                f"has more than {_LAST_PORT - _FIRST_PORT + 1} flows between two hosts, which have"
                " no more port numbers",
                field="traffic",
                remedy="make the run shorter, or use more hosts",
            )
        names = FlowSpec.__dataclass_fields__.keys() - {"local_port"}
        return FlowSpec(local_port=port, **{name: flow[name] for name in names})


@dataclass
class FlowReport:
    """The outcome of a flow."""

    spec: FlowSpec
    started_s: float | None = None
    established_s: float | None = None
    finished_s: float | None = None
    size_bytes: int | None = None
    """Bytes that it had to send in the end; None: endless."""
    delivered_bytes: int = 0
    measured_bytes: int = 0
    datagrams_sent: int = 0
    infos: list[TcpInfo] = field(default_factory=list)
    """The sender's at the end; and that of the receiver, if it sent requests."""
    handshake_retransmits: int = 0
    """How often these ends sent their SYN again, which TCP_INFO counts, too."""
    error: str | None = None


@dataclass
class Side:
    """One side of a live TCP flow."""

    socket: socket.socket | None = None
    left_bytes: int | None = 0
    """Bytes still to be written; None: endless."""
    written_bytes: int = 0
    """Bytes that the application has written in all."""
    arrived_bytes: int = 0
    """Bytes received of those that the other side has written."""
    is_watched_for_writing: bool = False


@dataclass
class LiveFlow:
    """A flow that is going on."""

    report: FlowReport
    sides: tuple[Side, Side] = field(default_factory=lambda: (Side(), Side()))
    datagrams: _core.Datagrams | None = None
    is_closing: bool = False
    """Whether its receiver has had the sender's FIN."""
    sampled_bytes: int = 0
    """Bytes that had been delivered at the last sample."""

    @property
    def spec(self) -> FlowSpec:
        """The flow's description."""
        return self.report.spec

    def send_datagrams(self, now: float, data: bytes) -> float:
        """Sends the datagrams that are due, with these data; returns when the next one is due."""
        source, one = self.datagrams, self.sides[SENDER].socket
        if source is None or one is None:
            return math.inf
        while source.next_s() <= now:
            payload = source.send()
            if payload is None:
                break
            try:
                one.send(data[:payload])
                self.report.datagrams_sent += 1
            except BlockingIOError:
                continue  # the host's own queue is full
            except OSError as error:
                self.report.error = f"stopped: {error.strerror}"
                source.stop()
        return source.next_s()
