"""The load: one process that holds all sockets of all hosts, and moves their data.

A socket belongs to the namespace in which it was made. Senders write as fast as their sockets take
it; receivers count and throw away. Nothing here adds to what TCP does.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address

from fairport.backends.linux.namespaces import inside
from fairport.backends.linux.tcp_info import TcpInfo, read

FIRST_PORT = 20_000
"""Source port of flow 0; the others follow."""
SERVER_PORT = 5001
_CHUNK = bytes(1 << 16)
_DRAIN_BYTES = 1 << 20
_TCP_CONGESTION = getattr(socket, "TCP_CONGESTION", 13)
# close with a reset, so that no orphan outlives the run
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class FlowSpec:
    """A flow of bulk data."""

    number: int
    sender: str
    """Its namespace."""
    receiver: str
    source: IPv4Address
    destination: IPv4Address
    start_s: float
    stop_s: float | None
    size_bytes: int | None
    congestion_control: str
    """As the kernel calls it."""


@dataclass(frozen=True)
class Sample:
    """A row of the series."""

    time_s: float
    flow: int
    interval_s: float
    """Since the sample before it."""
    new_bytes: int
    delivered_bytes: int
    info: TcpInfo


@dataclass
class FlowReport:
    """What came of a flow."""

    started_s: float | None = None
    established_s: float | None = None
    finished_s: float | None = None
    delivered_bytes: int = 0
    measured_bytes: int = 0
    info: TcpInfo | None = None
    error: str | None = None


@dataclass
class LoadReport:
    """What came of the load."""

    flows: list[FlowReport]
    samples: list[Sample]
    measure_from_s: float
    measure_to_s: float


@dataclass
class _Flow:
    spec: FlowSpec
    report: FlowReport = field(default_factory=FlowReport)
    sender: socket.socket | None = None
    receiver: socket.socket | None = None
    left_bytes: int | None = None
    sampled_bytes: int = 0
    bytes_before: int = 0


class Load:
    """All flows. Times are in s of the scenario's clock."""

    def __init__(
        self,
        flows: list[FlowSpec],
        *,
        end_s: float,
        interval_s: float,
        measure_from_s: float | None,
        measure_to_s: float | None,
    ) -> None:
        self._flows = [_Flow(spec, left_bytes=spec.size_bytes) for spec in flows]
        self._zero = 0.0
        self._end_s = end_s
        self._interval_s = interval_s
        self._measure_from_s = measure_from_s
        self._measure_to_s = end_s if measure_to_s is None else measure_to_s
        self._began_s: float | None = None
        self._ended_s: float | None = None
        self._sampled_at = 0.0
        self._epoll = select.epoll()
        self._handlers: dict[int, Callable[[int], None]] = {}
        self._listeners: dict[str, socket.socket] = {}
        self._by_port = {FIRST_PORT + flow.spec.number: flow for flow in self._flows}
        self._samples: list[Sample] = []
        self._nothing = bytearray(_DRAIN_BYTES)

    def listen(self) -> None:
        """Makes the receivers ready. Raises OSError for a congestion control that is not there."""
        for flow in self._flows:
            self._listen(flow.spec)

    def run(self, zero: float) -> LoadReport:
        """Sends until the end. `zero` is the clock's zero on the monotonic clock."""
        self._zero = zero
        waiting = sorted(self._flows, key=lambda flow: -flow.spec.start_s)
        next_sample = self._interval_s
        while (now := self._now()) < self._end_s:
            while waiting and waiting[-1].spec.start_s <= now:
                self._open(waiting.pop(), now)
            if now >= next_sample:
                self._sample(now)
                next_sample += self._interval_s * max(
                    1, int((now - next_sample) / self._interval_s)
                )
            self._measure(now)
            until = min(next_sample, self._end_s, waiting[-1].spec.start_s if waiting else 1e9)
            for descriptor, events in self._epoll.poll(max(0.0, until - self._now())):
                handler = self._handlers.get(descriptor)
                if handler is not None:
                    handler(events)
        return self._finish()

    def _now(self) -> float:
        return time.monotonic() - self._zero

    def _listen(self, spec: FlowSpec) -> None:
        if spec.receiver in self._listeners:
            return
        with inside(spec.receiver):
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        # DCTCP is to be set on the listener, too: it echoes marks
        _choose(listener, spec.congestion_control)
        listener.bind((str(spec.destination), SERVER_PORT))
        listener.listen(4096)
        listener.setblocking(False)
        self._listeners[spec.receiver] = listener
        self._watch(listener, select.EPOLLIN, lambda _: self._accept(listener))

    def _watch(self, one: socket.socket, events: int, handler: Callable[[int], None]) -> None:
        self._handlers[one.fileno()] = handler
        self._epoll.register(one.fileno(), events)

    def _accept(self, listener: socket.socket) -> None:
        try:
            accepted, (_, port) = listener.accept()
        except BlockingIOError:
            return
        accepted.setblocking(False)
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        flow = self._by_port[port]
        flow.receiver = accepted
        self._watch(accepted, select.EPOLLIN, lambda _: self._receive(flow, accepted))

    def _open(self, flow: _Flow, now: float) -> None:
        spec = flow.spec
        with inside(spec.sender):
            sender = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sender.setblocking(False)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _choose(sender, spec.congestion_control)
        sender.bind((str(spec.source), FIRST_PORT + spec.number))
        flow.sender, flow.report.started_s = sender, now
        sender.connect_ex((str(spec.destination), SERVER_PORT))
        self._watch(sender, select.EPOLLOUT, lambda events: self._send(flow, sender, events))

    def _send(self, flow: _Flow, sender: socket.socket, events: int) -> None:
        if flow.report.established_s is None:
            error = sender.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error:
                flow.report.error = f"could not connect: {os.strerror(error)}"
                self._epoll.unregister(sender.fileno())
                return
            flow.report.established_s = self._now()
        try:
            while flow.left_bytes != 0:
                size = len(_CHUNK) if flow.left_bytes is None else min(flow.left_bytes, len(_CHUNK))
                written = sender.send(_CHUNK if size == len(_CHUNK) else _CHUNK[:size])
                if flow.left_bytes is not None:
                    flow.left_bytes -= written
            self._epoll.unregister(sender.fileno())
            sender.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            pass
        except OSError as error:
            flow.report.error = f"stopped: {error.strerror}"
            self._epoll.unregister(sender.fileno())

    def _receive(self, flow: _Flow, receiver: socket.socket) -> None:
        try:
            # with MSG_TRUNC the kernel throws the data away and copies nothing
            count = receiver.recv_into(self._nothing, _DRAIN_BYTES, socket.MSG_TRUNC)
        except (BlockingIOError, ConnectionResetError):
            return
        if count == 0:
            self._epoll.unregister(receiver.fileno())
            return
        flow.report.delivered_bytes += count
        if flow.report.delivered_bytes == flow.spec.size_bytes:
            flow.report.finished_s = self._now()

    def _sample(self, now: float) -> None:
        for flow in self._flows:
            if flow.sender is None or flow.report.established_s is None:
                continue
            info = read(flow.sender)
            delivered = flow.report.delivered_bytes
            new = delivered - flow.sampled_bytes
            flow.sampled_bytes = delivered
            interval_s = now - self._sampled_at
            self._samples.append(Sample(now, flow.spec.number, interval_s, new, delivered, info))
        self._sampled_at = now

    def _measure(self, now: float) -> None:
        """Begins the measurement at its time, or when all flows are established, and ends it."""
        if self._began_s is not None:
            if self._ended_s is None and now >= self._measure_to_s:
                self._end_measurement(now)
            return
        if self._measure_from_s is None:
            is_time = all(flow.report.established_s is not None for flow in self._flows)
        else:
            is_time = now >= self._measure_from_s
        if is_time:
            self._began_s = now
            for flow in self._flows:
                flow.bytes_before = flow.report.delivered_bytes

    def _end_measurement(self, now: float) -> None:
        self._ended_s = now
        for flow in self._flows:
            flow.report.measured_bytes = flow.report.delivered_bytes - flow.bytes_before

    def _finish(self) -> LoadReport:
        if self._ended_s is None:
            self._end_measurement(self._now())
        for flow in self._flows:
            if flow.sender is not None:
                flow.report.info = read(flow.sender)
        for flow in self._flows:
            for one in (flow.sender, flow.receiver):
                if one is not None:
                    one.close()
        for listener in self._listeners.values():
            listener.close()
        self._epoll.close()
        reports = [flow.report for flow in self._flows]
        return LoadReport(reports, self._samples, self._began_s or 0.0, self._ended_s or 0.0)


def _choose(one: socket.socket, congestion_control: str) -> None:
    one.setsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, congestion_control.encode())
