"""The runs from which the compiler learns which paths of the engine are hot: `make wheel PGO=1`.

maturin builds the extension with counters, calls this in a virtual environment that has it, and
builds the extension again with what was counted. The runs are short and of many kinds: both
stacks' TCP, many flows to one receiver, a web mix, and every discipline.
"""

from __future__ import annotations

from fairport import _core

from benches import engine

WEB = engine.Job(
    "web search on k=4",
    {
        "queue.limit": "150KiB",
        "traffic": [{"kind": "poisson", "load": 0.6, "sizes": "web-search"}],
    },
)
# simulated time: long against set-up, short for a build
BULK_TIME = "300ms"
DISCIPLINE_TIME = "50ms"


def main() -> None:
    """Runs all of them."""
    bulk = [engine.OUTCAST, engine.TODAY, engine.LARGE, WEB]
    for jobs, duration in ((bulk, BULK_TIME), (engine.DISCIPLINES, DISCIPLINE_TIME)):
        for job in jobs:
            shorter = engine.Job(job.name, job.overrides | {"duration": duration})
            result = _core.Simulation(engine.lowered(shorter)).run(lambda *_: None)
            print(f"{job.name}: {result['packet_hops']} packet-hops")


if __name__ == "__main__":
    main()
