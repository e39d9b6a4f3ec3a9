"""The load of a scenario on the Linux backend's switch, and when a run is refused because of it."""

from __future__ import annotations

import json
import math
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import fairport as fp
import pytest
from fairport.errors import BackendError
from linux_runs import as_root

if sys.platform != "linux":
    pytest.skip("the Linux backend needs Linux", allow_module_level=True)

from fairport import _core
from fairport.backends.jobs import job_of
from fairport.backends.linux import capacity, demand, namespaces, receiving
from fairport.backends.linux.backend import BACKEND
from fairport.backends.linux.ticks import Ticks
from fairport.backends.linux.waiting import Waiting

pytestmark = pytest.mark.alone

# 1538 B of a full frame on the wire, and an ACK for every second of them
LINE_1G = 1e9 / 8 / 1538 * 1.5
BULK = {"from": "all", "to": "h0"}


def asked_for(**scenario: Any) -> float:
    document = {
        "name": "capacity-test",
        "topology": {"kind": "two-switch", "peers": 3},
        "link": {"rate": "1Gbps"},
        "traffic": [BULK],
    }
    loaded = fp.scenario(document | scenario)
    job = job_of(loaded)
    return demand.frames_per_s(loaded, job, _core.layout(json.dumps(job.document)), mss_bytes=1460)


def test_many_senders_fill_the_line_of_their_receiver() -> None:
    assert asked_for() == pytest.approx(LINE_1G)
    assert asked_for(link={"rate": "100Mbps"}) == pytest.approx(LINE_1G / 10)


def test_one_sender_fills_no_more_than_its_own_line() -> None:
    to_two = [{"from": "h1", "to": host} for host in ("h0", "h2")]
    assert asked_for(traffic=to_two) == pytest.approx(LINE_1G)
    pairs = [{"from": "h1", "to": "h0"}, {"from": "h3", "to": "h2"}]
    assert asked_for(traffic=pairs) == pytest.approx(2 * LINE_1G)


def test_a_shaper_is_slower_than_its_line() -> None:
    shaper = {"kind": "tbf", "rate": "100Mbps", "burst": "20KB"}
    assert asked_for(shaper=shaper) == pytest.approx(LINE_1G / 10)


def test_datagrams_take_their_part_of_the_line() -> None:
    # 1472 B fill a frame, so 100 Mbit/s of payload are 8491.8 frames, and nothing acknowledges them
    udp = {"kind": "udp", "from": "h1", "to": "h0", "rate": "100Mbps"}
    frames = 100e6 / 8 / 1472
    assert asked_for(traffic=[udp]) == pytest.approx(frames)
    line_bps = 1e9 - frames * 1538 * 8
    assert asked_for(traffic=[BULK, udp]) == pytest.approx(frames + line_bps / 8 / 1538 * 1.5)


def test_transfers_that_arrive_by_chance_bring_their_load() -> None:
    poisson = {"kind": "poisson", "load": 0.3, "capacity": "1Gbps", "sizes": "20kB"}
    assert asked_for(traffic=[poisson]) == pytest.approx(0.3 * LINE_1G)


def test_a_transfer_fills_its_line_unless_it_ends_at_once() -> None:
    # 0.5 % of 10 s are 50 ms, in which a line of 1 Gbit/s carries 6.25 MB
    to_two = [{"from": "h1", "to": host, "size": "3MB"} for host in ("h0", "h2")]
    assert asked_for(traffic=to_two, duration="10s") == 0
    assert asked_for(traffic=[*to_two, to_two[0]], duration="10s") == pytest.approx(LINE_1G)


def test_rounds_of_incast_fill_the_line_of_their_receiver() -> None:
    incast = {"kind": "incast", "from": "all", "to": "h0", "block": "100kB"}
    assert asked_for(traffic=[incast]) == pytest.approx(LINE_1G)
    # 400 kB are 3.2 ms: ten rounds are less than 0.5 % of 10 s, twenty are more
    assert asked_for(traffic=[incast | {"rounds": 10}], duration="10s") == 0
    assert asked_for(traffic=[incast | {"rounds": 20}], duration="10s") == pytest.approx(LINE_1G)
    assert asked_for(traffic=[incast | {"pause": "1s"}], duration="10s") == 0


def test_what_is_asked_for_again_and_again_brings_its_mean() -> None:
    # 1250 B in 50 us are 200 Mbit/s; with four times as many connections the line is the limit
    requests = {"kind": "request-response", "servers": ["h1"], "clients": ["h0"]}
    requests |= {"response": "1250B", "think": "40us"}
    assert asked_for(traffic=[requests]) == pytest.approx(0.2 * LINE_1G)
    assert asked_for(traffic=[requests | {"connections": 2}]) == pytest.approx(0.4 * LINE_1G)
    assert asked_for(traffic=[requests | {"connections": 9}]) == pytest.approx(LINE_1G)
    periodic = {"kind": "periodic", "from": ["h1", "h2"], "to": "h0"}
    periodic |= {"size": "25kB", "period": "1ms"}
    assert asked_for(traffic=[periodic]) == pytest.approx(0.4 * LINE_1G)


def test_users_that_fetch_pages_bring_the_mean_of_these() -> None:
    # 2 to 4 objects of 10 packets of 1000 B, 0.8 s of thinking and two gaps of 0.1 s: 240 kbit/s
    web = {"kind": "web", "servers": ["h1"], "clients": ["h0"], "sessions": 1000}
    web |= {"think": "800ms", "object_gap": "100ms", "objects": [2, 4], "packet": "1000B"}
    asked = asked_for(traffic=[web | {"object_packets": [10, 10]}])
    assert asked == pytest.approx(0.24 * LINE_1G)
    # a page every 0.8 s, whatever the objects take
    from_start = {"object_packets": [10, 10], "think_from": "start"}
    again = asked_for(traffic=[web | from_start | {"sessions": 500}])
    assert again == pytest.approx(0.24 / 2 / 0.8 * LINE_1G)
    # a Pareto distribution of shape 2 between 5 and 20 has its mean at 8
    web |= {"object_packets": [5, 20], "shape": 2.0}
    assert asked_for(traffic=[web]) == pytest.approx(0.8 * asked)


def test_a_trace_brings_what_its_file_lists(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    rows = [f"{0.1 * at},h1,h0,2500000" for at in range(11)]
    file.write_text("\n".join(["start_s,src,dst,size_bytes", *rows]), encoding="utf-8")
    trace = {"kind": "trace", "file": str(file)}
    # 11 times 20 Mbit in 1 s
    assert asked_for(traffic=[trace]) == pytest.approx(0.22 * LINE_1G)


def test_hosts_that_receive_and_send_nothing_are_found() -> None:
    def only_receiving(*traffic: dict[str, Any]) -> set[str]:
        star = {"name": "ends", "topology": {"kind": "star", "hosts": 3}, "traffic": list(traffic)}
        loaded = fp.scenario(star)
        return demand.only_receiving(job_of(loaded))

    bulk = {"from": "all", "to": "h0"}
    assert only_receiving(bulk) == {"h0"}
    assert only_receiving(bulk, {"from": "h0", "to": "h1"}) == set()
    incast = {"kind": "incast", "from": "all", "to": "h0", "block": "256KB"}
    assert only_receiving(incast) == {"h0"}
    # the host that sends requests sends, too
    asks = {"kind": "request-response", "servers": "h1", "clients": "h0", "response": "10kB"}
    assert only_receiving(asks) == set()
    # the switch is fast enough for a line of 1 Gbit/s
    assert capacity.within_calls(LINE_1G, {"h0"}) == {"h0"}
    assert capacity.within_calls(200_000, {"h0"}) == set()


def test_what_this_machine_cannot_forward_is_refused_with_a_rate_that_it_can() -> None:
    with pytest.raises(BackendError) as refused:
        capacity.require(1_220_000, 10 * 10**9, lambda: 200_000.0)
    assert "link.rate" in str(refused.value)
    assert "about 1,220,000 frames per second" in str(refused.value)
    assert 'at most "1639Mbps"' in refused.value.remedy
    capacity.require(190_000, 10**9, lambda: 200_000.0)


def test_little_is_not_worth_a_measurement() -> None:
    def measured() -> float:
        raise AssertionError("it was measured")

    capacity.require(12_191, 10**8, measured)


@as_root
def test_a_run_that_is_refused_makes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "forwarded_per_s", lambda frames_out: 100_000.0)
    scenario = capacity.overload(pairs=2, duration_s=0.1)
    with pytest.raises(BackendError, match="and this machine forwards 100,000 now"):
        fp.run(scenario, backend="linux")
    assert not list(Path("/run/netns").glob(f"fairport-{os.getpid()}-*"))


@as_root
def test_what_is_measured_is_what_the_switch_has_forwarded() -> None:
    capacity.forwarded_per_s.cache_clear()
    measured = BACKEND.prepare(capacity.overload(pairs=2, duration_s=0.1), 1).forwarded_per_s
    assert measured
    assert 5_000 < measured() < 5_000_000


@as_root
def test_hosts_receive_in_threads_on_the_processors_that_the_switch_leaves() -> None:
    processors = capacity.processors_of_hosts(200_000)
    if not processors:
        pytest.skip("needs two processors")
    assert min(os.sched_getaffinity(0)) not in processors
    spaces = namespaces.Namespaces()
    settings = BACKEND.prepare(capacity.overload(pairs=1, duration_s=0.1), 1).settings
    before = receiving._threads()
    try:
        spaces.make(settings)
        if not receiving.in_threads(spaces.hosts, processors):
            pytest.skip("needs root outside of user and process namespaces")
        threads = receiving._threads() - before
        assert len(threads) == len(spaces.hosts)
        for thread in threads:
            assert os.sched_getaffinity(thread) == set(processors)
            assert os.sched_getscheduler(thread) == os.SCHED_FIFO
        command = ["ip", "netns", "exec", spaces.hosts[0].namespace]
        link = subprocess.run(
            [*command, "ip", "-details", "link", "show", "eth0"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        # otherwise the receiving host would see frames that no wire carries
        assert "gro_max_size 1 " in link
    finally:
        spaces.remove()
    # the kernel ends a thread a moment after its namespace
    end = time.monotonic() + 5
    while receiving._threads() - before and time.monotonic() < end:
        time.sleep(0.05)
    assert not receiving._threads() - before
    assert capacity.processors_of_hosts(50_000) == []


@as_root
def test_where_the_threads_may_not_be_ruled_hosts_receive_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(receiving, "_threads", set)
    spaces = namespaces.Namespaces()
    settings = BACKEND.prepare(capacity.overload(pairs=1, duration_s=0.1), 1).settings
    try:
        spaces.make(settings)
        assert not receiving.in_threads(spaces.hosts, [0])
        command = ["ip", "netns", "exec", spaces.hosts[0].namespace, "ethtool", "-k", "eth0"]
        if shutil.which("ethtool"):
            shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            assert "generic-receive-offload: off" in shown
    finally:
        spaces.remove()


def test_the_next_tick_is_found_from_the_last_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    # a clock of 250 Hz whose ticks are at 1.3 ms; each look takes 2 us
    now = [0.0]

    def monotonic() -> float:
        now[0] += 2e-6
        return now[0]

    def coarse(clock: int) -> float:
        return math.floor((monotonic() - 1.3e-3) / 4e-3)

    monkeypatch.setattr(time, "monotonic", monotonic)
    monkeypatch.setattr(time, "clock_gettime", coarse)
    monkeypatch.setattr(time, "clock_getres", lambda clock: 4e-3)
    ticks = Ticks()
    assert ticks.is_near(1.0 + 1.25e-3)
    assert ticks.is_near(1.0 + 1.33e-3)
    assert not ticks.is_near(1.0 + 1.1e-3)
    assert not ticks.is_near(1.0 + 1.4e-3)
    assert ticks.left_s(1.0 + 2.3e-3) == pytest.approx(2.9e-3, abs=1e-5)


def test_the_load_sleeps_until_a_tick_and_is_awake_at_it() -> None:
    class Now:
        """A clock whose next tick is near, or this far away."""

        def __init__(self, far_s: float) -> None:
            self.far_s = far_s

        def is_near(self, now: float) -> bool:
            return self.far_s == 0

        def left_s(self, now: float) -> float:
            return self.far_s

    for far_s, least_s, most_s in ((0.0, 0.0, 0.3), (0.02, 0.015, 0.5)):
        waiting = Waiting(select.epoll(), cast(Ticks, Now(far_s)))
        begin = time.monotonic()
        assert waiting.ready(1.0) == []
        assert least_s <= time.monotonic() - begin < most_s
