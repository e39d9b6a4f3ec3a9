"""Traces: flows that a file lists, and files that a scenario names."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from pathlib import Path

import polars as pl
import pytest
from asking import asked, lowered
from fairport import load_run, plot, run, save, scenario
from fairport.errors import ScenarioError

TRACE = "start_s,src,dst,size_bytes,note\n0.001,h1,h0,1000,a\n0.0,h5,h2,5000,b\n"


def test_a_trace_is_played_back_and_so_is_the_table_of_its_flows(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text(TRACE, encoding="utf-8")
    first = run(asked({"kind": "trace", "file": str(file)}))
    columns = ["start_s", "src", "dst", "size_bytes"]
    assert first.flows.select(columns).rows() == [
        (0.0, "h5", "h2", 5000),
        (0.001, "h1", "h0", 1000),
    ]
    again = tmp_path / "flows.parquet"
    first.flows.write_parquet(again)
    second = run(asked({"kind": "trace", "file": str(again)}))
    assert second.fingerprint == first.fingerprint


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("0.1,h1,h0,-5,c", "has a size of -5 in line 4"),
        ("0.1,h1,h0,0,c", "has a size of 0 in line 4"),
        ("-0.1,h1,h0,5,c", "has a start of -0.1 in line 4"),
        ("0.1,h1,h1,5,c", "sends from h1 to itself in line 4"),
        ("0.1,h1,h99,5,c", "names `h99`, which is not a host of the topology, in line 4"),
        ("0.1,h1..h3,h0,5,c", "names `h1..h3`, which is not a host of the topology, in line 4"),
        ("0.0,all,h0,5,c", "names `all`, which is not a host of the topology, in line 4"),
        ("0.1,h1,h0,many,c", "has a size_bytes of many, which is not a whole number, in line 4"),
        ("0.1,h1,h0,10.5,c", "has a size_bytes of 10.5, which is not a whole number, in line 4"),
        ("soon,h1,h0,5,c", "has a start_s of soon, which is not a number, in line 4"),
        ("0.1,h1,h0,,c", "has an empty field in line 4"),
    ],
)
def test_a_trace_that_cannot_be_is_refused(row: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text(TRACE + row + "\n", encoding="utf-8")
    with pytest.raises(ScenarioError) as error:
        lowered({"kind": "trace", "file": str(file)})
    assert (error.value.field, error.value.value) == ("traffic.0.file", str(file))
    assert problem in error.value.problem


@pytest.mark.parametrize(
    ("start", "problem"),
    [
        ("0.3", "starts its first flow after 0.3 s, and the run ends at 300ms"),
        ("1.7e9", "has a start of 1.7e+09 in line 2"),
    ],
)
def test_a_trace_that_no_run_reaches_is_refused(start: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text(f"start_s,src,dst,size_bytes\n{start},h1,h0,5\n", encoding="utf-8")
    with pytest.raises(ScenarioError) as error:
        lowered({"kind": "trace", "file": str(file)})
    assert error.value.problem == problem
    assert "count start_s from the beginning" in error.value.remedy


def test_files_that_a_scenario_names_lie_beside_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "trace.csv").write_text(TRACE, encoding="utf-8")
    (folder / "sizes.cdf").write_text("1000 0\n2000 1\n", encoding="utf-8")
    (folder / "mine.toml").write_text(
        'name = "mine"\nduration = "1ms"\ntopology = { kind = "star", hosts = 8 }\n'
        'traffic = [{ kind = "trace", file = "trace.csv" },'
        ' { kind = "poisson", load = 0.1, sizes = "sizes.cdf" }]\n',
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    trace, poisson = scenario("study/mine.toml").document()["traffic"]
    assert trace["file"]["path"] == str(folder / "trace.csv")
    # a small file is taken in
    assert poisson["sizes"] == {"points": [[1000.0, 0.0], [2000.0, 1.0]], "unit": 1}


def test_a_trace_of_which_a_bit_has_changed_is_read_or_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    good, file = tmp_path / "good.csv", tmp_path / "flows.parquet"
    good.write_text(TRACE, encoding="utf-8")
    pl.read_csv(good).write_parquet(file)
    content = file.read_bytes()
    refused = 0
    for at in range(0, len(content), 11):
        file.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        try:
            lowered({"kind": "trace", "file": str(file)})
        except ScenarioError:
            refused += 1
    assert refused > 20
    # a library that reads them says nothing of its own
    assert capfd.readouterr() == ("", "")


def test_a_trace_in_a_folder_with_a_strange_name_is_read(tmp_path: Path) -> None:
    file = tmp_path / "start_s=7" / "a[b]*" / "flows.parquet"
    file.parent.mkdir(parents=True)
    pl.read_csv(io.StringIO(TRACE)).write_parquet(file)
    flows = run(asked({"kind": "trace", "file": str(file)})).flows
    assert flows["size_bytes"].to_list() == [5000, 1000]


def test_a_trace_without_a_column_or_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text("start_s,src,dst,bytes\n0,h1,h0,5\n", encoding="utf-8")
    for path, problem in (
        (file, "has no column size_bytes"),
        (tmp_path / "x.csv", "does not exist"),
    ):
        with pytest.raises(ScenarioError) as error:
            lowered({"kind": "trace", "file": str(path)})
        assert problem in error.value.problem
    with pytest.raises(ScenarioError, match=r"trace\.csv") as error:
        lowered({"kind": "trace", "file": str(file)})
    assert error.value.remedy == (
        "name the columns start_s, src, dst, size_bytes; it has start_s, src, dst, bytes"
    )


def test_a_trace_with_other_separators_is_refused_with_what_to_write(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    for text, problem, remedy in (
        ("start_s;src;dst;size_bytes\n0;h1;h0;5\n", "has no column start_s", "put commas between"),
        (
            'start_s,src,dst,size_bytes\n0,h1,h0,5\n0,"h1",h0,1,000\n',
            "has more fields in line 3 than names",
            "write numbers without commas",
        ),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ScenarioError) as error:
            lowered({"kind": "trace", "file": str(file)})
        assert problem in error.value.problem
        assert remedy in error.value.remedy


def test_a_run_refuses_a_trace_that_has_changed_since_its_scenario_was_read(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text(TRACE, encoding="utf-8")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    read = asked({"kind": "trace", "file": str(file)})
    assert f'sha256 = "{digest}"' in read.to_toml()
    file.write_text(TRACE.replace("5000", "6000"), encoding="utf-8")
    with pytest.raises(ScenarioError, match=rf"has changed: .* {digest}") as error:
        run(read)
    assert error.value.value == str(file)
    assert run(read.patch({"traffic.0.file": str(file)})).flows["size_bytes"][0] == 6000


@pytest.mark.skipif(os.name != "posix", reason="needs pipes with names")
def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    """As from `<(zcat trace.csv.gz)`: a digest would take its content away, or wait for ever."""
    os.mkfifo(tmp_path / "pipe")
    read = asked({"kind": "trace", "file": str(tmp_path / "pipe")})
    assert "sha256" not in read.to_toml()


def test_a_stored_run_needs_no_file_from_outside(tmp_path: Path) -> None:
    """A run is proven years later, on another machine: by its folder alone."""
    (tmp_path / "trace.csv").write_text(TRACE, encoding="utf-8")
    (tmp_path / "sizes.cdf").write_text("unit 1460\n1 0\n2.6 0.123456789\n3 1\n", encoding="utf-8")
    traced = asked({"kind": "trace", "file": str(tmp_path / "trace.csv")})
    drawn = {"kind": "poisson", "load": 0.01, "sizes": str(tmp_path / "sizes.cdf")}
    result = run(traced.patch({"traffic": [*traced.document()["traffic"], drawn]}))
    save(result, tmp_path / "run", figures=False)
    (tmp_path / "trace.csv").unlink()
    (tmp_path / "sizes.cdf").unlink()
    (tmp_path / "run").rename(tmp_path / "archived")
    again = load_run(tmp_path / "archived")
    assert run(again.scenario).fingerprint == result.fingerprint
    assert "inputs/traffic-0.csv" in again.summary["files"]


def test_a_worker_needs_no_trace(tmp_path: Path) -> None:
    """A cluster's workers have no shared disk: what a scenario has read goes with it."""
    file = tmp_path / "trace.csv"
    file.write_text(TRACE, encoding="utf-8")
    read = asked({"kind": "trace", "file": str(file)})
    before = run(read, seed=5).fingerprint
    file.unlink()
    assert run(pickle.loads(pickle.dumps(read)), seed=5).fingerprint == before


@pytest.mark.filterwarnings("error")
def test_a_class_that_ends_before_the_first_sample_has_a_panel(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text("start_s,src,dst,size_bytes\n0,h1,h0,9000\n0,h5,h0,9000000\n", encoding="utf-8")
    tree = {"topology": {"kind": "fat-tree", "k": 4}}
    result = run(asked({"kind": "trace", "file": str(file)}).patch(tree))
    assert {"2-hop", "6-hop"} == set(result.summary["classes"])
    short, long = plot(result, "cwnd").axes[:2]
    assert [text.get_text() for text in short.texts] == ["no samples", "2-hop (1 flow)"]
    assert long.lines


def test_scenarios_of_equal_traces_are_equal_once_their_rows_were_read(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text(TRACE, encoding="utf-8")
    traffic = [{"kind": "trace", "file": str(file)}]
    one, other = (scenario("outcast").patch({"traffic": traffic}) for _ in range(2))
    assert one.traffic[0].selectors == other.traffic[0].selectors
    assert one == other
