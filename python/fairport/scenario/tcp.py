"""[tcp], [[host_tcp]] and the `tcp` of a traffic: a stack preset, and settings that differ from it.

For each setting the most specific place wins: [tcp] is for all hosts, then comes each [[host_tcp]]
that names the host, in order, then the traffic's own `tcp`, which holds at both ends of its flows.
Another `stack` in a more specific place changes the preset under the settings given so far.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from fairport.errors import not_one_of
from fairport.scenario.base import PositiveDuration, PositiveSize, Section, refuse
from fairport.scenario.parameters import Parameters
from fairport.scenario.selectors import Selector
from fairport.scenario.units import Duration, Size


def _one_octet(size: Size) -> Size:
    if size > 255:
        raise refuse("is longer than any header", 'give at most "255B"; ns-2 counts "40B"')
    return size


CONGESTION_CONTROLS = ("newreno", "bic", "cubic", "dctcp", "bbr")
"""The congestion controls of the engine (`crates/tcp/src/congestion/algorithm.rs`)."""


def _congestion_control(name: str) -> str:
    own, _, its_name = name.partition(":")
    if name in CONGESTION_CONTROLS or (own == "custom" and its_name):
        return name
    problem, remedy = not_one_of(name, CONGESTION_CONTROLS)
    if own == "custom":
        remedy = "write `custom:NAME` for one of your own."
    raise refuse(problem, remedy)


CongestionControl = Annotated[
    str,
    AfterValidator(_congestion_control),
    WithJsonSchema(
        {"anyOf": [{"enum": list(CONGESTION_CONTROLS)}, {"type": "string", "pattern": "^custom:."}]}
    ),
]

DEFAULT_STACK = "linux-2.6"
"""The stack preset if a scenario names none."""
TCPRAND_NAMES = ("default", "conservative", "aggressive")


def _tcprand(given: Any) -> Any:
    """A name, or [sigma^2, mu, nu_tau, nu_omega], in which a nu may be "inf"."""
    if isinstance(given, str) and given in TCPRAND_NAMES:
        return given
    if isinstance(given, list) and len(given) == 4 and all(map(_is_number, given)):
        variance, mean, *nus = (math.inf if part == "inf" else part for part in given)
        fits = 0.001 <= variance <= 1000 and abs(mean) <= 1000
        if fits and all(0 <= nu <= 1000 or nu == math.inf for nu in nus):
            return given
    names = ", ".join(f'"{name}"' for name in TCPRAND_NAMES)
    raise refuse(
        "is not a set of TCPRand's parameters",
        f'give {names}, or [sigma^2, mu, nu_tau, nu_omega] such as [1, 1, "inf", 1]',
    )


def _is_number(part: Any) -> bool:
    return part == "inf" or (isinstance(part, int | float) and not isinstance(part, bool))


class TcpSettings(Section):
    """Settings of TCP. A missing setting has the stack preset's value."""

    stack: Literal["linux-2.6", "linux-3.0", "linux-6", "ns2", "ns3", "rfc"] | None = None
    """The preset that the settings start from: `linux-2.6` (what the papers ran, with the
    recovery of RFC 6675; the default), `linux-3.0` (the same with the kernel's own recovery),
    `linux-6` (today), `ns2`, `ns3`, `rfc`."""
    congestion_control: CongestionControl | None = None
    """Window algorithm: `newreno`, `bic`, `cubic`, `dctcp` (which uses ECN whatever `ecn` says),
    `bbr` (version 1, which paces whatever `pacing` says), or `custom:NAME` for one of your own."""
    parameters: Parameters | None = None
    """Parameters of `custom:NAME`: keyword arguments of the class. No other congestion control has
    any."""
    mss: PositiveSize | None = None
    """Maximum segment size without options: timestamps take 12 B of it. Default: the MTU minus 40
    B; in a preset with a fixed header (ns2), the preset's."""
    fixed_header: Annotated[Size, AfterValidator(_one_octet)] | None = None
    """Size of IP and TCP header of every segment, whatever its options; "0B": real headers."""
    initial_window: int | None = Field(default=None, ge=1, le=1_000_000)
    """First congestion window, in segments (RFC 6928: 10)."""
    window_unit: Literal["segments", "bytes"] | None = None
    """The unit of the congestion window."""
    sack: bool | None = None
    """Selective acknowledgements (RFC 2018, recovery as in RFC 6675); off: NewReno recovery (RFC
    6582)."""
    timestamps: bool | None = None
    """TCP timestamps (RFC 7323)."""
    paws: bool | None = None
    """Drop segments with old timestamps (PAWS, RFC 7323)."""
    answers_invalid_acks: bool | None = None
    """Answer segments that acknowledge data that was not sent (RFC 9293)."""
    ack_policy: Literal["every-segment", "delayed", "quick-ack"] | None = None
    """When the receiver acknowledges: each segment; every second segment or after
    `delayed_ack_max` (RFC 1122); or delayed with Linux's quick-ACK mode."""
    delayed_ack_min: Duration | None = None
    """Under `quick-ack`, shortest wait of a delayed ACK."""
    delayed_ack_max: Duration | None = None
    """Longest wait of a delayed ACK."""
    delayed_ack_below_rto_min: bool | None = None
    """Under `quick-ack`, no ACK waits as long as `rto_min` (Linux since 6.7)."""
    quick_acks_after_gap: bool | None = None
    """Under `quick-ack`, data out of order makes the next ACKs quick, too (Linux up to 4.17)."""
    quick_acks_within_estimate: bool | None = None
    """Under `quick-ack`, any gap longer than the receiver's timeout makes the next ACKs quick; off:
    only a gap that is also longer than the estimated gap (Linux)."""
    quick_acks_for_data_only: bool | None = None
    """Under `quick-ack`, only a segment that acknowledges newly arrived data uses up a quick ACK
    (Linux since 6.6); off: every segment does."""
    sack_compression: int | None = Field(default=None, ge=0, le=255)
    """With SACK and without `quick_acks_after_gap`: most ACKs of data out of order that are held
    back for a twentieth of the round-trip time and 0.1 ms, to be sent as one. The first three are
    not held back (`tcp_comp_sack_nr`, Linux since 4.18). 0: none is held back."""
    rto_rule: Literal["rfc6298", "linux"] | None = None
    """`rfc6298`: max(rto_min, srtt + 4 rttvar); `linux`: srtt + max(var, rto_min)."""
    rto_min: PositiveDuration | None = None
    """The minimum in the rule above."""
    rto_max: PositiveDuration | None = None
    """Longest retransmission timeout."""
    rto_initial: PositiveDuration | None = None
    """Retransmission timeout before the first RTT sample (RFC 6298: 1 s)."""
    syn_linear_timeouts: int | None = Field(default=None, ge=0, le=127)
    """Timeouts of a SYN before the timeout begins to double (Linux since 6.5: 4)."""
    syn_backoff_lasts: bool | None = None
    """A timeout doubled for the SYN lasts until the first RTT sample (ns-2); off: data starts with
    3 s (RFC 6298 5.7)."""
    syn_timeouts_to_one_segment: int | None = Field(default=None, ge=0, le=127)
    """If a timeout showed that its SYN or SYN-ACK was lost, and it was sent again this often, an
    endpoint starts with one segment instead of `initial_window` (RFC 5681 3.1: 1; Linux since 3.1:
    2); 0: never."""
    rto_restarts_on_retransmit: bool | None = None
    """The retransmission timer restarts when the first unacknowledged segment is retransmitted
    (Linux)."""
    ack_ends_backoff: bool | None = None
    """An ACK of new data ends the doubling of the timeout (ns-3); off: it lasts until the next RTT
    sample (RFC 6298)."""
    clock_granularity: Duration | None = None
    """The clock granularity G of RFC 6298, and the tick of the timestamps."""
    rtt_tick: Duration | None = None
    """Tick of the clock by which round-trip times are measured for the RTO, such as "4ms" for Linux
    before 3.15 at HZ 250; "0s": exactly."""
    clock_tick: Duration | None = None
    """Tick of the timers, such as "4ms" for HZ 250: they fire at the next edge after whole ticks,
    as Linux's do since 4.8; "0s": exactly."""
    timer_slack: Duration | None = None
    """Time that Linux adds to the timers of RACK and of tail loss probes."""
    rack: bool | None = None
    """Detect losses by time, not by three duplicates (RACK, RFC 8985)."""
    fack: bool | None = None
    """Without `rack`: a segment's distance from the highest SACKed segment shows that it is lost
    (FACK, Linux up to 4.14)."""
    tail_loss_probe: bool | None = None
    """A probe after about two round trips without an ACK (TLP, RFC 8985), and `rto_min` later if
    only one segment is in flight (Linux)."""
    window_reduction: Literal["at-once", "rate-halving", "prr"] | None = None
    """How the window is reduced in fast recovery: at its beginning (RFC 6675); by a segment on
    every second ACK (Linux up to 3.1); or in proportion to delivered data (PRR, RFC 6937). The
    latter two need SACK or `duplicate_acks_deliver`."""
    dsack: bool | None = None
    """The receiver reports data that arrived twice (RFC 2883)."""
    undo: bool | None = None
    """A reduction of the window that proves needless is undone, by DSACK or timestamps (RFC 3708,
    4015); without SACK, by timestamps alone."""
    frto: bool | None = None
    """After a timeout, sending new data shows whether the timeout was needless (F-RTO, RFC
    5682)."""
    early_retransmit: bool | None = None
    """Fewer duplicate ACKs suffice if fewer segments are under way (RFC 5827)."""
    limited_transmit: bool | None = None
    """The first two duplicate ACKs let out new data (RFC 3042)."""
    joins_retransmissions: bool | None = None
    """A short segment that is sent again takes those after it along, as far as one segment holds
    them (Linux since 4.10); not with `payload_sizing`."""
    nagle: bool | None = None
    """Hold a partial segment while data are unacknowledged (RFC 896)."""
    minshall: bool | None = None
    """With `nagle`, hold it back only while an earlier short segment is unacknowledged (Linux)."""
    abc: bool | None = None
    """Appropriate byte counting (RFC 3465)."""
    abc_limit: int | None = Field(default=None, ge=0, le=1_000_000)
    """Segments that an ACK may add in slow start under `abc` (L of RFC 3465: 2); 0: no limit."""
    duplicate_acks_deliver: bool | None = None
    """Without SACK, a duplicate ACK counts as a SACK of one segment, which is not counted again
    when it is acknowledged (Linux). Recovery, PRR and `abc` use these counts."""
    sack_rtt: bool | None = None
    """Newly SACKed data give an RTT sample as well, and restart the retransmission timer if the
    sample is longer than the first segment has been in flight (Linux since 3.12)."""
    window_use_by_round: bool | None = None
    """Whether the window was used up is decided over a whole window of data; in slow start half of
    it is enough (Linux since 3.16). Off: only the moment when the sender last stopped counts."""
    slow_start_after_idle: bool | None = None
    """A window that was not used up for the length of a timeout is halved (RFC 2861, as in
    Linux)."""
    window_scale: int | None = Field(default=None, ge=0, le=14)
    """Shift of the receive window (RFC 7323)."""
    receive_buffer: PositiveSize | None = None
    """Receive buffer; the application reads at once."""
    hystart: bool | None = None
    """CUBIC uses HyStart."""
    hystart_ack_delay: bool | None = None
    """HyStart allows for the bursts of segmentation offload (Linux since 5.6)."""
    cubic_idle_shift: bool | None = None
    """CUBIC's clock stops while the application is idle (RFC 9438)."""
    fast_convergence: bool | None = None
    """BIC and CUBIC use fast convergence."""
    payload_sizing: Literal["full", "static", "adaptive"] | None = None
    """Payload of a new segment: `full`; or TCPRand, uniform from a minimum up to the MSS: `static`
    with `payload_min`, `adaptive` with a minimum that follows the congestion window."""
    payload_min: PositiveSize | None = None
    """Smallest payload that TCPRand draws: rMin of `static`, theta of `adaptive`."""
    tcprand: Annotated[str | list[float | str], BeforeValidator(_tcprand)] | None = None
    """Parameters of `adaptive`: `default`, `conservative`, `aggressive`, or the list
    [sigma^2, mu, nu_tau, nu_omega], where a nu may be "inf"."""
    ecn: bool | None = None
    """Explicit congestion notification (RFC 3168), used if both ends have it on."""
    ecn_fallback: bool | None = None
    """A retransmitted SYN offers no ECN, in case the first one was dropped because of its offer
    (RFC 3168 6.1.1.1; Linux since 4.2)."""
    dctcp_halves_on_loss: bool | None = None
    """DCTCP halves its window on a loss, as in Linux since 5.1; off: the window falls by
    alpha/2."""
    pacing: Literal["off", "window", "linux"] | None = None
    """Spacing of segments: none; the window over the round-trip time (Aggarwal 2000); or 200 % of
    that in the first half of slow start and 120 % later, as in Linux. BBR sets its own pace: with
    it `off` and `linux` are the same, and `window` is refused."""
    pacing_granularity: Duration | None = None
    """Tick of the timer that lets paced segments out, such as "1ms"; "0s": an exact timer."""
    send_gap_max: Duration | None = None
    """A random gap, uniform up to this, after each data segment, in addition to pacing."""
    small_queue: bool | None = None
    """At most two segments of a flow, or 1/1024 s of Linux's pacing rate, wait in its own host (TCP
    small queues)."""
    host_queue_pushback: bool | None = None
    """A full queue of the host pushes back, as in Linux: segments that do not fit stay unsent and
    are not lost, and the window is reduced, at most once per window of data. Off, as in ns-2 and
    ns-3: they are sent, and dropped there."""
    segmentation_offload: bool | None = None
    """The host sends bursts of up to 64 KB back to back (TSO), sized as in Linux: at least two
    segments, about a millisecond at the current rate, and 64 KB if the round trip is below half a
    millisecond. A burst takes the host's processor as long as a segment."""
    receive_offload: Duration | None = None
    """Segments that arrive in order within this time of the first are merged, up to 64 KB, and
    acknowledged as one (GRO), such as "50us"; "0s": none are merged."""

    @property
    def is_own_control(self) -> bool:
        """Whether the congestion control is one of the user's own, which may have parameters."""
        return (self.congestion_control or "").startswith("custom:")


class HostTcp(TcpSettings):
    """Settings of TCP at some hosts."""

    hosts: Selector
    """The hosts: a name, a range "h4..h15", "all", or a list of these."""


# by unit, the settings that the engine has in base units; its names for them end in the unit
_UNITS = {
    "ps": (
        *("delayed_ack_min", "delayed_ack_max", "rto_min", "rto_max", "rto_initial"),
        *("clock_granularity", "rtt_tick", "clock_tick", "timer_slack", "pacing_granularity"),
        *("send_gap_max", "receive_offload"),
    ),
    "bytes": ("mss", "fixed_header", "receive_buffer", "payload_min"),
    "segments": ("initial_window", "abc_limit"),
}

# field of the scenario -> setting of the engine
_NO_SETTINGS = ("stack", "parameters")
ENGINE_NAMES = {name: name for name in TcpSettings.model_fields if name not in _NO_SETTINGS} | {
    name: f"{name}_{unit}" for unit, names in _UNITS.items() for name in names
}


def control_name(value: Any) -> str:
    """The name of a job's congestion control, which has a table if it has parameters."""
    return str(value["name"] if isinstance(value, dict) else value)


def engine_value(value: Any) -> Any:
    """A setting's value in the engine's units; fractional numbers become thousandths."""
    if isinstance(value, list):
        return [None if part == "inf" or part == math.inf else round(1000 * part) for part in value]
    return value if type(value) in (str, bool) else int(value)


def scenario_value(engine_name: str, value: Any) -> Any:
    """The engine's value of a setting as a scenario writes it: the inverse of `engine_value`."""
    if isinstance(value, list):
        return ["inf" if part is None else part / 1000 for part in value]
    if engine_name.endswith("_ps"):
        return str(Duration.of(value)) if value else "0s"
    if engine_name.endswith("_bytes"):
        return str(Size.of(value))
    return value
