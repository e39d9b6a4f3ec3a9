"""Runs one benchmark: `python -m benches [CASE] [OPTION ..]`. Without a name it is `speed`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

CASES = ("speed", "sizes", "cores", "million-flows", "study", "captures", "memory", "linux")


def main(arguments: Sequence[str]) -> int:
    """Runs the benchmark that the first argument names, with the other arguments as options."""
    name, *options = arguments or ["speed"]
    if name not in CASES:
        print(f"usage: make bench [CASE={'|'.join(CASES)}] [ARGS='--flows 10000']")
        return 0 if name in {"-h", "--help"} else 2
    status = importlib.import_module(f"benches.{name.replace('-', '_')}").main(options)
    return int(status or 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
