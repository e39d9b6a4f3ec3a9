"""Schedulers of a user's own that share the memory of their switch."""

from __future__ import annotations

from collections import deque
from typing import Any

import fairport as fp
import polars as pl
import pytest
from fairport.custom import Packet, Port, Queue
from fairport.scenario import Scenario

MEMORY_BYTES = 65_536


class Sharing:
    """First in, first out; it knows what waits at the other ports."""

    shares_memory = True

    def __init__(self, port: Port) -> None:
        self.waiting: deque[Packet] = deque()
        self.bytes = 0
        self.ports: list[Sharing] = port.shared.setdefault("ports", [])
        self.ports.append(self)

    def free_bytes(self) -> int:
        return MEMORY_BYTES - sum(one.bytes for one in self.ports)

    def dequeue(self, now_s: float) -> Packet | None:
        if not self.waiting:
            return None
        packet = self.waiting.popleft()
        self.bytes -= packet.size_bytes
        return packet


class DynamicThreshold(Sharing):
    def enqueue(self, queue: Queue, packet: Packet) -> bool | str:
        free = self.free_bytes()
        if packet.size_bytes > free:
            return "full"
        if self.bytes >= free:
            return "share"
        self.waiting.append(packet)
        self.bytes += packet.size_bytes
        return True


class LongestQueueDrop(Sharing):
    def enqueue(self, queue: Queue, packet: Packet) -> bool | str:
        self.waiting.append(packet)
        self.bytes += packet.size_bytes
        while self.free_bytes() < 0:
            longest = max(self.ports, key=lambda one: one.bytes)
            last = longest.waiting.pop()
            longest.bytes -= last.size_bytes
            if last is packet:
                return "pushed-out"
            last.drop("pushed-out")
        return True


@pytest.fixture
def star() -> Scenario:
    """Two ports of one switch, each a bottleneck."""
    bulk = {"kind": "bulk", "from": "h2..h6", "to": "h0"}
    return fp.scenario(
        {
            "name": "star",
            "duration": "100ms",
            "topology": {"kind": "star", "hosts": 12},
            "tcp": {"stack": "linux-6"},
            "queue": {"kind": "custom", "name": "mine", "limit": "64KiB"},
            "traffic": [bulk, bulk | {"from": "h7..h11", "to": "h1"}],
        }
    )


def test_dynamic_thresholds_of_ones_own_are_the_built_in_ones(star: Scenario) -> None:
    built_in = fp.run(
        star.patch({"queue": {"kind": "shared-buffer", "limit": "64KiB", "alpha": 1.0}})
    )
    own = fp.run(star, disciplines={"mine": DynamicThreshold})
    assert own.fingerprint == built_in.fingerprint
    # runs side by side have memories of their own
    coded = star.with_user_code(disciplines={"mine": DynamicThreshold})
    again = fp.run_many(coded, [1, 1, 1], jobs=2)
    assert {one.fingerprint for one in again} == {own.fingerprint}


def test_the_longest_queue_gives_way_to_another_port(star: Scenario) -> None:
    """A port alone has the whole memory; two overloaded ports have half of it each."""
    udp: dict[str, Any] = {"kind": "udp", "rate": "900Mbps"}
    early = udp | {"from": "h4..h5", "to": "h0"}
    late = udp | {"from": "h8..h9", "to": "h1", "start": "50ms"}
    result = fp.run(star.patch({"traffic": [early, late]}), disciplines={"mine": LongestQueueDrop})
    assert set(result.drops["reason"]) == {"pushed-out"}

    def mean_bytes(port: str, from_s: float, to_s: float) -> Any:
        queue = result.queue.filter(pl.col("time_s").is_between(from_s, to_s), port=port)
        return queue["bytes"].mean()

    assert mean_bytes("s0:0", 0.01, 0.049) == pytest.approx(MEMORY_BYTES, rel=0.05)
    assert mean_bytes("s0:0", 0.06, 0.1) == pytest.approx(MEMORY_BYTES / 2, rel=0.05)
    assert mean_bytes("s0:1", 0.06, 0.1) == pytest.approx(MEMORY_BYTES / 2, rel=0.05)


def test_a_packet_of_another_port_is_refused(star: Scenario) -> None:
    class Exchanging(DynamicThreshold):
        def dequeue(self, now_s: float) -> Packet | None:
            for other in self.ports:
                if other is not self and len(other.waiting) == len(self.waiting) > 2:
                    return other.waiting[0]
            return super().dequeue(now_s)

    with pytest.raises(fp.CustomError, match="returned a packet of another port"):
        fp.run(star, disciplines={"mine": Exchanging})


def test_only_a_scheduler_shares_memory(star: Scenario) -> None:
    class AtArrival:
        shares_memory = True

        def __init__(self, port: Port) -> None:
            pass

        def admit(self, queue: Queue, packet: Packet) -> bool:
            return True

    with pytest.raises(fp.CustomError, match="`shares_memory`, which only a scheduler may have"):
        fp.run(star, disciplines={"mine": AtArrival})
    misspelt = type("Misspelt", (DynamicThreshold,), {"share_memory": True})
    with pytest.raises(fp.CustomError, match="did you mean `shares_memory`"):
        fp.run(star, disciplines={"mine": misspelt})
