"""What is kept of runs with code of a user's own, and how they are compared, swept and stopped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import fairport as fp
import pytest
from conftest import Command
from fairport.custom import Connection, Packet, Port, Queue, Window
from fairport.scenario import Scenario
from fairport.study.runs.pool import run_all
from fairport.study.runs.store import Store


class DropTail:
    def __init__(self, port: Port) -> None:
        self.limit_bytes = port.limit_bytes or 0

    def admit(self, queue: Queue, packet: Packet) -> bool:
        return queue.backlog_bytes + packet.size_bytes <= self.limit_bytes


class NewReno:
    def __init__(self, connection: Connection) -> None:
        pass

    def on_loss(self, window: Window) -> None:
        window.lower_threshold(window.cwnd // 2)


def test_a_run_of_user_code_is_saved_and_can_be_compared(
    outcast: Scenario, custom: Scenario, tmp_path: Path
) -> None:
    coded = custom.with_user_code(disciplines={"mine": DropTail})
    result = fp.run(coded)
    fp.save(result, tmp_path / "run")
    loaded = fp.load_run(tmp_path / "run")
    assert loaded.fingerprint == result.fingerprint
    assert loaded.manifest["user_code"] == result.manifest["user_code"]
    # its classes are not in the folder
    with pytest.raises(fp.ScenarioError, match="is not a registered queue discipline"):
        fp.run(loaded.scenario)
    comparison = fp.compare(coded, ["sfq"], repeat=1)
    as_it_is = fp.compare(outcast.patch({"queue.limit": "16KiB"}), ["sfq"], repeat=1)
    fp.save(comparison, tmp_path / "compared", figures=False)
    manifest = json.loads((tmp_path / "compared" / "manifest.json").read_text())
    assert manifest["user_code"] == result.manifest["user_code"]
    ratio = "throughput_ratio"
    assert comparison.runs[ratio].to_list() == as_it_is.runs[ratio].to_list()


def test_the_microscope_says_how_a_run_of_user_code_keeps_its_packets(
    custom: Scenario, fairport: Command, tmp_path: Path
) -> None:
    folder = str(tmp_path / "run")
    fp.save(fp.run(custom, disciplines={"mine": DropTail}), folder, figures=False)
    outcome = fairport("microscope", folder, "--around", "50ms")
    assert outcome.status == 2
    assert 'observation=fp.Observation(packets=["edge0.0:0"])' in outcome.err
    kept = fp.Observation(packets=["bottleneck"])
    result = fp.run(custom, disciplines={"mine": DropTail}, observation=kept)
    fp.save(result, folder, figures=False, force=True)
    out = str(tmp_path / "shown")
    assert fairport("microscope", folder, "--around", "50ms", "--out", out).status == 0


def test_the_store_keeps_no_run_of_user_code(outcast: Scenario, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    own = outcast.patch({"tcp.congestion_control": "custom:reno"})
    coded = own.with_user_code(congestion_controls={"reno": NewReno})
    records = list(run_all([(coded, 1), (coded, 2)], jobs=2, store=store))
    assert len(records) == 2
    assert store.size()[0] == 0
    # code that the scenario does not name decides nothing
    unused = outcast.with_user_code(congestion_controls={"reno": NewReno})
    list(run_all([(unused, 1)], jobs=1, store=store))
    assert store.size()[0] == 1


def test_the_classes_travel_with_the_scenario(custom: Scenario) -> None:
    coded = custom.with_user_code(disciplines={"mine": DropTail})
    patched = coded.patch({"seed": 7})
    assert patched.user_code == coded.user_code
    assert coded != custom
    one, two = fp.run_many(coded, [1, 2], jobs=2)
    assert one.fingerprint == fp.run(coded, 1).fingerprint != two.fingerprint


@pytest.mark.parametrize(
    "call",
    [
        "list(fp.run_many(own, [1, 2], jobs=2))",
        'fp.compare(own, "drr", repeat=2, jobs=2)',
        'fp.sweep(own, {"queue.limit": ["8KiB", "16KiB"]}, folder="s", jobs=2)',
    ],
)
def test_ctrl_c_ends_threads_in_a_method_without_an_end(call: str, tmp_path: Path) -> None:
    program = f"""
import os, signal
import fairport as fp

class Endless:
    def __init__(self, connection):
        pass

    def on_ack(self, window, ack):
        os.write(1, b"called\\n")
        while True:
            pass

signal.signal(signal.SIGINT, signal.default_int_handler)
own = fp.scenario("outcast").patch({{"tcp.congestion_control": "custom:endless"}})
own = own.with_user_code(congestion_controls={{"endless": Endless}})
{call}
"""
    run = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    try:
        assert run.stdout is not None
        assert run.stdout.readline() == "called\n"
        assert run.stdout.readline() == "called\n"
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=30)
    finally:
        run.kill()
    assert err.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.parametrize(
    "call",
    [
        "fp.run(scenario)",
        "list(fp.run_many(scenario, [1, 2, 3], jobs=2))",
        "fp.sweep(scenario, {'queue.limit': ['8KiB', '16KiB']}, seeds=2, folder='s', jobs=2)",
    ],
)
def test_ctrl_c_ends_a_run_of_slow_classes_at_once(call: str, tmp_path: Path) -> None:
    """One object gets the interrupt; the others are not called any more, however slow they are.

    In a thread, which no signal reaches, a run ends after the call that is under way.
    """
    program = """
import os, signal, time
import fairport as fp

class Slow:
    def __init__(self, connection):
        pass

    def on_ack(self, window, ack):
        os.write(1, b"called\\n")  # at once: two threads write
        time.sleep(5)

signal.signal(signal.SIGINT, signal.default_int_handler)
own = {"duration": "1s", "tcp.congestion_control": "custom:slow"}
scenario = fp.scenario("outcast").patch(own).with_user_code(congestion_controls={"slow": Slow})
"""
    run = subprocess.Popen(
        [sys.executable, "-c", program + call],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "called\n"
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=30)
    assert out in ("", "called\n")  # in the other thread
    assert err.rstrip().endswith("KeyboardInterrupt")
