"""A run's folder: it repeats the run, and damage to it is noticed."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import fairport as fp
import pytest
from fairport.backends import memory
from fairport.errors import OutputError, ResourceError, RunFolderError
from fairport.metrics import fairness
from fairport.metrics.completion import Span
from fairport.scenario import Scenario, load
from fairport.storage import run


@pytest.fixture
def run_folder(short: Scenario, tmp_path: Path) -> Path:
    return fp.save(fp.run(short, seed=7), tmp_path / "run", figures=False)


@pytest.mark.parametrize("below", [".", "tables"])
def test_the_folder_one_is_in_is_not_replaced(
    run_folder: Path, below: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell there would be left in a folder that is gone."""
    monkeypatch.chdir(run_folder / below)
    with pytest.raises(OutputError, match="is the working folder or holds it"):
        fp.save(fp.load_run(run_folder), run_folder, force=True)
    assert Path.cwd().exists()


def test_the_manifest_alone_repeats_the_run(run_folder: Path, tmp_path: Path) -> None:
    manifest = json.loads((run_folder / "manifest.json").read_text(encoding="utf-8"))
    file = tmp_path / "again.toml"
    file.write_text(manifest["scenario"], encoding="utf-8")
    assert fp.run(file).fingerprint == manifest["fingerprint"]
    assert fp.run(manifest["scenario_resolved"]).fingerprint == manifest["fingerprint"]


def test_the_manifest_says_how_the_run_came_about(run_folder: Path) -> None:
    manifest = json.loads((run_folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["program"] == "fairport"
    assert manifest["version"] == fp.__version__
    assert manifest["backend"] == "simulation"
    assert manifest["seed"] == 7
    assert manifest["simulated_s"] == pytest.approx(0.02)
    assert manifest["wall_s"] > 0
    assert manifest["packet_hops"] > 0
    assert manifest["measure"]["to_s"] == pytest.approx(0.02)
    assert set(manifest["machine"]) == {
        "system", "release", "architecture", "processors", "python",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("manifest.json", None, "manifest.json is missing"),
        ("summary.json", None, "summary.json is missing"),
        ("manifest.json", "{", "manifest.json cannot be read"),
        (
            "manifest.json",
            "{}",
            "manifest.json: scenario: is not what a run of this version writes",
        ),
        ("summary.json", "{}", "summary.json: measure: is not what a run of this version writes"),
        ("manifest.json", "[]", "manifest.json cannot be read"),
        ("manifest.json", "[" * 3000, "manifest.json cannot be read"),
        ("summary.json", '{"classes": ' + "9" * 5000 + "}", "summary.json cannot be read"),
        ("tables/flows.parquet", None, "is damaged: tables/flows.parquet"),
        ("tables/flows.parquet", "no", "is damaged: tables/flows.parquet"),
    ],
)
def test_a_damaged_folder_is_said_to_be_one(
    run_folder: Path, file: str, text: str | None, problem: str
) -> None:
    if text is None:
        (run_folder / file).unlink()
    else:
        (run_folder / file).write_text(text, encoding="utf-8")
    with pytest.raises(RunFolderError) as error:
        fp.load_run(run_folder)
    assert problem in str(error.value)
    assert error.value.remedy


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("summary.json", '"6-hop"', '"7-hop"'),
        ("summary.json", '"sentence": "', '"sentence": "<script>'),
        ("manifest.json", '"seed": 7', '"seed": 8'),
        ("manifest.json", '"backend": "simulation"', '"backend": "simulatiom"'),
    ],
)
def test_a_document_that_was_changed_is_not_taken_for_a_result(
    run_folder: Path, file: str, before: str, after: str
) -> None:
    text = (run_folder / file).read_text(encoding="utf-8")
    assert before in text
    (run_folder / file).write_text(text.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(RunFolderError, match=f"is damaged: {file} is not as Fairport wrote it"):
        fp.load_run(run_folder)


def test_a_single_flipped_bit_of_a_table_is_noticed(run_folder: Path) -> None:
    path = run_folder / "tables" / "series.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(RunFolderError, match=r"is damaged: tables/series\.parquet"):
        fp.load_run(run_folder)


def test_a_folder_of_several_runs_names_one(short: Scenario, tmp_path: Path) -> None:
    for seed in (1, 2):
        fp.save(fp.run(short, seed=seed), tmp_path / "runs" / f"seed-{seed}", figures=False)
    with pytest.raises(RunFolderError) as error:
        fp.load_run(tmp_path / "runs")
    assert str(tmp_path / "runs" / "seed-1") in error.value.remedy


def test_memory_is_asked_for_all_runs_at_a_time(
    short: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(memory, "require", lambda needed, scenario: asked.append(needed))
    fp.run_many(short, [1, 2, 3], jobs=1).close()
    fp.run_many(short, [1, 2, 3], jobs=8).close()
    assert asked[1] == 3 * asked[0]


def test_what_is_too_large_says_both_sizes(
    short: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**30)
    memory.require(2**30, short)
    with pytest.raises(ResourceError, match=r"about 4\.0 GiB .* has 1\.0 GiB left"):
        memory.require(2**32, short)
    with pytest.raises(ResourceError) as raised:
        memory.require(2**32, short.patch({"routing": "spray"}))
    assert raised.value.remedy.startswith('take `routing = "ecmp"`, with one path per flow')


def test_a_run_that_is_given_up_stops_its_threads() -> None:
    long = load("outcast").patch({"duration": "5min", "probes.series_interval": "1s"})
    seen: list[float] = []

    def progress(done: fp.Done) -> None:
        seen.append(done.runs)
        if len(seen) == 3:
            raise ValueError("enough")

    before = threading.active_count()
    with pytest.raises(ValueError, match="enough"):
        list(fp.run_many(long, [1, 2], jobs=2, progress=progress))
    assert threading.active_count() == before
    assert max(seen) < 2


def test_a_folder_of_an_earlier_version_keeps_its_numbers(run_folder: Path) -> None:
    result = fp.load_run(run_folder)
    later = {"drops": ["is_backward", "is_pure_ack"], "timeouts": ["is_backward"]}
    for table, columns in later.items():
        earlier = result.tables[table].drop(columns)
        earlier.write_parquet(run_folder / "tables" / f"{table}.parquet")
    run.write_summary(run_folder, dict(result.summary))
    loaded = fp.load_run(run_folder)
    assert loaded.tables["drops"].columns == result.tables["drops"].columns
    span = Span.of(result.summary)
    assert fairness.summary(loaded.tables, span) == fairness.summary(result.tables, span)
