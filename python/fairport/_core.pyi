"""The engine, compiled from crates/python. Functions take jobs as JSON (docs/architecture.md)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, final

import numpy as np

__version__: str

FINGERPRINTS: str
"""The content of `tests/repo/fingerprints.json` when the engine was built."""

class JobError(ValueError):
    """A job that cannot be run."""

    field: str
    value: str
    problem: str
    remedy: str

class CustomError(RuntimeError):
    """A user's class raised an exception (`__cause__`) or returned an impossible value."""

@final
class Port:
    """The switch port that a queue discipline is made for."""

    @property
    def name(self) -> str:
        """The port's name, as in the tables: "edge0.0:2"."""
    @property
    def rate_bps(self) -> int:
        """The rate at which its queue is emptied, in bit/s."""
    @property
    def limit_bytes(self) -> int | None:
        """`queue.limit`, if it is in bytes; frame headers count."""
    @property
    def limit_packets(self) -> int | None:
        """`queue.limit`, if it is in packets."""
    @property
    def full_frame_bytes(self) -> int:
        """Bytes that a packet of the MTU takes in the buffer."""
    @property
    def seed(self) -> int:
        """Seed for random numbers, different for each port and each run."""
    @property
    def shared(self) -> dict[Any, Any]:
        """A dict that the ports of this switch share in this run, for `shares_memory`."""

@final
class Queue:
    """A port's queue as an arriving packet finds it."""

    @property
    def now_s(self) -> float:
        """Seconds since the start of the run."""
    @property
    def backlog_bytes(self) -> int:
        """Bytes in the queue, without the arriving packet."""
    @property
    def backlog_packets(self) -> int:
        """Packets in the queue, without the arriving packet."""
    @property
    def idle_s(self) -> float:
        """How long the link has been idle, in seconds; 0 for schedulers."""

@final
class Packet:
    """A packet that arrives at a port, or is in its queue."""

    @property
    def size_bytes(self) -> int:
        """Bytes that it takes in the buffer."""
    @property
    def flow(self) -> int:
        """Its flow; both directions have the same number."""
    @property
    def traffic_class(self) -> int:
        """1 if the edge classifier found a short flow, else 0."""
    @property
    def is_ecn_capable(self) -> bool:
        """Whether it may be marked (its sender supports ECN)."""
    @property
    def ingress(self) -> int:
        """The number of the switch's port through which it came in."""
    @property
    def arrived_s(self) -> float:
        """When it arrived at the port, in seconds since the start of the run."""
    def mark(self) -> None:
        """Marks the packet (CE). A scheduler must hold it, and it must be `is_ecn_capable`."""
    def drop(self, reason: Literal["full", "early", "share", "pushed-out"] = "early") -> None:
        """Drops the packet. A scheduler must hold it, and must have taken it off its own queue."""

@final
class Connection:
    """What a congestion control knows about its connection when it is made."""

    @property
    def segment_bytes(self) -> int:
        """Payload of a full segment."""
    @property
    def unit(self) -> int:
        """A full segment in the window's unit: 1 if windows count segments, otherwise its bytes."""

@final
class Established:
    """The handshake is complete."""

    @property
    def now_s(self) -> float:
        """When the handshake was completed, in seconds since the start of the run."""
    @property
    def rtt_s(self) -> float | None:
        """The round-trip time that the handshake measured."""
    @property
    def seed(self) -> int:
        """Seed for random numbers, different for each connection and each run."""
    @property
    def flow(self) -> int:
        """The number of the flow, as in the tables and in `Packet.flow`."""
    @property
    def size_bytes(self) -> int | None:
        """Bytes that the application has written so far: 0 at a receiver, None without end."""

@final
class Window:
    """The congestion window and the slow-start threshold, in segments or bytes (`unit`)."""

    cwnd: int
    """The congestion window; from one segment to 2**40."""
    ssthresh: int
    """The slow-start threshold; 2**64 - 1 before the first loss."""
    @property
    def unit(self) -> int:
        """A full segment in the window's unit."""
    @property
    def initial(self) -> int:
        """The window at the start."""
    @property
    def is_in_slow_start(self) -> bool:
        """Whether `cwnd` is below `ssthresh`."""
    def grow_as_newreno(self, ack: Ack) -> None:
        """Slow start, then one segment per window of acknowledged data (RFC 5681)."""
    def slow_start(self, ack: Ack) -> bool:
        """Grows the window if it is in slow start; returns False in congestion avoidance."""
    def grow_one_per(self, every: int, ack: Ack) -> None:
        """Congestion avoidance: adds one segment for every `every` acknowledged segments."""
    def lower_threshold(self, ssthresh: int) -> None:
        """Sets the threshold, to at least two segments (RFC 5681)."""

@final
class Ack:
    """An ACK that acknowledges new data."""

    @property
    def now_s(self) -> float:
        """When it arrived, in seconds since the start of the run."""
    @property
    def acked(self) -> int:
        """Newly acknowledged data, in the window's unit."""
    @property
    def segments(self) -> int:
        """Newly acknowledged segments."""
    @property
    def marked(self) -> int:
        """The part of `acked` that the receiver reported as CE-marked."""
    @property
    def rtt_s(self) -> float | None:
        """The round-trip time of this ACK; None if Karn's rule forbids a sample."""
    @property
    def srtt_s(self) -> float | None:
        """The smoothed round-trip time."""
    @property
    def una(self) -> int:
        """First unacknowledged byte, as a position in the stream."""
    @property
    def nxt(self) -> int:
        """Next byte to be sent, as a position in the stream."""
    @property
    def recovery(self) -> Literal["open", "fast", "loss"]:
        """The state of loss recovery: nothing lost, fast recovery, after a timeout."""
    @property
    def may_grow(self) -> bool:
        """Whether the window may grow: the sender used all of it, and recovers from no loss."""

@final
class RateSample:
    """What an ACK shows of the delivery rate. Amounts are in the window's unit.

    The latest segment is the one that was sent last among those that this ACK newly delivered.
    """

    @property
    def newly_delivered(self) -> int:
        """Data that this ACK acknowledged, selectively or not."""
    @property
    def newly_lost(self) -> int:
        """Data found lost with this ACK."""
    @property
    def delivered(self) -> int:
        """Data delivered since the latest segment was sent."""
    @property
    def interval_s(self) -> float | None:
        """The time in which `delivered` was delivered; None if this ACK shows no rate."""
    @property
    def prior_delivered(self) -> int:
        """Data that had been delivered when the latest segment was sent."""
    @property
    def delivered_total(self) -> int:
        """Data delivered since the start."""
    @property
    def lost_total(self) -> int:
        """Data found lost since the start."""
    @property
    def is_app_limited(self) -> bool:
        """Whether the application had too little to send when the latest segment was sent."""
    @property
    def rtt_s(self) -> float | None:
        """The round-trip time of this ACK; None if it delivered only retransmissions."""
    @property
    def prior_in_flight(self) -> int:
        """Data in the network before the ACK."""
    @property
    def in_flight(self) -> int:
        """Data in the network after the ACK."""

class Simulation:
    """One run. Making the object plans it; `run` builds the network and runs it."""

    def __init__(
        self,
        job_json: str,
        disciplines: dict[str, Callable[..., Any]] | None = None,
        congestion_controls: dict[str, Callable[..., Any]] | None = None,
    ) -> None: ...
    @property
    def hosts(self) -> list[str]: ...
    @property
    def ports(self) -> list[str]: ...
    @property
    def memory_bytes(self) -> int: ...
    @property
    def busiest_port(self) -> str:
        """The port that the data of most flows pass."""
    @property
    def link_rates_bps(self) -> list[int]:
        """By port: the rate of its link."""

    def fullest_link(self) -> dict[str, Any] | None:
        """The summary's `FullestLink`, before the run; None without UDP and Poisson arrivals."""

    def run(
        self,
        progress: Callable[[float, int], None] | None = None,
        observation: dict[str, Any] | None = None,
        threads: int = 1,
        regions: int = 1,
    ) -> dict[str, Any]: ...

class CaptureError(ValueError):
    """Captures that cannot be analysed."""

    file: str
    problem: str
    remedy: str

def analyse_captures(
    sources: Sequence[tuple[str, str | None, str]],
    *,
    tunnels: bool,
    window_s: float,
    measure_s: tuple[float, float] | None,
    packets: bool,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Tables and other facts from captures. A source has a file, its port's name and its role."""

def presets() -> list[str]: ...
def preset(name: str) -> dict[str, Any]: ...
def preset_sources(name: str) -> tuple[str, dict[str, str]]: ...
def run_script(
    text: str, stack: str | None = None, tolerance_ps: int | None = None
) -> dict[str, Any]: ...
def layout(job_json: str) -> dict[str, Any]: ...
def topology_hosts(topology_json: str) -> list[str]: ...

# Linux only
@final
class PayloadSender:
    """Sends data in segments of random sizes: see `fairport.payload`."""

    def __new__(
        cls, descriptor: int, r_min: int, tcprand: str | None, seed: int | None
    ) -> PayloadSender: ...
    def send(self, data: bytes, start: int) -> int:
        """Sends `data` from `start` on; returns how many bytes the socket took. Raises OSError."""
    @property
    def pieces(self) -> int:
        """Number of pieces written so far; each is a segment."""
    @property
    def mss(self) -> int:
        """Payload of a full segment, in bytes."""

@final
class Agenda:
    """The actions of a job's hosts, and when each is due. Times are in seconds since the start."""

    def __new__(cls, job_json: str) -> Agenda: ...
    def __len__(self) -> int:
        """Number of flows so far."""
    def next_s(self) -> float:
        """When the next action is due; infinite if there is none."""
    def pop(self, now_s: float) -> tuple[str, int, int, int] | None:
        """The action that is due: `open`, `write` or `stop`; its flow, writing side, and bytes."""
    def delivered(self, side: int, flow: int, now_s: float) -> None:
        """Reports that all data written by this side (0: the sender) have arrived at the other."""
    def flow(self, number: int) -> dict[str, Any]:
        """A flow: the fields of `fairport.backends.linux.flows.FlowSpec`, except its port."""
    def datagrams(self, number: int, now_s: float) -> Datagrams | None:
        """The source of a flow of datagrams that begins now; None for TCP."""
    def tables(self) -> dict[str, dict[str, np.ndarray]]:
        """Rounds and requests so far, by table and column."""

@final
class Datagrams:
    """A source of datagrams: when each is sent, and its size."""

    def next_s(self) -> float:
        """When the next datagram is due; infinite after the last."""
    def send(self) -> int | None:
        """The payload of the datagram that is due, in bytes; None if nothing is left."""
    def stop(self) -> None:
        """Ends the source: nothing more is sent."""

def scheduling_class() -> str: ...
def run_switch(
    job_json: str,
    attachments: Sequence[tuple[int, int, str, float]],
    flows: Sequence[tuple[str, str, int, int, int]],
    *,
    tolerated_s: float,
    request_ports: tuple[int, int],
    packets: Sequence[int],
    captures: Sequence[tuple[int, Path, Path]],
    snap_bytes: int,
    zero_s: float,
    processor: int | None,
    priority: int,
    neighbour: int,
    stops: Callable[[float], bool],
) -> dict[str, Any]: ...
