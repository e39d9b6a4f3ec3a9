"""The traffic generator: one process that holds all sockets of all hosts, and moves their data.

The agenda says what is due: flows open, applications write, sources send. A socket belongs to the
namespace in which it was made. Senders write as fast as their sockets accept data; receivers count
the bytes and discard them. Nothing here adds to what TCP does.
"""

from __future__ import annotations

import math
import os
import select
import socket
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from fairport import _core
from fairport.backends.linux import sockets
from fairport.backends.linux.flows import (
    RECEIVER,
    SENDER,
    UDP_PORT,
    FlowReport,
    FlowSpecs,
    LiveFlow,
    Side,
)
from fairport.backends.linux.generator_task import GeneratorReport, GeneratorTask
from fairport.backends.linux.observing import Observer
from fairport.backends.linux.tcp_info import read
from fairport.backends.linux.ticks import Ticks
from fairport.backends.linux.waiting import Waiting
from fairport.payload import RandomizedSender

_CHUNK = bytes(1 << 16)
_UDP_BUFFER_BYTES = 8 << 20
_WRITES = select.EPOLLOUT
_READS = select.EPOLLIN
_CHANGES = select.EPOLLET


def _p99(lateness_s: list[float]) -> float:
    """The 99th percentile. Of fewer than a hundred it would be the largest alone, and is 0."""
    return float(np.quantile(lateness_s, 0.99)) if len(lateness_s) >= 100 else 0.0


class TrafficGenerator:
    """All flows. Times are in s of the scenario's clock."""

    def __init__(self, task: GeneratorTask) -> None:
        self._task = task
        self._agenda = _core.Agenda(task.job_json)
        self._specs = FlowSpecs(self._agenda)
        self._listed = len(self._agenda)
        self._reports: list[FlowReport] = []
        self._live: dict[int, LiveFlow] = {}
        self._observer = Observer(task.observe, self._listed, self._reports, self._live)
        self._zero = self._late_s = 0.0
        self._lateness_s: list[float] = []
        self._epoll = select.epoll()
        self._waiting = Waiting(self._epoll, Ticks() if task.has_programs else None)
        self._handlers: dict[int, Callable[[int], None]] = {}
        self._listeners: list[socket.socket] = []
        self._by_ends: dict[tuple[Any, ...], LiveFlow] = {}
        self._sources: dict[int, LiveFlow] = {}
        self._senders: dict[int, RandomizedSender] = {}
        self._nothing = bytearray(sockets.DRAIN_BYTES)
        sockets.allow_many()

    def listen(self) -> None:
        """Makes the hosts ready. Raises OSError for a congestion control that the kernel lacks."""
        for number in range(self._listed):
            self._add(number)
        for host, port, stack in self._task.listen:
            self._listen(host, port, stack)

    def run(self, zero: float) -> GeneratorReport:
        """Sends until the end. `zero` is the clock's zero on the monotonic clock."""
        self._zero = zero
        self._late_s = max(0.0, self._now())
        end_s = self._task.end_s
        while (now := self._now()) < end_s:
            self._do_due(now)
            next_datagram = self._send_datagrams(now) if self._sources else end_s
            next_sample = self._observer.look(now)
            until = min(next_sample, end_s, next_datagram, self._agenda.next_s())
            self._wait(until - self._now())
        return self._finish()

    def _now(self) -> float:
        return time.monotonic() - self._zero

    def _wait(self, left_s: float) -> None:
        """Handles the events of the sockets, or waits for some at most that long."""
        for descriptor, events in self._waiting.ready(left_s):
            handler = self._handlers.get(descriptor)
            if handler is not None:
                handler(events)

    def _add(self, number: int) -> FlowReport:
        while len(self._reports) <= number:
            spec = self._specs.up_to(len(self._reports))
            self._reports.append(FlowReport(spec, size_bytes=spec.size_bytes))
        return self._reports[number]

    def _do_due(self, until: float) -> None:
        """Does what was due until then, one after another."""
        due_s = self._agenda.next_s()
        while until >= 0 and (due := self._agenda.pop(until)) is not None:
            now = self._now()
            self._do(*due, now)
            self._lateness_s.append(now - due_s)
            due_s = self._agenda.next_s()

    def _do(self, what: str, number: int, side: int, size: int, now: float) -> None:
        if what == "open":
            self._open(self._add(number), now)
        elif what == "write":
            report = self._reports[number]
            if side == SENDER:
                report.size_bytes = (report.size_bytes or 0) + size
                report.finished_s = None
            self._write(self._live[number], side, size)
        elif number in self._live:
            self._stop(self._live[number])

    def _open(self, report: FlowReport, now: float) -> None:
        flow = LiveFlow(report)
        spec = report.spec
        report.started_s = now
        self._live[spec.number] = flow
        here, there = spec.opener, 1 - spec.opener
        local = self._task.hosts[spec.host(here)]
        remote = self._task.hosts[spec.host(there)]
        self._by_ends[spec.host(there), spec.remote_port, str(local.address), spec.local_port] = (
            flow
        )
        one = sockets.opened(local.namespace, is_udp=spec.is_udp)
        flow.sides[here].socket = one
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if not spec.is_udp:
            sockets.reset_on_close(one)
            sockets.configure(one, self._task.stacks[spec.stacks[here]])
        one.bind((str(local.address), spec.local_port))
        one.connect_ex((str(remote.address), spec.remote_port))
        if spec.is_udp:
            report.established_s = now
            flow.datagrams = self._agenda.datagrams(spec.number, now)
            self._sources[spec.number] = flow
            return
        flow.sides[SENDER].left_bytes = spec.size_bytes
        flow.sides[SENDER].written_bytes = spec.size_bytes or 0
        flow.sides[RECEIVER].left_bytes = spec.request_bytes or 0
        flow.sides[RECEIVER].written_bytes = spec.request_bytes or 0
        flow.sides[here].is_watched_for_writing = True
        self._watch(one, _READS | _WRITES, self._handler(flow, here))

    def _write(self, flow: LiveFlow, side: int, size: int) -> None:
        it = flow.sides[side]
        it.written_bytes += size
        it.left_bytes = (it.left_bytes or 0) + size
        if it.socket is not None and flow.report.established_s is not None:
            self._send(flow, side)

    def _stop(self, flow: LiveFlow) -> None:
        if flow.datagrams is not None:
            flow.datagrams.stop()
            return
        it = flow.sides[SENDER]
        # data already sent are still delivered
        it.left_bytes = 0
        it.written_bytes = -1
        if flow.report.established_s is not None:  # otherwise its handshake comes first
            self._send(flow, SENDER)

    def _send_datagrams(self, now: float) -> float:
        """Sends the datagrams that are due; returns when the next one is due."""
        next_s = self._task.end_s
        for number, flow in list(self._sources.items()):
            flow_next_s = flow.send_datagrams(now, _CHUNK)
            if flow_next_s == math.inf:
                del self._sources[number]
            next_s = min(next_s, flow_next_s)
        return next_s

    # sockets

    def _listen(self, host: int, port: int, stack: int) -> None:
        at = self._task.hosts[host]
        is_udp = port == UDP_PORT
        one = sockets.opened(at.namespace, is_udp=is_udp)
        self._listeners.append(one)
        if is_udp:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _UDP_BUFFER_BYTES)
        else:
            # connections inherit it: DCTCP's receiver echoes marks
            sockets.configure(one, self._task.stacks[stack])
        one.bind((str(at.address), port))
        if is_udp:
            self._watch(one, _READS, lambda _: self._receive_datagrams(host, one))
            return
        one.listen(4096)
        self._watch(one, _READS, lambda _: self._accept(host, port, one))

    def _watch(self, one: socket.socket, events: int, handler: Callable[[int], None]) -> None:
        self._handlers[one.fileno()] = handler
        self._epoll.register(one.fileno(), events)

    def _handler(self, flow: LiveFlow, side: int) -> Callable[[int], None]:
        def handle(events: int) -> None:
            if flow.report.established_s is None and not self._establish(flow, side):
                return
            if events & _WRITES:
                self._send(flow, side)
            if events & ~_WRITES:
                self._receive(flow, side)

        return handle

    def _establish(self, flow: LiveFlow, side: int) -> bool:
        one = flow.sides[side].socket
        if one is None:
            return False
        error = one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            self._fail(flow, f"could not connect: {os.strerror(error)}")
            return False
        flow.report.established_s = self._now()
        flow.report.handshake_retransmits += read(one).retransmits
        self._prepare_to_send(flow)
        return True

    def _prepare_to_send(self, flow: LiveFlow) -> None:
        """Sets the options of a sender's connected socket."""
        one, spec = flow.sides[SENDER].socket, flow.spec
        if one is None or spec.number in self._senders:
            return
        payload = self._task.stacks[spec.stacks[SENDER]].payload
        if payload is not None:
            self._senders[spec.number] = RandomizedSender(
                one,
                payload.r_min,
                adaptive=payload.adaptive or False,
                seed=self._task.seed << 32 | spec.number,
            )
        if spec.number in self._task.stopping:
            sockets.limit_unsent(one)

    def _accept(self, host: int, port: int, listener: socket.socket) -> None:
        while True:
            try:
                accepted, (address, from_port) = listener.accept()
            except BlockingIOError:
                return
            accepted.setblocking(False)
            sockets.reset_on_close(accepted)
            flow = self._by_ends.get((host, port, address, from_port))
            if flow is None or flow.spec.number not in self._live:
                accepted.close()
                continue
            side = 1 - flow.spec.opener
            flow.sides[side].socket = accepted
            if side == SENDER:
                flow.report.established_s = self._now()
                flow.report.handshake_retransmits += read(accepted).retransmits
            self._prepare_to_send(flow)
            self._watch(accepted, _READS, self._handler(flow, side))

    def _send(self, flow: LiveFlow, side: int) -> None:
        """Writes as much as the socket accepts, and watches it while there is more to write."""
        it = flow.sides[side]
        one = it.socket
        if one is None:
            return
        sender = self._senders.get(flow.spec.number) if side == SENDER else None
        send = one.send if sender is None else sender.send
        try:
            while it.left_bytes != 0:
                size = len(_CHUNK) if it.left_bytes is None else min(it.left_bytes, len(_CHUNK))
                written = send(_CHUNK if size == len(_CHUNK) else _CHUNK[:size])
                if it.left_bytes is not None:
                    it.left_bytes -= written
        except BlockingIOError:
            self._watch_writing(it, True)
            return
        except OSError as error:
            self._fail(flow, f"stopped: {error.strerror}")
            return
        self._watch_writing(it, False)
        if side == SENDER and not flow.spec.stays_open:
            one.shutdown(socket.SHUT_WR)

    def _watch_writing(self, it: Side, is_wanted: bool) -> None:
        if it.is_watched_for_writing != is_wanted and it.socket is not None:
            it.is_watched_for_writing = is_wanted
            self._epoll.modify(it.socket.fileno(), _READS | (_WRITES if is_wanted else 0))

    def _receive(self, flow: LiveFlow, side: int) -> None:
        it, other = flow.sides[side], flow.sides[1 - side]
        if it.socket is None:
            return
        try:
            count = sockets.drain(it.socket, self._nothing)
        except BlockingIOError:
            return
        except OSError as error:
            self._fail(flow, f"stopped: {error.strerror}")
            return
        now = self._now()
        if count == 0:
            self._hang_up(flow, side, now)
            return
        it.arrived_bytes += count
        if side == RECEIVER:
            flow.report.delivered_bytes += count
        if it.arrived_bytes == other.written_bytes and flow.report.size_bytes is not None:
            if side == RECEIVER:
                flow.report.finished_s = now
            self._agenda.delivered(1 - side, flow.spec.number, now)

    def _hang_up(self, flow: LiveFlow, side: int, now: float) -> None:
        """The other side has sent its FIN.

        The receiver answers with its own, and the flow is over when that has been acknowledged. If
        sockets were closed earlier, they would answer what is still under way with resets.
        """
        one = flow.sides[side].socket
        if one is None:
            return
        if side == SENDER:
            self._epoll.unregister(one.fileno())
        elif flow.is_closing:
            if sockets.is_closed(one):
                self._end(flow)
        else:
            flow.is_closing = True
            if flow.report.finished_s is None:
                flow.report.finished_s = now  # it was stopped
            one.shutdown(socket.SHUT_WR)
            # from now on it is always ready: only changes matter
            self._epoll.modify(one.fileno(), _CHANGES)

    def _receive_datagrams(self, host: int, one: socket.socket) -> None:
        while True:
            try:
                count, (address, port) = one.recvfrom_into(self._nothing)
            except BlockingIOError:
                return
            report = self._by_ends[host, UDP_PORT, address, port].report
            report.delivered_bytes += count
            if report.delivered_bytes == report.size_bytes:
                report.finished_s = self._now()

    def _fail(self, flow: LiveFlow, problem: str) -> None:
        flow.report.error = problem
        self._end(flow)

    def _end(self, flow: LiveFlow) -> None:
        """Closes the sockets of a flow that is over."""
        self._observer.ended(flow)
        if not flow.spec.is_udp and flow.report.established_s is not None:
            ends = flow.sides[: 1 if flow.spec.request_bytes is None else 2]
            flow.report.infos = [read(end.socket) for end in ends if end.socket is not None]
        for side in flow.sides:
            if side.socket is not None:
                self._handlers.pop(side.socket.fileno(), None)
                side.socket.close()
                side.socket = None
        self._senders.pop(flow.spec.number, None)
        self._sources.pop(flow.spec.number, None)
        self._live.pop(flow.spec.number, None)

    def _finish(self) -> GeneratorReport:
        now = self._now()
        from_s, to_s = self._observer.end(now)
        for flow in list(self._live.values()):
            self._end(flow)
        lost = sum(map(sockets.lost_datagrams, self._listeners))
        for listener in self._listeners:
            listener.close()
        self._epoll.close()
        return GeneratorReport(
            self._reports,
            self._observer.samples,
            from_s,
            to_s,
            self._agenda.tables(),
            self._late_s,
            _p99(self._lateness_s),
            lost,
        )
