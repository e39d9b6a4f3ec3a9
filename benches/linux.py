"""The Linux backend: packets per second through the switch, TCPRand's cost, leaks in long use.

`python -m benches linux [--switch] [--payload] [--soak MINUTES]`, as root; without an option the
first two. Everything happens in network namespaces of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import select
import socket
import subprocess
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import fairport as fp
from fairport.backends.linux import capacity, congestion
from fairport.backends.linux.backend import BACKEND
from fairport.backends.linux.namespaces import Namespaces, create, inside, offloads_off
from fairport.backends.linux.sockets import allow_many
from fairport.payload import RandomizedSender
from pyroute2 import IPRoute

_CHUNK = bytes(1 << 16)
_FLOWS = (1, 10, 100, 1000)
_SECONDS = 3.0
_RATE = "1gbit"
_PORT = 5001
_ADDRESSES = ("10.9.0.1", "10.9.0.2")
_SOAK_RUN_S = 20


def main(options: Sequence[str]) -> None:
    """Measures what the options ask for."""
    parser = argparse.ArgumentParser(prog="python -m benches linux")
    parser.add_argument("--switch", action="store_true", help="packets per second, and lag")
    parser.add_argument("--payload", action="store_true", help="processor time of senders")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="what many runs leave")
    wanted = parser.parse_args(options)
    if os.geteuid() != 0:
        raise SystemExit("needs root: it makes network namespaces")
    if wanted.soak is not None:
        soak(wanted.soak)
    if wanted.switch or not (wanted.payload or wanted.soak):
        switch()
    if wanted.payload or not (wanted.switch or wanted.soak):
        payload()


def switch() -> None:
    """TCP between pairs of hosts, over links that are faster than the switch."""
    print("switch: pairs of hosts, links of 10 Gbit/s, segments of 1448 B and their ACKs")
    print("pairs  packets/s in  packets/s out  lag p50 us     p99   p99.9      max")
    for pairs in (1, 2, 4):
        duration_s = 4.0
        scenario = capacity.overload(pairs=pairs, duration_s=duration_s)
        health = BACKEND.prepare(scenario, 1, is_checked=False).run().health
        lags = [1e6 * health[f"lag_{name}_s"] for name in ("p50", "p99", "p999", "max")]
        print(
            f"{pairs:5}  {health['frames_in'] / duration_s:12,.0f}"
            f"  {health['frames_out'] / duration_s:13,.0f}"
            f"  {lags[0]:10.1f}  {lags[1]:6.0f}  {lags[2]:6.0f}  {lags[3]:7.0f}"
        )


def payload() -> None:
    """Processor time of a sending process at 1 Gbit/s, by flows, sizes and offload."""
    print(f"senders over a veth pair at {_RATE}: share of a core of the sending process, Mbit/s")
    print("offload  flows  full          static        adaptive")
    for has_offload in (False, True):
        for flows in _FLOWS:
            cells = []
            for sizing in ("full", "static", "adaptive"):
                share, rate_bps = _sender(flows, sizing, has_offload)
                cells.append(f"{100 * share:5.1f} % {rate_bps / 1e6:5.0f}")
            print(f"{'on' if has_offload else 'off':7}  {flows:5}  {'  '.join(cells)}")


def _sender(flows: int, sizing: str, has_offload: bool) -> tuple[float, float]:
    spaces = Namespaces()
    here, there = f"{spaces.prefix}-a", f"{spaces.prefix}-b"
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    try:
        _pair(here, there, has_offload)
        receiver = context.Process(target=_receive, args=(there, theirs), daemon=True)
        receiver.start()
        ours.recv()
        result = context.SimpleQueue()
        arguments = (here, flows, sizing, result)
        sender = context.Process(target=_send, args=arguments, daemon=True)
        sender.start()
        share, sent = result.get()
        sender.join()
        receiver.kill()
        receiver.join()
    finally:
        spaces.remove()
    return share, sent * 8 / _SECONDS


def _pair(here: str, there: str, has_offload: bool) -> None:
    for name in (here, there):
        create(name)
    with inside(here), IPRoute() as route:
        peer: dict[str, Any] = {"ifname": "eth0", "net_ns_fd": there}
        route.link("add", ifname="eth0", kind="veth", peer=peer)
    for name, address in zip((here, there), _ADDRESSES, strict=True):
        with inside(name), IPRoute() as route:
            (index,) = route.link_lookup(ifname="eth0")
            if not has_offload:
                offloads_off("eth0")
            route.addr("add", index=index, address=address, prefixlen=24)
            route.link("set", index=index, state="up")
            tbf = f"tc qdisc add dev eth0 root tbf rate {_RATE} burst 128kb limit 1mb"
            subprocess.run(tbf.split(), check=True)


def _receive(namespace: str, ready: Connection) -> None:
    with inside(namespace):
        listener = socket.create_server((_ADDRESSES[1], _PORT), backlog=2048)
    allow_many()
    nothing = bytearray(1 << 20)
    poll = select.epoll()
    poll.register(listener.fileno(), select.EPOLLIN)
    sockets: dict[int, socket.socket] = {}
    ready.send(True)
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == listener.fileno():
                one, _ = listener.accept()
                sockets[one.fileno()] = one
                poll.register(one.fileno(), select.EPOLLIN)
            elif not sockets[descriptor].recv_into(nothing, 1 << 20, socket.MSG_TRUNC):
                poll.unregister(descriptor)
                sockets.pop(descriptor).close()


def _send(namespace: str, flows: int, sizing: str, result: Any) -> None:
    allow_many()
    poll = select.epoll()
    sends = {}
    sockets = []
    for _ in range(flows):
        with inside(namespace):
            one = socket.create_connection((_ADDRESSES[1], _PORT))
        one.setblocking(False)
        sockets.append(one)
        sends[one.fileno()] = (
            one.send
            if sizing == "full"
            else RandomizedSender(one, 200, adaptive=sizing == "adaptive").send
        )
        poll.register(one.fileno(), select.EPOLLOUT)
    sent = 0
    begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    while time.monotonic() - begin < _SECONDS:
        for descriptor, _ in poll.poll(0.1):
            try:
                sent += sends[descriptor](_CHUNK)
            except BlockingIOError:
                continue
    after = resource.getrusage(resource.RUSAGE_SELF)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    result.put((used_s / _SECONDS, sent))


def soak(minutes: float) -> None:
    """Runs at 100 Mbit/s for this long with a congestion control of ours; nothing may grow."""
    scenario: dict[str, Any] = {
        "name": "soak",
        "duration": f"{_SOAK_RUN_S}s",
        "topology": {"kind": "two-switch", "peers": 6},
        "link": {"rate": "100Mbps", "delay": "0s"},
        "queue": {"kind": "drop-tail", "limit": "20 packets"},
        "tcp": {"stack": "linux-6", "congestion_control": "bic", "rto_min": "10ms"},
        "traffic": [{"from": "all", "to": "h0"}],
    }
    end = time.monotonic() + 60 * minutes
    print("run  memory MB  descriptors  namespaces  congestion controls  valid")
    rows: list[tuple[int, ...]] = []
    while time.monotonic() < end or len(rows) < 2:
        result = fp.run(scenario, seed=1 + len(rows), backend="linux")
        rows.append(_left())
        memory, *others = rows[-1]
        valid = result.summary["valid"]
        print(f"{len(rows):3}  {memory / 1e6:9.0f}  {others[0]:11}  {others[1]:10}  {others[2]:19}"
              f"  {'yes' if valid else 'no'}")  # fmt: skip
    # the first run loads modules that all later runs use
    first, last = rows[min(1, len(rows) - 1)], rows[-1]
    if last[1:] != first[1:] or last[0] > 1.3 * first[0] + 50e6:
        raise SystemExit("something has grown")


def _left() -> tuple[int, int, int, int]:
    """Memory of this process, and what is open and registered."""
    statm = Path("/proc/self/statm").read_text(encoding="ascii").split()
    resident = int(statm[1]) * resource.getpagesize()
    folder = Path("/run/netns")
    namespaces = len(list(folder.glob(f"fairport-{os.getpid()}-*"))) if folder.exists() else 0
    ours = set(congestion.PROGRAMS.values())
    registered = sum(name in ours for name in congestion.available())
    return resident, len(list(Path("/proc/self/fd").iterdir())), namespaces, registered
