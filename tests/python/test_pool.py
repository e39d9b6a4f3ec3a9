"""The pool runs any list of (scenario, seed), keeps the order, and can be stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import fairport as fp
import pytest
from conftest import ENTRY, slowness
from fairport import backends
from fairport.backends import memory
from fairport.backends.progress import Done
from fairport.backends.protocol import Estimate
from fairport.errors import ResourceError, ScenarioError
from fairport.scenario import Scenario
from fairport.study.runs.pool import run_all
from fairport.study.runs.store import Store


def test_records_come_in_the_order_of_the_tasks(short: Scenario) -> None:
    # the first takes longest
    long = short.patch({"duration": "60ms", "name": "long"})
    tasks = [(long, 5), (short, 3), (short, 1), (long, 2)]
    records = list(run_all(tasks, jobs=3))
    found = [(record.summary["scenario"], record.summary["seeds"]) for record in records]
    assert found == [("long", [5]), ("short", [3]), ("short", [1]), ("long", [2])]


def test_a_record_is_that_of_a_run(short: Scenario) -> None:
    (record,) = run_all([(short, 2)])
    result = fp.run(short, 2)
    assert record.summary["fingerprint"] == result.fingerprint
    assert record.summary["classes"] == result.summary["classes"]
    assert record.flows["goodput_bps"].to_list() == result.flows["goodput_bps"].to_list()
    packets = (record.drop_runs["length"] * record.drop_runs["runs"]).sum()
    assert packets == result.drops.height > 0


def test_nothing_to_do_is_done_at_once() -> None:
    assert list(run_all([])) == []


def test_progress_counts_runs(short: Scenario) -> None:
    seen: list[Done] = []
    list(run_all([(short, seed) for seed in (1, 2, 3)], jobs=2, progress=seen.append))
    assert seen[-1].runs == pytest.approx(3)
    assert {done.of for done in seen} == {3}
    assert [done.runs for done in seen] == sorted(done.runs for done in seen)
    assert seen[-1].packet_hops > 0


def test_the_same_task_twice_is_run_once(short: Scenario) -> None:
    seen: list[Done] = []
    first, second = run_all([(short, 1), (short, 1)], jobs=2, progress=seen.append)
    assert first.summary == second.summary
    assert seen[-1].runs == pytest.approx(1)


def test_bad_input_is_refused_before_the_first_run(short: Scenario, tmp_path: Path) -> None:
    bad = short.patch({"traffic.0.to": "h99"})
    store = Store(tmp_path / "kept")
    with pytest.raises(ScenarioError, match="h99"):
        run_all([(short, 1), (bad, 1)], store=store)
    assert store.size() == (0, 0)


def test_fewer_runs_at_a_time_when_memory_is_short(
    short: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = [(short, seed) for seed in (1, 2, 3)]
    needed = 1_000_000
    monkeypatch.setattr(
        "fairport.backends.simulation.PreparedSimulation.estimate", Estimate(needed, None)
    )
    monkeypatch.setattr(memory, "available_bytes", lambda: needed + 1)
    assert len(list(run_all(tasks, jobs=3))) == 3
    monkeypatch.setattr(memory, "available_bytes", lambda: needed - 1)
    with pytest.raises(ResourceError, match="memory"):
        run_all(tasks, jobs=3)


def test_the_system_is_asked_for_its_memory_once_for_each_larger_need(
    short: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each of 2,000 points it would take a fifth of the time that a sweep takes beside runs."""
    asked: list[None] = []
    monkeypatch.setattr(memory, "available_bytes", lambda: asked.append(None))
    run_all([(short.patch({"name": name}), 1) for name in ("a", "b", "c")], jobs=1)
    once, jobs_that_fit = 1, 1
    assert len(asked) == once + jobs_that_fit


@pytest.mark.alone
def test_closing_stops_the_runs_under_way(short: Scenario, tmp_path: Path) -> None:
    endless = short.patch({"duration": "10min", "probes.series_interval": "1min"})
    endless = endless.patch({"probes.queue_interval": "1min"})
    store = Store(tmp_path / "kept")
    records = run_all([(short, 1), (endless, 1), (endless, 2)], jobs=2, store=store)
    next(records)
    slow = slowness()
    begin = time.monotonic()
    records.close()
    assert time.monotonic() - begin < 20 * slow
    assert store.size()[0] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
def test_ctrl_c_keeps_what_is_done_and_the_next_time_goes_on(
    tmp_path: Path, store_of_its_own: Path
) -> None:
    arguments = ["compare", "outcast", "--fix", "pacing", "--repeat", "60", "--duration", "500ms"]
    process = subprocess.Popen(
        [*ENTRY, *arguments],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    store = Store(store_of_its_own)
    deadline = time.monotonic() + 60
    while store.size()[0] < 3:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    *announced, said = err.splitlines()  # what is printed depends on how long it takes
    assert all(line.startswith("outcast: ") for line in announced)
    assert said == "interrupted: finished runs are kept; the same command continues from there"
    assert list(tmp_path.iterdir()) == []
    assert 3 <= store.size()[0] < 120
    assert not list(store_of_its_own.rglob("*.partial"))
    seen: list[Done] = []
    scenario = fp.scenario("outcast").patch({"duration": "500ms"})
    key = backends.get("simulation").prepare(scenario, 1).key
    kept = [seed for seed in range(1, 61) if store.has(key, seed)]  # their order is not determined
    assert kept
    list(run_all([(scenario, seed) for seed in kept], store=store, progress=seen.append))
    assert seen == []
