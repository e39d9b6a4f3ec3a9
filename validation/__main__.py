"""Runs one case: `python -m validation CASE [OPTION ..]`. Without a case it lists them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

CASES = {
    "dumbbell": "a dumbbell of NewReno or CUBIC flows, in ns-3 as well",
    "lee2017": "the claims about TCPRand that differ, in ns-3 as well",
    "proportions": "1 : 12 to 30 : 360 flows, in ns-3 as well",
    "other-simulators": "the lone flow with exact hosts and clocks, in ns-3 and htsim as well",
    "equal-length": "drop runs under equal-length routing, in ns-3 as well",
    "mice": "short transfers among long ones, in ns-2 and ns-3 as well",
    "queues": "RED and SFQ, in ns-2 as well",
    "sensitivity": "what each parameter of the model does to `outcast`",
    "clocks": "many flows, and which port's clock is faster",
    "routing": "what each routing does to the lone flow of `outcast-1-to-12`",
    "fixes": "every fix, compared with what its paper shows",
    "captures": "what captures say of random networks, beside what was so",
    "attack": "bad input, damaged files and random scenarios against the command line",
    "kills": "kill -9 and Ctrl-C in the middle of runs, studies and analyses",
    "mutants": "changes of the code, and which of them no test notices",
    "linux": "two switches and a fat-tree, over real Linux as well (as root)",
    "irregular-hosts": "how irregular hosts must be for an outcast, as `linux` (as root)",
    "interrupts": "what adapters that interrupt seldom change, as `linux` (as root)",
    "fuzz": "bytes that no program has written against every reader",
    "threads": "every order in which the threads of a run can take their steps",
    "kernel-diff": "random lossy exchanges, replayed against this machine's kernel",
    "public-scripts": "the public packetdrill scripts for Linux, from a folder of them",
}


def main(arguments: Sequence[str]) -> int:
    """Runs the case that the first argument names, with the other arguments as its options."""
    if not arguments or arguments[0] in {"-h", "--help"}:
        print("usage: make validate CASE=NAME [ARGS='--seeds 3 --print-only']\n")
        for name, text in CASES.items():
            print(f"  {name:18}{text}")
        return 0
    name, *options = arguments
    if name not in CASES:
        print(f"error: `{name}` is not a case", file=sys.stderr)
        print(f"hint: choose one of {', '.join(CASES)}", file=sys.stderr)
        return 2
    case = importlib.import_module(f"validation.{name.replace('-', '_')}")
    status: int = case.main(options)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
