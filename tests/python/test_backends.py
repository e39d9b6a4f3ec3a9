"""Any backend that fills the tables can run a scenario; everything else works the same."""

from __future__ import annotations

import json
import sys
import types
from dataclasses import dataclass, replace
from pathlib import Path

import fairport as fp
import pytest
from conftest import Command
from fairport import backends, run_and_save
from fairport.backends import control_groups, cores, memory
from fairport.backends.progress import Report
from fairport.backends.protocol import (
    BOTTLENECK,
    Backend,
    Estimate,
    Observation,
    Prepared,
    Recorded,
)
from fairport.backends.simulation import BACKEND as SIMULATION
from fairport.errors import InputError, ResourceError
from fairport.scenario import Scenario, load
from fairport.scenario.lower import Job
from fairport.study.runs.pool import run_all
from fairport.study.runs.store import Store


@dataclass
class SecondHand:
    """A prepared run of a backend that lets the simulator do its work, and counts its runs."""

    inner: Prepared
    backend: Copyist
    seed: int

    @property
    def scenario(self) -> Scenario:
        return self.inner.scenario

    @property
    def job(self) -> Job:
        return self.inner.job

    @property
    def key(self) -> str:
        return self.inner.key.replace("simulation-", "copyist-")

    @property
    def is_kept(self) -> bool:
        return self.inner.is_kept

    @property
    def estimate(self) -> Estimate:
        return replace(self.inner.estimate, memory_bytes=self.backend.needs_bytes)

    def run(self, report: Report | None = None, *, threads: int = 1) -> Recorded:
        self.backend.runs.append(self.seed)
        self.backend.under_way += 1
        self.backend.most_at_once = max(self.backend.most_at_once, self.backend.under_way)
        valid = len(self.backend.runs) in self.backend.valid_runs
        recorded = self.inner.run(report)
        self.backend.under_way -= 1
        return replace(
            recorded,
            fingerprint="c0" * 8,
            events=None,
            decisions_left_out=7,
            valid=valid,
            faults=() if valid else ("the machine was late",),
            health={"lag_p50_s": 0.0, "lag_p99_s": 0.0},
        )


class Copyist:
    name = "copyist"
    is_real_time = True

    def __init__(self) -> None:
        self.runs: list[int] = []
        self.under_way = self.most_at_once = 0
        self.valid_runs: set[int] = set()
        self.needs_bytes = 1

    def prepare(self, scenario: Scenario, seed: int) -> Prepared:
        return SecondHand(SIMULATION.prepare(scenario, seed), self, seed)


@pytest.fixture
def copyist(monkeypatch: pytest.MonkeyPatch) -> Copyist:
    """A second backend, registered as a file of the package would be."""
    module = types.ModuleType("copyist")
    backend: Backend = Copyist()
    module.BACKEND = backend  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "copyist", module)
    monkeypatch.setitem(backends._MODULES, "copyist", "copyist")
    assert isinstance(backend, Copyist)
    return backend


_MEMORY = {
    "2": ("0::", ".", "memory.max", "memory.current", "", "max"),
    "1": (
        "9:memory:",
        "memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_",
        "9" * 19,
    ),
}


@pytest.mark.parametrize("version", ["1", "2"])
def test_the_limit_of_a_batch_job_counts_as_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """Slurm sets it at a group above that of the process. What files occupy can be freed."""
    line, mount, limit_in, used_in, total, none = _MEMORY[version]
    job = tmp_path / mount / "slurm" / "job_7"
    (job / "step_0" / "task_0").mkdir(parents=True)
    for folder, limit in ((job, "4000000"), (job / "step_0" / "task_0", none)):
        (folder / limit_in).write_text(f"{limit}\n")
        (folder / used_in).write_text("1500000\n")
        (folder / "memory.stat").write_text(f"anon 1000000\n{total}inactive_file 500000\n")
    in_groups(tmp_path, monkeypatch, f"3:cpuset:/\n{line}/slurm/job_7/step_0/task_0\n")
    assert memory.available_bytes() == 3_000_000


def test_the_user_may_say_how_much_memory_runs_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "64GB")
    assert memory.available_bytes() == 64_000_000_000
    monkeypatch.setenv(memory.VARIABLE, "64")
    with pytest.raises(InputError, match='FAIRPORT_MEMORY: "64" has no unit'):
        memory.available_bytes()


@pytest.mark.parametrize(
    ("quota", "expected"), [("200000 100000", 2), ("150000 100000", 1), ("5000 100000", 1)]
)
def test_a_container_with_less_processor_time_has_fewer_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str, expected: int
) -> None:
    """As Kubernetes sets it; the container sees its own group as the highest."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(64), raising=False)
    in_groups(tmp_path, monkeypatch, "0::/\n")
    (tmp_path / "cpu.max").write_text(f"{quota}\n")
    assert cores.cores() == expected
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert cores.cores() == 64
    (tmp_path / "cpu,cpuacct").mkdir()
    in_groups(tmp_path, monkeypatch, "2:cpu,cpuacct:/kubepods/pod7\n")
    for name, value in zip(("quota", "period"), quota.split(), strict=True):
        (tmp_path / "cpu,cpuacct" / f"cpu.cfs_{name}_us").write_text(f"{value}\n")
    assert cores.cores() == expected


def in_groups(root: Path, monkeypatch: pytest.MonkeyPatch, listed: str) -> None:
    """Makes this process a member of the control groups that are below a folder."""
    (root / "own").write_text(listed)
    monkeypatch.setattr(control_groups, "_OWN_GROUPS", root / "own")
    monkeypatch.setattr(control_groups, "_ROOT", root)


def test_an_unknown_backend_is_named_with_the_nearest_known() -> None:
    with pytest.raises(InputError) as error:
        backends.get("simulatoin")
    assert str(error.value) == 'backend: "simulatoin" is not a backend of this version'
    assert error.value.remedy == "did you mean `simulation`?"


def test_a_run_is_made_by_the_backend_that_is_asked_for(short: Scenario, copyist: Copyist) -> None:
    result = fp.run(short, seed=3, backend="copyist")
    assert copyist.runs == [3]
    assert result.manifest["backend"] == result.summary["backend"] == "copyist"
    assert result.fingerprint == "c0" * 8
    assert result.manifest["events"] is None
    assert result.manifest["decisions_left_out"] == result.summary["decisions_left_out"] == 7
    assert result.summary["valid"] is False
    assert fp.run(short, seed=3).manifest["backend"] == "simulation"
    assert copyist.runs == [3]


def test_the_command_line_gives_the_name_on_and_an_invalid_run_is_kept_with_status_3(
    fairport: Command, tmp_path: Path, copyist: Copyist
) -> None:
    arguments = ["--duration", "5ms", "--backend", "copyist", "--out", "run", "--no-figures"]
    outcome = fairport("run", "outcast", *arguments)
    assert outcome.status == 3, outcome.err
    # tried once more, and that was not valid either
    assert copyist.runs == [1, 1]
    assert fp.load_run(tmp_path / "run").manifest["backend"] == "copyist"
    quiet = fairport("run", "outcast", *arguments, "--force", "--quiet")
    assert (quiet.status, quiet.out) == (3, "")
    assert quiet.err.startswith("error: no run was valid: ")


def test_an_invalid_run_is_made_again_and_left_out(
    short: Scenario, tmp_path: Path, copyist: Copyist
) -> None:
    copyist.valid_runs = {2, 3}
    folder = tmp_path / "runs"
    whole = run_and_save.run(
        short, [1, 2, 3], backend="copyist", folder=folder, figures=False, jobs=3
    )
    # one at a time; three retries in all: one for seed 1, two for seed 3
    assert copyist.runs == [1, 1, 2, 3, 3, 3]
    assert whole["valid"]
    assert whole["seeds"] == [1, 2]
    assert [one["seeds"] for one in whole["runs"]] == [[1], [2]]
    assert [one["seed"] for one in whole["invalid_runs"]] == [1, 3, 3, 3]
    assert whole["invalid_runs"][0]["faults"] == ["the machine was late"]
    written = json.loads((folder / "summary.json").read_text())
    assert written["invalid_runs"] == whole["invalid_runs"]
    # the folder of a seed is that of its last run
    assert [fp.load_run(folder / f"seed-{n}").summary["valid"] for n in (1, 2, 3)] == [
        True,
        True,
        False,
    ]


def test_a_lone_seed_has_the_folder_of_its_valid_run(
    short: Scenario, tmp_path: Path, copyist: Copyist
) -> None:
    copyist.valid_runs = {2}
    whole = run_and_save.run(
        short, [7], backend="copyist", folder=tmp_path / "run", figures=False, jobs=1
    )
    assert copyist.runs == [7, 7]
    assert (whole["valid"], whole["seeds"]) == (True, [7])
    assert [one["seed"] for one in whole["invalid_runs"]] == [7]
    assert fp.load_run(tmp_path / "run").summary["valid"]


def test_a_run_that_is_made_again_says_that_it_begins_anew(
    short: Scenario, copyist: Copyist, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its backend may not say so: a real run reports every half second."""
    run = SecondHand.run
    monkeypatch.setattr(SecondHand, "run", lambda self, report, threads: run(self))
    copyist.valid_runs = {2}
    seen: list[fp.Done] = []
    seeds = fp.run_many(short, [7], backend="copyist", retries=1, progress=seen.append)
    assert [result.summary["valid"] for result in seeds] == [False, True]
    assert [(done.runs, done.of) for done in seen] == [(1, 1), (0, 1), (1, 1)]


def test_without_a_valid_run_nothing_is_averaged(short: Scenario, copyist: Copyist) -> None:
    whole = run_and_save.run(short, [1, 2], backend="copyist", folder=None)
    assert not whole["valid"]
    assert whole["seeds"] == [2]
    assert "runs" not in whole
    assert len(whole["invalid_runs"]) == 4


def test_a_run_is_repeated_on_its_own_backend(
    short: Scenario, tmp_path: Path, copyist: Copyist
) -> None:
    folder = fp.save(fp.run(short, backend="copyist"), tmp_path / "run", figures=False)
    assert run_and_save.rerun(fp.load_run(folder))["same"]
    assert copyist.runs == [1, 1]


def test_a_study_runs_on_a_backend_and_keeps_its_records_apart(
    short: Scenario, tmp_path: Path, copyist: Copyist
) -> None:
    store = Store(tmp_path / "kept")
    list(run_all([(short, 1)], store=store))
    records = list(run_all([(short, 1), (short, 2)], backend="copyist", jobs=2, store=store))
    # in real time one at a time, in order
    assert copyist.runs == [1, 2]
    assert copyist.most_at_once == 1
    assert {record.summary["backend"] for record in records} == {"copyist"}
    list(run_all([(short, 1), (short, 2)], backend="copyist", store=store))
    assert copyist.runs == [1, 2]
    found = fp.compare(load("outcast-1-to-12").patch({"duration": "20ms"}), ["pacing"], repeat=1,
                       backend="copyist", store=store)  # fmt: skip
    assert set(found.runs["fingerprint"]) == {"c0" * 8}


def test_the_estimate_counts_the_packets_that_are_kept(short: Scenario) -> None:
    plain = SIMULATION.prepare(short, 1)
    observed = plain.observing(Observation(packets=(BOTTLENECK,)))
    more = observed.estimate.memory_bytes - plain.estimate.memory_bytes
    rows = fp.run(short, observation=Observation(packets=(BOTTLENECK,))).packets.height
    # a row takes 46 bytes, and up to three copies of it exist
    assert rows <= more / (3 * 46) <= 2 * rows


def test_the_estimate_of_packets_follows_the_rates_of_their_own_links(short: Scenario) -> None:
    def rows(fabric: str) -> int:
        prepared = SIMULATION.prepare(short.patch({"fabric.rate": fabric}), 1)
        kept = prepared.observing(Observation(packets=("agg0.0:0",)))
        return kept.estimate.memory_bytes - prepared.estimate.memory_bytes

    assert rows("10Gbps") == pytest.approx(10 * rows("1Gbps"), rel=0.01)


def test_the_estimate_decides_before_the_run(short: Scenario, copyist: Copyist) -> None:
    copyist.needs_bytes = 1 << 60
    with pytest.raises(ResourceError, match="memory"):
        fp.run(short, backend="copyist")
    with pytest.raises(ResourceError, match="memory"):
        run_all([(short, 1)], backend="copyist")
    assert copyist.runs == []
