"""The tasks of a run's processes, made from a scenario."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fairport import _core
from fairport.backends.linux import shapers
from fairport.backends.linux.flows import (
    REQUEST_PORTS,
    FlowSpec,
    FlowSpecs,
    HostAt,
    Stack,
    data_port,
    request_port,
)
from fairport.backends.linux.generator_task import GeneratorTask
from fairport.backends.linux.namespaces import HostSettings, Namespaces
from fairport.backends.linux.observing import Observe
from fairport.backends.linux.processes import SwitchTask
from fairport.backends.linux.queue_trace import QueueTask
from fairport.backends.observation import capture_paths
from fairport.backends.protocol import Observation
from fairport.scenario import Scenario
from fairport.scenario.lower import Job

LEAD_S = 0.5
"""From the switch's start to the scenario's: the generator needs this time to learn the switch's
clock."""

_SHORTEST_SAMPLE_S = 0.001
# `tc -s` takes some 10 ms
_SHORTEST_LOOK_S = 0.1
_WATCHED_FLOWS = 1000
# a timeout ends a silence of at least the minimum RTO; the rest allows for errors of measurement
_SILENCE_OF_RTO_MIN = 0.75


def places(spaces: Namespaces) -> dict[int, HostAt]:
    """Where each host is, by its number."""
    return {host.number: HostAt(host.namespace, host.address) for host in spaces.hosts}


def of_queues(scenario: Scenario, layout: Mapping[str, Any], spaces: Namespaces) -> QueueTask:
    """The trace of the kernel's own queues. Builds the network."""
    return QueueTask(
        namespace=spaces.switch,
        ports=shapers.build(spaces, scenario, layout),
        run_s=scenario.duration.seconds + LEAD_S,
        interval_s=max(_SHORTEST_LOOK_S, scenario.probes.queue_interval.seconds),
    )


def of_switch(
    job: Job,
    spaces: Namespaces,
    settings: Mapping[int, HostSettings],
    *,
    seed: int,
    tolerated_s: float,
    observation: Observation | None,
    ports: Sequence[str],
) -> SwitchTask:
    """The switch; frames later than `tolerated_s` count as stalled."""
    wanted = observation or Observation()
    number = {name: number for number, name in enumerate(ports)}
    hosts = places(spaces)

    def silence_s(host: int) -> float:
        return _SILENCE_OF_RTO_MIN * settings[host].rto_min_ms * 1e-3

    return SwitchTask(
        namespace=spaces.switch,
        job_json=json.dumps(_for_clock_of_switch(job.document)),
        attachments=[
            (host.port, host.number, str(host.address), silence_s(host.number))
            for host in spaces.hosts
        ],
        flows=[spec.key(hosts) for spec in _listed(job)],
        tolerated_s=tolerated_s,
        request_ports=REQUEST_PORTS,
        packets=tuple(number[port] for port in wanted.packets),
        captures=capture_paths(wanted, number, seed),
        snap_bytes=wanted.snap_bytes,
        zero_s=LEAD_S,
    )


def _for_clock_of_switch(document: Mapping[str, Any]) -> dict[str, Any]:
    """The job with its times by a clock that begins `LEAD_S` before the scenario's."""
    lead_ps = int(LEAD_S * 1e12)

    def later(loss: Mapping[str, Any]) -> dict[str, Any]:
        times = {name: loss[name] for name in ("from_ps", "to_ps") if loss.get(name) is not None}
        return {**loss, **{name: time_ps + lead_ps for name, time_ps in times.items()}}

    return {
        **document,
        "duration_ps": document["duration_ps"] + lead_ps,
        "losses": [later(loss) for loss in document["losses"]],
    }


def of_generator(
    scenario: Scenario,
    job: Job,
    hosts: Mapping[int, HostAt],
    stacks: Sequence[Stack],
    *,
    has_programs: bool,
) -> GeneratorTask:
    """The traffic generator."""
    measure_from, measure_to = scenario.measure.start, scenario.measure.end
    return GeneratorTask(
        job_json=json.dumps(job.document),
        hosts=hosts,
        stacks=stacks,
        seed=scenario.seed,
        stopping=frozenset(
            number for number, flow in enumerate(job.flows) if flow["stop_ps"] is not None
        ),
        end_s=scenario.duration.seconds,
        listen=_waited_at(job),
        observe=Observe(
            interval_s=max(_SHORTEST_SAMPLE_S, scenario.probes.series_interval.seconds),
            watched_flows=watched_flows(job),
            measure_from_s=None if measure_from is None else measure_from.seconds,
            measure_to_s=None if measure_to is None else measure_to.seconds,
        ),
        has_programs=has_programs,
    )


def watched_flows(job: Job) -> int:
    """Number of flows that the probes watch: those with the lowest numbers."""
    return int(job.document["probes"].get("watched_flows", _WATCHED_FLOWS))


def _listed(job: Job) -> list[FlowSpec]:
    """The flows that are known before the run."""
    agenda = _core.Agenda(json.dumps(job.document))
    specs = FlowSpecs(agenda)
    return [specs.up_to(number) for number in range(len(agenda))]


def _waited_at(job: Job) -> list[tuple[int, int, int]]:
    """Host, port and stack of each socket that waits for connections or datagrams."""
    places = {
        (spec.host(1 - spec.opener), spec.remote_port, spec.stacks[1 - spec.opener])
        for spec in _listed(job)
    }
    for workload in job.document["workloads"]:
        for role, port in (("receivers", data_port), ("senders", request_port)):
            places |= {
                (job.hosts.index(end["host"]), port(end["stack"]), end["stack"])
                for end in workload[role]
            }
    return sorted(places)
