"""The page of a study in a real browser: its map, the text about a cell, a point with all seeds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from browser import Page
from conftest import Command
from fairport.errors import InputError
from fairport.report import study as report
from fairport.study.results import Study
from made_up_studies import Numbers, made_up

AXES: dict[str, list[Any]] = {
    "peers": [2, 12],
    "queue.limit": ["4 packets", "16 packets"],
    "stack": ["it's an old one", "new"],
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The old stack starves the lone flow to 0.25; one point of the new one has two states.

    The point of 12 peers and 16 packets has no runs of the old stack.
    """

    def numbers(peers: int, limit: str, stack: str, seed: int) -> Numbers | None:
        if (peers, limit, stack) == (12, "16 packets", "it's an old one"):
            return None
        is_two = (peers, limit, stack) == (12, "4 packets", "new")
        ratio = (4.0 if seed % 2 else 0.1) if is_two else 0.25 if peers == 2 else 0.9
        return {"throughput_ratio": ratio, "rtt_mean_s": 0.001 * peers}

    titles = {"queue.limit": "buffer (packets)"}
    return made_up(tmp_path_factory.mktemp("page"), AXES, titles, numbers)


@pytest.fixture
def page(study: Study, tab: Page, tmp_path: Path) -> Page:
    file = tmp_path / "map.html"
    file.write_text(report.page(study, x="peers", y="queue.limit"), encoding="utf-8")
    tab.open(file)
    tab.wait("window.study?.ready === true")
    return tab


def change(page: Page, label: str, option: str) -> None:
    """Chooses an option by its text."""
    page.value(
        f"""(() => {{
          const one = [...document.querySelectorAll("#controls label")]
            .find((at) => at.firstChild.textContent === {json.dumps(label)});
          const box = one.querySelector("select");
          box.value = [...box.options].find((at) => at.textContent === {json.dumps(option)}).value;
          box.dispatchEvent(new Event("change"));
        }})()"""
    )


def test_a_panel_per_stack_and_a_cut_cell_for_two_states(page: Page) -> None:
    assert page.texts("#panels h3") == ["it's an old one", "new"]
    cells = "document.querySelectorAll('#panels figure')[{}].querySelectorAll('{}').length"
    # cells with one state; two more elements are the frame around the cell under the pointer
    assert page.value(cells.format(0, "rect:not(.frame)")) == 3
    assert page.value(cells.format(1, "rect:not(.frame)")) == 3
    assert page.value(cells.format(1, "polygon")) == 2
    assert page.value("getComputedStyle(document.querySelector('figure.still')).display") == "none"


def test_long_names_of_rows_do_not_cover_the_name_of_their_axis(page: Page) -> None:
    change(page, "Vertical", "stack")
    assert "it's an old one" in page.texts("#panels text[text-anchor=end]")
    name_ends, rows_begin = page.value(
        """(() => {
          const [name] = document.querySelectorAll("#panels [transform]");
          const rows = [...name.parentNode.querySelectorAll("text[text-anchor=end]")];
          return [name.getBoundingClientRect().right,
            Math.min(...rows.map((one) => one.getBoundingClientRect().left))];
        })()"""
    )
    assert name_ends < rows_begin


def test_keys_read_a_cell_and_enter_chooses_it(page: Page) -> None:
    page.value(
        """(() => {
          const map = document.querySelectorAll("#panels svg")[1];
          map.focus();
          for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown", "Enter"])
            map.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        })()"""
    )
    (said,) = page.texts("#said")
    assert said.startswith("throughput ratio: two states, 0.1 and 4; 10 seeds")
    assert said.endswith("peers 12, buffer 4 packets, stack new")
    assert page.value("document.querySelectorAll('#detail circle').length") == 10
    assert page.texts("#detail tbody th") == ["throughput ratio", "RTT mean (ms)"]
    assert page.texts("#detail tbody tr:last-child td") == ["12", "12 to 12", ""]


def test_the_query_of_a_point_finds_its_runs(page: Page, study: Study) -> None:
    page.value("study.choose([0])")
    (query,) = page.texts("#detail pre")
    assert "'it''s an old one'" in query
    assert study.sql(query).height == 10


def test_the_pointer_says_where_there_is_no_run(page: Page) -> None:
    box = page.value(
        "(() => { const { x, y, width } = document.querySelector('#panels svg')"
        ".getBoundingClientRect(); return [x, y, width]; })()"
    )
    page.mouse("mouseMoved", box[0] + 0.9 * box[2], box[1] + 0.1 * box[2])
    assert page.texts("#tip") == ["no run here"]


def test_what_is_chosen_is_in_the_address(page: Page, study: Study, tmp_path: Path) -> None:
    change(page, "Number", "RTT mean (ms)")
    change(page, "Colour", "best stack")
    (said,) = page.texts("#says")
    assert said.startswith("Which stack is best, by the median of RTT mean (ms): the lowest.")
    # at 3 of 4 points both have runs, with equal numbers, so they are equally good
    assert page.texts("#key > span") == ["it's an old one: 3 of 4", "new: 1 of 4"]
    assert page.value("document.querySelectorAll('#panels rect.as-good').length") == 3
    fragment = page.value("location.hash")
    file = tmp_path / "again.html"
    file.write_text(report.page(study), encoding="utf-8")
    page.open(file, fragment)
    page.wait("window.study?.ready === true")
    assert page.texts("#says") == [said]
    # an address that does not fit opens the page as usual
    page.open(file, "#x=99&y=nonsense&best=0&number=no&point=12345&fixed=7,7,7")
    page.wait("window.study?.ready === true")
    assert page.texts("#panels h3") == ["it's an old one", "new"]


def test_axes_can_change_places(page: Page) -> None:
    change(page, "Horizontal", "stack")
    assert page.texts("#panels h3") == ["peers 2", "peers 12"]
    change(page, "peers", "12")
    assert page.texts("#panels h3") == []
    assert page.value("document.querySelectorAll('#panels figure').length") == 1


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_is_accessible(page: Page, tmp_path: Path, dark: bool) -> None:
    page.open(tmp_path / "map.html", dark=dark)
    page.wait("window.study?.ready === true")
    page.value("study.choose([1])")
    assert page.violations() == []


def test_on_paper_the_map_keeps_its_own_letters(page: Page) -> None:
    page.call("Emulation.setEmulatedMedia", media="print")
    wide = page.value(
        "[...document.querySelectorAll('.still text')]"
        ".filter((one) => one.getBoundingClientRect().right"
        " > one.closest('svg').getBoundingClientRect().right + 1).map((one) => one.textContent)"
    )
    sizes = page.value(
        "[...document.querySelectorAll('.still text')].map((one) => getComputedStyle(one).fontSize)"
    )
    assert wide == []
    assert len(set(sizes)) > 2


def test_the_command_writes_the_page(study: Study, fairport: Command, tmp_path: Path) -> None:
    done = fairport("plot", study.place.name, "--out", "map.html")
    assert (done.status, done.out) == (0, "map.html\n"), done.err
    text = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert "<h1>made-up</h1>" in text
    # without scripts the page shows the figure
    assert 'aria-label="The map of made-up"' in text
    assert fairport("plot", study.place.name, "--x", "pears", "--out", "no.html").status == 2
    assert not (tmp_path / "no.html").exists()


def test_a_condition_chooses_runs(study: Study) -> None:
    found = report.document(study, study.to_polars().filter(peers=2))
    assert len(found["points"]) == 4
    with pytest.raises(InputError, match="has no run with a number"):
        report.document(study, study.to_polars().filter(peers=3))
