"""Your own scheduler with facts about flows: that with the fewest bytes left goes first (pFabric).

A packet shows the number of its flow. Poisson arrivals do not depend on the network, so the table
`flows` of a first run says how long each flow of a second one will be.
"""

from collections import deque
from functools import partial

import fairport as fp
from fairport.custom import Packet, Port, Queue


class ShortestFirst:
    """Sends a packet of the flow with the fewest bytes left; drops one of that with the most."""

    def __init__(self, port: Port, sizes: dict[int, int]) -> None:
        assert port.limit_bytes, "give the limit in bytes"
        self.limit_bytes = port.limit_bytes
        self.left = dict(sizes)
        self.waiting: dict[int, deque[Packet]] = {flow: deque() for flow in sizes}

    def enqueue(self, queue: Queue, packet: Packet) -> bool:
        """Accepts a packet if it fits or others make room."""
        self.waiting[packet.flow].append(packet)
        over = queue.backlog_bytes + packet.size_bytes - self.limit_bytes
        while over > 0:
            last = self.waiting[max(self.present(), key=self.left.__getitem__)].pop()
            if last is packet:
                return False
            over -= last.size_bytes
            last.drop("pushed-out")
        return True

    def dequeue(self, now_s: float) -> Packet | None:
        """The oldest packet of the flow with the fewest bytes left."""
        flow = min(self.present(), key=self.left.__getitem__, default=None)
        if flow is None:
            return None
        packet = self.waiting[flow].popleft()
        self.left[flow] -= packet.size_bytes
        return packet

    def present(self) -> list[int]:
        """The flows with packets here."""
        return [flow for flow, packets in self.waiting.items() if packets]


if __name__ == "__main__":
    scenario = fp.scenario("web-search").patch({"duration": "100ms", "queue.limit": "64KiB"})
    results = {"drop-tail": fp.run(scenario)}
    sizes = dict(results["drop-tail"].flows.select("flow", "size_bytes").iter_rows())
    own = scenario.patch({"queue.kind": "custom", "queue.name": "own"})
    knowing = partial(ShortestFirst, sizes=sizes)
    results["shortest first"] = fp.run(own, disciplines={"own": knowing})
    for name, result in results.items():
        small = (result.summary["fct"] or {})["<= 100 KB"]
        slowdowns = small["slowdown_median"], small["slowdown_p99"]
        print(f"{name:14} up to 100 kB: slowdown {slowdowns[0]:.1f}, 99 % below {slowdowns[1]:.1f}")
