"""What a scenario requires of the machine, from its bottleneck's buffer and line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairport import headers
from fairport.backends.linux.flows import Stack
from fairport.backends.linux.gate import Expectation
from fairport.backends.linux.namespaces import HostSettings
from fairport.scenario import Scenario
from fairport.scenario.lower import Job


def expectation(
    scenario: Scenario,
    job: Job,
    line_bps: float,
    settings: Iterable[HostSettings],
    stacks: Sequence[Stack],
) -> Expectation:
    """What is expected of a run, from the buffer and the line of the scenario's ports.

    `line_bps` is the rate of the line that its flows fill, if they are known to fill one. Otherwise
    the fastest link decides: it is the one whose buffer empties soonest.
    """
    is_full = _fills_a_line(scenario, job, stacks)
    link, limit = scenario.link, scenario.queue.limit
    rate = scenario.shaped_bps(int(line_bps) if is_full else max(map(int, scenario.link_rates())))
    mtu = int(link.mtu)
    full_frame = mtu + link.buffered_overhead
    buffered = int(limit) * full_frame if limit.in_packets else int(limit)
    on_wire = mtu + link.wire_overhead
    has_timestamps = all(one.has_timestamps for one in settings)
    payload = mtu - headers.IPV4_TCP - (headers.TIMESTAMPS if has_timestamps else 0)
    return Expectation(
        drain_s=buffered * 8 / rate,
        line_goodput_bps=rate * payload / on_wire if is_full else None,
        rate_bps=rate,
    )


def _fills_a_line(scenario: Scenario, job: Job, stacks: Sequence[Stack]) -> bool:
    """Whether its flows are known to keep the line of one receiver full until the end."""
    return (
        len({flow["dst"] for flow in job.flows}) == 1
        and all(traffic.kind == "bulk" for traffic in scenario.traffic)
        and all(flow["size_bytes"] is None for flow in job.flows)
        and all(flow["stop_ps"] is None for flow in job.flows)
        and all(stack.payload is None for stack in stacks)
    )
