"""What a study's folder and the store have from before, and what is said about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Command
from fairport.errors import InputError, OutputError
from fairport.files.place import place
from fairport.scenario import Scenario
from fairport.study.making import Estimate, Listeners, Status
from fairport.study.runs import dataset
from fairport.study.runs.dataset import parquet
from fairport.study.runs.model_version import model_version
from fairport.study.runs.store import Store
from fairport.study.sweep import sweep


@pytest.mark.parametrize("content", [None, '{"axes'])
def test_runs_without_a_whole_definition_are_not_continued_nor_given_up(
    base: Scenario, tmp_path: Path, content: str | None
) -> None:
    """A row does not say of which scenario it is."""
    axes = {"queue.limit": ["16KiB"]}
    folder = tmp_path / "study"
    sweep(base, axes, seeds=1, folder=folder)
    (folder / "study.json").unlink()
    if content is not None:
        (folder / "study.json").write_text(content)
    with pytest.raises(InputError, match=r"study\.json") as refused:
        sweep(base.patch({"duration": "11ms"}), axes, seeds=1, folder=folder)
    assert "--force" not in refused.value.remedy
    assert len(list((folder / "runs").iterdir())) == 1
    assert sweep(base, axes, seeds=2, folder=folder, force=True).to_polars().height == 2


def test_runs_of_another_version_name_both(
    base: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes = {"queue.limit": ["16KiB"]}
    sweep(base, axes, seeds=1, folder=tmp_path / "study")
    monkeypatch.setattr("fairport.study.sweep.model_version", lambda: "9.9.9-0123456789ab")
    with pytest.raises(OutputError, match=rf"{model_version()} of the model, and this is 9\.9\.9"):
        sweep(base, axes, seeds=1, folder=tmp_path / "study")


@pytest.mark.parametrize("durations", ['"20ms", "5ms"', '"5ms", "20ms"'])
def test_a_command_with_a_failed_run_has_status_1(
    fairport: Command, tmp_path: Path, durations: str
) -> None:
    # each value is possible alone, but not the two that the other has no room for
    (tmp_path / "mine.toml").write_text(
        'scenario = "two-switch"\nseeds = 1\n[axes]\n'
        f'duration = [{durations}]\n"measure.from" = ["1ms", "10ms"]\n'
    )
    done = fairport("sweep", "mine.toml", "--json")
    assert (done.status, json.loads(done.out)["failed"]) == (1, 1)


def test_a_verdict_is_not_the_first_number(base: Scenario, tmp_path: Path) -> None:
    study = sweep(base, {"queue.limit": ["16KiB"]}, seeds=1, folder=tmp_path / "study")
    assert study.definition.keep[0] == "outcast"
    assert study.first_number() == "throughput_ratio"


@pytest.mark.parametrize(
    ("traffic", "number"),
    [
        ({"kind": "poisson", "load": 0.3, "sizes": "20kB"}, "small_fct_p99_s"),
        ({"kind": "poisson", "load": 0.3, "sizes": "200kB"}, "fct_p99_s"),
        ({"from": "all", "to": "h0", "size": "20kB"}, "small_fct_p99_s"),
        ({"kind": "incast", "from": "all", "to": "h0", "block": "9kB"}, "round_time_p99_s"),
    ],
)
def test_the_first_number_of_transfers_is_a_time(
    base: Scenario, tmp_path: Path, traffic: dict[str, Any], number: str
) -> None:
    of_transfers = base.patch({"traffic": [traffic], "measure.from": "0s"})
    axes = {"queue.limit": ["16KiB"]}
    study = sweep(of_transfers, axes, seeds=1, folder=tmp_path / "study")
    assert study.first_number() == number
    kept = sweep(of_transfers, axes, seeds=1, keep=["jain_index"], folder=tmp_path / "kept")
    assert kept.first_number() == "jain_index"


def test_runs_of_the_store_count_as_made_before(base: Scenario, tmp_path: Path) -> None:
    seen: list[Status] = []
    estimates: list[Estimate] = []
    listeners = Listeners(status=seen.append, estimate=estimates.append)
    for folder in "one", "two":
        sweep(
            base,
            {"queue.limit": ["4KiB", "16KiB"]},
            seeds=3,
            folder=tmp_path / folder,
            store=Store(tmp_path / "store"),
            listeners=listeners,
        )
    assert (seen[-1].done, seen[-1].reused, seen[-1].of) == (0, 6, 6)
    # no run was made that shows how long one takes
    assert estimates[-1].wall_s is None


def test_a_process_pinned_to_one_processor_makes_one_run_at_a_time(
    base: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch job has some of its machine's processors."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3}, raising=False)
    estimates: list[Estimate] = []
    sweep(
        base,
        {"queue.limit": ["16KiB"]},
        seeds=2,
        folder=tmp_path / "study",
        listeners=Listeners(estimate=estimates.append),
    )
    assert estimates[0].jobs == 1


def test_a_row_is_written_once_per_level_however_long_a_study_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []

    def counted(rows: pl.DataFrame) -> bytes:
        written.append(rows.height)
        return parquet(rows)

    monkeypatch.setattr(dataset, "parquet", counted)
    monkeypatch.setattr(dataset, "_MOST_FILES", 4)
    rows = dataset.Dataset(place(tmp_path), "runs", ["run_id"], flush_s=0.0)
    for number in range(64):
        rows.add({"run_id": number})
    # files of 1, 4, 16 and 64 rows
    assert sum(written) == 4 * 64
    assert len(rows.files()) == 1
    rows.add({"run_id": 64})
    assert rows.read()["run_id"].sort().to_list() == list(range(65))
    rows.compact()
    assert len(rows.files()) == 1


def test_a_study_is_no_run_and_says_what_makes_its_runs_again(
    base: Scenario, fairport: Command, tmp_path: Path
) -> None:
    sweep(base, {"queue.limit": ["16KiB"]}, seeds=1, folder=tmp_path / "study")
    refused = fairport("rerun", str(tmp_path / "study"))
    assert refused.status == 2
    assert "hint: it is a study: `fairport sweep FILE --out OTHER`" in refused.err
