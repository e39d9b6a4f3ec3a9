"""`validate`: one scenario over real Linux and in the simulation, with the same seeds.

The simulation gets the properties of the machine that no scenario can state: the times that its
hosts took in these very runs, including the switch's lag, the ticks of its kernel's clock, and
adapters that take every frame at once. Nothing else is fitted. Linux runs for which the machine was
too slow are repeated, and never count.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from fairport.backends.jobs import job_of, stacks_of
from fairport.backends.progress import Progress, Tally
from fairport.backends.run import run_many
from fairport.errors import BackendError, ScenarioError
from fairport.record import Record
from fairport.scenario import Scenario
from fairport.scenario import load as load_scenario
from fairport.scenario.host_profile import HostProfile
from fairport.scenario.tcp import DEFAULT_STACK
from fairport.scenario.traffic.bulk import Bulk
from fairport.study.comparison.metrics import Groups, RunTables
from fairport.study.validation import LINUX, REPEAT, SIDES, SIMULATION, Validation

# ticks of a minimum RTO, whatever the route has (measured at HZ = 250: 8 ms)
_FEWEST_TICKS = 2


def validate(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    repeat: int = REPEAT,
    seed: int | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Validation:
    """Runs a scenario on Linux and in the simulation, with `repeat` seeds from `seed` on.

    A Linux run that is not valid is repeated, up to `repeat` times over all seeds. `progress` is
    called with the number of runs done on both sides. Raises ScenarioError for a scenario that one
    side cannot run, and BackendError without the privileges, or if no Linux run was valid.
    """
    if sys.platform != "linux":
        raise BackendError(
            "needs Linux: it runs the scenario over the kernel's TCP",
            file="validate",
            remedy="run it on a Linux machine; the simulation alone runs everywhere",
        )
    scenario = load_scenario(scenario)
    _require_our_switch(scenario)
    _require_long_lived(scenario)
    first = scenario.seed if seed is None else seed
    seeds = range(first, first + repeat)
    found = RunTables("side")
    answers, healths, invalid = [], [], []
    groups: Groups | None = None
    tally = Tally(len(SIDES) * len(seeds), progress)
    ended = tally.of_part(LINUX)
    for result in run_many(scenario, seeds, backend=LINUX, retries=repeat, progress=ended):
        if not result.summary["valid"]:
            invalid.append({"seed": result.seed, "faults": result.summary["faults"]})
            continue
        record = Record.of(result)
        groups = groups or Groups.of(record)
        found.add(LINUX, record, groups)
        host = pl.concat_str(pl.lit(f"{result.seed} "), "host")
        answers.append(result.tables["answers"].with_columns(host.alias("host")))
        healths.append(result.summary["health"])
    if groups is None:
        raise NoValidRunError(invalid)
    profile = _profile(pl.concat(answers), healths, scenario)
    ours = simulated(scenario, profile)
    ended = tally.of_part(SIMULATION)
    for result in run_many(ours, seeds, jobs=jobs, progress=ended):
        found.add(SIMULATION, Record.of(result), groups)
    return Validation(
        scenario=scenario,
        simulated=ours,
        profile=profile,
        seeds=seeds,
        invalid=invalid,
        groups=groups,
        runs=found.runs,
        drop_runs=found.drop_runs,
    )


def _require_our_switch(scenario: Scenario) -> None:
    if scenario.queue.implementation == "tc":
        raise ScenarioError(
            "has no comparison with the simulation: the times of the hosts are measured by"
            " Fairport's own switch, and the kernel's queues measure none",
            file=scenario.where("queue.implementation"),
            field="queue.implementation",
            value="tc",
            remedy="leave it out; `fairport run` runs the scenario on each of the two backends",
        )


def _require_long_lived(scenario: Scenario) -> None:
    """Transfers and requests deliver what they were asked to, so their goodputs always agree."""
    if not any(isinstance(one, Bulk) and one.size is None for one in scenario.traffic):
        raise ScenarioError(
            "has no long-lived flows, whose shares are what is compared",
            file=scenario.where("traffic"),
            field="traffic",
            value=", ".join(one.kind for one in scenario.traffic),
            remedy="`fairport run` runs the scenario on each of the two backends",
        )


class NoValidRunError(BackendError):
    """Error if no run was valid."""

    def __init__(self, invalid: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(
            f"had no valid run among {len(invalid)}: {invalid[-1]['faults'][0]}",
            file="validate",
            remedy="stop other programs, or give a lower link.rate; `fairport doctor` checks this"
            " machine",
        )


def _profile(
    answers: pl.DataFrame, healths: Sequence[Mapping[str, float]], scenario: Scenario
) -> HostProfile:
    """The hosts' times as the network saw them: from a packet's due time to the host's answer."""
    from fairport.backends.linux.host_times import profile

    with_lag = answers.with_columns(delay_s=pl.col("delay_s") + pl.col("late_s"))
    about = f"hosts of {scenario.name}, with the lag of the switch"
    load = f"the scenario {scenario.name}"
    fastest = max(scenario.link_rates())
    return profile(with_lag, healths, load, about, rate_max=fastest, is_paced=_is_paced(scenario))


def _is_paced(scenario: Scenario) -> bool:
    """Whether a pacer delays data of any flow."""
    return any(
        stack["pacing"] != "off" or stack["congestion_control"] == "bbr"
        for stack in stacks_of(job_of(scenario))
    )


def simulated(scenario: Scenario, profile: HostProfile) -> Scenario:
    """The scenario with the times of this machine's hosts, its kernel's ticks and its adapters."""
    from fairport import _core

    host: dict[str, Any] = {
        "profile": profile.model_dump(exclude_none=True),
        "queue": str(scenario.host.queue),
    }
    host |= scenario.host.beside_measured()
    # A veth pair hands each frame to the switch at once and frees it, so no socket ever has frames
    # in its host. tcp_small_queue_check finds none, however long the queue of the modelled adapter
    # is.
    overrides: dict[str, Any] = {"host": host, "tcp.small_queue": False}
    if profile.machine.hz is not None:
        tick_ps = 10**12 // profile.machine.hz
        stack = _core.preset(scenario.tcp.stack or DEFAULT_STACK)
        own = scenario.tcp.rto_min
        rto_min_ps = stack["rto_min_ps"] if own is None else int(own)
        # the kernel holds its minimum in ticks, and no timer fires before the second tick
        floor_ps = max(_FEWEST_TICKS, -(-rto_min_ps // tick_ps)) * tick_ps
        overrides |= {
            "tcp.rto_min": f"{floor_ps}ps",
            "tcp.clock_tick": f"{tick_ps}ps",
        }
    return scenario.patch(overrides)
