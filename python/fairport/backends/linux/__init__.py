"""Real Linux TCP as a backend: hosts are network namespaces, the network is Fairport's own switch.

The same forwarding core, queue disciplines, topology and routing as in the simulation run in real
time between the kernel's TCP stacks. Hosts take real time, so the scenario's profile and processing
times do not apply. A run is valid if the switch was on time (`gate`); otherwise its numbers say
more about the machine than about TCP.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property
from typing import Any

from fairport import _core, headers
from fairport.backends import columns
from fairport.backends.jobs import job_of, key, refused
from fairport.backends.linux import (
    capacity,
    congestion,
    demand,
    doctor,
    gate,
    measured,
    namespaces,
    programs,
    receiving,
    shapers,
)
from fairport.backends.linux.flows import (
    REQUEST_PORTS,
    FlowSpec,
    FlowSpecs,
    HostAt,
    Stack,
    data_port,
    request_port,
)
from fairport.backends.linux.host_settings import host_settings, refuse_user_code
from fairport.backends.linux.load import LoadReport, LoadTask
from fairport.backends.linux.namespaces import HostSettings, Namespaces
from fairport.backends.linux.observing import Observe, largest_windows
from fairport.backends.linux.processes import Child, ChildError, SwitchTask, forward, load
from fairport.backends.linux.queue_trace import QueueTask, watch_queues
from fairport.backends.observation import capture_paths, named
from fairport.backends.protocol import Estimate, Observation, Progress, Recorded
from fairport.errors import BackendError
from fairport.result import run_id
from fairport.scenario import Scenario
from fairport.scenario.lower import Job

NAME = "linux"
Starts = Callable[[], Child]

# Hosts are real: their time is not drawn, and their adapters push back instead of dropping.
_REAL_HOST: dict[str, Any] = {
    "processing": {"kind": "constant", "value": "0s"},
    "queue": "100000 packets",
}
# From the switch's start to the scenario's: the load needs this time to learn the switch's clock.
_LEAD_S = 0.5
_SHORTEST_SAMPLE_S = 0.001
# `tc -s` takes some 10 ms
_SHORTEST_LOOK_S = 0.1
_MEMORY_BYTES = 500_000_000
_WATCHED_FLOWS = 1000
# a timeout ends a silence of at least the minimum RTO; the rest allows for errors of measurement
_SILENCE_OF_RTO_MIN = 0.75


@dataclass(frozen=True)
class PreparedLinux:
    """A scenario with its seed, and the settings of its hosts and flows."""

    scenario: Scenario
    job: Job
    settings: Mapping[int, HostSettings]
    """By the host's number, for hosts that take part."""
    stacks: Sequence[Stack]
    observation: Observation | None = None
    """Which packets are kept, at ports by their own names; `ports` are all of the network's."""
    ports: Sequence[str] = ()
    is_checked: bool = True
    """Whether the run is refused if this machine cannot forward enough frames for it."""

    @property
    def key(self) -> str:
        """The key of the run; the kernel's release is a part of it."""
        network = self.scenario.queue.implementation
        return f"{key(NAME, self.job, network)}-{os.uname().release}"

    @property
    def is_kept(self) -> bool:
        """False: two runs of real hosts differ, even with the same seed."""
        return False

    @property
    def estimate(self) -> Estimate:
        """Memory, and time: a run takes place in real time."""
        return Estimate(memory_bytes=_MEMORY_BYTES, wall_s=self.scenario.duration.seconds + 2)

    def observing(self, observation: Observation) -> PreparedLinux:
        """The same run, with a switch that keeps single packets.

        Raises InputError for an unknown port, BackendError for captures of the kernel's own queues.
        """
        if observation.captures and self._has_shapers:
            raise BackendError(
                "writes no captures of the kernel's queues",
                field="queue.implementation",
                value="tc",
                remedy="leave it out: Fairport's own switch writes captures",
            )
        planned = _core.Simulation(json.dumps(self.job.document))
        own = named(observation, planned.ports, planned.busiest_port)
        return replace(self, observation=own, ports=planned.ports)

    def run(self, progress: Progress | None = None, *, threads: int = 1) -> Recorded:
        """Runs it, in namespaces of its own, and removes them.

        Raises BackendError without the privileges, for a rate that this machine cannot forward,
        and when a process of the run fails.
        """
        doctor.require_root()
        namespaces.remove(namespaces.leftovers())
        if self.is_checked:
            rate_bps = int(self.scenario.link.rate)
            capacity.require(self._frames_per_s, rate_bps, capacity.forwarded_per_s)
        started, begin = datetime.now(timezone.utc), time.perf_counter()
        spaces = Namespaces()
        try:
            registered = congestion.Registered(self._programs)
        except programs.ProgramError as error:
            raise BackendError(str(error), remedy="`fairport doctor` checks this machine") from None
        try:
            spaces.make(self.settings)
            if processors := capacity.processors_of_hosts(self._frames_per_s):
                within = capacity.within_calls(self._frames_per_s, demand.only_receiving(self.job))
                others = [one for one in spaces.hosts if self._host_names[one.number] not in within]
                receiving.in_threads(others, processors)
            lost = capacity.backlog_losses()
            outcome, report = self._run(spaces, self._network(spaces), progress)
            outcome["health"]["backlog_losses"] = capacity.backlog_losses() - lost
            windows, thresholds = registered.lost_answers()
            outcome["health"] |= {"lost_windows": windows, "lost_thresholds": thresholds}
        except (ChildError, programs.ProgramError) as error:
            raise BackendError(str(error), remedy="`fairport doctor` checks this machine") from None
        except OSError as error:
            raise BackendError(
                f"cannot make its network namespaces: {error}",
                remedy="`fairport doctor` checks this machine",
            ) from None
        finally:
            spaces.remove()
            registered.close()
        wall_s = time.perf_counter() - begin
        hosts = _places(spaces)
        return self._recorded(outcome, report, hosts, started, wall_s)

    def _run(
        self, spaces: Namespaces, network: Starts, progress: Progress | None
    ) -> tuple[dict[str, Any], LoadReport]:
        hosts = _places(spaces)
        load_task = self._load_task(hosts)
        with (
            closing(Child("load", load, load_task)) as loading,
            closing(network()) as switching,
        ):
            loading.wait("ready")
            zero, _ = switching.wait("at")
            loading.send(zero + _LEAD_S)
            outcome = self._watch(switching, progress)
            report: LoadReport = loading.wait("done")
        return outcome, report

    def _watch(self, switch: Child, progress: Progress | None) -> dict[str, Any]:
        """Waits for the switch's outcome, and reports how far it is."""
        while True:
            word, content = switch.report()
            if word == "done":
                outcome: dict[str, Any] = content
                return outcome
            if progress is not None:
                progress(self.scenario.seed, max(0.0, content[1] - _LEAD_S), 0)

    def _network(self, spaces: Namespaces) -> Starts:
        """The function that starts the process between the hosts; after it the network is ready."""
        if self._has_shapers:
            task = QueueTask(
                namespace=spaces.switch,
                ports=shapers.build(spaces, self.scenario, self._layout),
                run_s=self.scenario.duration.seconds + _LEAD_S,
                interval_s=max(_SHORTEST_LOOK_S, self.scenario.probes.queue_interval.seconds),
            )
            return lambda: Child("trace of the queues", watch_queues, task)
        switch_task = self._switch_task(spaces, _places(spaces))
        return lambda: Child("switch", forward, switch_task)

    @cached_property
    def _frames_per_s(self) -> float:
        """The frames per second that Fairport's own switch will have to forward."""
        if self._has_shapers:
            return 0.0
        return demand.frames_per_s(self.scenario, self.job, self._layout)

    @property
    def _has_shapers(self) -> bool:
        return self.scenario.queue.implementation == "tc"

    @property
    def _programs(self) -> list[str]:
        """Those congestion controls that are Fairport's own BPF programs."""
        used = {stack.congestion_control for stack in self.stacks}
        return [name for name, kernel in congestion.PROGRAMS.items() if kernel in used]

    @cached_property
    def _layout(self) -> dict[str, Any]:
        return _core.layout(json.dumps(self.job.document))

    def _number(self, host: str) -> int:
        return self._host_names.index(host)

    @cached_property
    def _host_names(self) -> list[str]:
        return _core.topology_hosts(json.dumps(self.job.document["topology"]))

    def _listed(self) -> list[FlowSpec]:
        """The flows that are known before the run."""
        agenda = _core.Agenda(json.dumps(self.job.document))
        specs = FlowSpecs(agenda)
        return [specs.up_to(number) for number in range(len(agenda))]

    def _switch_task(self, spaces: Namespaces, hosts: Mapping[int, HostAt]) -> SwitchTask:
        longer = self.job.document["duration_ps"] + int(_LEAD_S * 1e12)
        wanted = self.observation or Observation()
        number = {name: number for number, name in enumerate(self.ports)}
        return SwitchTask(
            namespace=spaces.switch,
            job_json=json.dumps(self.job.document | {"duration_ps": longer}),
            attachments=[
                (host.port, host.number, str(host.address), self._silence_s(host.number))
                for host in spaces.hosts
            ],
            flows=[spec.key(hosts) for spec in self._listed()],
            tolerated_s=self._expectation().drain_s,
            request_ports=REQUEST_PORTS,
            packets=tuple(number[port] for port in wanted.packets),
            captures=capture_paths(wanted, number, self.scenario.seed),
            snap_bytes=wanted.snap_bytes,
            zero_s=_LEAD_S,
        )

    def _load_task(self, hosts: Mapping[int, HostAt]) -> LoadTask:
        scenario, measure_to = self.scenario, self.scenario.measure.end
        measure_from = scenario.measure.start
        return LoadTask(
            job_json=json.dumps(self.job.document),
            hosts=hosts,
            stacks=self.stacks,
            seed=scenario.seed,
            stopping=frozenset(
                number for number, flow in enumerate(self.job.flows) if flow["stop_ps"] is not None
            ),
            end_s=scenario.duration.seconds,
            listen=self._waited_at(),
            observe=Observe(
                interval_s=max(_SHORTEST_SAMPLE_S, scenario.probes.series_interval.seconds),
                watched_flows=self.job.document["probes"].get("watched_flows", _WATCHED_FLOWS),
                measure_from_s=None if measure_from is None else measure_from.seconds,
                measure_to_s=None if measure_to is None else measure_to.seconds,
            ),
            has_programs=bool(self._programs),
        )

    def _waited_at(self) -> list[tuple[int, int, int]]:
        """Host, port and stack of each socket that waits for connections or datagrams."""
        places = {
            (spec.host(1 - spec.opener), spec.remote_port, spec.stacks[1 - spec.opener])
            for spec in self._listed()
        }
        for workload in self.job.document["workloads"]:
            for role, port in (("receivers", data_port), ("senders", request_port)):
                places |= {
                    (self._number(end["host"]), port(end["stack"]), end["stack"])
                    for end in workload[role]
                }
        return sorted(places)

    def _expectation(self) -> gate.Expectation:
        """What is expected of the run, from the buffer and the line of the scenario's ports."""
        scenario = self.scenario
        rate = int(scenario.link.rate)
        if scenario.shaper is not None:
            rate = min(rate, int(scenario.shaper.rate))
        limit = scenario.queue.limit
        mtu = int(scenario.link.mtu)
        is_ethernet = scenario.link.framing == "ethernet"
        full_frame = mtu + (headers.ETHERNET_BUFFERED if is_ethernet else 0)
        buffered = int(limit) * full_frame if limit.in_packets else int(limit)
        on_wire = mtu + (headers.ETHERNET_ON_WIRE if is_ethernet else 0)
        payload = mtu - headers.IPV4_TCP - (headers.TIMESTAMPS if self._has_timestamps() else 0)
        receivers = {flow["dst"] for flow in self.job.flows}
        is_full = (
            len(receivers) == 1
            and all(traffic.kind == "bulk" for traffic in scenario.traffic)
            and all(flow["size_bytes"] is None for flow in self.job.flows)
            and all(flow["stop_ps"] is None for flow in self.job.flows)
            and all(stack.payload is None for stack in self.stacks)
        )
        return gate.Expectation(
            drain_s=buffered * 8 / rate,
            line_goodput_bps=rate * payload / on_wire if is_full else None,
            rate_bps=rate,
        )

    def _has_timestamps(self) -> bool:
        return all(one.has_timestamps for one in self.settings.values())

    def _silence_s(self, host: int) -> float:
        return _SILENCE_OF_RTO_MIN * self.settings[host].rto_min_ms * 1e-3

    def _recorded(
        self,
        outcome: Mapping[str, Any],
        report: LoadReport,
        hosts: Mapping[int, HostAt],
        started: datetime,
        wall_s: float,
    ) -> Recorded:
        scenario = self.scenario
        duration_s = scenario.duration.seconds
        tables = measured.arrays(
            outcome, report, hosts=hosts, lead_s=_LEAD_S, duration_s=duration_s
        )
        goodput_bps = float(tables["flows"]["goodput_bps"].sum())
        health, expected = outcome["health"], self._expectation()
        if self._has_shapers:
            faults = gate.faults_of_shapers(health, expected, goodput_bps)
        else:
            faults = gate.faults(health, expected, duration_s + _LEAD_S, goodput_bps)
        faults += gate.faults_of_windows(largest_windows(report.samples))
        faults += [f"flow {one.spec.number}: {one.error}" for one in report.flows if one.error]
        return Recorded(
            tables=columns.from_core(
                {"names": outcome["names"], "tables": tables},
                run_id(scenario),
                self._host_names,
                self.job.stacks,
                [traffic.kind for traffic in scenario.traffic],
            ),
            fingerprint=outcome["fingerprint"],
            started=started,
            wall_s=wall_s,
            simulated_s=duration_s,
            measure_from_s=report.measure_from_s,
            measure_to_s=report.measure_to_s,
            packet_hops=outcome["packet_hops"],
            valid=not faults,
            faults=faults,
            health={name: one for name, one in outcome["health"].items() if name != "stalls"},
        )


class Linux:
    """The backend."""

    name = NAME
    is_real_time = True

    def prepare(self, scenario: Scenario, seed: int, *, is_checked: bool = True) -> PreparedLinux:
        """Checks a scenario with this seed. Raises ScenarioError.

        `is_checked`: a run of more frames per second than this machine forwards is refused.
        """
        host = _REAL_HOST | scenario.host.beside_measured()
        scenario = scenario.patch({"host": host, "seed": seed})
        job = job_of(scenario)
        refuse_user_code(scenario, job)
        try:
            _core.estimate(json.dumps(job.document))
        except _core.JobError as error:
            raise refused(scenario, job, error) from None
        if scenario.queue.implementation == "tc":
            shapers.check(scenario, _core.layout(json.dumps(job.document)))
        names = _core.topology_hosts(json.dumps(job.document["topology"]))
        settings, stacks = host_settings(scenario, job, names)
        return PreparedLinux(scenario, job, settings, stacks, is_checked=is_checked)


BACKEND = Linux()


def _places(spaces: Namespaces) -> dict[int, HostAt]:
    return {host.number: HostAt(host.namespace, host.address) for host in spaces.hosts}
