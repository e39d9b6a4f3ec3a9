"""A scenario's settings of its hosts' TCP as Linux has them, and those that Linux does not have."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from fairport import headers
from fairport.backends.jobs import stacks_of
from fairport.backends.linux import congestion, doctor, programs, tcp_settings
from fairport.backends.linux.flows import PayloadSizes, Stack
from fairport.backends.linux.namespaces import HostSettings
from fairport.errors import ScenarioError
from fairport.scenario import Scenario
from fairport.scenario.job_errors import scenario_error
from fairport.scenario.lower import Job

# the kernel's names where they differ from ours
_KERNEL_NAMES = {"newreno": "reno"}
# the settings of a stack that no TCP connection has
_ANY = Stack("reno", headers.LARGEST_PACKET, None)
# an Ethernet's frames carry no longer packets, and Linux lets no program ask for shorter segments
_LARGEST_MTU = 1500
_SMALLEST_MSS = 88
_PS_PER_MS = 10**9
# room for the fastest flow, so that no socket's buffer limits it
_SOCKET_BYTES = 8 << 20
# If a window ever goes wrong, all that waits in a sender's socket leaves at once. So a socket has
# room for what this many full ports hold, or for this many bytes if they hold less: several times
# the bytes that can be under way.
_PORTS = 32
_LEAST_BYTES = 1 << 18


def host_settings(scenario: Scenario, job: Job) -> tuple[dict[int, HostSettings], list[Stack]]:
    """The settings of every host, by number, and those of the sockets of each of the job's stacks.

    Raises ScenarioError for a setting that a Linux host or this backend does not have, and
    BackendError if the privileges for it are missing.
    """
    if scenario.link.mtu > _LARGEST_MTU:
        raise _refusal(
            scenario,
            "link.mtu",
            f"is above {_LARGEST_MTU} B, and hosts of this backend send no longer packets",
            f'give at most "{_LARGEST_MTU}B", or use `backend="simulation"`',
            value=str(scenario.link.mtu),
        )
    stacks = stacks_of(job)
    at_hosts = _at_hosts(job)
    used = {number for stacks_here in at_hosts.values() for number in stacks_here}
    of_sockets = [
        _of_sockets(scenario, job, number, stack) if number in used else _ANY
        for number, stack in enumerate(stacks)
    ]
    settings = {}
    for host in sorted(_taking_part(job), key=job.hosts.index):
        here = [stacks[number] for number in sorted(at_hosts.get(host, {0}))]
        for name in tcp_settings.OF_HOSTS:
            if len({stack[name] for stack in here}) > 1:
                raise _refusal(
                    scenario,
                    "tcp",
                    f"differs between flows of {host} in `{name}`: on this backend all flows of a"
                    " host share it",
                    'give all flows of a host the same stack, or use `backend="simulation"`',
                )
        pacing = _pacing(scenario, host, here)
        settings[job.hosts.index(host)] = _settings(here[0], pacing, _unsent_bytes(scenario))
    return settings, of_sockets


def _of_sockets(scenario: Scenario, job: Job, number: int, stack: Mapping[str, Any]) -> Stack:
    _refuse_what_is_simulated(scenario, job, number, stack)
    name = _congestion_control(scenario, stack)
    return Stack(
        name,
        stack["mss_bytes"],
        _payload(stack),
        is_paced=stack["pacing"] != "off",
        has_nagle=stack["nagle"],
    )


def _pacing(scenario: Scenario, host: str, stacks: Sequence[Mapping[str, Any]]) -> str:
    """How the paced flows of a host are paced; `off` if none is."""
    rules = {stack["pacing"] for stack in stacks} - {"off"}
    if len(rules) > 1:
        raise _refusal(
            scenario,
            "tcp.pacing",
            f"is both `window` and `linux` at {host}: on this backend all paced flows of a host"
            " share the rule",
            'give all paced flows of a host the same `pacing`, or use `backend="simulation"`',
        )
    return rules.pop() if rules else "off"


def _unsent_bytes(scenario: Scenario) -> int:
    """Room in a sender's socket."""
    limit, rate_bps = scenario.queue.limit, max(map(int, scenario.link_rates()))
    buffered = int(limit) * int(scenario.link.mtu) if limit.in_packets else int(limit)
    longest = max(scenario.topology.link_delays(scenario.link.delay), key=int)
    delays = (longest, scenario.switch.processing_delay)
    host = scenario.host
    adapters = (host.delay, host.delay_spread, host.jitter, host.interrupt_interval)
    delay_s = sum(delay.seconds for delay in delays + adapters)
    held = buffered + rate_bps / 8 * delay_s
    return max(_LEAST_BYTES, min(_SOCKET_BYTES, int(_PORTS * held)))


def _settings(stack: Mapping[str, Any], pacing: str, unsent_bytes: int) -> HostSettings:
    sysctls: dict[str, Any] = {
        **tcp_settings.sysctls(stack),
        # no connection learns from an earlier one
        "tcp_no_metrics_save": 1,
        "tcp_rmem": f"4096 1048576 {_SOCKET_BYTES}",
        "tcp_wmem": f"4096 131072 {unsent_bytes}",
    }
    if pacing == "window":
        # percentages of the window per round trip, in slow start and after it
        sysctls |= {"tcp_pacing_ss_ratio": 100, "tcp_pacing_ca_ratio": 100}
    return HostSettings(
        sysctls=tuple((f"ipv4/{name}", str(value)) for name, value in sysctls.items()),
        rto_min_ms=max(1, round(stack["rto_min_ps"] / _PS_PER_MS)),
        initial_window=stack["initial_window_segments"],
        is_in_segments=not stack["segmentation_offload"],
        acknowledges_every_segment=stack["ack_policy"] == "every-segment",
    )


def _taking_part(job: Job) -> set[str]:
    """Names of the hosts that send or receive."""
    ends = {flow[end] for flow in job.flows for end in ("src", "dst")}
    for workload in job.document["workloads"]:
        ends |= {end["host"] for end in (*workload["senders"], *workload["receivers"])}
    return ends


def _at_hosts(job: Job) -> dict[str, set[int]]:
    """The stacks that TCP connections of each host have."""
    found: defaultdict[str, set[int]] = defaultdict(set)
    for flow in job.flows:
        if flow["udp"] is None:
            found[flow["src"]].add(flow["sender_stack"])
            found[flow["dst"]].add(flow["receiver_stack"])
    for workload in job.document["workloads"]:
        for end in (*workload["senders"], *workload["receivers"]):
            found[end["host"]].add(end["stack"])
    return found


def _payload(stack: Mapping[str, Any]) -> PayloadSizes | None:
    if stack["payload_sizing"] == "full":
        return None
    shape: str | tuple[float, ...] | None = None
    if stack["payload_sizing"] == "adaptive":
        shape = stack["tcprand"]
        if not isinstance(shape, str):
            shape = tuple(math.inf if part is None else part / 1000 for part in stack["tcprand"])
    return PayloadSizes(stack["payload_min_bytes"], shape)


def _congestion_control(scenario: Scenario, stack: Mapping[str, Any]) -> str:
    ours = str(stack["congestion_control"])
    name = _KERNEL_NAMES.get(ours, ours)
    available = congestion.available()
    if name in available:
        return name
    reason = "is not in this machine's kernel"
    if name in congestion.PROGRAMS:
        try:
            programs.require()
            return congestion.PROGRAMS[name]
        except programs.ProgramError as error:
            doctor.require_root()
            reason += f", and Fairport's own cannot be loaded: {error}"
    back = {kernel: own for own, kernel in _KERNEL_NAMES.items()}
    # another run may have Fairport's own in the kernel, whose names there no scenario can use
    others = [one for one in available if one not in congestion.PROGRAMS.values()]
    usable = ", ".join(back.get(one, one) for one in others)
    raise _refusal(
        scenario,
        "tcp.congestion_control",
        reason,
        f'use one of {usable}, or `backend="simulation"`',
        value=ours,
    )


def refuse_user_code(scenario: Scenario, job: Job) -> None:
    """Raises ScenarioError if the scenario names code of the user's own."""
    for field, name in job.user_code.items():
        queue = field == "queue.name"
        raise scenario_error(
            scenario,
            job,
            field,
            name if queue else f"custom:{name}",
            f"is code of your own, which {'the switch' if queue else 'the kernel'} cannot run",
            'use `backend="simulation"`',
        )


def _refuse_what_is_simulated(
    scenario: Scenario, job: Job, number: int, stack: Mapping[str, Any]
) -> None:
    """Refuses what the kernel does not have: tiny segments, gaps at random, and coarse timers."""
    if stack["mss_bytes"] < _SMALLEST_MSS:
        raise scenario_error(
            scenario,
            job,
            f"stacks.{number}.mss_bytes",
            str(stack["mss_bytes"]),
            f"is below {_SMALLEST_MSS} B, the smallest that Linux lets a program ask for",
            'give a larger one, or use `backend="simulation"`',
        )
    paces = stack["pacing"] != "off"
    for field, refused in (("send_gap_max_ps", True), ("pacing_granularity_ps", paces)):
        if stack[field] and refused:
            raise scenario_error(
                scenario,
                job,
                f"stacks.{number}.{field}",
                str(stack[field]),
                "is not available on the Linux backend",
                'leave it out, or use `backend="simulation"`',
            )


def _refusal(
    scenario: Scenario, field: str, problem: str, remedy: str, **value: Any
) -> ScenarioError:
    return ScenarioError(problem, file=scenario.where(field), field=field, remedy=remedy, **value)
