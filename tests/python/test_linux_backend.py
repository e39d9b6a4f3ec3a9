"""The Linux backend: the kernel's TCP through Fairport's switch, in namespaces of its own.

Runs here are short and on whatever machine the tests run on, so they ask for what holds whether or
not the machine kept its times.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import fairport as fp
import numpy as np
import polars as pl
import pytest
from fairport import _core
from fairport.cli.app import app
from fairport.errors import BackendError
from linux_runs import SCENARIO, as_root, kernel_infos
from typer.testing import CliRunner

if sys.platform != "linux":
    pytest.skip("the Linux backend needs Linux", allow_module_level=True)

from fairport.backends.linux import gate, measured, namespaces, prepared, sockets, tcp_info
from fairport.backends.linux.backend import BACKEND
from fairport.backends.linux.flows import FlowReport, FlowSpec
from fairport.backends.linux.generator_task import GeneratorReport
from fairport.backends.linux.observing import Observe, Observer
from fairport.backends.linux.processes import Child
from fairport.backends.protocol import BOTTLENECK, Observation
from fairport.microscope import focus, look

pytestmark = pytest.mark.alone


def ours(pid: int | None = None) -> list[str]:
    """Namespaces of this process or of another one; other runs may exist at the same time."""
    made = Path("/run/netns").glob(f"fairport-{pid or os.getpid()}-*")
    return [file.name for file in made]


def answer(reports: Connection, task: int) -> None:
    """What a process of a run may do."""
    reports.send(("done", task))


def test_ctrl_c_ends_no_process_of_a_run_not_even_while_it_starts() -> None:
    """It reaches all processes of a terminal; the command ends the others, without their words."""
    child = Child("process", answer, 7)
    try:
        os.kill(child._process.pid, signal.SIGINT)
        assert child.wait("done") == 7
    finally:
        child.close()


@as_root
def test_real_tcp_fills_the_tables_of_a_run() -> None:
    result = fp.run(SCENARIO, seed=1, backend="linux")
    flows, drops = result.flows, result.drops
    assert flows["established_s"].null_count() == 0
    assert flows["delivered_bytes"].min() > 0  # type: ignore[operator]
    # three flows share a line of 50 Mbit/s, whose payload is 47.1
    assert 20e6 < flows["goodput_bps"].sum() < 47.2e6
    assert drops.height == flows["drops"].sum() > 0
    assert drops["time_s"].is_between(0, 1.2).all()
    assert set(drops["reason"]) == {"full"}
    by_ports = result.tables["ports"].filter(pl.col("drops") > 0)["port"]
    assert set(drops["port"]) <= set(by_ports)
    assert result.series["cwnd_bytes"].max() > 10 * 1448  # type: ignore[operator]
    assert result.tables["queue"]["packets"].max() <= 20  # type: ignore[operator]
    assert result.manifest["backend"] == "linux"
    assert result.manifest["health"]["send_errors"] == 0
    assert ours() == []


@as_root
def test_an_adapter_keeps_more_of_a_flow_than_a_small_queue_lets_through() -> None:
    one = SCENARIO | {"topology": {"kind": "two-switch", "peers": 1}}
    one |= {"queue": {"limit": "200 packets"}, "traffic": [{"from": "h1", "to": "h0"}]}

    def most_packets(backend: str, **tcp: bool) -> float:
        result = fp.run(one | {"tcp": SCENARIO["tcp"] | tcp}, seed=1, backend=backend)
        ports = result.tables["ports"].filter(port="h1:0")
        return float(ports["queue_max_bytes"][0]) / 1518

    limited = most_packets("simulation")
    assert limited < 20
    assert most_packets("simulation", small_queue=False) > 2 * limited
    # frames leave the kernel at once, so `validate` simulates without the limit
    assert most_packets("linux") > 2 * limited


@as_root
def test_the_switch_keeps_the_packets_of_a_port(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, jobs = _core.Simulation, list[str]()
    monkeypatch.setattr(_core, "Simulation", lambda job: jobs.append(job) or plan(job))
    observation = Observation(packets=(BOTTLENECK,))
    result = fp.run(SCENARIO, seed=1, backend="linux", observation=observation)
    assert len(jobs) == 1, "a run is planned once"
    monkeypatch.undo()
    packets = result.packets
    (port,) = packets["port"].unique()
    drops = result.drops.filter(port=port)
    dropped = packets.filter(fate="dropped")
    assert dropped["seq"].to_list() == drops["seq"].to_list()
    assert dropped["time_s"].to_list() == drops["time_s"].to_list()
    assert packets.filter(fate="forwarded").height > 1000
    shown = look(result, focus(result, "1s", span="100ms"))
    assert shown.packets.height > 100


@as_root
def test_what_a_host_sent_by_the_end_counts_when_the_switch_is_late_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    switches: list[int] = []

    class Watched(prepared.Child):
        def __init__(self, name: str, main: Any, task: Any) -> None:
            super().__init__(name, main, task)
            if name == "switch":
                switches.append(self._process.pid)

    def stop_at_the_end(now_s: float, _: int) -> None:
        if not 0.4 < now_s < 0.8:
            return
        time.sleep(0.9 - now_s)
        os.kill(switches[0], signal.SIGSTOP)
        time.sleep(0.3)
        os.kill(switches[0], signal.SIGCONT)

    monkeypatch.setattr(prepared, "Child", Watched)
    udp = [{"kind": "udp", "from": "h1", "to": "h0", "rate": "40Mbps"}]
    scenario = SCENARIO | {"duration": "1s", "traffic": udp}
    ready = BACKEND.prepare(fp.scenario(scenario), 1)
    ready = ready.observing(Observation(packets=("h1:0",)))
    tables = ready.run(stop_at_the_end).tables
    packets, (port,) = tables["packets"], tables["ports"].filter(port="h1:0").to_dicts()
    assert port["packets"] == packets.height
    assert packets["time_s"].max() <= 1  # type: ignore[operator]
    # the switch stood still from 0.9 s on
    assert packets["time_s"].max() > 0.98  # type: ignore[operator]
    # the host sent a datagram every 0.3 ms; the last ones may be after the end
    sent = tables["flows"]["segments_sent"][0]
    assert packets.height == pytest.approx(sent, abs=6)
    assert port["busy_share"] == pytest.approx(0.8 * sent / (40e6 / 8 / 1472), rel=0.05)


@as_root
def test_the_switch_marks_real_headers() -> None:
    marking = {"kind": "step-marking", "limit": "200 packets", "mark_above": "10 packets"}
    tcp = SCENARIO["tcp"] | {"ecn": True}
    result = fp.run(SCENARIO | {"queue": marking, "tcp": tcp}, seed=1, backend="linux")
    assert result.flows["marks"].sum() > 20
    # senders reacted to the marks, so nothing was dropped
    assert result.flows["drops"].sum() == 0
    assert result.flows["retransmits"].sum() == 0


@as_root
def test_timeouts_that_the_switch_finds_are_those_that_the_kernel_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends = kernel_infos(monkeypatch)
    tight = {
        "queue": {"kind": "drop-tail", "limit": "6 packets"},
        "topology": {"kind": "two-switch", "peers": 6},
    }
    result = fp.run(SCENARIO | tight, seed=1, backend="linux")
    found = result.flows.drop_nulls("established_s")["timeouts"].sum()
    counted = sum(end.timeouts for end in ends)
    assert counted > 10
    assert abs(found - counted) <= 2 + 0.2 * counted


@as_root
def test_the_switch_waits_until_the_generator_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine it may take seconds longer, and the run would be over before it begins."""

    class Slow(prepared.Child):
        def __init__(self, name: str, main: Any, task: Any) -> None:
            super().__init__(name, main, task)
            if name == "traffic generator":
                pid = self._process.pid
                os.kill(pid, signal.SIGSTOP)
                threading.Timer(2.0, os.kill, (pid, signal.SIGCONT)).start()

    monkeypatch.setattr(prepared, "Child", Slow)
    # the switch works half a second longer than this, and the generator is stopped for longer
    short = SCENARIO | {"duration": "0.5s"}
    result = fp.run(short, seed=1, backend="linux")
    assert result.flows["start_s"].max() < 0.25  # type: ignore[operator]
    assert result.flows["delivered_bytes"].sum() > 1e6


@as_root
@pytest.mark.parametrize("victim", ["traffic generator", "switch"])
def test_a_run_ends_with_either_of_its_processes(
    victim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = time.monotonic()

    class Doomed(prepared.Child):
        def wait(self, word: str) -> Any:
            found = super().wait(word)
            if self.name == victim and word == "ready":
                threading.Timer(0.5, self._process.kill).start()
            return found

    monkeypatch.setattr(prepared, "Child", Doomed)
    with pytest.raises(BackendError, match=f"the {victim} ended early .killed"):
        fp.run(SCENARIO | {"duration": "60s"}, seed=1, backend="linux")
    assert time.monotonic() - started < 40


def test_a_load_that_began_late_is_a_fault() -> None:
    expected = gate.Expectation(drain_s=0.02, line_goodput_bps=None, rate_bps=1e8)
    assert gate.faults_of_generator(0.001, 0.009, 0, expected) == []
    assert "the flows began 30 ms late" in gate.faults_of_generator(0.03, 0.0, 0, expected)[0]
    (late,) = gate.faults_of_generator(0.0, 0.011, 0, expected)
    assert "began more than 11 ms late, and 10 ms are allowed" in late
    small = gate.Expectation(drain_s=1e-4, line_goodput_bps=None, rate_bps=1e9)
    assert gate.faults_of_generator(0.001, 0.0009, 0, small) == []


@as_root
def test_a_load_that_cannot_start_its_flows_in_time_is_a_fault() -> None:
    # a program in Python opens a few thousand connections per second, not thirty thousand
    many = {"kind": "poisson", "from": "all", "to": "all", "load": 0.1, "sizes": "100B"}
    fast = {"rate": "100Mbps", "delay": "0s"}
    scenario = SCENARIO | {"duration": "200ms", "link": fast, "traffic": [many]}
    faults = fp.run(scenario, seed=1, backend="linux").summary["faults"]
    assert any("of the flows and writes began more than" in fault for fault in faults)


def test_datagrams_that_find_no_room_at_their_host_are_a_fault() -> None:
    with (
        socket.socket(type=socket.SOCK_DGRAM) as sink,
        socket.socket(type=socket.SOCK_DGRAM) as source,
    ):
        sink.bind(("127.0.0.1", 0))
        assert sockets.lost_datagrams(sink) == 0
        sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sink.setblocking(False)
        for _ in range(100):
            source.sendto(bytes(1000), sink.getsockname())
        received = 0
        with suppress(BlockingIOError):
            while sink.recv(2000):
                received += 1
        lost = sockets.lost_datagrams(sink)
    expected = gate.Expectation(drain_s=0.02, line_goodput_bps=None, rate_bps=1e8)
    assert 0 < lost == 100 - received
    assert (
        f"{lost} datagrams found no room" in gate.faults_of_generator(0.0, 0.0, lost, expected)[0]
    )


def test_means_over_a_run_leave_out_the_time_before_it() -> None:
    ports = {"port": np.arange(1), "busy_share": np.array([0.8]), "queue_mean_bytes": np.ones(1)}
    report = GeneratorReport([], [], 0.0, 2.0, {})
    outcome = {"tables": {"ports": ports}, "flows": []}
    tables = measured.arrays(outcome, report, hosts={}, lead_s=0.5, duration_s=2.0, watched_flows=9)
    # busy for 0.8 of 2.5 s, all of them within the last 2
    assert tables["ports"]["busy_share"] == pytest.approx([1.0])
    assert tables["ports"]["queue_mean_bytes"] == pytest.approx([1.25])


def test_a_measurement_that_waits_for_no_flow_begins_with_the_run() -> None:
    # web traffic and requests: no flow is known before the run; it begins 0.4 s after its processes
    observer = Observer(Observe(0.1, 10, measure_from_s=None, measure_to_s=None), 0, [], {})
    observer.look(-0.4)
    assert observer.end(2.0) == (0.0, 2.0)


def test_a_measurement_begins_with_the_run_if_a_flow_is_never_established() -> None:
    spec = FlowSpec(0, 1, 0, (0, 0), 0, None, False, None, False, 2, None, 20_000)
    waiting = FlowReport(spec, delivered_bytes=7)
    observe = Observe(0.1, 10, measure_from_s=None, measure_to_s=1.0)
    observer = Observer(observe, 1, [waiting], {})
    observer.look(0.5)
    observer.look(1.0)
    waiting.delivered_bytes = 9
    assert observer.end(2.0) == (0.0, 1.0)
    assert waiting.measured_bytes == 7


@as_root
def test_a_minimum_rto_of_10_ms_gives_timeouts_of_tens_of_ms_and_the_default_of_hundreds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends = kernel_infos(monkeypatch)
    ample = {"duration": "1s", "queue": {"kind": "drop-tail", "limit": "200 packets"}}
    for rto_min, least, most in (("10ms", 0.008, 0.1), ("200ms", 0.19, 0.3)):
        ends.clear()
        fp.run(SCENARIO | ample | {"tcp": SCENARIO["tcp"] | {"rto_min": rto_min}}, backend="linux")
        assert least <= min(end.rto_s - end.srtt_s for end in ends) <= most, rto_min


@as_root
def test_a_script_without_a_guard_may_start_a_run(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(
        "import json, sys\nimport fairport as fp\n"
        "print('begun')\n"
        "print(fp.run(json.loads(sys.argv[1]), backend='linux').flows.height)\n"
    )
    short = json.dumps(SCENARIO | {"duration": "200ms"})
    done = subprocess.run(
        [sys.executable, str(script), short], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["begun", "3"]
    assert "Warning" not in done.stderr


@as_root
def test_what_a_killed_run_leaves_is_removed_by_the_next() -> None:
    program = (
        "import sys, json, fairport as fp; fp.run(json.loads(sys.argv[1]), seed=1, backend='linux')"
    )
    long = json.dumps(SCENARIO | {"duration": "60s"})
    run = subprocess.Popen([sys.executable, "-c", program, long], start_new_session=True)
    for _ in range(200):
        if len(ours(run.pid)) == 5:
            break
        time.sleep(0.1)
    time.sleep(0.5)
    run.send_signal(signal.SIGKILL)
    run.wait()
    left = ours(run.pid)
    assert len(left) == 5
    assert set(namespaces.leftovers()) >= set(left)
    answer = CliRunner().invoke(app, ["linux", "cleanup", "--json"])
    assert set(json.loads(answer.stdout)["removed"]) >= set(left)
    assert ours(run.pid) == []


@as_root
def test_namespaces_go_when_a_sweep_is_interrupted(tmp_path: Path) -> None:
    scenario = SCENARIO | {"duration": "30s"}
    program = f"import fairport as fp; fp.sweep({scenario!r}, {{'topology.peers': [2]}}, seeds=1,"
    program += " backend='linux', folder='study')"
    sweep = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while len(ours(sweep.pid)) < 5:
        assert time.monotonic() < until
        time.sleep(0.1)
    time.sleep(2)  # long enough that the run is under way
    sweep.send_signal(signal.SIGINT)
    sweep.communicate(timeout=20)
    assert ours(sweep.pid) == []


@as_root
def test_namespaces_go_when_a_run_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise OSError("no such thing")

    monkeypatch.setattr(namespaces, "_configure", broken)
    with pytest.raises(BackendError, match="cannot make its network namespaces"):
        fp.run(SCENARIO, seed=1, backend="linux")
    assert ours() == []


@as_root
def test_a_killed_generator_is_one_error_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def spy(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*arguments, **options))
        return started[-1]

    def kill() -> None:
        while not started:
            time.sleep(0.05)
        # the generator is the first of the two
        started[0].kill()

    monkeypatch.setattr(subprocess, "Popen", spy)
    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(BackendError, match="the traffic generator ended early"):
        fp.run(SCENARIO, seed=1, backend="linux")
    killer.join()
    assert ours() == []


def test_without_root_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(BackendError, match="needs root"):
        fp.run(SCENARIO, seed=1, backend="linux")


def test_the_gate_expects_the_rates_that_links_have() -> None:
    hosts = [{"ends": [f"h{at}", "s0"], "rate": "100Mbps"} for at in range(3)]
    own = {"kind": "graph", "hosts": ["h0", "h1", "h2"], "switches": ["s0"], "links": hosts}
    bulk = [{"kind": "bulk", "from": "all", "to": "h0"}]
    fast = SCENARIO | {"topology": {"kind": "star", "hosts": 3}, "traffic": bulk}
    fast["link"] = {"rate": "1Gbps"}

    def expected(scenario: dict[str, Any]) -> gate.Expectation:
        return BACKEND.prepare(fp.scenario(scenario), 1)._expectation

    of_link, of_links = expected(fast), expected(fast | {"topology": own})
    assert of_link.line_goodput_bps == pytest.approx(1e9 * 1448 / 1538)
    assert of_links.line_goodput_bps == pytest.approx(1e8 * 1448 / 1538)
    assert of_links.drain_s == pytest.approx(10 * of_link.drain_s)
    # a link may have a buffer of its own
    hosts[0]["limit"] = "1MiB"
    of_a_link = expected(fast | {"topology": own})
    assert of_a_link.drain_s == pytest.approx(2**20 * 8 / 1e8)
    # at most one buffer's data is missing at the end of a measurement
    assert of_link.within(0.1).line_goodput_bps == pytest.approx(
        of_link.line_goodput_bps * (1 - of_link.drain_s / 0.1)
    )
    assert of_link.within(of_link.drain_s / 2).line_goodput_bps is None
    # links that together are faster than the receiver's fill its link
    hosts[1]["rate"] = "70Mbps"
    of_links = expected(fast | {"topology": own})
    assert of_links.line_goodput_bps == pytest.approx(1e8 * 1448 / 1538)
    # losses at random may leave the line idle
    lossy = expected(fast | {"loss": [{"kind": "random", "probability": 0.01}]})
    assert lossy.line_goodput_bps is None
    # a buffer far below what is under way does not keep the line full
    far = expected(fast | {"link": {"rate": "1Gbps", "delay": "1ms"}})
    assert (far.line_goodput_bps, far.drain_s) == (None, of_link.drain_s)
    # short segments carry less, and buffers counted in packets empty sooner
    short = expected(fast | {"link": {"rate": "1Gbps", "mtu": "576B"}})
    assert short.line_goodput_bps == pytest.approx(1e9 * 524 / 614)
    assert short.drain_s == pytest.approx(of_link.drain_s * 594 / 1518)
    # transfers may leave the line idle: then the fastest link counts
    some = fast | {"topology": own, "traffic": [bulk[0] | {"size": "100kB"}]}
    assert (expected(some).line_goodput_bps, expected(some).rate_bps) == (None, 1e8)


def test_the_gate_names_every_fault() -> None:
    # 16 KiB at 1 Gbit/s drain in 131 us
    expected = gate.Expectation(drain_s=131e-6, line_goodput_bps=941e6, rate_bps=1e9)
    good = {"lag_p99_s": 40e-6, "stalled_s": 0.0}
    good |= {"ring_losses": 0, "backlog_losses": 0, "send_errors": 0, "capture_losses": 0}
    good |= {"lost_windows": 0}
    assert gate.faults(good, expected, 10.0, 900e6) == []
    late = good | {"lag_p99_s": 66e-6}
    assert "66 us late" in gate.faults(late, expected, 10.0, 900e6)[0]
    (stalled,) = gate.faults(good | {"stalled_s": 0.06}, expected, 10.0, 900e6)
    assert "0.60 % of the run frames left more than 131 us late" in stalled
    assert "3 frames were lost" in gate.faults(good | {"ring_losses": 3}, expected, 10.0, 9e8)[0]
    assert "2 windows of" in gate.faults(good | {"lost_windows": 2}, expected, 10.0, 9e8)[0]
    assert "missing at the end" in gate.faults(good | {"capture_losses": 1}, expected, 10.0, 9e8)[0]
    assert gate.faults_of_windows({0: 12_000, 1: 1 << 30}) == []
    assert "flow 3 had" in gate.faults_of_windows({3: 1 << 41})[0]
    # 6 % of 941 may be missing
    (carried,) = gate.faults(good, expected, 10.0, 880e6)
    assert "carried 880.0 Mbit/s of goodput, and at least 884.5 of the 941.0" in carried
    assert "lower `link.rate`" in carried
    assert gate.faults(good, expected, 10.0, 885e6) == []


def test_tcp_info_is_read_where_the_kernel_writes_it() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    with server, socket.create_connection(server.getsockname()) as client:
        accepted, _ = server.accept()
        with accepted:
            client.sendall(bytes(50_000))
            got = 0
            while got < 50_000:
                got += len(accepted.recv(65_536))
            info = tcp_info.read(client)
    assert info.timeouts == 0
    assert info.cwnd_bytes > 0
    assert info.segments_sent >= 1
    assert 0 < info.srtt_s < 1


def test_the_doctor_says_what_is_here() -> None:
    answer = CliRunner().invoke(app, ["doctor", "--json"])
    found = {one["what"]: one for one in json.loads(answer.stdout)}
    assert found["root"]["is_there"] == (os.geteuid() == 0)
    assert found["scheduling of the switch"]["here"].startswith("SCHED_")
    assert "cubic" in found["congestion controls"]["here"].split(", ")
    assert all(one["is_there"] or one["cost"] for one in found.values())
