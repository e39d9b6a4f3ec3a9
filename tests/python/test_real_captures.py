"""Captures by tcpdump on the ports of a Linux bridge, compared with the kernel's own counters.

Three senders in network namespaces send through an HTB of 50 Mbit/s with room for 11 packets. As
root only, and where tcpdump and the shaper are there.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fairport.backends.captures import Source, analyse

pytestmark = pytest.mark.alone

SENDERS = 3
SECONDS = 3.0
# the share of the shaper's drops that must be found
FOUND = 0.98
PREFIX = f"fpcap{os.getpid() % 10_000}"

_RECEIVE = """
import socket, threading
server = socket.create_server(("10.77.0.1", 5001))
def drain(one):
    while one.recv(1 << 16):
        pass
while True:
    one, _ = server.accept()
    threading.Thread(target=drain, args=(one,), daemon=True).start()
"""
_SEND = f"""
import socket, time
one = socket.create_connection(("10.77.0.1", 5001))
one.settimeout(0.2)
end = time.monotonic() + {SECONDS}
while time.monotonic() < end:
    try:
        one.send(bytes(1 << 14))
    except TimeoutError:
        pass
"""


def ip(*arguments: str) -> None:
    """Runs `ip`; fails with its message."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def inside(space: str, *command: str) -> list[str]:
    """A command in a namespace."""
    return ["ip", "netns", "exec", f"{PREFIX}{space}", *command]


@contextmanager
def bridge() -> Iterator[None]:
    """A namespace with a bridge, and one for each host; all are removed afterwards."""
    spaces = ["sw", *(f"h{n}" for n in range(SENDERS + 1))]
    try:
        for space in spaces:
            ip("netns", "add", f"{PREFIX}{space}")
        ip("-n", f"{PREFIX}sw", "link", "add", "br0", "type", "bridge")
        ip("-n", f"{PREFIX}sw", "link", "set", "br0", "up")
        for n in range(SENDERS + 1):
            switch, host = f"{PREFIX}sw", f"{PREFIX}h{n}"
            peer = ["peer", "name", "eth0", "netns", host]
            ip("-n", switch, "link", "add", f"p{n}", "type", "veth", *peer)
            ip("-n", switch, "link", "set", f"p{n}", "master", "br0", "up")
            ip("-n", host, "addr", "add", f"10.77.0.{n + 1}/24", "dev", "eth0")
            ip("-n", host, "link", "set", "eth0", "up")
            # frames with one segment each, as on a cable
            off = ["tso", "off", "gso", "off", "gro", "off", "tx", "off"]
            subprocess.run(inside(f"h{n}", "ethtool", "-K", "eth0", *off), capture_output=True)
            subprocess.run(inside("sw", "ethtool", "-K", f"p{n}", *off), capture_output=True)
        yield
    finally:
        for space in spaces:
            subprocess.run(["ip", "netns", "del", f"{PREFIX}{space}"], capture_output=True)


def shape() -> None:
    """The bottleneck: the port to the receiver."""
    tc = inside("sw", "tc")
    for command in (
        "qdisc add dev p0 root handle 1: htb default 1",
        "class add dev p0 parent 1: classid 1:1 htb rate 50mbit burst 1600 cburst 1600",
        "qdisc add dev p0 parent 1:1 handle 10: pfifo limit 11",
    ):
        subprocess.run([*tc, *command.split()], check=True, capture_output=True, text=True)


def counted() -> int:
    """Packets that the shaper's queue dropped, by its own count."""
    shown = subprocess.run(
        inside("sw", "tc", "-s", "-j", "qdisc", "show", "dev", "p0"),
        check=True,
        capture_output=True,
        text=True,
    )
    return int(next(one["drops"] for one in json.loads(shown.stdout) if one["kind"] == "pfifo"))


def capture(folder: Path) -> tuple[list[subprocess.Popen[bytes]], list[Source]]:
    """tcpdump at every port of the bridge: in at the senders', out at the receiver's."""
    running, sources = [], []
    for n in range(SENDERS + 1):
        file = folder / f"p{n}.pcap"
        way = "out" if n == 0 else "in"
        dump = f"tcpdump -i p{n} -Q {way} -s 128 -B 65536 --time-stamp-precision=nano -U".split()
        running.append(
            subprocess.Popen(
                inside("sw", *dump, "-Z", "root", "-w", str(file)), stderr=subprocess.PIPE
            )
        )
        sources.append(Source(str(file), "egress" if n == 0 else "ingress", f"p{n}"))
    for process in running:
        assert process.stderr is not None
        process.stderr.readline()  # "listening on"
    return running, sources


def wait_for(sources: list[Source]) -> None:
    """Waits until tcpdump has written everything, which takes longer on a busy machine."""
    before, quiet = -1, 0
    while quiet < 3:
        time.sleep(0.5)
        size = sum(Path(source.file).stat().st_size for source in sources)
        quiet = quiet + 1 if size == before else 0
        before = size


def why_not() -> str:
    """What is missing here; empty if nothing is."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs root on Linux: it makes network namespaces"
    missing = [name for name in ("tcpdump", "ip", "tc", "ethtool") if shutil.which(name) is None]
    return f"needs {', '.join(missing)}" if missing else ""


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_the_kernels_drops_are_found_and_none_is_invented(tmp_path: Path) -> None:
    try:
        with bridge():
            shape()
            dumps, sources = capture(tmp_path)
            receiver = subprocess.Popen(inside("h0", sys.executable, "-c", _RECEIVE))
            time.sleep(0.5)
            senders = [
                subprocess.Popen(inside(f"h{n}", sys.executable, "-c", _SEND))
                for n in range(1, SENDERS + 1)
            ]
            assert [one.wait(timeout=60) for one in senders] == [0] * SENDERS
            wait_for(sources)
            drops = counted()
            for process in (receiver, *dumps):
                process.send_signal(signal.SIGINT)
                process.wait(timeout=20)
    except (subprocess.CalledProcessError, OSError) as error:
        pytest.skip(f"no namespaces, bridge or shaper here: {getattr(error, 'stderr', error)}")
    found = analyse(sources)
    complete = found.summary["captures"]["completeness"]
    assert drops > 20
    if complete["missed_at_ingress"]:
        # drops of packets that tcpdump missed cannot be found
        pytest.skip(f"tcpdump missed {complete['missed_at_ingress']} packets here")
    assert found.drops.height >= FOUND * drops
    assert found.drops.height <= drops
    assert set(found.drops["ingress_port"]) <= {"p1", "p2", "p3"}
    assert found.flows["timeouts"].sum() > 0
