"""Each setting of a scenario is followed by real hosts, refused, or named as ignored."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import fairport as fp
import pytest
from fairport.scenario.network import Host
from fairport.scenario.tcp import TcpSettings
from linux_runs import SCENARIO, as_root

if sys.platform != "linux":
    pytest.skip("the Linux backend needs Linux", allow_module_level=True)

from fairport.backends.jobs import job_of, stacks_of
from fairport.backends.linux import tcp_settings

pytestmark = pytest.mark.alone

PAGE = Path(__file__).parents[2] / "docs/guide/linux.md"
# thirty segments, which leave within two round trips
TRANSFER = SCENARIO | {
    "duration": "1s",
    "topology": {"kind": "two-switch", "peers": 1},
    "link": {"rate": "20Mbps", "delay": "5ms"},
    "queue": {"kind": "drop-tail", "limit": "100 packets"},
    "tcp": {"stack": "linux-6", "rto_min": "200ms"},
    "traffic": [{"from": "h1", "to": "h0", "size": "43440B"}],
}


def ignored(**change: Any) -> list[str]:
    scenario = fp.scenario(TRANSFER | change)
    return tcp_settings.ignored(scenario, job_of(scenario))


def test_the_guide_says_of_every_setting_what_becomes_of_it() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("### Which settings hold")[2]
    table = section.partition("\n### ")[0]
    named = set(
        re.findall(r"[`.]([a-z_]+)[` ]", " ".join(re.findall(r"^\|[^|]+", table, re.MULTILINE)))
    )
    assert set(TcpSettings.model_fields) | set(Host.model_fields) <= named


def test_what_hosts_do_not_follow_is_named() -> None:
    tcp = {"stack": "linux-6", "congestion_control": "cubic"}
    assert ignored(tcp=tcp) == []
    # as in Linux, or followed
    plain = {"rack": True, "tail_loss_probe": False, "nagle": False, "ack_policy": "every-segment"}
    assert ignored(tcp=tcp | plain) == []
    other = {"rack": False, "hystart": False, "ack_policy": "delayed"}
    assert set(ignored(tcp=tcp | other)) == {"tcp.rack", "tcp.hystart", "tcp.ack_policy"}
    assert ignored(tcp=tcp | {"stack": "linux-2.6"}) == ["tcp.stack"]
    assert ignored(host={"queue": "10 packets", "delay": "1ms"}) == ["host.queue"]
    by_tc = TRANSFER["queue"] | {"implementation": "tc"}
    assert ignored(host={"delay": "1ms"}, queue=by_tc) == ["host.delay"]


def test_a_setting_that_an_older_kernel_lacks_is_ignored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tcp_settings, "_FOLDER", tmp_path)
    (tmp_path / "tcp_sack").touch()
    tcp = {"stack": "linux-6", "rto_max": "2s", "sack": False}
    assert ignored(tcp=tcp) == ["tcp.rto_max"]
    scenario = fp.scenario(TRANSFER | {"tcp": tcp})
    (stack, *_) = stacks_of(job_of(scenario))
    assert tcp_settings.sysctls(stack) == {"tcp_sack": 0}


@as_root
def test_a_lost_tail_waits_for_the_timer_without_probes() -> None:
    """With more than one segment in flight a probe comes after two round trips."""
    last_two = {"loss": [{"kind": "numbered", "at": "h1:0", "packets": [31, 32]}]}

    def run(*, probes: bool) -> tuple[float, int]:
        tcp = TRANSFER["tcp"] | {"tail_loss_probe": probes}
        result = fp.run(TRANSFER | last_two | {"tcp": tcp}, seed=1, backend="linux")
        flow = result.flows.row(0, named=True)
        return flow["fct_s"], flow["timeouts"]

    probed, waited = run(probes=True), run(probes=False)
    assert probed[0] < 0.25 < waited[0]
    assert (probed[1], waited[1]) == (0, 1)


@as_root
def test_each_segment_has_its_ack_if_the_scenario_says_so() -> None:
    # requests of 8 segments in both directions: quick ACKs are used up
    asked = {
        "kind": "request-response", "clients": "h0", "servers": "h1",
        "requests": 10, "request": "100B", "response": "11584B",
    }  # fmt: skip

    def acks(policy: str) -> int:
        tcp = TRANSFER["tcp"] | {"ack_policy": policy}
        ports = fp.run(TRANSFER | {"traffic": [asked], "tcp": tcp}, seed=1, backend="linux").tables[
            "ports"
        ]
        return int(ports.filter(port="h0:0")["packets"][0])

    # ten requests, and an ACK of each segment or of every second
    assert acks("every-segment") > 85
    assert acks("quick-ack") < 75


@as_root
def test_a_run_names_what_its_hosts_ignore() -> None:
    tcp = TRANSFER["tcp"] | {"rack": False}
    result = fp.run(TRANSFER | {"tcp": tcp}, seed=1, backend="linux")
    assert result.summary["ignored_settings"] == ["tcp.rack"]
    assert any("do not follow these settings: tcp.rack" in one for one in result.summary["caveats"])
