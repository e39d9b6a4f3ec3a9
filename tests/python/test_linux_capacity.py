"""What a scenario asks of the Linux backend's switch, and when a run is refused for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import fairport as fp
import pytest
from fairport.errors import BackendError

if sys.platform != "linux":
    pytest.skip("the Linux backend needs Linux", allow_module_level=True)

from fairport import _core
from fairport.backends.jobs import job_of
from fairport.backends.linux import BACKEND, capacity, namespaces

pytestmark = pytest.mark.alone

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: network namespaces")

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
    return capacity.frames_per_s(loaded, job, _core.layout(json.dumps(job.document)))


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
    assert asked_for(traffic=[{"from": "h1", "to": "h0", "size": "1MB"}]) == 0


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
    monkeypatch.setattr(capacity, "forwarded_per_s", lambda: 100_000.0)
    scenario = capacity.overload(pairs=2, duration_s=0.1)
    with pytest.raises(BackendError, match="and this machine forwards 100,000 now"):
        fp.run(scenario, backend="linux")
    assert not list(Path("/run/netns").glob(f"fairport-{os.getpid()}-*"))


@as_root
def test_what_is_measured_is_what_the_switch_has_forwarded() -> None:
    capacity.forwarded_per_s.cache_clear()
    assert 5_000 < capacity.forwarded_per_s() < 5_000_000


@as_root
def test_hosts_receive_on_the_processors_that_the_switch_leaves() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two processors")
    spaces = namespaces.Namespaces()
    settings = BACKEND.prepare(capacity.overload(pairs=1, duration_s=0.1), 1).settings
    try:
        spaces.make(settings, capacity.processors_of_hosts(200_000))
        command = ["ip", "netns", "exec", spaces.hosts[0].namespace, "cat"]
        shown = subprocess.run(
            [*command, "/sys/class/net/eth0/queues/rx-0/rps_cpus"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    finally:
        spaces.remove()
    mask = int(shown.strip().replace(",", ""), 16)
    first = min(os.sched_getaffinity(0))
    assert mask
    assert not mask & 1 << first
    assert capacity.processors_of_hosts(50_000) == []
