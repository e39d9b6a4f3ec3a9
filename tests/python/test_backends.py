"""Backends: anything that fills the tables can run a scenario, and everything else follows."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass, replace
from pathlib import Path

import fairport as fp
import pytest
from conftest import Command
from fairport import backends, experiment
from fairport.backends.protocol import Backend, Estimate, Prepared, Progress, Recorded
from fairport.backends.simulation import BACKEND as SIMULATION
from fairport.errors import InputError, ResourceError
from fairport.scenario import Scenario, load
from fairport.study.pool import run_all
from fairport.study.store import Store


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
    def key(self) -> str:
        return self.inner.key.replace("simulation-", "copyist-")

    @property
    def is_kept(self) -> bool:
        return self.inner.is_kept

    @property
    def estimate(self) -> Estimate:
        return replace(self.inner.estimate, memory_bytes=self.backend.needs_bytes)

    def run(self, progress: Progress | None = None) -> Recorded:
        self.backend.runs.append(self.seed)
        return replace(self.inner.run(progress), fingerprint="c0" * 8, events=None, valid=False)


class Copyist:
    name = "copyist"

    def __init__(self) -> None:
        self.runs: list[int] = []
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


def test_an_unknown_backend_is_named_with_the_nearest_known() -> None:
    with pytest.raises(InputError) as error:
        backends.get("simulatoin")
    assert str(error.value) == '--backend: "simulatoin" is not a backend of this version'
    assert error.value.remedy == "did you mean `simulation`?"


def test_a_run_is_made_by_the_backend_that_is_asked_for(short: Scenario, copyist: Copyist) -> None:
    result = fp.run(short, seed=3, backend="copyist")
    assert copyist.runs == [3]
    assert result.manifest["backend"] == result.summary["backend"] == "copyist"
    assert result.fingerprint == "c0" * 8
    assert result.manifest["events"] is None
    assert result.summary["valid"] is False
    assert fp.run(short, seed=3).manifest["backend"] == "simulation"
    assert copyist.runs == [3]


def test_the_command_line_gives_the_name_on_and_an_invalid_run_is_kept_with_status_3(
    fairport: Command, tmp_path: Path, copyist: Copyist
) -> None:
    arguments = ["--duration", "5ms", "--backend", "copyist", "--out", "run", "--no-figures"]
    outcome = fairport("run", "outcast", *arguments)
    assert outcome.status == 3, outcome.err
    assert copyist.runs == [1]
    assert fp.load_run(tmp_path / "run").manifest["backend"] == "copyist"


def test_a_run_is_repeated_on_its_own_backend(
    short: Scenario, tmp_path: Path, copyist: Copyist
) -> None:
    folder = fp.save(fp.run(short, backend="copyist"), tmp_path / "run", figures=False)
    assert experiment.rerun(fp.load_run(folder))["same"]
    assert copyist.runs == [1, 1]


def test_a_study_runs_on_a_backend_and_keeps_its_records_apart(
    short: Scenario, tmp_path: Path, copyist: Copyist
) -> None:
    store = Store(tmp_path / "kept")
    list(run_all([(short, 1)], store=store))
    records = list(run_all([(short, 1), (short, 2)], backend="copyist", store=store))
    assert copyist.runs == [1, 2]
    assert {record.summary["backend"] for record in records} == {"copyist"}
    list(run_all([(short, 1), (short, 2)], backend="copyist", store=store))
    assert copyist.runs == [1, 2]
    found = fp.compare(load("outcast-1-to-12").patch({"duration": "20ms"}), ["pacing"], repeat=1,
                       backend="copyist", store=store)  # fmt: skip
    assert set(found.runs["fingerprint"]) == {"c0" * 8}


def test_the_estimate_decides_before_the_run(short: Scenario, copyist: Copyist) -> None:
    copyist.needs_bytes = 1 << 60
    with pytest.raises(ResourceError, match="memory"):
        fp.run(short, backend="copyist")
    with pytest.raises(ResourceError, match="memory"):
        run_all([(short, 1)], backend="copyist")
    assert copyist.runs == []
