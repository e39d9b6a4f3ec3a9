"""Sockets of the traffic generator: made in a host's namespace, with the options that it needs."""

from __future__ import annotations

import os
import resource
import socket
import struct
from functools import cache

from fairport.backends.linux.flows import Stack
from fairport.backends.linux.namespaces import join

DRAIN_BYTES = 1 << 20
"""Most bytes per read."""

_TCP_CONGESTION = getattr(socket, "TCP_CONGESTION", 13)
_TCP_NOTSENT_LOWAT = 25
_UNSENT_BYTES = 1 << 15
_SO_MAX_PACING_RATE = 47
# <linux/sock_diag.h>: nine numbers, of which the last is that of lost packets
_SO_MEMINFO = 55
_MEMINFO = struct.Struct("9I")
# the kernel paces a socket whose rate has a limit, even one that is never reached
_ANY_PACE = struct.pack("Q", 1 << 62)
_TCP_CLOSE = 7  # include/net/tcp_states.h
_RESET = struct.pack("ii", 1, 0)


def opened(namespace: str, *, is_udp: bool) -> socket.socket:
    """A socket of a network namespace that never blocks."""
    kind = socket.SOCK_DGRAM if is_udp else socket.SOCK_STREAM
    own = _descriptor("/proc/self/ns/net")
    join(_descriptor(f"/run/netns/{namespace}"))
    try:
        one = socket.socket(socket.AF_INET, kind)
    finally:
        join(own)
    one.setblocking(False)
    return one


@cache
def _descriptor(path: str) -> int:
    """A file of a namespace, opened once: a run may need thousands of sockets per second."""
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def reset_on_close(one: socket.socket) -> None:
    """Closes the socket with a reset, so that no orphan outlives the run."""
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


def configure(one: socket.socket, stack: Stack) -> None:
    """Gives a socket its stack's settings. Raises OSError for a congestion control not there."""
    one.setsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, stack.congestion_control.encode())
    # limits the segments that it sends, and those that it asks for
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, stack.mss_bytes)
    if stack.is_paced:
        # the kernel spaces the segments at its own pacing rate (`sk_pacing_status`)
        one.setsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, _ANY_PACE)
    if not stack.has_nagle:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def limit_unsent(one: socket.socket) -> None:
    """Limits the data that wait in the socket of a flow that stops before the end."""
    one.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, _UNSENT_BYTES)


def drain(one: socket.socket, buffer: bytearray) -> int:
    """Discards the received data, which the kernel does not copy; returns how many bytes."""
    return one.recv_into(buffer, DRAIN_BYTES, socket.MSG_TRUNC)


def is_closed(one: socket.socket) -> bool:
    """Whether both sides of a connection have closed it, and know that the other has."""
    return one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _TCP_CLOSE


def lost_datagrams(one: socket.socket) -> int:
    """How many datagrams found no room in a socket; 0 for a socket of TCP."""
    if one.type != socket.SOCK_DGRAM:
        return 0
    return int(_MEMINFO.unpack(one.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO.size))[-1])


def allow_many() -> None:
    """Raises the limit of open sockets as far as this process may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
