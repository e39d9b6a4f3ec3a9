"""Hosts as network namespaces, and one namespace for the switch between them.

The name of a namespace contains the process that made it, so that the next start finds those that a
killed process has left. Nothing is made in the namespace of the caller. When a namespace is
removed, its interfaces are removed, too.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address
from pathlib import Path
from types import FrameType
from typing import Any

from pyroute2 import IPRoute, netns
from pyroute2.netlink.exceptions import NetlinkError

_NAME = re.compile(r"fairport-(\d+)-(\d+)-")
_CLONE_NEWNET = 0x40000000
_PREFIX_BITS = 16
INTERFACE = "eth0"
"""Name of the adapter in every host."""
ERRORS = (OSError, NetlinkError)
"""Raised where the kernel lacks something, such as veth pairs, or does not permit it."""

# ethtool's old way to switch features: one ioctl per feature
_SIOCETHTOOL = 0x8946
_OFFLOADS = {
    "tx-checksum": 0x17,
    "scatter-gather": 0x19,
    "tso": 0x1F,
    "gso": 0x24,
    "gro": 0x2C,
}
_RTAX_RTO_MIN = 13


@dataclass(frozen=True)
class Host:
    """A namespace with one adapter."""

    number: int
    namespace: str
    address: IPv4Address
    mac: str
    port: int
    """Number of the interface at the switch's end."""


@dataclass(frozen=True)
class HostSettings:
    """The settings of a host's namespace."""

    sysctls: tuple[tuple[str, str], ...]
    """Settings below /proc/sys/net, with their values."""
    rto_min_ms: int
    """Minimum RTO of its routes; it also limits the delay of its ACKs."""
    initial_window: int
    """Initial window of its routes, in segments."""
    is_in_segments: bool = True
    """Whether TCP makes single segments. Otherwise it makes bursts, which the adapter splits."""
    acknowledges_every_segment: bool = False
    """Whether each segment has its own ACK at once."""

    @property
    def has_timestamps(self) -> bool:
        """Whether its segments carry the timestamps option."""
        return ("ipv4/tcp_timestamps", "1") in self.sysctls


class Namespaces:
    """The namespaces of one run."""

    def __init__(self) -> None:
        pid = os.getpid()
        self.prefix = f"fairport-{pid}-{_start_time(pid)}-{os.urandom(2).hex()}"
        self.switch = f"{self.prefix}-switch"
        self.hosts: list[Host] = []

    def make(self, settings: Mapping[int, HostSettings]) -> None:
        """Makes the switch's namespace and the hosts, with their addresses known to each other."""
        self.make_switch()
        for number in settings:
            self.hosts.append(self._host(number))
        for host in self.hosts:
            others = [other for other in self.hosts if other is not host]
            _configure(host, others, settings[host.number])

    def make_switch(self) -> None:
        """Makes the switch's namespace alone."""
        create(self.switch)
        with inside(self.switch):
            _disable_ipv6()

    def _host(self, number: int) -> Host:
        namespace = f"{self.prefix}-h{number}"
        create(namespace)
        with inside(namespace):
            _disable_ipv6()
        port, mac = f"p{number}", f"02:fa:00:00:{number >> 8:02x}:{number & 255:02x}"
        with inside(self.switch), IPRoute() as route:
            peer: dict[str, Any] = {"ifname": INTERFACE, "address": mac, "net_ns_fd": namespace}
            route.link("add", ifname=port, kind="veth", peer=peer)
            (index,) = route.link_lookup(ifname=port)
            route.link("set", index=index, state="up")
            offloads_off(port)
        address = IPv4Address("10.0.0.1") + number
        return Host(number, namespace, address, mac, index)

    def remove(self) -> None:
        """Removes all namespaces that are left."""
        remove(name for name in netns.listnetns() if name.startswith(self.prefix))


def create(name: str) -> None:
    """Makes a namespace.

    pyroute2 forks for this, and gives up if the copy of this process needs more than 2 s. On a busy
    machine it does. Here the present thread goes into a new namespace, and returns.
    """
    with _and_back():
        called("unshare", _CLONE_NEWNET)
        netns.attach(name, "thread-self")


def leftovers() -> list[str]:
    """Namespaces made by processes of Fairport that have ended."""
    found = []
    for name in netns.listnetns():
        made = _NAME.match(name)
        if made and _start_time(int(made[1])) != int(made[2]):
            found.append(name)
    return sorted(found)


def remove(names: Iterator[str] | Sequence[str]) -> list[str]:
    """Removes namespaces; returns those that existed."""
    removed = []
    for name in names:
        with suppress(FileNotFoundError, OSError):
            netns.remove(name)
            removed.append(name)
    return removed


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Puts the present thread into a namespace for a `with`: what it opens belongs there."""
    with _and_back():
        enter(namespace)
        yield


@contextmanager
def _and_back() -> Iterator[None]:
    """Returns the present thread to its own namespace at the end of a `with`.

    Ctrl-C waits until then. Otherwise the thread could stay in a namespace that is removed, and
    pyroute2, if interrupted, prints the tracebacks of its event loop.
    """
    with _without_interrupts():
        own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            yield
        finally:
            join(own)
            os.close(own)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Signals that end the program wait until the end of a `with`. Only the main thread has any."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[tuple[int, FrameType | None]] = []
    handlers: dict[int, Callable[[int, FrameType | None], Any]] = {
        number: handler
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if callable(handler := signal.getsignal(number))
    }
    for number in handlers:
        signal.signal(number, lambda *one: received.append(one))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number, frame in received:
            handlers[number](number, frame)


def enter(namespace: str) -> None:
    """Moves the present thread into a namespace."""
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        join(there)
    finally:
        os.close(there)


def join(descriptor: int) -> None:
    """Moves the present thread into the namespace of an open file."""
    called("setns", descriptor, _CLONE_NEWNET)


@cache
def _libc() -> ctypes.CDLL:
    # to make it takes longer than most calls
    return ctypes.CDLL(None, use_errno=True)


def called(function: str, *arguments: object) -> int:
    """Calls a function of the C library that `os` lacks, at least before Python 3.12."""
    result = int(getattr(_libc(), function)(*arguments))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def _configure(host: Host, others: Sequence[Host], settings: HostSettings) -> None:
    with inside(host.namespace), IPRoute() as route:
        for name, value in settings.sysctls:
            _sysctl(name, value)
        (index,) = route.link_lookup(ifname=INTERFACE)
        offloads_off(INTERFACE)
        if settings.is_in_segments:
            # Without offload, too, TCP makes bursts. It waits for more data
            # (`tcp_tso_should_defer`) and puts PSH on the last segments (`__tcp_transmit_skb`),
            # which are then acknowledged at once.
            route.link("set", index=index, gso_max_segs=1)
        route.link("set", index=index, state="up")
        (loopback,) = route.link_lookup(ifname="lo")
        route.link("set", index=loopback, state="up")
        route.addr("add", index=index, address=str(host.address), prefixlen=32)
        # the kernel takes a minimum RTO from a route only if it is locked (`tcp_rto_min`)
        metrics = {
            "lock": 1 << _RTAX_RTO_MIN,
            "rto_min": settings.rto_min_ms,
            "initcwnd": settings.initial_window,
            "quickack": int(settings.acknowledges_every_segment),
        }
        network = f"{IPv4Address(int(host.address) >> 16 << 16)}/{_PREFIX_BITS}"
        route.route(
            "add",
            dst=network,
            oif=index,
            scope="link",
            prefsrc=str(host.address),
            metrics=metrics,
        )
        for other in others:
            route.neigh(
                "add",
                dst=str(other.address),
                lladdr=other.mac,
                ifindex=index,
                state="permanent",
            )


def offloads_off(interface: str) -> None:
    """Makes an interface send single segments with checksums, as a wire would carry them."""
    for name in _OFFLOADS:
        switch_offload(interface, name, is_on=False)


def switch_offload(interface: str, name: str, *, is_on: bool) -> None:
    """Switches an offload of an interface by ethtool's name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        value = (ctypes.c_uint32 * 2)(_OFFLOADS[name], is_on)
        request = struct.pack("16sP", interface.encode(), ctypes.addressof(value))
        fcntl.ioctl(any_socket, _SIOCETHTOOL, request.ljust(40, b"\0"))


def _disable_ipv6() -> None:
    for where in ("all", "default"):
        with suppress(FileNotFoundError):  # the kernel has no IPv6
            _sysctl(f"ipv6/conf/{where}/disable_ipv6", "1")


def _sysctl(name: str, value: str) -> None:
    Path("/proc/sys/net", name).write_text(value, encoding="ascii")


def _start_time(pid: int) -> int:
    """When a process started, in clock ticks since the machine's start; 0 if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[19])
