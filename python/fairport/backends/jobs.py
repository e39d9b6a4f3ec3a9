"""Makes the core's job from a scenario, for every backend that moves packets."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from fairport import _core
from fairport.errors import ScenarioError
from fairport.scenario import Scenario
from fairport.scenario.job_errors import scenario_error
from fairport.scenario.lower import Job, lower


def job_of(scenario: Scenario) -> Job:
    """The job of a run with the scenario's seed. Raises ScenarioError."""
    presets = {name: _core.preset(name) for name in _core.presets()}
    try:
        hosts = _core.topology_hosts(json.dumps(scenario.topology.job()))
    except _core.JobError as error:
        raise refused(scenario, None, error) from None
    return lower(scenario, hosts, presets)


def stacks_of(job: Job) -> list[dict[str, Any]]:
    """All settings of each of the job's stacks, in base units."""
    return [_core.preset(stack["preset"]) | stack["overrides"] for stack in job.stacks]


def sender_stacks(job: Job) -> list[dict[str, Any]]:
    """The same of the stacks with which hosts send the data of TCP flows."""
    numbers = {flow["sender_stack"] for flow in job.flows if flow["udp"] is None}
    numbers |= {sender["stack"] for one in job.workloads for sender in one["senders"]}
    stacks = stacks_of(job)
    return [stacks[number] for number in sorted(numbers)]


def refused(scenario: Scenario, job: Job | None, error: _core.JobError) -> ScenarioError:
    """Turns the core's refusal of a job into an error about the scenario's file."""
    return scenario_error(scenario, job, error.field, error.value, error.problem, error.remedy)


def key(backend: str, job: Job, besides: str = "") -> str:
    """The key of a run without its seed: the backend, and a hash of the job and of `besides`."""
    document = {key: value for key, value in job.document.items() if key != "seed"}
    content = json.dumps(document, sort_keys=True).encode() + besides.encode()
    return f"{backend}-{hashlib.blake2b(content, digest_size=16).hexdigest()}"
