"""A scenario that is ready to run on real hosts, and its run."""

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

from fairport import _core
from fairport.backends import columns
from fairport.backends.jobs import key
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
    tasks,
)
from fairport.backends.linux.expectation import expectation
from fairport.backends.linux.flows import HostAt, Stack
from fairport.backends.linux.generator_task import GeneratorReport
from fairport.backends.linux.namespaces import HostSettings, Namespaces
from fairport.backends.linux.observing import largest_windows
from fairport.backends.linux.processes import Child, ChildError, forward, generate_traffic
from fairport.backends.linux.queue_trace import watch_queues
from fairport.backends.observation import named
from fairport.backends.progress import Report
from fairport.backends.protocol import Estimate, Observation, Recorded
from fairport.errors import BackendError
from fairport.result import run_id
from fairport.scenario import Scenario
from fairport.scenario.lower import Job

NAME = "linux"
Starts = Callable[[], Child]

_MEMORY_BYTES = 500_000_000


@dataclass(frozen=True)
class PreparedLinux:
    """A scenario with its seed, and the settings of its hosts and flows."""

    scenario: Scenario
    job: Job
    plan: _core.Simulation
    """The same run as the simulation plans it, for what is known of it before; it never runs."""
    settings: Mapping[int, HostSettings]
    """By the host's number, for hosts that take part."""
    stacks: Sequence[Stack]
    observation: Observation | None = None
    """Which packets are kept, at ports by their own names."""
    ignored_settings: Sequence[str] = ()
    """Fields of the scenario that the hosts do not follow."""
    forwarded_per_s: Callable[[], float] | None = None
    """Measures how many frames per second this machine forwards; a run that needs more is refused.

    None: no run is refused.
    """

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
        own = named(observation, self.plan.ports, self.plan.busiest_port)
        return replace(self, observation=own)

    def run(self, report: Report | None = None, *, threads: int = 1) -> Recorded:
        """Runs it, in namespaces of its own, and removes them.

        Raises BackendError without the privileges, for a rate that this machine cannot forward,
        and when a process of the run fails.
        """
        doctor.require_root()
        namespaces.remove(namespaces.leftovers())
        if self.forwarded_per_s:
            rate_bps = int(self.scenario.link.rate)
            capacity.require(self._frames_per_s, rate_bps, self.forwarded_per_s)
        started, begin = datetime.now(timezone.utc), time.perf_counter()
        spaces = Namespaces()
        try:
            registered = congestion.Registered(self._programs)
        except (programs.ProgramError, OSError) as error:
            raise BackendError(str(error), remedy="`fairport doctor` checks this machine") from None
        try:
            network = self._built(spaces)
            lost = capacity.backlog_losses()
            outcome, generated = self._run(spaces, network, report)
            outcome["health"]["backlog_losses"] = capacity.backlog_losses() - lost
            windows, thresholds = registered.lost_answers()
            outcome["health"] |= {"lost_windows": windows, "lost_thresholds": thresholds}
        except (ChildError, programs.ProgramError) as error:
            raise BackendError(str(error), remedy="`fairport doctor` checks this machine") from None
        finally:
            spaces.remove()
            registered.close()
        wall_s = time.perf_counter() - begin
        hosts = tasks.places(spaces)
        return self._recorded(outcome, generated, hosts, started, wall_s)

    def _built(self, spaces: Namespaces) -> Starts:
        """Makes hosts and network; returns the function that starts the process between them."""
        try:
            spaces.make(self.settings)
            if processors := capacity.processors_of_hosts(self._frames_per_s):
                within = capacity.within_calls(self._frames_per_s, demand.only_receiving(self.job))
                others = [one for one in spaces.hosts if self.job.hosts[one.number] not in within]
                receiving.in_threads(others, processors)
            return self._network(spaces)
        except namespaces.ERRORS as error:
            raise BackendError(
                f"cannot make its network namespaces: {error}",
                remedy="`fairport doctor` checks this machine",
            ) from None

    def _run(
        self, spaces: Namespaces, network: Starts, report: Report | None
    ) -> tuple[dict[str, Any], GeneratorReport]:
        hosts = tasks.places(spaces)
        generator_task = tasks.of_generator(
            self.scenario, self.job, hosts, self.stacks, has_programs=bool(self._programs)
        )
        with (
            closing(Child("traffic generator", generate_traffic, generator_task)) as generator,
            closing(network()) as switching,
        ):
            for child in (generator, switching):
                child.wait("ready")
            switching.send(generator.process)
            zero, _ = switching.wait("at")
            generator.send(zero + tasks.LEAD_S)
            return self._watch(switching, generator, report)

    def _watch(
        self, switch: Child, generator: Child, report: Report | None
    ) -> tuple[dict[str, Any], GeneratorReport]:
        """Waits for the outcomes of both, and reports how far the switch is."""
        generated: GeneratorReport | None = None
        while True:
            word, content = switch.report()
            if generated is None and (word == "done" or generator.has_reported()):
                generated = generator.wait("done")
            if word == "done" and generated is not None:
                return content, generated
            if report is not None:
                report(max(0.0, content[1] - tasks.LEAD_S), 0)

    def _network(self, spaces: Namespaces) -> Starts:
        """The function that starts the process between the hosts; after it the network is ready."""
        if self._has_shapers:
            queue_task = tasks.of_queues(self.scenario, self._layout, spaces)
            return lambda: Child("trace of the queues", watch_queues, queue_task)
        switch_task = tasks.of_switch(
            self.job,
            spaces,
            self.settings,
            seed=self.scenario.seed,
            tolerated_s=self._expectation.drain_s,
            observation=self.observation,
            ports=self.plan.ports,
        )
        return lambda: Child("switch", forward, switch_task)

    @cached_property
    def _expectation(self) -> gate.Expectation:
        settings = self.settings.values()
        return expectation(self.scenario, self.job, self._layout, settings, self.stacks)

    @cached_property
    def _frames_per_s(self) -> float:
        """The frames per second that Fairport's own switch will have to forward."""
        if self._has_shapers:
            return 0.0
        mss_bytes = min(stack.mss_bytes for stack in self.stacks)
        return demand.frames_per_s(self.scenario, self.job, self._layout, mss_bytes)

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

    def _recorded(
        self,
        outcome: Mapping[str, Any],
        report: GeneratorReport,
        hosts: Mapping[int, HostAt],
        started: datetime,
        wall_s: float,
    ) -> Recorded:
        scenario = self.scenario
        duration_s = scenario.duration.seconds
        tables = measured.arrays(
            outcome,
            report,
            hosts=hosts,
            lead_s=tasks.LEAD_S,
            duration_s=duration_s,
            watched_flows=tasks.watched_flows(self.job),
        )
        goodput_bps = float(tables["flows"]["goodput_bps"].sum())
        measured_s = report.measure_to_s - report.measure_from_s
        health, expected = outcome["health"], self._expectation.within(measured_s)
        if self._has_shapers:
            faults = gate.faults_of_shapers(health, expected, goodput_bps)
        else:
            faults = gate.faults(health, expected, duration_s + tasks.LEAD_S, goodput_bps)
        faults += gate.faults_of_generator(
            report.late_s, report.late_p99_s, report.lost_datagrams, expected
        )
        faults += gate.faults_of_windows(largest_windows(report.samples))
        faults += [f"flow {one.spec.number}: {one.error}" for one in report.flows if one.error]
        return Recorded(
            tables=columns.from_core(
                {"names": outcome["names"], "tables": tables},
                run_id(scenario),
                self.job.hosts,
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
            fullest_link=self.plan.fullest_link(),
            ignored_settings=self.ignored_settings,
            valid=not faults,
            faults=faults,
            health={name: one for name, one in outcome["health"].items() if name != "stalls"},
        )
