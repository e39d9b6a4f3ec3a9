"""What Poisson traffic offers to the links of hosts, as its expectation.

The `load` of a traffic is a share of one capacity, by default that of all its senders. If fewer
hosts receive than send, or if links have different rates, some host's links may be offered more
than their rate although `load` is below 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from fairport import _core
from fairport.scenario import Scenario
from fairport.scenario.lower import Job
from fairport.scenario.traffic.poisson import Poisson
from fairport.scenario.traffic.sizes import distribution

Direction = Literal["send", "receive"]
Offered = dict[tuple[str, Direction], Fraction]
"""By host and direction: payload in bit/s."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What one traffic offers, and when."""

    start_ps: int
    stop_ps: int
    offered: Offered


def fullest_link(scenario: Scenario, job: Job) -> dict[str, Any] | None:
    """The host and direction whose links are offered the largest share of their rate at any time.

    Keys: `host`, `direction`, `offered_bps` (payload), `rate_bps` (of all links of the host).
    None without Poisson traffic.
    """
    if not any(isinstance(traffic, Poisson) for traffic in scenario.traffic):
        return None
    rates_bps = _core.host_rates_bps(json.dumps(job.document))
    rates = dict(zip(job.hosts, rates_bps, strict=True))
    parts = list(_parts(scenario, job, rates))
    most: Offered = {}
    for start_ps in {part.start_ps for part in parts}:  # what is offered grows only at a start
        active = [part for part in parts if part.start_ps <= start_ps < part.stop_ps]
        for link in {link for part in active for link in part.offered}:
            offered = sum((part.offered.get(link, Fraction()) for part in active), Fraction())
            most[link] = max(most.get(link, offered), offered)
    host, direction = max(sorted(most), key=lambda link: most[link] / rates[link[0]])
    offered_bps = most[host, direction]
    return {
        "host": host,
        "direction": direction,
        "offered_bps": float(offered_bps),
        "rate_bps": rates[host],
    }


def _parts(scenario: Scenario, job: Job, rates: Mapping[str, int]) -> Iterator[_Part]:
    for workload in job.workloads:
        traffic = scenario.traffic[workload["traffic"]]
        if not isinstance(traffic, Poisson):
            continue
        senders, receivers = (
            [end["host"] for end in workload[side]] for side in ("senders", "receivers")
        )
        pattern = workload["pattern"]
        capacity_bps = pattern["capacity_bps"] or sum(rates[host] for host in senders)
        in_all_bps = Fraction(pattern["load_ppm"], 1_000_000) * capacity_bps
        stop_ps = int(scenario.duration if traffic.stop is None else traffic.stop)
        if traffic.count is not None:
            flows_per_s = in_all_bps / (8 * Fraction(distribution(traffic.sizes).mean_bytes))
            lasts_ps = int(traffic.count / flows_per_s * 10**12)
            stop_ps = min(stop_ps, int(traffic.start) + lasts_ps)
        yield _Part(int(traffic.start), stop_ps, _offered(in_all_bps, senders, receivers))


def _offered(in_all_bps: Fraction, senders: Sequence[str], receivers: Sequence[str]) -> Offered:
    """A flow's sender is drawn uniformly, then its receiver among those that are not the sender."""
    offered: Offered = {(host, "send"): in_all_bps / len(senders) for host in senders}
    of_both = set(senders) & set(receivers)
    from_others = Fraction(len(senders) - len(of_both), len(receivers))
    for host in receivers:
        also = len(of_both) - (host in of_both)
        share = from_others + (Fraction(also, len(receivers) - 1) if also else 0)
        offered[host, "receive"] = in_all_bps * share / len(senders)
    return offered
