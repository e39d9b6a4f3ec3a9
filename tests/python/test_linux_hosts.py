"""Real hosts have the TCP settings of the scenario, and pace; what they lack is refused."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import fairport as fp
import polars as pl
import pytest
from fairport.errors import BackendError, ScenarioError
from linux_runs import SCENARIO, as_root

if sys.platform != "linux":
    pytest.skip("the Linux backend needs Linux", allow_module_level=True)

from fairport.backends.linux import doctor, namespaces, processes
from fairport.backends.linux.backend import BACKEND
from fairport.backends.protocol import Observation
from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

pytestmark = pytest.mark.alone


@as_root
@pytest.mark.parametrize("backend", ["linux", "simulation"])
def test_paced_segments_are_apart_and_others_leave_in_pairs(backend: str) -> None:
    """A delayed ACK lets two segments out. Without pacing they leave at once."""
    slow = {"rate": "50Mbps", "delay": "1ms"}
    peers = {"topology": {"kind": "two-switch", "peers": 1}}
    one = SCENARIO | peers | {"link": slow, "duration": "1.2s"}
    seen = Observation(packets=("h1:0",))

    def share_at_once(pacing: str) -> float:
        scenario = one | {"tcp": SCENARIO["tcp"] | {"pacing": pacing}}
        sent = fp.run(scenario, seed=1, backend=backend, observation=seen).packets
        gaps = sent.filter(pl.col("time_s") > 0.5)["time_s"].diff().drop_nulls()
        assert gaps.len() > 1000
        return float((gaps < 100e-6).mean())  # type: ignore[arg-type]

    # a timer of the kernel that is late lets a few out together
    paced = 0.15 if backend == "linux" else 0.05
    assert share_at_once("off") > 0.4
    assert share_at_once("linux") < paced
    assert share_at_once("window") < paced


@as_root
def test_hosts_have_the_minimum_rto_and_the_initial_window_of_the_scenario() -> None:
    settings = namespaces.HostSettings(sysctls=(), rto_min_ms=20, initial_window=3)
    others = namespaces.HostSettings(sysctls=(), rto_min_ms=50, initial_window=10)
    made = namespaces.Namespaces()
    try:
        made.make({0: settings, 1: others})
        with namespaces.inside(made.hosts[0].namespace), IPRoute() as ip:
            found = [route.get_attr("RTA_METRICS") for route in ip.get_routes()]
    finally:
        made.remove()
    (metrics,) = [metrics for metrics in found if metrics]
    assert metrics.get_attr("RTAX_RTO_MIN") == 20
    assert metrics.get_attr("RTAX_LOCK") & 1 << 13, "without its lock it is ignored"
    assert metrics.get_attr("RTAX_INITCWND") == 3


@as_root
def test_hosts_need_no_ipv6(monkeypatch: pytest.MonkeyPatch) -> None:
    write = namespaces._sysctl

    def without_ipv6(name: str, value: str) -> None:
        if name.startswith("ipv6/"):
            raise FileNotFoundError(name)
        write(name, value)

    monkeypatch.setattr(namespaces, "_sysctl", without_ipv6)
    made = namespaces.Namespaces()
    try:
        made.make({0: namespaces.HostSettings((), rto_min_ms=20, initial_window=3)})
    finally:
        made.remove()
    assert len(made.hosts) == 1


@as_root
def test_a_kernel_without_veth_pairs_is_named_by_a_run_and_by_the_doctor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class WithoutVeth(IPRoute):
        def link(self, command: str, **options: Any) -> Any:
            if options.get("kind") == "veth":
                raise NetlinkError(errno.EOPNOTSUPP)
            return super().link(command, **options)

    monkeypatch.setattr(namespaces, "IPRoute", WithoutVeth)
    with pytest.raises(BackendError, match=r"network namespaces: .*not supported") as refused:
        fp.run(SCENARIO, backend="linux")
    assert "fairport doctor" in str(refused.value.remedy)
    (found,) = [one for one in doctor.examine() if one.what == "network namespaces"]
    assert not found.is_there
    assert "not supported" in found.here
    assert not list(Path("/run/netns").glob(f"fairport-{os.getpid()}-*"))


@pytest.mark.parametrize(("allowed", "processor"), [({2, 3}, 2), ({1}, None)])
def test_the_switch_takes_the_first_processor_that_the_run_may_use(
    allowed: set[int], processor: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(processes.os, "sched_getaffinity", lambda _: allowed)
    monkeypatch.setattr(processes.namespaces, "enter", lambda _: None)
    core = SimpleNamespace(run_switch=lambda *_, **options: asked.update(options))
    monkeypatch.setattr(processes, "_core", core)
    processes.forward(MagicMock(), MagicMock())
    assert asked["processor"] == processor


@pytest.mark.parametrize(
    ("change", "field", "problem"),
    [
        ({"link": {"mtu": "9000B"}}, "link.mtu", "above 1500 B"),
        ({"tcp": {"mss": "80B"}}, "tcp.mss", "below 88 B"),
    ],
)
def test_segments_that_no_host_sends_are_refused(
    change: dict[str, Any], field: str, problem: str
) -> None:
    with pytest.raises(ScenarioError, match=problem) as refused:
        BACKEND.prepare(fp.scenario(SCENARIO | change), 1)
    assert refused.value.field == field


@as_root
def test_hosts_make_single_segments_unless_their_stack_has_segmentation_offload() -> None:
    settings = [
        namespaces.HostSettings((), rto_min_ms=20, initial_window=3, is_in_segments=alone)
        for alone in (True, False)
    ]
    made = namespaces.Namespaces()
    found = []
    try:
        made.make(dict(enumerate(settings)))
        for host in made.hosts:
            with namespaces.inside(host.namespace), IPRoute() as ip:
                (index,) = ip.link_lookup(ifname=namespaces.INTERFACE)
                (link,) = ip.get_links(index)
                found.append(link.get_attr("IFLA_GSO_MAX_SEGS"))
    finally:
        made.remove()
    assert found[0] == 1
    assert found[1] > 40


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"tcp": {"stack": "linux-6", "congestion_control": "vegas"}}, "congestion_control"),
        (
            {"tcp": {"pacing": "linux", "pacing_granularity": "1ms"}},
            'tcp.pacing_granularity: "1ms" is not available on the Linux backend',
        ),
        (
            {"traffic": [{"from": "h1", "to": "h0", "tcp": {"send_gap_max": "9us"}}]},
            r'traffic\.0\.tcp\.send_gap_max: "9us" is not available',
        ),
        (
            {
                "traffic": [
                    {"from": "h1", "to": "h0", "tcp": {"pacing": pacing}}
                    for pacing in ("window", "linux")
                ]
            },
            "tcp.pacing: is both `window` and `linux` at h0",
        ),
        (
            {"tcp": {"congestion_control": "custom:mine"}},
            '"custom:mine" is code of your own, which the kernel cannot run',
        ),
        (
            {"queue": {"kind": "custom", "name": "mine", "limit": "16KiB"}},
            'queue.name: "mine" is code of your own, which the switch cannot run',
        ),
    ],
)
def test_what_a_real_host_cannot_do_is_refused(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        fp.run(SCENARIO | change, seed=1, backend="linux")


def test_each_host_has_the_settings_of_its_own_stack() -> None:
    slow = {"rto_min": "20ms", "sack": False}
    pairs = [{"from": "h1", "to": "h0", "tcp": slow}, {"from": "h3", "to": "h2"}]
    star = SCENARIO | {"topology": {"kind": "star", "hosts": 4}, "traffic": pairs}
    settings = BACKEND.prepare(fp.scenario(star), 1).settings
    assert [settings[host].rto_min_ms for host in range(4)] == [20, 20, 10, 10]
    sack = [dict(settings[host].sysctls)["ipv4/tcp_sack"] for host in range(4)]
    assert sack == ["0", "0", "1", "1"]
    pairs[0]["tcp"] = slow | {"pacing": "window"}
    settings = BACKEND.prepare(fp.scenario(star), 1).settings
    percent = [dict(settings[host].sysctls).get("ipv4/tcp_pacing_ca_ratio") for host in range(4)]
    assert percent == ["100", "100", None, None]
    # two flows to one host would each need settings of their own
    to_one = [pairs[0], {"from": "h3", "to": "h0"}]
    with pytest.raises(ScenarioError, match="between flows of h0 in `sack`"):
        BACKEND.prepare(fp.scenario(star | {"traffic": to_one}), 1)


@as_root
def test_ctrl_c_waits_until_the_thread_is_back_in_its_own_namespace() -> None:
    made = namespaces.Namespaces()
    own = Path("/proc/thread-self/ns/net").readlink()
    done: list[str] = []
    # what a shell starts with `&` ignores it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupted() -> None:
        with namespaces.inside(made.switch):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            done.append("all")

    try:
        made.make_switch()
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    finally:
        made.remove()
    assert done == ["all"]
    assert Path("/proc/thread-self/ns/net").readlink() == own
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def _ends_at_once(*_: Any) -> None:
    os._exit(3)


def test_a_process_that_ends_before_it_is_sent_its_start_is_named() -> None:
    child = processes.Child("switch", _ends_at_once, None)
    try:
        child._process.wait()
        with pytest.raises(processes.ChildError, match=r"the switch ended early \(3\)"):
            child.send("start")
    finally:
        child.close()


def test_a_process_that_cannot_be_started_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", MagicMock(side_effect=OSError(errno.ENOMEM, "full")))
    with pytest.raises(processes.ChildError, match="the switch cannot be started"):
        processes.Child("switch", _ends_at_once, None)


@as_root
def test_what_reports_progress_fails_with_its_own_error() -> None:
    def progress(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    with pytest.raises(OSError, match="no space left"):
        fp.run(SCENARIO, seed=1, backend="linux", progress=progress)


@as_root
def test_without_tc_the_doctor_names_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (found,) = [one for one in doctor.examine() if "(tc)" in one.what]
    assert (found.is_there, found.here) == (False, "no: needs `tc`; install iproute2")


@as_root
def test_a_tc_that_says_nothing_is_reported_by_its_status(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tc").write_text("#!/bin/sh\nexit 7\n", encoding="ascii")
    (tmp_path / "tc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    slow = {"queue": SCENARIO["queue"] | {"implementation": "tc"}}
    with pytest.raises(BackendError, match="exit status 7"):
        fp.run(SCENARIO | slow, seed=1, backend="linux")
