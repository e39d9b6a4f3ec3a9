"""Captures of runs with real TCP: the switch's frames agree with its own tables."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import fairport as fp
import polars as pl
import pytest
from captures import Captured, captured
from fairport.backends.captures import analyse
from fairport.metrics.drop_runs import blackouts, drop_runs

if sys.platform != "linux":
    pytest.skip("the Linux backend needs Linux", allow_module_level=True)
if os.geteuid() != 0:
    pytest.skip("needs root: network namespaces", allow_module_level=True)

from fairport.backends.linux import gate

pytestmark = pytest.mark.alone

SCENARIO: dict[str, Any] = {
    "name": "linux-captured",
    "duration": "1s",
    "topology": {"kind": "two-switch", "peers": 4},
    "link": {"rate": "50Mbps", "delay": "0s"},
    "tcp": {"stack": "linux-6", "congestion_control": "cubic", "rto_min": "10ms", "ecn": True},
    "traffic": [{"from": "all", "to": "h0", "start_jitter": "1ms"}],
}
QUEUES = {
    # decides about a packet when it arrives
    "drop-tail": {"kind": "drop-tail", "limit": "16 packets"},
    # may drop packets that it had accepted
    "sfq": {"kind": "sfq", "limit": "16 packets"},
    "step-marking": {"kind": "step-marking", "limit": "100 packets", "mark_above": "10 packets"},
}
PORTS = ["s0:0", "s0:1", "s0:2"]


@pytest.fixture(scope="module", params=QUEUES)
def real(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """A run through Fairport's switch, captured at all of its first switch's ports."""
    scenario = fp.scenario(SCENARIO | {"queue": QUEUES[request.param]})
    folder = tmp_path_factory.mktemp("captures") / request.param
    return captured(scenario, PORTS, folder, backend="linux", snap_bytes=65_535)


def test_drops_and_blackouts_are_those_of_the_switch(real: Captured) -> None:
    assert real.run.manifest["health"]["capture_losses"] == 0
    found = analyse([str(real.file("ingress")), str(real.file("egress"))])
    complete = found.summary["captures"]["completeness"]
    assert complete["missed_at_ingress"] == complete["missed_at_egress"] == 0
    end_s = real.run.summary["simulated_s"] - 2 * complete["delay_max_s"]
    theirs = real.table("drops").filter(pl.col("time_s") < end_s).sort("port_arrival")
    ours = found.drops.sort("port_arrival").head(theirs.height)
    keys = ["port", "ingress_port", "seq", "size_bytes", "reason", "is_backward", "is_pure_ack"]
    counts = ["port_arrival", "ingress_arrival", "flow_arrival", "port_accepted"]
    assert ours.select(keys + counts).equals(theirs.select(keys + counts))
    assert theirs.height > 50 or real.run.scenario.queue.kind == "step-marking"
    assert theirs.is_empty() or float((ours["time_s"] - theirs["time_s"]).abs().max()) < 2e-9  # type: ignore[arg-type]
    runs, expected = (drop_runs(drops, "ingress") for drops in (ours, theirs))
    assert runs["length"].equals(expected["length"])
    assert blackouts(ours).height == blackouts(theirs).height


# the only queue that marks
@pytest.mark.parametrize("real", ["step-marking"], indirect=True, scope="module")
def test_marks_are_in_the_true_headers(real: Captured) -> None:
    found = analyse([str(real.file("ingress")), str(real.file("egress"))])
    end_s = real.run.summary["simulated_s"] - 0.05
    # what comes from the other switch may be marked already
    near = pl.col("ingress_port") == "s0:1"
    ours, theirs = (
        marks.filter(near & (pl.col("time_s") < end_s)).sort("time_s", "seq")["seq"]
        for marks in (found.tables["marks"], real.table("marks"))
    )
    assert ours.to_list() == theirs.to_list()
    assert ours.len() > 50


def test_other_tools_read_true_frames(real: Captured) -> None:
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("tshark is not installed (apt install tshark)")
    for file in map(Path, real.files):
        done = subprocess.run(
            [
                *(tshark, "-r", str(file), "-T", "fields"),
                # the payload has no protocol, although tshark guesses one from the ports
                *("-d", "tcp.port==1-65535,data"),
                *("-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"),
                *("-e", "ip.checksum.status", "-e", "tcp.checksum.status", "-e", "_ws.malformed"),
                *("-e", "tcp.checksum"),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        states = {line.rpartition("\t") for line in done.stdout.splitlines()}
        assert states, file
        # Linux writes a sum of zero as its other form, which tshark does not take for right
        bad = {state for state, _, checksum in states if checksum != "0xffff"} - {"1\t1\t"}
        assert bad == set(), file


def test_a_run_whose_captures_lack_packets_says_so() -> None:
    health = {"lag_p99_s": 0.0, "stalled_s": 0.0, "send_errors": 0}
    health |= {"ring_losses": 0, "backlog_losses": 0, "lost_windows": 0}
    expected = gate.Expectation(drain_s=1.0, line_goodput_bps=None, rate_bps=1e8)
    (fault,) = gate.faults(health | {"capture_losses": 7}, expected, 1.0, 0.0)
    assert fault.startswith("7 packets are missing at the end of the captures")
