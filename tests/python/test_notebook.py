"""The output in a notebook."""

from __future__ import annotations

import re
from typing import Any

import fairport as fp
import pytest
from fairport import notebook


@pytest.fixture(scope="module")
def result() -> fp.Result:
    return fp.run(fp.scenario("outcast").patch({"duration": "50ms"}), seed=1)


def test_a_result_is_its_table_and_its_figures(result: fp.Result) -> None:
    shown = notebook.result_html(result)
    assert "<table>" in shown
    assert re.findall(r'<img src="data:image/(\w+);base64,', shown) == ["png", "png"]


def test_a_scenario_is_one_line_or_its_file() -> None:
    scenario = fp.scenario("outcast")
    assert repr(scenario) == (
        "<fairport.Scenario outcast: fat-tree, drop-tail 16KiB, linux-2.6, bulk, 10s>"
    )
    assert "k = 4" in scenario._repr_html_()
    assert "<b>outcast</b>" in scenario._repr_html_()


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


def test_a_long_run_shows_a_bar_and_takes_it_away(monkeypatch: pytest.MonkeyPatch) -> None:
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

    def run(scenario: str, progress: Any) -> None:
        for seconds in range(4):
            now[0] = float(seconds)
            progress(1, 2.5 * seconds, 0)

    notebook.watched(run, notebook.of_a_run)("outcast")
    assert shown == [
        "<progress value='0.250' max='1'></progress> 2.50 of 10 s simulated",
        "<progress value='0.500' max='1'></progress> 5.00 of 10 s simulated",
        "<progress value='0.750' max='1'></progress> 7.50 of 10 s simulated",
        "",
    ]
