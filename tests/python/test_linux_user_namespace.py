"""The Linux backend for an ordinary user: root in a user namespace, and nothing outside it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ENTRY

if sys.platform != "linux":
    pytest.skip("the Linux backend needs Linux", allow_module_level=True)

from fairport.backends.linux import doctor

pytestmark = pytest.mark.alone

SCENARIO = """
name = "user-namespace"
duration = "1s"
topology = { kind = "two-switch", peers = 2 }
link = { rate = "20Mbps", delay = "0s" }
queue = { kind = "drop-tail", limit = "20 packets" }
tcp = { stack = "linux-6", congestion_control = "cubic", rto_min = "10ms" }
traffic = [{ from = "all", to = "h0" }]
"""

allowed = pytest.mark.skipif(
    not doctor.has_user_namespaces(), reason="this machine does not let users make namespaces"
)


def there(*arguments: str) -> tuple[subprocess.Popen[str], str, str]:
    """Runs fairport with the command that `fairport doctor` prints for ordinary users.

    Returns the process, which has ended, and what it printed on stdout and on stderr.
    """
    command = [*shlex.split(doctor.IN_USER_NAMESPACE), *ENTRY, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return process, *process.communicate()


@allowed
def test_a_run_in_a_user_namespace_moves_data_and_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    run, out, err = there("run", str(file), "--backend", "linux", "--no-output", "--json")
    # 3: the machine was too slow for a valid run
    assert run.returncode in {0, 3}, err
    if run.returncode == 0:
        # the payload of a full line is 18.8 Mbit/s
        assert 15e6 < json.loads(out)["goodput_bps_total"] < 18.9e6
    # other runs may exist at the same time
    assert list(Path("/run/netns").glob(f"fairport-{run.pid}-*")) == []


@allowed
def test_the_doctor_in_a_user_namespace_says_what_is_missing() -> None:
    found = {one["what"]: one for one in json.loads(there("doctor", "--json")[1])}
    assert found["root"]["is_there"]
    assert found["network namespaces"]["is_there"]
    assert found["raw frames (AF_PACKET)"]["is_there"]
    # a user namespace gives no right to real-time scheduling outside it
    assert found["scheduling of the switch"]["here"] == "SCHED_OTHER"
    assert not found["BIC and DCTCP as BPF programs"]["is_there"]
