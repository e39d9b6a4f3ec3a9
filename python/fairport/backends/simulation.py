"""The packet-level simulator as a backend: a scenario and a seed become tables."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from fairport import _core
from fairport.backends.huge_pages import moving
from fairport.backends.jobs import job_of, key, refused
from fairport.backends.observation import capture_paths, named
from fairport.backends.progress import Report
from fairport.backends.protocol import Estimate, Observation, Recorded
from fairport.result import run_id
from fairport.scenario import Scenario
from fairport.scenario.lower import Job

NAME = "simulation"

# Memory of a row of `packets`: in the engine, in a vector that doubles as it grows, and as columns.
_PACKET_ROW_BYTES = 3 * 46
# More than in any run of TCP so far; the engine's estimate of drops uses the same number.
_DROPPED = 0.1


@dataclass(frozen=True)
class PreparedSimulation:
    """A scenario with its seed, lowered to a job and planned; the network is built when it runs."""

    scenario: Scenario
    job: Job
    simulation: _core.Simulation
    observation: Observation | None = None

    @property
    def key(self) -> str:
        """Hash of the job without its seed, and of the user's own classes."""
        user_code = "" if self.is_kept else json.dumps(self.scenario.user_code.described())
        return key(NAME, self.job, user_code)

    @property
    def is_kept(self) -> bool:
        """False if the user's own code decides the result: it may change between two runs."""
        return not self.job.user_code

    @property
    def estimate(self) -> Estimate:
        """Memory by the engine's own rule. The time is not known in advance."""
        needed = self.simulation.memory_bytes + self._packet_rows() * _PACKET_ROW_BYTES
        return Estimate(memory_bytes=needed, wall_s=None)

    def _packet_rows(self) -> int:
        """Most rows of the table `packets`: the packets that a busy line carries, and drops."""
        wanted = self.observation
        if wanted is None:
            return 0
        from_s, to_s = wanted.window_s
        span_s = max(min(to_s, self.scenario.duration.seconds) - from_s, 0.0)
        rates = dict(zip(self.simulation.ports, self.simulation.link_rates_bps, strict=True))
        bits = sum(rates[port] for port in wanted.packets) * span_s
        return int(bits / (8 * int(self.scenario.link.mtu)) * (1 + _DROPPED))

    def run(self, report: Report | None = None, *, threads: int = 1) -> Recorded:
        """Runs the simulation on up to `threads` cores. A second call raises."""
        fullest_link = self.simulation.fullest_link()
        started = datetime.now(timezone.utc)
        begin = time.perf_counter()
        raw = self.run_engine(report, threads=threads)
        wall_s = time.perf_counter() - begin
        # a caller may import it during the run, to save time
        from fairport.backends import columns

        return Recorded(
            tables=columns.from_core(
                raw,
                run_id(self.scenario),
                self.job.hosts,
                self.job.stacks,
                [traffic.kind for traffic in self.scenario.traffic],
            ),
            fingerprint=raw["fingerprint"],
            started=started,
            wall_s=wall_s,
            simulated_s=raw["simulated_s"],
            measure_from_s=raw["measure_from_s"],
            measure_to_s=raw["measure_to_s"],
            packet_hops=raw["packet_hops"],
            decisions_left_out=raw["decisions_left_out"],
            fullest_link=fullest_link,
            events=raw["events"],
        )

    def run_engine(self, report: Report | None = None, *, threads: int = 1) -> dict[str, Any]:
        """What the engine says of the run: `run` makes a record of it. A second call raises."""
        moved = moving(report or (lambda _at_s, _hops: None))
        return self.simulation.run(moved, self._observation(), threads)

    def observing(self, observation: Observation) -> PreparedSimulation:
        """The same run, which keeps single packets."""
        engine = self.simulation
        found = named(observation, engine.ports, engine.busiest_port)
        return replace(self, observation=found)

    def _observation(self) -> dict[str, Any] | None:
        """Tells the engine what to keep of single packets."""
        wanted = self.observation
        if wanted is None:
            return None
        number = {name: index for index, name in enumerate(self.simulation.ports)}
        return {
            "captures": capture_paths(wanted, number, self.scenario.seed),
            "snap_bytes": wanted.snap_bytes,
            "packets": [number[port] for port in wanted.packets],
            "window_s": wanted.window_s,
        }


class Simulation:
    """The backend."""

    name = NAME
    is_real_time = False

    def prepare(self, scenario: Scenario, seed: int) -> PreparedSimulation:
        """Checks a scenario with this seed and plans its run. Raises ScenarioError."""
        scenario = scenario.with_seed(seed)
        job = job_of(scenario)
        try:
            simulation = _core.Simulation(
                json.dumps(job.document),
                dict(scenario.user_code.disciplines),
                dict(scenario.user_code.congestion_controls),
            )
        except _core.JobError as error:
            raise refused(scenario, job, error) from None
        return PreparedSimulation(scenario, job, simulation)


BACKEND = Simulation()


def layout(scenario: Scenario) -> dict[str, Any]:
    """The network and the flows' paths as the engine builds them, without a run.

    Raises ScenarioError for a scenario that cannot be run.
    """
    job = job_of(scenario)
    try:
        return _core.layout(json.dumps(job.document))
    except _core.JobError as error:
        raise refused(scenario, job, error) from None
