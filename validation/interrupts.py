"""Does an outcast depend on how often adapters interrupt? Table of docs/validation/interrupts.md.

    sudo .venv/bin/python -m validation interrupts

Fifteen flows to one receiver over the testbed of Prakash et al., slowed ten times as in
docs/validation/slowed-testbed.md. The adapters of all hosts interrupt at most once in
`host.interrupt_interval`, of real Linux hosts and of simulated ones with the default profile.
Nothing else may run on the machine meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

import fairport as fp
from fairport.study.validation import LINUX, SIMULATION

from validation.case import options
from validation.clocks import spread
from validation.irregular_hosts import ratios_of
from validation.markdown import table

SLOWED = 10
INTERVALS_US = (0, 20, 50, 125, 250)
"""At the testbed's own rate."""
# medians of six seeds differ from those of twenty by up to a factor of two
SIMULATED_SEEDS = range(1, 21)
_TESTBED = fp.scenario("outcast").patch(
    {
        "tcp.stack": "linux-6",
        "tcp.congestion_control": "cubic",
        "link.rate": "100Mbps",
        "switch.processing_delay": "250us",
        "host": {"delay": "300us", "delay_spread": "200us", "jitter": "100us"},
        "tcp.rto_min": "20ms",
        "traffic.0.start_jitter": "100ms",
        "duration": "10s",
        "measure": {"from": "2s"},
    }
)


def main(arguments: Sequence[str]) -> int:
    """Runs everything, prints it, and renews the table at the end."""
    given = options("interrupts", __doc__, arguments, seeds=6)
    rows = []
    for us in INTERVALS_US:
        scenario = _TESTBED.patch({"host.interrupt_interval": f"{SLOWED * us}us"})
        ratios = [
            ratios_of(LINUX, scenario, given.seeds),
            ratios_of(SIMULATION, scenario, SIMULATED_SEEDS),
        ]
        cells = [f"{spread(runs)}, {len(runs)} runs" if runs else "no valid run" for runs in ratios]
        rows.append([f"{us} us" if us else "none: one for each packet", *cells])
        print(" | ".join(rows[-1]), flush=True)
    heads = ["interval", "lone flow over the 6-hop flows: Linux", "simulated"]
    given.publish("validation/interrupts.md", "interrupts", table(heads, rows))
    return 0
