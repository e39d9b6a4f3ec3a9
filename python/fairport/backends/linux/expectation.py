"""What a scenario requires of the machine, from its bottleneck's buffer and line."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from fairport import headers
from fairport.backends.linux import demand
from fairport.backends.linux.flows import Stack
from fairport.backends.linux.gate import Expectation
from fairport.backends.linux.namespaces import HostSettings
from fairport.scenario import Scenario
from fairport.scenario.lower import Job


def expectation(
    scenario: Scenario,
    job: Job,
    layout: Mapping[str, Any],
    settings: Iterable[HostSettings],
    stacks: Sequence[Stack],
) -> Expectation:
    """What is expected of a run, from the buffer and the line of the scenario's ports.

    If its flows are known to fill a line, that line counts. Otherwise the port decides whose buffer
    empties soonest.
    """
    rates = demand.rates_bps(scenario, layout)
    is_full = _fills_a_line(scenario, job, stacks)
    ports: Collection[int] = demand.filled_ports(job, layout, rates) if is_full else rates
    rate = sum(rates[port] for port in ports) if is_full else max(rates.values())
    link, limit = scenario.link, scenario.sized_queue().limit
    mss = min(stack.mss_bytes for stack in stacks)
    full_frame = min(int(link.mtu), mss + headers.IPV4_TCP) + link.buffered_overhead
    buffered = int(limit) * full_frame if limit.in_packets else int(limit)
    own = {port: one["limit_bytes"] for one in layout["links"] for port in one["ports"]}
    drain_s = min(8 * (own[port] or buffered) / rates[port] for port in ports)
    on_wire = mss + headers.IPV4_TCP + link.wire_overhead
    has_timestamps = all(one.has_timestamps for one in settings)
    payload = mss - (headers.TIMESTAMPS if has_timestamps else 0)
    is_full = is_full and drain_s >= _filling_s(scenario, layout)
    return Expectation(
        drain_s=drain_s,
        line_goodput_bps=rate * payload / on_wire if is_full else None,
        rate_bps=rate,
    )


def _filling_s(scenario: Scenario, layout: Mapping[str, Any]) -> float:
    """The smallest buffer that keeps a line full, as the time in which it empties.

    It is the round-trip time over the square root of the number of flows (Appenzeller, Keslassy,
    McKeown, SIGCOMM 2004).
    """
    delay_ps = {port: one["delay_ps"] for one in layout["links"] for port in one["ports"]}
    round_trips_ps = [
        sum(delay_ps[port] for way in ("forward", "backward") for port in flow[way][0])
        for flow in layout["flows"]
    ]
    hosts_ps = 4 * int(scenario.host.delay)  # each of both hosts sends and receives
    return float((min(round_trips_ps) + hosts_ps) * 1e-12 / math.sqrt(len(round_trips_ps)))


def _fills_a_line(scenario: Scenario, job: Job, stacks: Sequence[Stack]) -> bool:
    """Whether its flows are known to keep the line of one receiver full until the end."""
    return (
        len({flow["dst"] for flow in job.flows}) == 1
        and all(traffic.kind == "bulk" for traffic in scenario.traffic)
        and all(flow["size_bytes"] is None for flow in job.flows)
        and all(flow["stop_ps"] is None for flow in job.flows)
        and all(stack.payload is None for stack in stacks)
        and not scenario.loss
    )
