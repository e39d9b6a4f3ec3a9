"""Does an outcast depend on how often adapters interrupt? Table of docs/validation/interrupts.md.

    sudo .venv/bin/python -m validation interrupts

Fifteen flows to one receiver over a fat-tree at 1 Gbit/s, as in the case `linux`. The adapters of
all hosts interrupt at most once in `host.interrupt_interval`, of real Linux hosts and of simulated
ones with the default profile. Nothing else may run on the machine meanwhile.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from validation.case import options
from validation.clocks import spread
from validation.irregular_hosts import SIDES, ratios_of
from validation.linux import SCENARIOS
from validation.markdown import table

INTERVALS_US = (0, 20, 50, 125, 250)
_FAT_TREE = SCENARIOS["fat-tree, 15 to 1, 1 Gbit/s, 16 KiB"]


def main(arguments: Sequence[str]) -> int:
    """Runs everything, prints it, and renews the table at the end."""
    given = options("interrupts", __doc__, arguments, seeds=10)
    rows = []
    for us in INTERVALS_US:
        interval = {"host.interrupt_interval": f"{us}us"}
        ratios = [ratios_of(side, _FAT_TREE | interval, given.seeds) for side in SIDES]
        cells = [f"{spread(runs)}, {len(runs)} runs" if runs else "no valid run" for runs in ratios]
        rows.append([f"{us} us" if us else "none: one for each packet", *cells])
        print(" | ".join(rows[-1]), flush=True)
    heads = ["interval", "lone flow over the 6-hop flows: Linux", "simulated"]
    given.publish("validation/interrupts.md", "interrupts", table(heads, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
