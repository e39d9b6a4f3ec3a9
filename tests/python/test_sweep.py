"""Sweeps: every run once, whatever interrupts them; bad input is refused before the first run."""

from __future__ import annotations

import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import fairport as fp
import polars as pl
import pytest
from conftest import ENTRY, Command, slowness
from fairport.errors import InputError, OutputError
from fairport.figures import studies
from fairport.scenario import Scenario
from fairport.study.making import Listeners, Status
from fairport.study.plan import Plan
from fairport.study.results import Study
from fairport.study.runs import one_run
from fairport.study.runs.execution import Task, outcome
from fairport.study.study_file import read
from fairport.study.sweep import check_size, sweep
from fairport.study.sweep_file import SweepFile, load

AXES: dict[str, Any] = {"topology.peers": [2, 3], "queue.limit": ["4KiB", "16KiB"]}
FILE = """
scenario = "two-switch"
seeds = 6
keep = ["throughput_ratio"]
[set]
duration = "{duration}"
[axes]
"topology.peers" = {{ from = 2, to = {to} }}
"""


def once(study: Study) -> int:
    """The number of runs; none may be in the study twice."""
    found = study.sql("select count(*) as runs, count(distinct run_id) as ids from runs").row(0)
    assert found[0] == found[1] == study.to_polars().height
    return int(found[0])


def made(statuses: list[Status]) -> int:
    return statuses[-1].done


def test_a_run_of_a_sweep_is_that_run(base: Scenario, tmp_path: Path) -> None:
    study = sweep(base, AXES, seeds=2, folder=tmp_path / "study", jobs=2)
    rows = study.to_polars()
    assert rows.select("topology.peers", "queue.limit", "seed").rows() == [
        (peers, limit, seed) for peers in (2, 3) for limit in ("4KiB", "16KiB") for seed in (1, 2)
    ]
    for row in rows.iter_rows(named=True):
        result = fp.run(base.patch({axis: row[axis] for axis in AXES}), row["seed"])
        assert row["fingerprint"] == result.fingerprint
        assert row["jain_index"] == pytest.approx(result.summary["jain_index"])
        assert row["error"] is None


def test_a_second_time_runs_what_is_new(base: Scenario, tmp_path: Path) -> None:
    seen: list[Status] = []
    listeners = Listeners(status=seen.append)
    sweep(base, AXES, seeds=2, folder=tmp_path / "study", jobs=2, listeners=listeners)
    assert made(seen) == 8
    sweep(base, AXES, seeds=2, folder=tmp_path / "study", jobs=2, listeners=listeners)
    assert made(seen) == 0
    more = AXES | {"topology.peers": [4, 3]}
    study = sweep(base, more, seeds=3, folder=tmp_path / "study", jobs=2, listeners=listeners)
    assert made(seen) == 2 + 6
    assert once(study) == 8 + 2 + 6
    assert study.axes["topology.peers"] == [2, 3, 4]
    assert len(study.runs.files()) == 1


def test_axes_together_and_points_left_out(base: Scenario, tmp_path: Path) -> None:
    axes = AXES | {"host.delay": ["10us", "20us"]}
    study = sweep(
        base,
        axes,
        seeds=1,
        zip=[["topology.peers", "host.delay"]],
        where=""" "topology.peers" = 3 or "queue.limit_bytes" > 5000 """,
        folder=tmp_path / "study",
    )
    assert study.to_polars().select(list(axes)).rows() == [
        (2, "16KiB", "10us"),
        (3, "4KiB", "20us"),
        (3, "16KiB", "20us"),
    ]


def test_quantities_sort_and_compare_by_what_they_are(base: Scenario, tmp_path: Path) -> None:
    axes = {"queue.limit": ["8KiB", "16KiB", "128KiB"]}
    study = sweep(base, axes, seeds=1, folder=tmp_path / "study")
    found = study.sql(
        """select "queue.limit" from runs where "queue.limit_bytes" > 8192 order by 1"""
    )
    assert found["queue.limit"].to_list() == ["16KiB", "128KiB"]
    every = study.sql(
        """select "queue.limit" as text, "queue.limit_bytes" as bytes from runs order by 1"""
    )
    assert every.rows() == [("8KiB", 8192.0), ("16KiB", 16384.0), ("128KiB", 131072.0)]


def test_a_run_that_fails_is_recorded_and_the_rest_goes_on(
    base: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # each value is possible alone, but not their combination
    monkeypatch.setattr(Plan, "check", lambda _: None)
    axes = {"queue.limit": ["4KiB", "16KiB"], "measure.from": ["1ms", "1s"]}
    seen: list[Status] = []
    with pytest.warns(UserWarning, match=r"4 of 8 runs failed; the first one: .* is not before"):
        study = sweep(
            base, axes, seeds=2, folder=tmp_path / "study", listeners=Listeners(status=seen.append)
        )
    assert (seen[-1].done, seen[-1].failed) == (8, 4)
    rows = study.to_polars()
    assert rows.filter(pl.col("error").is_null())["measure.from"].unique().to_list() == ["1ms"]
    (error,) = rows["error"].drop_nulls().unique().to_list()
    assert error.endswith('measure.from: "1s" is not before the end of the run at 10ms')
    with pytest.raises(InputError, match="4 of its 4 runs failed") as nothing:
        studies.draw(study, where="\"measure.from\" = '1s'")
    assert "select error" in nothing.value.remedy
    # the same call tries these again, and only these
    listeners = Listeners(status=seen.append)
    with pytest.warns(UserWarning, match="4 of 8 runs failed"):
        again = sweep(base, axes, seeds=2, folder=tmp_path / "study", listeners=listeners)
    assert (seen[-1].done, seen[-1].reused) == (4, 4)
    assert again.to_polars().drop("wall_s").equals(rows.drop("wall_s"))
    row = {"run_id": rows.filter(pl.col("error").is_not_null())["run_id"][0], "jain_index": 0.5}
    again.runs.add(row | {"measure.from": "1s", "queue.limit": "4KiB", "seed": 1})
    again.runs.flush()
    assert again.to_polars()["error"].null_count() == 5


def test_a_run_that_is_not_valid_is_repeated_once_and_never_has_numbers(
    base: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on the Linux backend, when the machine was too slow."""
    good, late = fp.run(base), fp.run(base)
    late.summary["valid"], late.summary["faults"] = False, ["1 % of frames were late"]
    runs = iter([[late, good], [late, late]])
    monkeypatch.setattr(one_run, "run_many", lambda *_, **__: (one for one in next(runs)))
    task = Task(0, 1, ("linux", base))
    row = outcome(None, task).row
    assert row is not None
    assert row["jain_index"] == good.summary["jain_index"]
    failed = outcome(None, task)
    assert (failed.row, failed.error) == (None, "not valid: 1 % of frames were late")


def test_a_worker_that_dies_costs_no_run(base: Scenario, tmp_path: Path) -> None:
    """A worker killed in the middle of a run, as when memory runs out: another makes the run."""
    long = base.patch({"duration": "500ms"})
    killed: list[int] = []

    def kill(status: Status) -> None:
        if status.done == 4 and not killed:
            mine = subprocess.run(
                ["pgrep", "-P", str(os.getpid()), "-f", "fairport.study.runs.worker"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()
            killed.extend(map(int, mine))
            for process in killed:
                os.kill(process, signal.SIGKILL)

    if shutil.which("pgrep") is None:
        pytest.skip("needs pgrep")
    axes = {"topology.peers": [2, 3, 4]}
    listeners = Listeners(status=kill)
    study = sweep(long, axes, seeds=4, folder=tmp_path / "study", jobs=2, listeners=listeners)
    assert killed
    assert once(study) == 12
    assert study.to_polars()["error"].null_count() == 12


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
def test_killed_four_times_and_resumed_nothing_is_lost_or_twice(tmp_path: Path) -> None:
    (tmp_path / "many.toml").write_text(FILE.format(duration="200ms", to=150))
    random_source = random.Random(16)

    def last_written() -> str:
        return max((path.name for path in tmp_path.glob("results/many/runs/part-*")), default="")

    for _ in range(4):
        before = last_written()
        process = subprocess.Popen(
            [*ENTRY, "sweep", "many.toml", "--jobs", "1"],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
        )
        while last_written() == before:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        # rows are written every second
        time.sleep(random_source.uniform(0, 1.2))
        process.kill()
        process.communicate()
        once(Study(tmp_path / "results/many"))
    kept = once(Study(tmp_path / "results/many"))
    assert 0 < kept < 149 * 6
    (tmp_path / "many.toml").write_text(FILE.format(duration="200ms", to=10))
    done = subprocess.run(
        [*ENTRY, "sweep", "many.toml", "--json"], cwd=tmp_path, capture_output=True, check=True
    )
    counts = json.loads(done.stdout)
    assert counts["reused"] + counts["made"] == counts["runs"] == 9 * 6
    assert counts["reused"] > 0
    study = Study(tmp_path / "results/many")
    once(study)
    assert study.to_polars().filter(pl.col("topology.peers") <= 10).height == 9 * 6
    fingerprints = study.to_polars().filter(pl.col("topology.peers") == 2)["fingerprint"]
    scenario = fp.scenario("two-switch").patch({"duration": "200ms", "topology.peers": 2})
    assert fingerprints[0] == fp.run(scenario, 1).fingerprint
    left = [path.name for path in (tmp_path / "results/many").rglob("*") if path.is_file()]
    assert sorted(name[:5] for name in left) == ["part-", "study"]


@pytest.mark.alone
@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
def test_ctrl_c_ends_within_a_second_and_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(FILE.format(duration="100s", to=20))
    process = subprocess.Popen(
        [*ENTRY, "sweep", "long.toml", "--jobs", "2"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    workers: list[str] = []
    while len(workers) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
        found = subprocess.run(
            ["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False
        )
        workers = found.stdout.split()
    time.sleep(1)
    slow = slowness()
    begin = time.monotonic()
    # to the whole group, as a terminal does
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    took = time.monotonic() - begin
    assert (process.returncode, out) == (130, "")
    assert err == "interrupted: finished runs are kept; the same command continues from there\n"
    assert took < 1.5 * slow  # one second, and the time in which the interpreter ends
    # a worker that was only starting ends when its input closes, just after its parent
    ended = time.monotonic() + 2 * slow
    while any(map(_is_worker, workers)) and time.monotonic() < ended:
        time.sleep(0.05)
    assert not any(map(_is_worker, workers))


def _is_worker(pid: str) -> bool:
    """Whether the process still runs; a zombie has no command line."""
    try:
        return b"fairport.study.runs.worker" in Path("/proc", pid, "cmdline").read_bytes()
    except OSError:
        return False


def test_two_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    (tmp_path / "both.toml").write_text(FILE.format(duration="50ms", to=16))
    arguments = [*ENTRY, "sweep", "both.toml", "--jobs", "1", "--json"]
    both = [
        subprocess.Popen(
            arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for process in both:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    study = Study(tmp_path / "results/both")
    assert once(study) == 15 * 6
    study.runs.compact()
    assert once(study) == 15 * 6
    assert len(study.runs.files()) == 1


_ON_A_SMALL_DISK = """
import subprocess, sys
import fairport as fp
from fairport.errors import OutputError
from fairport.study.runs.dataset import Dataset
from fairport.study.results import Study
Dataset.__init__.__defaults__ = (None, 0.0)  # a file per row
base = fp.scenario("two-switch").patch({"duration": "5ms"})
axes = {"topology.peers": range(2, 8)}
try:
    fp.sweep(base, axes, seeds=5, folder="disk/study", jobs=1)
except OutputError as error:
    print(error)
had = Study("disk/study").to_polars().height
subprocess.run(["mount", "-o", "remount,size=10m", "disk"], check=True)
study = fp.sweep(base, axes, seeds=5, folder="disk/study", jobs=1)
print(had, study.to_polars().height, study.sql("select count(distinct run_id) from runs").item())
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs a mount namespace")
def test_on_a_full_disk_the_finished_part_is_whole_and_the_sweep_resumes(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "script.py").write_text(_ON_A_SMALL_DISK)
    mount = "mount -t tmpfs -o size=96k none disk"
    namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "-r", "--mount"]
    if subprocess.run([*namespace, "sh", "-c", mount], cwd=tmp_path, check=False).returncode != 0:
        pytest.skip("needs the privilege to mount")
    done = subprocess.run(
        [*namespace, "sh", "-c", f"{mount} && exec {sys.executable} script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said, counts = done.stdout.splitlines()
    assert "cannot be written: No space left on device" in said
    had, at_last, ids = map(int, counts.split())
    assert 0 < had < 30
    assert at_last == ids == 30


def test_a_damaged_file_is_one_clear_error(base: Scenario, tmp_path: Path) -> None:
    axes = {"queue.limit": ["16KiB"]}
    study = sweep(base, axes, seeds=2, folder=tmp_path / "study")
    (name,) = study.runs.files()
    path = tmp_path / "study" / "runs" / name
    path.write_bytes(path.read_bytes()[:-20])
    for read_it in (study.to_polars, lambda: study.sql("select 1 from runs")):
        with pytest.raises(InputError, match=f"{name}: is damaged"):
            read_it()
    path.unlink()
    assert once(sweep(base, axes, seeds=2, folder=tmp_path / "study")) == 2


def test_a_study_of_a_newer_version_is_refused(base: Scenario, tmp_path: Path) -> None:
    axes = {"queue.limit": ["16KiB"]}
    sweep(base, axes, seeds=1, folder=tmp_path / "study")
    path = tmp_path / "study" / "study.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(InputError, match="format 2, which a newer version"):
        Study(tmp_path / "study")
    with pytest.raises(InputError, match="format 2, which a newer version"):
        sweep(base, axes, seeds=1, folder=tmp_path / "study")


def test_another_study_is_not_mixed_with_this_one(base: Scenario, tmp_path: Path) -> None:
    axes = {"queue.limit": ["16KiB"]}
    folder = tmp_path / "study"
    sweep(base, axes, seeds=1, folder=folder)
    other = base.patch({"duration": "11ms"})
    with pytest.raises(OutputError, match="holds another study: its runs have another scenario"):
        sweep(other, axes, seeds=1, folder=folder)
    with pytest.raises(OutputError, match=r"its axes are queue\.limit"):
        sweep(base, {"topology.peers": [2]}, seeds=1, folder=folder)
    assert once(sweep(other, axes, seeds=2, folder=folder, force=True)) == 2
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(OutputError, match="holds files that are not a study"):
        sweep(base, axes, seeds=1, folder=tmp_path / "mine", force=True)


@pytest.mark.parametrize(
    ("axes", "problem", "remedy"),
    [
        ({"queue.limt": ["4KiB"]}, 'axes."queue.limt": .*is not a field', "did you mean `limit`"),
        ({"quue.limit": ["4KiB"]}, 'axes."quue.limit": .*is not a field', "did you mean `queue`"),
        ({"queue.limit": ["4KiB", "4ms"]}, 'axes."queue.limit": "4ms" has an unknown unit', "KiB"),
        ({"queue.limit": [4]}, 'axes."queue.limit": 4 has no unit', "KiB"),
        ({"traffic.1.flows": [4]}, 'axes."traffic.1.flows": .*not an index', "use 0"),
        ({}, "axes: names no axis", "give one"),
        ({"queue.limit": []}, "axes.queue.limit: .*holds 0", "at least 1"),
        # what TOML makes of a path without quotes
        ({"queue": {"limit": ["4KiB"]}}, "axes.queue: .*is a section", 'write "queue.limit" ='),
        ({"queue.limit": ["4KiB", "4KiB"]}, "axes.queue.limit: .*has a value twice", "once"),
        ({"drops": [1]}, "axes: names `drops`, which is a column", "rename"),
        ({"wall_s": [1]}, "axes: names `wall_s`, which is a column", "rename"),
        ({"queue.limit": {"from": "4KiB", "to": "4ms", "steps": 3}}, "not two quantities", "KiB"),
        ({"queue.max_p": {"from": 1.0, "to": math.inf, "steps": 3}}, "has an end of inf", "finite"),
        ({"queue.max_p": {"from": -1e308, "to": 1e308, "steps": 3}}, "too many digits", "smaller"),
        ({"link.rate": {"from": "1Gbps", "to": "2Gbps"}}, "has no `steps`", "steps = 10"),
        ({"fix": ["rde"]}, 'axes."fix": "rde" is not one of', "did you mean `red`"),
    ],
)
def test_axes_that_cannot_be_are_refused(
    base: Scenario, tmp_path: Path, axes: dict[str, Any], problem: str, remedy: str
) -> None:
    with pytest.raises(InputError, match=problem) as refused:
        sweep(base, axes, seeds=1, folder=tmp_path / "study")
    assert remedy in refused.value.remedy
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        ("where = 'false'", "where: .*leaves no point", "wider"),
        ("where = 'quue > 1'", 'where: cannot be answered: .*"quue" not found', "queue.limit"),
        ("zip = [['queue.limit', 'x']]", 'zip: "x" is not an axis', "queue.limit"),
        ("keep = ['jainindex']", "keep: .*names `jainindex`, which no run has", "`jain_index`"),
        ("seeds = 0", "seeds: 0 asks for no run", "1 or more"),
        ("seeds = [1, 1]", "seeds: .*has a seed twice", "different"),
        ("sceds = 1", "sceds: is not a field of a sweep", "did you mean `seeds`"),
    ],
)
def test_a_sweep_file_that_cannot_be_is_refused_with_its_name(
    fairport: Command, tmp_path: Path, text: str, problem: str, remedy: str
) -> None:
    axes = '[axes]\n"queue.limit" = ["4KiB", "8KiB"]\n'
    (tmp_path / "mine.toml").write_text(f'scenario = "two-switch"\n{text}\n{axes}')
    done = fairport("sweep", "mine.toml")
    assert (done.status, done.out) == (2, "")
    error, hint = done.err.splitlines()
    assert error.startswith("error: mine.toml:")
    assert re.search(problem, error), error
    assert remedy in hint
    assert list(tmp_path.iterdir()) == [tmp_path / "mine.toml"]


def test_a_file_without_axes_is_refused(fairport: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('scenario = "two-switch"\n')
    done = fairport("sweep", "mine.toml")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: mine.toml: names no axis\nhint: give one")


def test_more_than_a_million_points_need_a_yes() -> None:
    axes = {f"traffic.0.{name}": {"from": 1, "to": 1001} for name in ("a", "b")}
    file = read(SweepFile, {"scenario": "two-switch", "axes": axes}, "big.toml")
    with pytest.raises(InputError, match=r"big\.toml: axes: make 1,002,001 points") as refused:
        check_size(file, allowed=False)
    assert "--yes" in refused.value.remedy
    check_size(file, allowed=True)


def test_an_estimate_refuses_what_the_run_refuses(fairport: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('scenario = "outcast"\n[axes]\n"topology.k" = [4, 5]\n')
    estimated, run = (fairport("sweep", "mine.toml", *it) for it in (["--estimate"], []))
    assert (estimated.status, estimated.err) == (run.status, run.err)
    assert run.err.startswith('error: mine.toml: axes."topology.k": 5 ')


def test_the_command_says_how_long_and_what_to_do_next(fairport: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(FILE.format(duration="5ms", to=4))
    assert fairport("sweep", "mine.toml", "--estimate").out == (
        "3 points with 6 seeds each: 18 runs\n"
    )
    (tmp_path / "one.toml").write_text(FILE.format(duration="5ms", to=4).replace("4 }", "2 }"))
    one = fairport("sweep", "one.toml", "--estimate", "--seeds", "1")
    assert one.out == "1 point with 1 seed: 1 run\n"
    done = fairport("sweep", "mine.toml", "--jobs", "1")
    assert done.status == 0
    assert "18 runs at 3 points; about 1 s, 1 at a time; 0.0 MB" in done.err
    assert done.out.startswith("results/mine: 18 runs made\n")
    found = fairport("query", "results/mine", "select count(*) as n from runs", "--json")
    assert json.loads(found.out) == [{"n": 18}]
    wrong = fairport("query", "results/mine", "select peers from runs")
    assert wrong.status == 2
    assert '"peers" not found' in wrong.err
    assert load(tmp_path / "mine.toml").name == "mine"


def test_what_is_no_study_says_so(fairport: Command) -> None:
    done = fairport("query", "nowhere", "select 1")
    assert (done.status, done.err.splitlines()[0]) == (2, "error: nowhere: is not a study")
