"""Your own queue discipline, scheduler and congestion control, in Python.

Each is run in the scenario of the outcast paper, in which the lone flow shares its last switch
with fourteen others and is starved there. `docs/extending.md` explains the classes.
"""

from __future__ import annotations

import argparse
from collections import deque

import fairport as fp
from fairport.custom import Ack, Connection, Packet, Port, Queue, Window


def in_bytes(port: Port) -> int:
    """The port's limit, which a scenario may also give in packets."""
    if port.limit_bytes is None:
        raise ValueError('give the limit in bytes, such as "16KiB"')
    return port.limit_bytes


class PerIngress:
    """A discipline: a packet is dropped if its ingress port has its share of the queue already.

    The packets of a first-in-first-out queue leave in the order of their arrival, so what has left
    follows from the backlog.
    """

    def __init__(self, port: Port, share: float = 0.5) -> None:
        self.limit_bytes = in_bytes(port)
        self.share = share
        self.waiting: deque[tuple[int, int]] = deque()
        self.waiting_bytes = 0
        self.of_ingress: dict[int, int] = {}

    def admit(self, queue: Queue, packet: Packet) -> bool | str:
        """Whether an arriving packet is accepted, or why it is dropped."""
        while self.waiting_bytes > queue.backlog_bytes:
            ingress, size = self.waiting.popleft()
            self.waiting_bytes -= size
            self.of_ingress[ingress] -= size
        if queue.backlog_bytes + packet.size_bytes > self.limit_bytes:
            return "full"
        own = self.of_ingress.get(packet.ingress, 0) + packet.size_bytes
        if own > self.share * self.limit_bytes:
            return "share"
        self.of_ingress[packet.ingress] = own
        self.waiting.append((packet.ingress, packet.size_bytes))
        self.waiting_bytes += packet.size_bytes
        return True


class RoundRobin:
    """A scheduler: the ingress ports take turns, packet by packet; the longest queue is cut."""

    def __init__(self, port: Port) -> None:
        self.limit_bytes = in_bytes(port)
        self.queues: dict[int, deque[Packet]] = {}

    def enqueue(self, queue: Queue, packet: Packet) -> bool:
        """Whether an arriving packet is accepted."""
        self.queues.setdefault(packet.ingress, deque()).append(packet)
        if queue.backlog_bytes + packet.size_bytes <= self.limit_bytes:
            return True
        longest = max(self.queues.values(), key=len)
        last = longest.pop()
        if last is packet:
            return False
        last.drop("pushed-out")
        return True

    def dequeue(self, now_s: float) -> Packet | None:
        """The packet to be sent now."""
        for ingress, waiting in list(self.queues.items()):
            # the port waits for its next turn
            del self.queues[ingress]
            if waiting:
                self.queues[ingress] = waiting
                return waiting.popleft()
        return None


class Gentle:
    """A congestion control: a loss reduces the window by 30 %, not by half."""

    def __init__(self, connection: Connection) -> None:
        self.losses = 0

    def on_ack(self, window: Window, ack: Ack) -> None:
        """Grows the window for newly acknowledged data."""
        window.grow_as_newreno(ack)

    def on_loss(self, window: Window) -> None:
        """Sets the threshold to which loss recovery brings the window down."""
        self.losses += 1
        window.lower_threshold(window.cwnd * 7 // 10)


def main() -> None:
    """Runs the scenario as it is and with each of the three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duration", default="2s")
    arguments = parser.parse_args()
    outcast = (
        fp.scenario("outcast")
        .patch({"duration": arguments.duration})
        .with_user_code(
            disciplines={"mine": PerIngress, "rr": RoundRobin},
            congestion_controls={"gentle": Gentle},
        )
    )
    limit = str(outcast.queue.limit)
    scenarios = {
        "drop-tail": outcast,
        "per ingress": outcast.patch({"queue": {"kind": "custom", "name": "mine", "limit": limit}}),
        "round robin": outcast.patch({"queue": {"kind": "custom", "name": "rr", "limit": limit}}),
        "gentle": outcast.patch({"tcp.congestion_control": "custom:gentle"}),
    }
    print(f"{'':12}  lone flow   its peers   ratio")
    for name, scenario in scenarios.items():
        classes = fp.run(scenario).summary["classes"]
        lone, peers = (classes[hops]["goodput_bps_mean"] / 1e6 for hops in ("2-hop", "6-hop"))
        print(f"{name:12} {lone:6.1f} Mb/s {peers:6.1f} Mb/s {lone / peers:7.2f}")


if __name__ == "__main__":
    main()
