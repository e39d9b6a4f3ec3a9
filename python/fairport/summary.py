"""The keys of a run's summary: of `Result.summary`, of `fairport run --json` and `summary.json`.

`metrics.summary` computes most of them. Times are in seconds, sizes in bytes, rates in bit/s. A
summary over several seeds has medians in these places, and `runs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import NotRequired, TypedDict

# A measurement of a smaller share of the run is a part of it that a reader must know of.
_NEARLY_ALL = 0.9


class MeasuredSpan(TypedDict):
    """The part of the run that was measured."""

    from_s: float
    to_s: float


class HopClass(TypedDict):
    """The flows of one hop class: those whose goodputs are compared."""

    flows: int
    goodput_bps_mean: float
    """Over the class's flows, as `goodput_bps_min` and `goodput_bps_max` are."""
    goodput_bps_min: float
    goodput_bps_max: float
    throughput_ratio: float | None
    """The class's mean over the mean of the class with most flows (of several, that with most
    hops); null if that class delivers nothing."""
    timeouts: int
    """Of all of the class's flows in the whole run, not only in the measurement; so are the next
    three."""
    timeout_period_s: float
    drops: int
    longest_drop_run: int
    """In packets of one flow at one port."""
    rtt_mean_s: float | None
    """Within the measurement, as `rtt_p99_s` is, of the flows that the probes watch; null without a
    sample."""
    rtt_p99_s: float | None


class Bottleneck(TypedDict):
    """The bottleneck port, over the whole run.

    Of the ports that drop, it is the one that most flows pass; among equals, and if the compared
    flows are transfers, the one with most drops; then the busiest. Without any drop it is the
    busiest port.
    """

    port: str
    drops: int
    marks: int
    queue_mean_bytes: float
    queue_max_bytes: int


class Completion(TypedDict):
    """Transfers of one group of sizes. In quantiles, those under way count up to their ages.

    Means and quantiles are null if no transfer is completed.
    """

    flows: int
    completed: int
    fct_mean_s: float | None
    """Mean over the completed transfers."""
    fct_median_s: float | None
    fct_p95_s: float | None
    fct_p99_s: float | None
    fct_max_s: float | None
    slowdown_mean: float | None
    """Completion time over that in the empty network."""
    slowdown_median: float | None
    slowdown_p95: float | None
    slowdown_p99: float | None
    slowdown_max: float | None
    bounds: NotRequired[list[str]]
    """The keys of those that are lower bounds, as in a traffic's quantiles."""


class AllRounds(TypedDict):
    """All rounds of incast that are done and began within the measurement, of any traffic."""

    rounds: int
    completion_mean_s: float
    completion_median_s: float
    completion_p99_s: float
    completion_max_s: float
    goodput_bps: float
    """While rounds last: their bytes over the sum of their times."""


class AllRequests(TypedDict):
    """All requests made within the measurement, whatever traffic they belong to.

    The mean is that of the answered requests. It and the quantiles are null if there are none.
    """

    requests: int
    answered: int
    response_mean_s: float | None
    response_median_s: float | None
    response_p95_s: float | None
    response_p99_s: float | None
    response_max_s: float | None
    bounds: NotRequired[list[str]]
    """The keys of those that are lower bounds, as in a traffic's quantiles."""


class AllUdp(TypedDict):
    """All UDP sources."""

    flows: int
    goodput_bps_total: float
    sent: int
    """Datagrams in the whole run, as `drops` are."""
    drops: int


class MedianAndP99(TypedDict):
    """Two quantiles."""

    median: float
    p99: float
    bounds: NotRequired[list[str]]
    """The names of those that are lower bounds, because too many were not over by the end; absent
    if none is. Over several seeds: those whose medians are."""


class Quantiles(MedianAndP99):
    """Two quantiles and the largest value."""

    max: float


class Delay(TypedDict):
    """One-way delay of datagrams."""

    mean: float
    p99: float


class Rounds(TypedDict):
    """The rounds of one incast that began within the measurement."""

    started: int
    done: int
    time_s: NotRequired[Quantiles]
    """The round under way counts up to its age; absent if none is done."""
    goodput_bps: NotRequired[float]
    """While rounds last: the bytes of those done over the sum of their times; absent if none is."""


class Requests(TypedDict):
    """The requests of one traffic."""

    asked: int
    done: int
    time_s: NotRequired[MedianAndP99]
    """A request without an answer counts up to its age."""


class Traffic(TypedDict):
    """One `[[traffic]]` of the scenario. Keys that do not apply to its kind are absent."""

    index: int
    kind: str
    flows: int
    goodput_bps_total: float
    timeouts: int
    drops: int
    transfers: int
    """Transfers or requests; 0 for long-lived flows and UDP."""
    unfinished: int
    """Of these, those under way at the end, or stopped."""
    before_measurement: int
    """Transfers, rounds or requests that began before the measurement, and do not count."""
    goodput_bps_min: NotRequired[float | None]
    """Long-lived flows."""
    jain_index: NotRequired[float | None]
    """Long-lived flows."""
    fct_s: NotRequired[Quantiles]
    """Transfers."""
    slowdown: NotRequired[MedianAndP99]
    """Transfers on connections of their own: completion time over that in the empty network."""
    small_fct_s: NotRequired[MedianAndP99]
    """Transfers of up to 100 kB."""
    medium_fct_s: NotRequired[MedianAndP99]
    """Transfers of more than 100 kB and up to 10 MB."""
    large_fct_s: NotRequired[MedianAndP99]
    """Transfers of more than 10 MB."""
    rounds: NotRequired[Rounds]
    """Incast."""
    requests: NotRequired[Requests]
    """Requests."""
    sent: NotRequired[int]
    """UDP: datagrams."""
    loss_share: NotRequired[float | None]
    """UDP: `drops` over `sent`; null if nothing was sent."""
    delay_s: NotRequired[Delay]
    """UDP: of the datagrams that arrived within the measurement."""


class RunVerdict(TypedDict):
    """Who is starved. For finite flows, all keys except the sentence are null."""

    outcast: bool | None
    """Whether the class with fewest flows (of several, that with the least mean goodput) gets less
    than half of its peers' mean goodput; null, too, if no class has fewer flows than another or
    neither of the two delivers anything."""
    ratio: float | None
    """That class's `throughput_ratio`: its peers are the class with most flows."""
    blackout_timeout_share: float | None
    """Share of its time waiting for timeouts, within the measurement, that followed three or more
    consecutive drops at its ingress port; null without such time."""
    sentence: str


class FullestLink(TypedDict):
    """The port that Poisson arrivals and UDP flows offer most, at any time, relative to its rate.

    This is an expectation: from the scenario, not from the run.
    """

    port: str | None
    """Over several seeds, null if they differ."""
    to: str | None
    """The host or switch to which its link leads."""
    offered_bps: float
    """With all headers, of full-sized packets for Poisson arrivals; without ACKs and
    retransmissions."""
    rate_bps: int
    """Of the port's link, or of its shaper."""
    overfilled_ports: int
    """How many ports are offered more than their rate."""


class InvalidRun(TypedDict):
    """A run for which the machine was too slow."""

    seed: int
    faults: list[str]


class Summary(TypedDict):
    """The result of one run."""

    schema_version: int
    scenario: str
    seeds: list[int]
    backend: str
    version: str
    fingerprint: str | None
    """Hash of the run's packet facts; null over several seeds."""
    valid: bool
    """Whether the run counts: on the Linux backend the switch must be on time."""
    wall_s: float
    simulated_s: float
    measure: MeasuredSpan
    packet_hops: int
    packet_hops_per_s: float | None
    """Over `wall_s`."""
    classes: dict[str, HopClass]
    """The hop classes by name, such as `6-hop`; from captures also `hops unknown`."""
    goodput_bps_total: float
    """Sum over all TCP flows."""
    utilisation: float | None
    """Share of the whole run in which the line behind the bottleneck port sent, framing included,
    or a packet waited for its shaper's tokens."""
    jain_index: float | None
    """Over the compared flows; 1 is fair."""
    bottleneck: Bottleneck | None
    fct: dict[str, Completion] | None
    """Completion times of transfers on connections of their own, by group of size; null without
    such transfers."""
    rounds: AllRounds | None
    """Null if no round is done."""
    requests: AllRequests | None
    """Null if no request was made."""
    udp: AllUdp | None
    """Null without UDP."""
    verdict: RunVerdict
    spread: str
    """What is known about the spread over seeds, for a run of one seed."""
    host_queue_drop_share: float | None
    """Share of all drops that are in hosts' own queues, those of a `[[loss]]` not included; null
    without drops."""
    rto_min_s: float | None
    """The largest minimum RTO of any sender; null without TCP."""
    host_goodput_bps_max: float | None
    """Goodput of the host whose TCP flows, as a sender or as a receiver, together have most; null
    without TCP."""
    fullest_link: FullestLink | None
    """Where Poisson arrivals and UDP flows offer the largest share of a port's rate; null without
    them."""
    host_times_rate_bps: int | None
    """Rate of the fastest link on which the hosts' times were measured; null without measured
    times."""
    ecn_is_idle: bool
    """Whether senders support ECN, but queues of the switches dropped packets and marked none."""
    flows_outside_measurement: int
    """Compared flows without an end that sent nothing within the measurement, because they began
    later or had ended."""
    flows_partly_measured: int
    """Compared flows without an end that had a connection for less than 90 % of the measurement,
    besides those outside it."""
    traffic_ended_s: float | None
    """When the last flow ended; null if that was after 90 % of the measurement or not at all, and
    where the compared flows have no end."""
    decisions_left_out: int
    """Decisions of TCP for which the table `decisions` had no room."""
    traffic: list[Traffic]
    caveats: list[str]
    """What a reader must know before the numbers, one sentence each."""
    files: list[str]
    """The written files, relative to the folder."""
    ignored_settings: NotRequired[list[str] | None]
    """On the Linux backend: fields of the scenario that the hosts do not follow. Over several
    seeds: null if they differ."""
    health: NotRequired[dict[str, Any]]
    """How late a real-time backend was, and what it lost."""
    faults: NotRequired[list[str]]
    """Why the run does not count."""
    captures: NotRequired[dict[str, Any]]
    """From `fairport analyze`: how complete the captures are. With several outputs, all numbers but
    these, those of `traffic` and those of hosts are about the worst output."""
    runs: NotRequired[list[Summary]]
    """Over several seeds: the summary of each valid run."""
    invalid_runs: NotRequired[list[InvalidRun]]


def is_measured_in_part(summary: Mapping[str, Any]) -> bool:
    """Whether rates are of a part of the run only, so that a reader must know of which."""
    measure = summary["measure"]
    length: float = measure["to_s"] - measure["from_s"]
    return length < _NEARLY_ALL * float(summary["simulated_s"])
