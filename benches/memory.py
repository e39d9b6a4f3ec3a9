"""The estimated memory of a run compared with the memory it takes, for all built-in scenarios.

    make bench CASE=memory

Each run has a fresh process: what it takes is the greatest memory of the process less what it had
before the run's network was planned. A run may take a fifth more than its estimate. Besides the
catalogue there are overloads with UDP, whose table of drops is the memory. Runs that take less
than `LEAST_BYTES` are counted, but not compared: the allocator's own pages decide there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benches.process import in_a_process, peak_bytes
from validation import DOCS
from validation.markdown import between_markers, table

MOST_OVER = 1.2
LEAST_BYTES = 16_000_000
_UDP: Mapping[str, Any] = {"kind": "udp", "from": "all", "to": "h0", "payload": "100B"}
_OVERLOADS: Mapping[str, Mapping[str, Any]] = {
    "star with UDP at 3 times the line's rate": {
        "topology": {"kind": "star", "hosts": 4},
        "traffic": [{**_UDP, "rate": "1Gbps"}],
        "duration": "500ms",
    },
    "star with UDP at 100 times the line's rate": {
        "topology": {"kind": "star", "hosts": 11},
        "link.rate": "100Mbps",
        "traffic": [{**_UDP, "rate": "1Gbps"}],
        "duration": "200ms",
    },
    "star with on-off UDP at 5 times the line's rate": {
        "topology": {"kind": "star", "hosts": 11},
        "traffic": [
            {**_UDP, "rate": "1Gbps", "pattern": "on-off", "on_mean": "1ms", "off_mean": "1ms"}
        ],
        "duration": "200ms",
    },
}


@dataclass(frozen=True)
class Memory:
    """A run's estimate, and what it took."""

    name: str
    estimated_bytes: int
    needed_bytes: int

    @property
    def is_within(self) -> bool:
        """Whether the run stayed within its estimate, where it is large enough to compare."""
        return (
            self.needed_bytes < LEAST_BYTES or self.needed_bytes <= MOST_OVER * self.estimated_bytes
        )


def main(arguments: Sequence[str]) -> int:
    """Measures, prints and renews the table; 1 if a run took more than it may."""
    parser = argparse.ArgumentParser(prog="python -m benches memory", description=__doc__)
    parser.parse_args(arguments)
    from fairport.scenario import builtin_names

    cases: list[tuple[str, str, dict[str, Any]]] = [(name, name, {}) for name in builtin_names()]
    cases += [(name, "outcast", dict(patch)) for name, patch in _OVERLOADS.items()]
    found = []
    for name, scenario, patch in cases:
        request = json.dumps({"scenario": scenario, "patch": patch})
        took = in_a_process(__file__, request)
        found.append(Memory(name, took["estimated_bytes"], took["needed_bytes"]))
        print(found[-1], file=sys.stderr, flush=True)
    text = _text(found)
    print(text)
    between_markers(DOCS / "validation/reliability.md", "memory", text)
    return 0 if all(one.is_within for one in found) else 1


def _text(found: list[Memory]) -> str:
    large = [one for one in found if one.needed_bytes >= LEAST_BYTES]
    over = [one for one in large if not one.is_within]
    rows = [
        [
            one.name,
            f"{one.estimated_bytes / 1e6:.0f} MB",
            f"{one.needed_bytes / 1e6:.0f} MB",
            f"{one.needed_bytes / one.estimated_bytes:.2f}",
        ]
        for one in large
    ]
    said = (
        f"{len(found)} runs, of which {len(large)} take {LEAST_BYTES / 1e6:.0f} MB and more;"
        f" {len(over)} take over {MOST_OVER:g} times their estimate."
    )
    return f"{said}\n\n{table(['run', 'estimate', 'taken', 'taken / estimate'], rows)}"


def _run(request: Mapping[str, Any]) -> dict[str, int]:
    from fairport import backends
    from fairport.scenario import load

    scenario = load(request["scenario"]).patch(request["patch"])
    # the first run loads modules, whose memory does not belong to the run
    first = scenario.patch({"duration": "1us", "measure.from": "0s"})
    backends.get("simulation").prepare(first, 1).run()
    before = peak_bytes()
    prepared = backends.get("simulation").prepare(scenario, 1)
    estimated = prepared.estimate.memory_bytes
    recorded = prepared.run()
    needed = peak_bytes() - before
    assert recorded.packet_hops > 0
    return {"estimated_bytes": estimated, "needed_bytes": needed}


if __name__ == "__main__":
    print(json.dumps(_run(json.load(sys.stdin))))
