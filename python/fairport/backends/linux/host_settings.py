"""What a scenario asks of its hosts' TCP, as a Linux kernel has it, and what it asks in vain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fairport import _core, headers
from fairport.backends.linux import congestion, programs
from fairport.backends.linux.flows import PayloadSizes, Stack
from fairport.backends.linux.namespaces import HostSettings
from fairport.errors import ScenarioError
from fairport.scenario import Scenario
from fairport.scenario.lower import Job
from fairport.scenario.traffic.udp import Udp

# the kernel's names, where they are not ours
_KERNEL_NAMES = {"newreno": "reno"}
# of a stack that no TCP connection has
_ANY = Stack("reno", None)
_PS_PER_MS = 10**9
# room for the fastest flow, so that no socket's buffer limits it
_SOCKET_BYTES = 8 << 20


def host_settings(scenario: Scenario, job: Job) -> tuple[HostSettings, list[Stack]]:
    """What is set on every host, and what the sockets of each of the job's stacks have.

    Raises ScenarioError for what a Linux host cannot do, or what this backend does not yet do.
    """
    _refuse_what_is_simulated(scenario)
    stacks = [_resolved(stack) for stack in job.stacks]
    for name in ("sack", "timestamps", "ecn", "rto_min_ps", "initial_window_segments"):
        if len({stack[name] for stack in stacks}) > 1:
            raise _refusal(
                scenario,
                "tcp",
                f"differs between hosts in `{name}`: on this backend all hosts share it",
                "give every flow the same stack, or use --backend simulation",
            )
    used = _used(job)
    of_sockets = [
        Stack(_congestion_control(scenario, stack), _payload(stack)) if number in used else _ANY
        for number, stack in enumerate(stacks)
    ]
    first = stacks[0]
    sysctls = {
        "tcp_sack": int(first["sack"]),
        "tcp_timestamps": int(first["timestamps"]),
        "tcp_ecn": 1 if first["ecn"] else 0,
        "tcp_comp_sack_nr": first["sack_compression"],
        "tcp_slow_start_after_idle": int(first["slow_start_after_idle"]),
        # nothing is learnt from an earlier connection, and a segment is one frame
        "tcp_no_metrics_save": 1,
        "tcp_min_tso_segs": 1,
        "tcp_rmem": f"4096 1048576 {_SOCKET_BYTES}",
        "tcp_wmem": f"4096 1048576 {_SOCKET_BYTES}",
    }
    settings = HostSettings(
        sysctls=tuple((f"ipv4/{name}", str(value)) for name, value in sysctls.items()),
        rto_min_ms=max(1, round(first["rto_min_ps"] / _PS_PER_MS)),
        initial_window=first["initial_window_segments"],
    )
    return settings, of_sockets


def _used(job: Job) -> set[int]:
    """The stacks that some TCP connection has."""
    listed = {
        flow[f"{side}_stack"]
        for flow in job.flows
        if flow["udp"] is None
        for side in ("sender", "receiver")
    }
    started = {
        end["stack"]
        for workload in job.document["workloads"]
        for end in (*workload["senders"], *workload["receivers"])
    }
    return listed | started


def _payload(stack: Mapping[str, Any]) -> PayloadSizes | None:
    if stack["payload_sizing"] == "full":
        return None
    shape = None
    if stack["payload_sizing"] == "adaptive":
        shape = tuple(math.inf if part is None else part / 1000 for part in stack["tcprand"])
    return PayloadSizes(stack["payload_min_bytes"], shape)


def _resolved(stack: Mapping[str, Any]) -> dict[str, Any]:
    resolved: dict[str, Any] = _core.preset(stack["preset"]) | stack["overrides"]
    return resolved


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
            reason += f", and Fairport's own cannot be loaded: {error}"
    back = {kernel: own for own, kernel in _KERNEL_NAMES.items()}
    usable = ", ".join(back.get(one, one) for one in available)
    raise _refusal(
        scenario,
        "tcp.congestion_control",
        reason,
        f"use one of {usable}, or --backend simulation",
        value=ours,
    )


def _refuse_what_is_simulated(scenario: Scenario) -> None:
    largest = int(scenario.link.mtu) - headers.IPV4_UDP
    for index, traffic in enumerate(scenario.traffic):
        if isinstance(traffic, Udp) and traffic.payload > largest:
            raise _refusal(
                scenario,
                f"traffic.{index}.payload",
                "does not fit into a frame, and the switch forwards no fragments",
                f'give at most "{largest}B"',
                value=str(traffic.payload),
            )
    if scenario.user_code:
        raise _refusal(
            scenario,
            "queue.kind",
            "is code of your own, which the switch cannot run in real time",
            "use --backend simulation",
        )
    if scenario.tcp.pacing not in (None, "off"):
        raise _refusal(
            scenario,
            "tcp.pacing",
            "is not available on the Linux backend",
            'use "off", or --backend simulation',
            value=scenario.tcp.pacing,
        )


def _refusal(
    scenario: Scenario, field: str, problem: str, remedy: str, **value: Any
) -> ScenarioError:
    return ScenarioError(problem, file=scenario.where(field), field=field, remedy=remedy, **value)
