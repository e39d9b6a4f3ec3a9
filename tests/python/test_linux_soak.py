"""Runs on the Linux backend leave nothing; `python -m benches linux --soak 10` runs longer."""

from __future__ import annotations

import multiprocessing
import os
import sys
from pathlib import Path
from typing import Any

import fairport as fp
import pytest
from conftest import lack_of_bpf

if sys.platform != "linux":
    pytest.skip("the Linux backend needs Linux", allow_module_level=True)

from fairport.backends.linux import congestion

pytestmark = pytest.mark.alone

SCENARIO: dict[str, Any] = {
    "name": "soak-test",
    "duration": "0.8s",
    "topology": {"kind": "two-switch", "peers": 2},
    "link": {"rate": "100Mbps", "delay": "0s"},
    "queue": {"kind": "drop-tail", "limit": "20 packets"},
    "tcp": {"stack": "linux-6", "congestion_control": "bic", "rto_min": "10ms"},
    "traffic": [{"from": "all", "to": "h0"}],
}


def left() -> tuple[int, int, int, list[str]]:
    """Descriptors, namespaces and children of this process, and its BPF programs in the kernel."""
    return (
        len(list(Path("/proc/self/fd").iterdir())),
        len(list(Path("/run/netns").glob(f"fairport-{os.getpid()}-*"))),
        len(multiprocessing.active_children()),
        [name for name in congestion.available() if name in congestion.PROGRAMS.values()],
    )


@pytest.mark.skipif(bool(lack_of_bpf()), reason=lack_of_bpf())
def test_two_runs_leave_what_one_leaves() -> None:
    # the first run loads modules that all later runs use
    fp.run(SCENARIO, seed=1, backend="linux")
    once = left()
    for seed in (2, 3):
        fp.run(SCENARIO, seed=seed, backend="linux")
    assert left() == once
    assert once[1:] == (0, 0, [])
