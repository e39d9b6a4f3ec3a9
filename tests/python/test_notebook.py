"""The output in a notebook."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import fairport as fp
import pytest
from fairport import notebook
from fairport.html_table import html_table
from fairport.study.making import Listeners, Status
from made_up_studies import Numbers, made_up


@pytest.fixture(scope="module")
def result() -> fp.Result:
    return fp.run(fp.scenario("outcast").patch({"duration": "50ms"}), seed=1)


def test_a_result_is_its_table_and_its_figures(result: fp.Result) -> None:
    shown = notebook.result_html(result)
    assert "<table>" in shown
    assert re.findall(r'<img src="data:image/(\w+);base64,', shown) == ["png", "png"]


def test_a_result_of_transfers_shows_their_completion_times() -> None:
    load = [{"from": "h1", "to": "h0", "size": "100kB"}]
    network = {"topology": {"kind": "fat-tree", "k": 4}, "queue": {"limit": "16KiB"}}
    result = fp.run({"name": "sized", "duration": "50ms", **network, "traffic": load})
    fct, queue = re.findall(r'alt="([^"]+)"', notebook.result_html(result))
    assert fct.startswith("The transfers&#x27; slowdown against the empty network is 1.1")
    assert queue.startswith("The bottleneck&#x27;s queue holds ")


def test_the_notebook_of_the_course_hides_no_figure() -> None:
    """A semicolon at the end of a cell hides its value, and figures are values."""
    file = Path(__file__).parents[2] / "examples/who_starves.ipynb"
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    last = [cell["source"][-1] for cell in cells if cell["cell_type"] == "code"]
    assert any("fp.plot" in line for line in last)
    assert not [line for line in last if line.rstrip().endswith(";")]


def test_a_scenario_is_one_line_or_its_file() -> None:
    scenario = fp.scenario("outcast")
    assert repr(scenario) == (
        "<fairport.Scenario outcast: fat-tree, drop-tail 16KiB, linux-2.6, bulk, 10s>"
    )
    assert "k = 4" in scenario._repr_html_()
    assert "<b>outcast</b>" in scenario._repr_html_()


def test_completion_offers_no_method_of_pydantic() -> None:
    scenario = fp.scenario("outcast")
    assert {"queue", "tcp", "patch", "to_toml"} <= set(dir(scenario))
    assert "limit" in dir(scenario.queue)
    assert not {"parse_raw", "construct", "model_dump"} & {*dir(scenario), *dir(scenario.queue)}


def test_an_error_has_its_hint_below_it() -> None:
    with pytest.raises(fp.ScenarioError) as raised:
        fp.scenario("outcast").patch({"queue.limt": "1KB", "link.rate": "fast"})
    notes = raised.value.__notes__
    assert [note.partition(" ")[0] for note in notes] == ["hint:", "error:", "hint:"]


def test_a_watched_call_takes_its_arguments_by_name() -> None:
    def run(scenario: str, progress: Any) -> str:
        return f"ran {scenario}"

    watched = notebook.watched(run, notebook.of_a_run)
    assert watched(scenario="outcast") == "ran outcast"
    with pytest.raises(TypeError, match="missing a required argument: 'scenario'"):
        watched()


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[float]]:
    """What a notebook shows, and a clock that the test sets."""
    shown: list[str] = []

    class Screen:
        HTML = staticmethod(str)

        @staticmethod
        def display(text: str, display_id: bool) -> Any:
            assert display_id
            shown.append(text)
            return Handle

    class Handle:
        update = staticmethod(shown.append)

    now = [0.0]
    monkeypatch.setattr(notebook, "_screen", lambda: Screen)
    monkeypatch.setattr(notebook, "monotonic", lambda: now[0])
    return shown, now


def test_a_long_run_shows_a_bar_and_takes_it_away(screen: tuple[list[str], list[float]]) -> None:
    shown, now = screen

    def run(scenario: str, progress: Any) -> None:
        for seconds in range(4):
            now[0] = float(seconds)
            progress(fp.Done(seconds / 4, 1, 0, 0))

    notebook.watched(run, notebook.of_a_run)("outcast")
    assert shown == [
        "<progress value='0.250' max='1'></progress> 2.50 of 10 s simulated",
        "<progress value='0.500' max='1'></progress> 5.00 of 10 s simulated",
        "<progress value='0.750' max='1'></progress> 7.50 of 10 s simulated",
        "",
    ]


def test_a_long_sweep_shows_a_bar_too(screen: tuple[list[str], list[float]]) -> None:
    shown, now = screen

    def sweep(scenario: str, listeners: Listeners) -> None:
        now[0] = 2.0
        listeners.status(Status(done=2, failed=1, reused=4, of=8, running=2))

    notebook.watched(sweep, notebook.of_a_sweep, "listeners")("outcast")
    assert shown == ["<progress value='0.750' max='1'></progress> 6 of 8 runs, 1 failed", ""]


def test_the_last_cell_of_a_shorter_row_spans_the_columns_that_it_lacks() -> None:
    rows = [
        {"fix": "none", "share": "0.21", "FCT": "5 ms"},
        {"fix": "pacing", "reason": "needs a"},
        {"fix": "codel", "share": "0.98", "why": "no FCT"},
    ]
    shown = html_table("fixes", "None helps.", rows)
    assert "<tr><th>pacing</th><td colspan='2'>needs a</td></tr>" in shown
    assert "<tr><th>codel</th><td>0.98</td><td>no FCT</td></tr>" in shown
    assert shown.count("colspan") == 1


def test_a_study_is_its_points_with_the_medians_of_the_first_number(tmp_path: Path) -> None:
    def numbers(peers: int, limit: str, seed: int) -> Numbers | None:
        return {"throughput_ratio": peers / 10 + seed / 1000} if seed > 1 else None

    axes: dict[str, list[Any]] = {"peers": [2, 12], "queue.limit": ["4KiB", "a < b"]}
    study = made_up(tmp_path / "few", axes, {}, numbers)
    said, head, first, *_, last = cells(study)
    assert said == [f"made-up: 36 runs in {study.place.name}"]
    assert head == ["peers", "queue.limit", "throughput ratio", "runs"]
    assert first == ["2", "4KiB", "0.21 (0.20 to 0.21)", "9"]
    assert last == ["12", "a < b", "1.21 (1.20 to 1.21)", "9"]
    many = made_up(tmp_path / "many", axes | {"peers": [*range(15)]}, {}, numbers)
    said, *rows = cells(many)
    assert said[0].endswith("; the first 20 of 30 points")
    assert len(rows) == 1 + 20
    Path(many.place.name, "runs").rename(tmp_path / "runs")
    assert cells(fp.Study(many.place.name))[0] == [f"made-up: 0 runs in {many.place.name}"]


def cells(value: Any) -> list[list[str]]:
    """The lines that a notebook shows of a value: the sentence above its table, and its rows."""
    shown = value._repr_html_()
    lines = re.findall(r"<p>(.*?)</p>|<tr>(.*?)</tr>", shown)
    texts = [
        re.sub(r"</?b>", "", said) or re.findall(r"<t[hd].*?>(.*?)<", row) for said, row in lines
    ]
    return [[html.unescape(one) for one in ([of] if isinstance(of, str) else of)] for of in texts]
