"""BIC and DCTCP as BPF programs: they load, do what their papers say, and are removed again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import fairport as fp
import polars as pl
import pytest
from conftest import lack_of_bpf, timely
from fairport.errors import BackendError, ScenarioError

if sys.platform != "linux":
    pytest.skip("the Linux backend needs Linux", allow_module_level=True)

from fairport.backends.linux import congestion, programs

pytestmark = pytest.mark.alone

loadable = pytest.mark.skipif(bool(lack_of_bpf()), reason=lack_of_bpf())

SCENARIO: dict[str, Any] = {
    "name": "bpf-test",
    "duration": "3s",
    "topology": {"kind": "two-switch", "peers": 1},
    "link": {"rate": "50Mbps", "delay": "0s"},
    "queue": {"kind": "drop-tail", "limit": "100 packets"},
    "tcp": {"stack": "linux-6", "congestion_control": "bic", "rto_min": "10ms"},
    "traffic": [{"from": "all", "to": "h0"}],
}


@loadable
def test_the_committed_programs_are_in_the_kernel_for_as_long_as_they_are_held() -> None:
    with congestion.Registered(["bic", "dctcp"]):
        assert {"fp_bic", "fp_dctcp"} <= set(congestion.available())
        with pytest.raises(programs.ProgramError, match="another run"):
            congestion.Registered(["bic"])
    assert not {"fp_bic", "fp_dctcp"} & set(congestion.available())


@loadable
def test_the_sources_build_to_programs_that_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _build(tmp_path)
    sizes = [file.stat().st_size for file in tmp_path.glob("*.bpf.o")]
    assert len(sizes) == len(list(programs.FOLDER.glob("*.bpf.c")))
    assert max(sizes) < 50_000
    monkeypatch.setattr(programs, "FOLDER", tmp_path)
    with congestion.Registered(["bic", "dctcp"]):
        assert {"fp_bic", "fp_dctcp"} <= set(congestion.available())


@loadable
@pytest.mark.parametrize("control", ["bic", "dctcp"])
def test_an_answer_that_the_kernel_did_not_get_is_made_good(
    control: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a kernel that skips a program takes a word of the stack as its answer
    _build(tmp_path, "-DLOSES_ANSWERS")
    monkeypatch.setattr(programs, "FOLDER", tmp_path)
    change: dict[str, Any] = {
        "topology": {"kind": "two-switch", "peers": 3},
        "queue": {"kind": "drop-tail", "limit": "20 packets"},
        "tcp": SCENARIO["tcp"] | {"congestion_control": control},
        "measure": {"from": "1s"},
    }
    result = fp.run(SCENARIO | change, seed=1, backend="linux")
    flows = result.flows
    assert flows["drops"].sum() > 50
    # a window grows while it is used, so it was once in flight; without the repair a tenth of BIC's
    # samples is far above, up to billions of segments
    used = pl.col("in_flight_bytes").cum_max().over("flow").clip(10 * 1448)
    series = result.series.with_columns(used.alias("used_bytes"))
    late = series.filter(pl.col("time_s") > 0.5)
    assert late.filter(pl.col("cwnd_bytes") > 2 * pl.col("used_bytes")).height < 0.03 * late.height
    # the line's payload is 47.1 Mbit/s; on a busy machine hosts leave some of it idle
    assert flows["goodput_bps"].sum() > 30e6
    # lost thresholds are repaired before they have an effect; a lost window makes the run invalid
    health = result.summary["health"]
    assert health["lost_thresholds"] > 0
    faults = " ".join(result.summary["faults"])
    assert ("windows of the congestion control" in faults) == (health["lost_windows"] > 0)


@loadable
@pytest.mark.parametrize("is_old_kernel", [False, True])
def test_a_killed_process_leaves_nothing_that_cleanup_does_not_find(is_old_kernel: bool) -> None:
    # before Linux 6.4 the kernel refuses the flag that lets a name end with its process
    program = (
        "from fairport.backends.linux import congestion; import time;"
        + ("congestion._MAP_LINK = 1 << 31;" if is_old_kernel else "")
        + "held = congestion.Registered(['bic']); print('held', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as output:
        assert output.readline() == b"held\n"
    assert "fp_bic" in congestion.available()
    # a run in progress is not a leftover
    assert congestion.leftovers() == []
    process.kill()
    process.wait()
    for _ in range(50):
        if is_old_kernel or "fp_bic" not in congestion.available():
            break
        time.sleep(0.05)
    assert congestion.leftovers() == (["fp_bic"] if is_old_kernel else [])
    assert congestion.remove_leftovers() == (["fp_bic"] if is_old_kernel else [])
    assert "fp_bic" not in congestion.available()


@loadable
def test_bic_falls_to_four_fifths_of_its_window() -> None:
    # a small buffer is full again soon after each fall
    small = {"queue": {"kind": "drop-tail", "limit": "50 packets"}, "duration": "2s"}
    falls: list[float] = []
    for _ in range(8):  # where one flow keeps the line from the start, no window falls after it
        result = fp.run(SCENARIO | small, seed=1, backend="linux")
        assert set(result.flows["congestion_control"]) == {"bic"}
        falls += _falls(result).to_list()
        if len(falls) >= 3:
            break
    # two losses between two samples are 0.64; CUBIC's one is 0.7, Reno's 0.5
    assert min(abs(fall - 0.8) for fall in falls) < 0.02, falls
    assert "fp_bic" not in congestion.available()


def _build(folder: Path, *options: str) -> None:
    for tool in ("clang", "llvm-strip"):
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    if not Path("/usr/include/bpf/bpf_helpers.h").exists():
        pytest.skip("needs the headers of libbpf")
    subprocess.run([programs.FOLDER / "build", folder, *options], check=True)


def _falls(result: fp.Result) -> pl.Series:
    """The threshold after a loss over the last window before it, of tens of segments."""
    series = result.series.filter(pl.col("ssthresh_bytes").is_not_null())
    before = pl.col("cwnd_bytes").shift(1).over("flow")
    falls = series.select(
        "time_s",
        before=before,
        ratio=pl.col("ssthresh_bytes") / before,
        is_fall=(pl.col("ssthresh_bytes") != pl.col("ssthresh_bytes").shift(1)).over("flow"),
    )
    segments = pl.col("before") / 1448
    return falls.filter("is_fall", pl.col("time_s") > 1.0, pl.col("ratio") < 0.95, segments > 20)[
        "ratio"
    ]


@loadable
def test_dctcp_keeps_the_queue_at_its_threshold_and_the_line_full() -> None:
    change: dict[str, Any] = {
        "queue": {"kind": "step-marking", "limit": "200 packets", "mark_above": "10 packets"},
        "tcp": SCENARIO["tcp"] | {"congestion_control": "dctcp"},
        "measure": {"from": "1s"},
    }
    result = timely(lambda: fp.run(SCENARIO | change, seed=1, backend="linux"))
    flows = result.flows
    assert set(flows["congestion_control"]) == {"dctcp"}
    assert flows["drops"].sum() == 0
    assert flows["marks"].min() > 20  # type: ignore[operator]
    if not result.summary["valid"]:
        pytest.skip("the machine is busy, so its hosts leave the line idle")
    # The line's payload is 47.1 Mbit/s. A run is valid from 43.4 on: 3 % may be missing, and what
    # a full buffer holds.
    assert flows["goodput_bps"].sum() > 43e6
    assert result.summary["jain_index"] > 0.9
    late = result.tables["queue"].filter(pl.col("time_s") > 1.0, pl.col("port") == "s0:0")
    # ECN alone, which halves each time, would let it run empty
    assert 5 < late["packets"].mean() < 15  # type: ignore[operator]


def test_without_btf_it_says_what_the_kernel_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(programs, "_BTF", Path("/nowhere"))
    with pytest.raises(ScenarioError, match="CONFIG_DEBUG_INFO_BTF"):
        fp.run(SCENARIO, seed=1, backend="linux")


def test_without_root_it_says_what_a_run_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(BackendError, match="needs root"):
        fp.run(SCENARIO, seed=1, backend="linux")


def test_in_a_user_namespace_it_names_what_runs_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    users = tmp_path / "uid_map"
    users.write_text("         0       1000          1\n", encoding="ascii")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(programs, "_USERS", users)
    # another run has one of Fairport's own in the kernel
    monkeypatch.setattr(congestion, "available", lambda: ["reno", "cubic", "fp_dctcp"])
    with pytest.raises(ScenarioError, match="outside of user namespaces") as refused:
        fp.run(SCENARIO, seed=1, backend="linux")
    assert "use one of newreno, cubic, or" in str(refused.value.remedy)
