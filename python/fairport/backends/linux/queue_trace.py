"""The events at the kernel's queues: a BPF program reports them, this process counts them.

Each packet that arrives at a port is an event, and so is each packet that its discipline drops; the
packet's record says by which interface it came in. The tables have the same rows as those of the
switch in real time. At the end `tc -s` must have counted the same number of drops, within one in a
hundred, or the run is not valid.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from fairport.backends.linux import namespaces
from fairport.backends.linux.flows import REQUEST_PORTS, TCP, Key
from fairport.backends.linux.processes import await_start
from fairport.backends.linux.programs import FOLDER, ProgramError, counted, libbpf, require
from fairport.backends.linux.shapers import PortInterface

EVENT = np.dtype(
    [
        ("at_ns", "<u8"),
        ("port", "<u4"),
        ("ingress", "<u4"),
        ("length", "<u4"),
        ("is_drop", "<u4"),
        ("ip", "u1", 20),
        ("transport", "u1", 16),
        ("padding", "<u4"),
    ]
)
_POLL_MS = 20
_EVENTS_PER_REPORT = 100_000
# after the run the hosts fall silent, and the counts of the disciplines no longer change
_QUIET_S = 0.5
_FIN, _SYN, _ACK = 0x01, 0x02, 0x10
_FRAME_OVERHEAD_BYTES = 4
"""The simulation's buffers count the frame check, which a socket buffer does not have."""

Direction = tuple[int, bool]
"""A flow's number, and whether the packets are those that its receiver sends."""
Sample = tuple[float, int, int, int]
"""A time in s, a port's number, and the bytes and packets that wait there."""


@dataclass(frozen=True)
class QueueTask:
    """The task of the process."""

    namespace: str
    ports: Sequence[PortInterface]
    run_s: float
    interval_s: float
    """Time between two samples of the queues' lengths."""


class QueueTrace:
    """The events of a namespace, from the time when this object is made."""

    def __init__(self, namespace: str) -> None:
        require()
        library = libbpf()
        self._chunks: list[bytes] = []
        self._object = library.bpf_object__open_file(str(FOLDER / "fp_queues.bpf.o").encode(), None)
        if not self._object:
            raise ProgramError("cannot read the program that watches queues")
        inode = ctypes.c_uint32(Path("/run/netns", namespace).stat().st_ino)
        constants = library.bpf_object__find_map_by_name(self._object, b".rodata")
        library.bpf_map__set_initial_value(constants, ctypes.byref(inode), 4)
        if library.bpf_object__load(self._object) != 0:
            raise ProgramError("cannot load the program that watches queues")
        self._links = []
        program = library.bpf_object__next_program(self._object, None)
        while program:
            link = library.bpf_program__attach(program)
            if not link:
                raise ProgramError("cannot attach the program that watches queues")
            self._links.append(link)
            program = library.bpf_object__next_program(self._object, program)
        events = library.bpf_object__find_map_by_name(self._object, b"events")
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
        self._taken = kind(self._take)
        taken = ctypes.cast(self._taken, ctypes.c_void_p)
        self._ring = library.ring_buffer__new(library.bpf_map__fd(events), taken, None, None)

    def _take(self, _: int, data: int, size: int) -> int:
        self._chunks.append(ctypes.string_at(data, size))
        return 0

    def poll(self) -> None:
        """Takes the events that there are; if there are none, waits a little for some."""
        libbpf().ring_buffer__poll(self._ring, _POLL_MS)

    def lost(self) -> int:
        """Events for which there was no room."""
        return counted(self._object)[0]

    def close(self) -> np.ndarray:
        """Ends it; returns the events."""
        library = libbpf()
        for link in self._links:
            library.bpf_link__destroy(link)
        library.ring_buffer__free(self._ring)
        library.bpf_object__close(self._object)
        return np.frombuffer(b"".join(self._chunks), dtype=EVENT)


def watch_queues(reports: Connection, task: QueueTask) -> None:
    """The process: once started, reports `at`, the monotonic clock at its start, and `done`."""
    namespaces.enter(task.namespace)
    trace = QueueTrace(task.namespace)
    await_start(reports)
    before = _kernel_drops(task.ports)
    zero = time.monotonic()
    reported = -1.0
    samples: list[Sample] = []
    next_sample = 0.0
    while (now := time.monotonic() - zero) < task.run_s + _QUIET_S:
        if now - reported > 0.05:
            reported = now
            reports.send(("at", (zero, now)))
        if now >= next_sample:
            next_sample = now + task.interval_s
            samples += [
                (now, number, length, packets) for number, length, packets, _ in _queues(task.ports)
            ]
        trace.poll()
    dropped = _kernel_drops(task.ports) - before
    trace.poll()
    lost = trace.lost()
    events = trace.close()
    # The count takes some 10 us per event. Without a word for a minute, the parent would take this
    # process for stuck.
    found = outcome(events, samples, task, zero, lambda: reports.send(("at", (zero, task.run_s))))
    found["health"] = {
        "events_lost": lost,
        "drops_traced": int(events["is_drop"].sum()),
        "drops_counted": dropped,
    }
    reports.send(("done", found))


def _queues(ports: Sequence[PortInterface]) -> list[tuple[int, int, int, int]]:
    """For each port: its number, waiting bytes and packets, drops so far."""
    command = ["tc", "-s", "-j", "qdisc", "show"]
    answer = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    numbers = {port.interface: port.number for port in ports}
    return [
        (numbers[one["dev"]], one["backlog"], one["qlen"], one["drops"])
        for one in answer
        if one.get("root") and one["dev"] in numbers
    ]


def _kernel_drops(ports: Sequence[PortInterface]) -> int:
    return sum(drops for *_, drops in _queues(ports))


def outcome(
    events: np.ndarray,
    samples: Sequence[Sample],
    task: QueueTask,
    zero: float,
    report: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """The outcome as `_core.run_switch` returns it, without events after the end of the run.

    `zero` is the monotonic clock at the start of the run. `report` is called from time to time.
    """
    numbers = {port.index: port.number for port in task.ports}
    known = np.isin(events["port"], list(numbers)) & np.isin(events["ingress"], list(numbers))
    events = events[known & (events["at_ns"] <= (zero + task.run_s) * 1e9)]
    # a drop is reported after the arrival of the dropped packet
    events = events[np.argsort(events["at_ns"], kind="stable")]
    samples = [one for one in samples if one[0] <= task.run_s]
    flows = _Flows()
    counts = _Counts()
    lines = {port.number: _Line(port.rate_bps) for port in task.ports}
    for place, event in enumerate(events):
        if place % _EVENTS_PER_REPORT == 0:
            report()
        port, ingress = numbers[int(event["port"])], numbers[int(event["ingress"])]
        time_s, size_bytes = int(event["at_ns"]) * 1e-9 - zero, int(event["length"])
        direction = flows.direction(event)
        lines[port].send_until(time_s)
        if event["is_drop"]:
            counts.drop(event, time_s, port, ingress, direction)
            lines[port].take_back(size_bytes)
        else:
            counts.arrive(port, ingress, direction)
            lines[port].accept(size_bytes)
    names = [""] * (max(numbers.values()) + 1)
    for one in task.ports:
        names[one.number] = one.name
    arrived = events[events["is_drop"] == 0]
    hosts = {port.index for port in task.ports if port.is_to_host}
    from_hosts = int(np.isin(arrived["ingress"], list(hosts)).sum())
    lost = len(events) - len(arrived)
    times_s, ports, waiting_bytes, waiting = zip(*samples, strict=True) if samples else [()] * 4
    return {
        "names": {"port": names, "reason": ["full"], "protocol": ["tcp", "udp"]},
        "flows": list(flows.numbers),
        "fingerprint": hashlib.blake2b(events.tobytes(), digest_size=8).hexdigest(),
        "packet_hops": from_hosts + len(arrived) - lost,
        "tables": {
            "drops": counts.table(),
            "queue": {
                "time_s": np.array(times_s, dtype=float),
                "port": np.array(ports, dtype=np.uint32),
                "bytes": np.array(waiting_bytes, dtype=np.uint64),
                "packets": np.array(waiting, dtype=np.uint64),
            },
            "ports": _ports(counts, lines, samples, task),
        },
    }


class _Line:
    """How long a port sends the packets that its discipline accepts.

    A dropped packet takes no time. The port sends whenever a packet waits, so its busy time does
    not depend on which packet goes first.
    """

    def __init__(self, rate_bps: int) -> None:
        self._bytes_per_s = rate_bps / 8
        self.accepted_bytes = 0
        self._waiting_bytes = 0.0
        self._time_s = 0.0
        self.busy_s = 0.0

    def send_until(self, time_s: float) -> None:
        """Sends until this time."""
        passed_s = max(0.0, time_s - self._time_s)
        sending_s = min(passed_s, self._waiting_bytes / self._bytes_per_s)
        self.busy_s += sending_s
        self._waiting_bytes -= sending_s * self._bytes_per_s
        self._time_s += passed_s

    def accept(self, size_bytes: int) -> None:
        self.accepted_bytes += size_bytes
        self._waiting_bytes += size_bytes

    def take_back(self, size_bytes: int) -> None:
        """A packet that had arrived was dropped after all."""
        self.accepted_bytes -= size_bytes
        self._waiting_bytes = max(0.0, self._waiting_bytes - size_bytes)


class _Counts:
    """Counts the packets that arrive at ports, and makes the rows of dropped packets."""

    def __init__(self) -> None:
        self.by_port: Counter[int] = Counter()
        self._by_ingress: Counter[tuple[int, int]] = Counter()
        self._by_direction: Counter[tuple[int, Direction]] = Counter()
        self.dropped_at: Counter[int] = Counter()
        self._rows: list[tuple[Any, ...]] = []

    def arrive(self, port: int, ingress: int, direction: Direction) -> None:
        self.by_port[port] += 1
        self._by_ingress[port, ingress] += 1
        self._by_direction[port, direction] += 1

    def drop(
        self, event: np.void, time_s: float, port: int, ingress: int, direction: Direction
    ) -> None:
        flow, is_backward = direction
        self.dropped_at[port] += 1
        self._rows.append(
            (
                time_s,
                port,
                ingress,
                flow,
                int.from_bytes(event["transport"][4:8].tobytes(), "big"),
                int(event["length"]) + _FRAME_OVERHEAD_BYTES,
                0,
                self.by_port[port],
                self._by_ingress[port, ingress],
                self._by_direction[port, direction],
                self.by_port[port] - self.dropped_at[port],
                is_backward,
                _is_pure_ack(event),
            )
        )

    def table(self) -> dict[str, np.ndarray]:
        names = {
            "time_s": np.float64, "port": np.uint32, "ingress_port": np.uint32, "flow": np.uint32,
            "seq": np.uint32, "size_bytes": np.uint32, "reason": np.uint8,
            "port_arrival": np.uint64, "ingress_arrival": np.uint64, "flow_arrival": np.uint64,
            "port_accepted": np.uint64, "is_backward": np.uint8, "is_pure_ack": np.uint8,
        }  # fmt: skip
        return {
            name: np.array([row[at] for row in self._rows], dtype=kind)
            for at, (name, kind) in enumerate(names.items())
        }


def _is_pure_ack(event: np.void) -> bool:
    """Whether it is an ACK without data, SYN or FIN."""
    ip, transport = event["ip"], event["transport"]
    headers = 4 * (int(ip[0]) & 0xF) + 4 * (int(transport[12]) >> 4)
    has_data = int.from_bytes(ip[2:4].tobytes(), "big") > headers
    flags = int(transport[13]) & (_FIN | _SYN | _ACK)
    return int(ip[9]) == TCP and flags == _ACK and not has_data


class _Flows:
    """Numbers flows in the order of their first packets."""

    def __init__(self) -> None:
        self.numbers: dict[Key, int] = {}
        self._directions: dict[bytes, Direction] = {}

    def direction(self, event: np.void) -> Direction:
        """The direction in which a packet goes; a flow that is new gets the next number."""
        ip, transport = event["ip"].tobytes(), event["transport"].tobytes()
        header = ip[9:10] + ip[12:20] + transport[:4]
        if header not in self._directions:
            source, destination = str(IPv4Address(ip[12:16])), str(IPv4Address(ip[16:20]))
            key = (source, destination, ip[9], *struct.unpack(">HH", transport[:4]))
            forward = _forward(key, self.numbers)
            number = self.numbers.setdefault(forward, len(self.numbers))
            self._directions[header] = number, key != forward
        return self._directions[header]


def _forward(key: Key, known: Mapping[Key, int]) -> Key:
    """The key of the flow's data: the first packet's key, or its reverse if that is a request."""
    source, destination, protocol, source_port, destination_port = key
    reverse = (destination, source, protocol, destination_port, source_port)
    if key in known:
        return key
    if reverse in known:
        return reverse
    asks = protocol == TCP and REQUEST_PORTS[0] <= destination_port <= REQUEST_PORTS[1]
    return reverse if asks else key


def _ports(
    counts: _Counts,
    lines: Mapping[int, _Line],
    samples: Sequence[Sample],
    task: QueueTask,
) -> dict[str, np.ndarray]:
    waiting: dict[int, list[int]] = {port.number: [0] for port in task.ports}
    for _, number, backlog, _ in samples:
        waiting[number].append(backlog)
    for line in lines.values():
        line.send_until(task.run_s)

    def column(kind: type, value: Callable[[int], Any]) -> np.ndarray:
        return np.array([value(port.number) for port in task.ports], dtype=kind)

    return {
        "port": column(np.uint32, lambda port: port),
        "packets": column(np.uint64, lambda port: counts.by_port[port] - counts.dropped_at[port]),
        "bytes": column(np.uint64, lambda port: lines[port].accepted_bytes),
        "drops": column(np.uint64, lambda port: counts.dropped_at[port]),
        "marks": column(np.uint64, lambda _: 0),
        "queue_mean_bytes": column(float, lambda port: np.mean(waiting[port])),
        "queue_max_bytes": column(np.uint64, lambda port: max(waiting[port])),
        "busy_share": column(float, lambda port: lines[port].busy_s / task.run_s),
        "flows": column(np.uint32, lambda _: 0),
        "arrivals": column(np.uint64, lambda port: counts.by_port[port]),
    }
