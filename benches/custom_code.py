"""The cost of a user's own algorithms: processor time per packet-hop, built in and in Python.

The classes do what a built-in algorithm does, so that the runs are the same packet for packet.
For Rust: `cargo bench -p fairport-custom-example`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any

import fairport as fp
from fairport.custom import Ack, Connection, Packet, Port, Queue, Window

ROUNDS = 7
LIMIT = "16KiB"


class DropTail:
    """The shortest discipline."""

    def __init__(self, port: Port) -> None:
        self.limit_bytes = port.limit_bytes or 0

    def admit(self, queue: Queue, packet: Packet) -> bool:
        """Whether the packet fits."""
        return queue.backlog_bytes + packet.size_bytes <= self.limit_bytes


class Fifo:
    """The shortest scheduler."""

    def __init__(self, port: Port) -> None:
        self.limit_bytes = port.limit_bytes or 0
        self.waiting: deque[Packet] = deque()

    def enqueue(self, queue: Queue, packet: Packet) -> bool:
        """Whether the packet fits."""
        if queue.backlog_bytes + packet.size_bytes > self.limit_bytes:
            return False
        self.waiting.append(packet)
        return True

    def dequeue(self, now_s: float) -> Packet | None:
        """The oldest packet."""
        return self.waiting.popleft() if self.waiting else None


class NewReno:
    """The shortest congestion control."""

    def __init__(self, connection: Connection) -> None:
        pass

    def on_ack(self, window: Window, ack: Ack) -> None:
        """Grows the window."""
        window.grow_as_newreno(ack)

    def on_loss(self, window: Window) -> None:
        """Halves the window."""
        window.lower_threshold(window.cwnd // 2)


def main() -> None:
    """Prints a row for each kind of algorithm."""
    built_in = fp.scenario("outcast").patch(
        {
            "duration": "200ms",
            "tcp.congestion_control": "newreno",
            "queue": {"kind": "drop-tail", "limit": LIMIT},
        }
    )
    own_queue = {"queue": {"kind": "custom", "name": "mine", "limit": LIMIT}}
    own_control = {"tcp.congestion_control": "custom:mine"}
    rows: dict[str, tuple[fp.Scenario, Mapping[str, Any]]] = {
        "built in": (built_in, {}),
        "discipline": (built_in.patch(own_queue), {"disciplines": {"mine": DropTail}}),
        "scheduler": (built_in.patch(own_queue), {"disciplines": {"mine": Fifo}}),
        "congestion control": (
            built_in.patch(own_control),
            {"congestion_controls": {"mine": NewReno}},
        ),
    }
    best = dict.fromkeys(rows, float("inf"))
    # in turns, so that other work on the machine slows all of them
    for _ in range(ROUNDS):
        for name, (scenario, code) in rows.items():
            begin = time.process_time()
            result = fp.run(scenario, **code)
            spent_ns = (time.process_time() - begin) * 1e9
            best[name] = min(best[name], spent_ns / result.summary["packet_hops"])
    for name, ns in best.items():
        print(f"{name:20} {ns:7.0f} ns per packet-hop")


if __name__ == "__main__":
    main()
