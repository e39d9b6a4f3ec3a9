"""Runs one benchmark: `python -m benches [CASE] [OPTION ..]`.

The cases: `speed` (without a name), `sizes`, `cores`, `million-flows`, `study`, `captures`,
`memory`, `linux`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Runs the benchmark that the first argument names, with the other arguments as options."""
    name, *options = arguments or ["speed"]
    if name == "million-flows":
        from benches import million_flows

        million_flows.main(options)
    elif name == "sizes":
        from benches import sizes

        sizes.main(options)
    elif name == "cores":
        from benches import cores

        cores.main(options)
    elif name == "study":
        from benches import study

        study.main(options)
    elif name == "captures":
        from benches import captures

        captures.main(options)
    elif name == "linux":
        from benches import linux

        linux.main(options)
    elif name == "memory" and not options:
        from benches import memory

        return memory.main()
    elif name == "speed" and not options:
        from benches import memory, speed

        speed.main()
        return memory.main()
    else:
        print(
            "usage: make bench [CASE=speed|sizes|cores|million-flows|study|captures|memory|linux]"
            " [ARGS='--flows 10000']"
        )
        return 0 if name in {"-h", "--help"} else 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
