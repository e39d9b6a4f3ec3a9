"""A study is continued only if files and the user's own code are what they were."""

from __future__ import annotations

import importlib
import json
import linecache
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import fairport as fp
import pytest
from fairport.custom import Connection, Window
from fairport.errors import OutputError
from fairport.scenario import Scenario
from fairport.study.sweep import sweep

TRACE = "start_s,src,dst,size_bytes\n0,h1,h0,20000\n0.001,h2,h0,{}\n"
SCENARIO = {
    "name": "mine",
    "duration": "20ms",
    "topology": {"kind": "star", "hosts": 4},
    "traffic": [{"kind": "trace", "file": "trace.csv"}],
}
AXES = {"queue.limit": ["16KiB", "64KiB"]}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trace.csv").write_text(TRACE.format(30000))
    return tmp_path


def test_runs_of_a_changed_trace_are_not_taken_over(here: Path) -> None:
    assert sweep(SCENARIO, AXES, seeds=1, folder="study").to_polars().height == 2
    (here / "trace.csv").write_text(TRACE.format(40000))
    with pytest.raises(OutputError, match="or a file that it names has changed"):
        sweep(SCENARIO, AXES, seeds=1, folder="study")


def test_a_study_is_continued_elsewhere_with_the_same_trace(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep(SCENARIO, AXES, seeds=1, folder="study")
    (here / "moved").mkdir()
    shutil.move(here / "study", here / "moved")
    shutil.move(here / "trace.csv", here / "moved")
    monkeypatch.chdir(here / "moved")
    assert sweep(SCENARIO, AXES, seeds=2, folder="study").to_polars().height == 4


@pytest.mark.parametrize(
    ("axis", "name", "before", "after"),
    [
        ("traffic.0.file", "other.csv", TRACE.format(50000), TRACE.format(60000)),
        ("traffic.1.sizes", "other.cdf", "1000 0\n2000 1\n", "1000 0\n3000 1\n"),
    ],
)
def test_runs_of_a_changed_file_of_an_axis_are_not_taken_over(
    here: Path, axis: str, name: str, before: str, after: str
) -> None:
    poisson = {"kind": "poisson", "load": 0.1, "sizes": "20kB"}
    base = SCENARIO | {"traffic": [{"kind": "trace", "file": "trace.csv"}, poisson]}
    (here / name).write_text(before)
    axes = {axis: [name]}
    keys = sweep(base, axes, seeds=1, folder="study").to_polars()["key"]
    assert keys[0].startswith("simulation-")
    assert sweep(base, axes, seeds=2, folder="study").to_polars().height == 2
    (here / name).write_text(after)
    with pytest.raises(OutputError, match=f"other content at {axis} = {name}: a file"):
        sweep(base, axes, seeds=2, folder="study")


GENTLE = """
from {helper} import SHARE

class Gentle:
    def __init__(self, connection):
        pass

    def on_loss(self, window):
        window.lower_threshold(int(window.cwnd * SHARE){})
"""


@pytest.fixture
def own(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for modules of the user's own."""
    monkeypatch.syspath_prepend(here)
    yield here
    for name in ("gentle", "gentle_helper"):
        sys.modules.pop(name, None)


def _coded(own: Path, share: float, end: str = "") -> Scenario:
    """A scenario with a class as a new process would import it."""
    (own / "gentle_helper.py").write_text(f"SHARE = {share}\n")
    (own / "gentle.py").write_text(GENTLE.format(end, helper="gentle_helper"))
    shutil.rmtree(own / "__pycache__", ignore_errors=True)
    linecache.clearcache()
    importlib.invalidate_caches()
    for name in ("gentle", "gentle_helper"):
        sys.modules.pop(name, None)
    found = importlib.import_module("gentle").Gentle
    base = fp.scenario("two-switch").patch(
        {"duration": "50ms", "tcp.congestion_control": "custom:gentle"}
    )
    return base.with_user_code(congestion_controls={"gentle": found})


def test_a_study_of_user_code_is_continued_with_the_same_code(own: Path) -> None:
    axes = {"topology.peers": [2, 4]}
    before = sweep(_coded(own, 0.7), axes, seeds=1, folder="study").to_polars()
    after = sweep(_coded(own, 0.7), axes, seeds=2, folder="study").to_polars()
    assert after.height == 4
    assert after.filter(seed=1)["fingerprint"].equals(before["fingerprint"])
    described = json.loads(Path("study/study.json").read_text())["user_code"]
    assert described == _coded(own, 0.7).user_code.described()
    assert len(described["congestion_controls"]["gentle"]["source_sha256"]) == 64
    # another class
    with pytest.raises(OutputError, match=r"other content at topology\.peers = 2: .* own code"):
        sweep(_coded(own, 0.7, " + 1"), axes, seeds=2, folder="study")
    # the same class, which imports another number
    with pytest.raises(OutputError, match=r"made again it has .*: your own code has changed"):
        sweep(_coded(own, 0.1), axes, seeds=2, folder="study")
    forced = sweep(_coded(own, 0.1), axes, seeds=1, folder="study", force=True).to_polars()
    assert not set(forced["fingerprint"]) & set(before["fingerprint"])


class Share:
    """A loss leaves this share of the window."""

    def __init__(self, connection: Connection, share: Any) -> None:
        self.share = share

    def on_loss(self, window: Window) -> None:
        window.lower_threshold(int(window.cwnd * self.share))


def test_a_study_of_a_partial_is_continued_with_the_same_arguments(here: Path) -> None:
    def of(share: Any) -> Scenario:
        plain = fp.scenario("two-switch").patch(
            {"duration": "50ms", "tcp.congestion_control": "custom:share"}
        )
        return plain.with_user_code(congestion_controls={"share": partial(Share, share=share)})

    axes = {"topology.peers": [2]}
    sweep(of(0.7), axes, seeds=1, folder="study")
    assert sweep(of(0.7), axes, seeds=2, folder="study").to_polars().height == 2
    described = of(0.7).user_code.described()["congestion_controls"]["share"]
    assert described["class"] == f"{__name__}.Share"
    assert described["arguments"] == "share=0.7"
    with pytest.raises(OutputError, match=r"other content at .* own code"):
        sweep(of(0.5), axes, seeds=2, folder="study")
    # an argument that is shown by its address is another one in the next process
    assert of(object()).user_code.has_sources is False


def test_a_search_of_user_code_is_continued_with_the_same_code(own: Path) -> None:
    def tuned(share: float, trials: int, end: str = "") -> fp.Searched:
        space = {"topology.peers": {"from": 2, "to": 4}}
        coded = _coded(own, share, end)
        return fp.tune(coded, space, seeds=1, trials=trials, folder="study", jobs=1)

    before = tuned(0.7, 2)
    after = tuned(0.7, 3)
    assert (before.trials, after.trials) == (2, 3)
    assert set(before.study.to_polars()["fingerprint"]) <= set(
        after.study.to_polars()["fingerprint"]
    )
    with pytest.raises(OutputError, match=r"other content at topology\.peers = .* own code"):
        tuned(0.7, 4, " + 1")
    with pytest.raises(OutputError, match=r"made again it has .*: your own code has changed"):
        tuned(0.1, 4)


def test_a_study_of_a_class_in_a_notebook_is_continued_with_the_same_cell(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(own / "ipython"))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # a shell replaces it
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell
    plain = _coded(own, 0.7)
    axes = {"topology.peers": [2]}
    cell = GENTLE.format("", helper="gentle_helper")

    def of_cell(text: str) -> Scenario:
        notebook = shell()  # as after a restart of the kernel
        notebook.run_cell(text).raise_error()
        return plain.with_user_code(congestion_controls={"gentle": notebook.user_ns["Gentle"]})

    sweep(of_cell(cell), axes, seeds=1, folder="study")
    assert sweep(of_cell(cell), axes, seeds=2, folder="study").to_polars().height == 2
    with pytest.raises(OutputError, match=r"other content at .* own code"):
        sweep(of_cell(cell + "\nSHARE = SHARE / 2"), axes, seeds=2, folder="study")


def test_a_study_of_code_without_a_source_is_not_continued(own: Path) -> None:
    coded = _coded(own, 0.7)
    factory = eval("lambda connection: kind(connection)", {"kind": sys.modules["gentle"].Gentle})
    coded = coded.with_user_code(congestion_controls={"gentle": factory})
    axes = {"topology.peers": [2]}
    sweep(coded, axes, seeds=1, folder="study")
    with pytest.raises(OutputError, match="source cannot be read"):
        sweep(coded, axes, seeds=2, folder="study")
