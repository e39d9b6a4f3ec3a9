"""The backend: it checks a scenario, and prepares its run."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from fairport import _core
from fairport.backends.jobs import job_of, refused
from fairport.backends.linux import capacity, shapers, tcp_settings
from fairport.backends.linux.host_settings import host_settings, refuse_user_code
from fairport.backends.linux.prepared import NAME, PreparedLinux
from fairport.scenario import Scenario

# Hosts are real: their time is not drawn, and their adapters push back instead of dropping.
_REAL_HOST: dict[str, Any] = {
    "processing": {"kind": "constant", "value": "0s"},
    "queue": "100000 packets",
}


class Linux:
    """The backend."""

    name = NAME
    is_real_time = True

    def prepare(self, scenario: Scenario, seed: int, *, is_checked: bool = True) -> PreparedLinux:
        """Checks a scenario with this seed. Raises ScenarioError.

        `is_checked`: the run is refused if it needs more frames per second than this machine
        forwards.
        """
        given = scenario
        host = _REAL_HOST | scenario.host.beside_measured()
        scenario = scenario.patch({"host": host, "seed": seed})
        job = job_of(scenario)
        refuse_user_code(scenario, job)
        try:
            plan = _core.Simulation(json.dumps(job.document))
        except _core.JobError as error:
            raise refused(scenario, job, error) from None
        if scenario.queue.implementation == "tc":
            shapers.check(scenario, _core.layout(json.dumps(job.document)))
        settings, stacks = host_settings(scenario, job)
        measured = partial(capacity.forwarded_per_s, _frames_out) if is_checked else None
        return PreparedLinux(
            scenario,
            job,
            plan,
            settings,
            stacks,
            ignored_settings=tcp_settings.ignored(given, job),
            forwarded_per_s=measured,
        )


BACKEND = Linux()


def _frames_out(scenario: Scenario) -> int:
    """Runs a scenario, and counts the frames that left the switch."""
    run = BACKEND.prepare(scenario, 1, is_checked=False).run()
    return int(run.health["frames_out"])
