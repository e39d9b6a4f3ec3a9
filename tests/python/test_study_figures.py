"""Figures of a study: known numbers, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import fairport as fp
import polars as pl
import pytest
from conftest import Command
from fairport.errors import InputError
from fairport.figures import studies
from fairport.figures.drawing import style, width
from fairport.figures.studies import best
from fairport.figures.studies.view import WIDTH_IN, chosen, in_cells, viewed
from fairport.files.place import place
from fairport.report.study import document
from fairport.study import point_statistics
from fairport.study.results import Study, define
from made_up_studies import Numbers, made_up
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.patches import Polygon, Rectangle

AXES: dict[str, list[Any]] = {
    "peers": [2, 12],
    "queue.limit": ["4 packets", "16 packets"],
    "stack": ["old", "new"],
}


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Two stacks over peers and buffers; one point of the new stack has two states."""

    def numbers(peers: int, limit: str, stack: str, seed: int) -> Numbers:
        is_two = (peers, limit, stack) == (12, "4 packets", "new")
        ratio = (2.0 if seed % 2 else 0.1) if is_two else 0.25 if stack == "old" else 0.9
        return {"throughput_ratio": ratio * (1 + seed / 1000), "jain_index": 0.9}

    return made_up(tmp_path, AXES, {"peers": "peers of the lone flow"}, numbers)


def test_a_map_has_a_cell_per_point_and_cuts_bistable_ones(study: Study) -> None:
    picture = studies.draw(study, x="peers", y="queue.limit", color="throughput_ratio")
    old, new = picture.axes[:2]
    assert [axes.get_title(loc="left") for axes in (old, new)] == ["old", "new"]
    assert picture.texts[1].get_text().endswith("; panels by stack")
    assert [sum(isinstance(p, Rectangle) for p in axes.patches) for axes in (old, new)] == [4, 3]
    assert [sum(isinstance(p, Polygon) for p in axes.patches) for axes in (old, new)] == [0, 2]
    assert [label.get_text() for label in old.get_yticklabels()] == ["4", "16"]


def test_of_a_search_the_scenario_as_it_is_has_no_place_on_a_map(study: Study) -> None:
    nowhere = {"peers": None, "queue.limit": None, "stack": None, "seed": 1, "run_id": "as-it-is"}
    numbers = {"throughput_ratio": 0.5, "jain_index": 0.9, "error": None}
    study.runs.add(nowhere | numbers)
    study.runs.flush()
    assert study.to_polars().height == 81
    runs = chosen(study, "")
    assert runs.height == 80
    assert len(document(study, runs)["points"]) == 8


def test_a_search_is_drawn_over_each_of_its_settings(tmp_path: Path) -> None:
    axes: dict[str, list[Any]] = {"queue.limit": ["1KiB", "64KiB"], "tcp": ["bic", "cubic"]}
    made = made_up(tmp_path, axes, {}, lambda limit, *_: {"drops": 9.0 if limit == "1KiB" else 4.0})
    as_it_is = dict.fromkeys(axes) | {"seed": 1, "run_id": "as-it-is", "error": None}
    made.runs.add(as_it_is | {"drops": 7.0})
    made.runs.flush()
    limits, stacks = studies.draw(made).axes
    assert [panel._left_title.get_text() for panel in (limits, stacks)] == ["queue.limit", "tcp"]  # type: ignore[attr-defined]
    assert limits.get_xscale() == "log"
    assert [label.get_text() for label in stacks.get_xticklabels()] == ["bic", "cubic"]
    points, before = limits.lines
    assert sorted(zip(points.get_xdata(), points.get_ydata(), strict=True)) == [  # type: ignore[arg-type]
        *[(1024, 9)] * 2,
        *[(65_536, 4)] * 2,
    ]
    assert set(before.get_ydata()) == {7}  # type: ignore[arg-type]
    assert len(studies.draw(made, x="tcp").axes) == 1
    # two axes still make a map
    assert len(studies.draw(made, x="tcp", y="queue.limit").axes[0].patches) == 4


def test_names_and_numbers_of_a_map_do_not_overlap(tmp_path: Path) -> None:
    sizes = [f"{16_000 + number} packets" for number in range(8)]
    kinds = [f"a stack with a long name, number {number}" for number in range(3)]
    axes: dict[str, list[Any]] = {"queue.limit": sizes, "peers": [2, 12], "stack": kinds}
    made = made_up(tmp_path / "wide", axes, {}, lambda *_: {"throughput_ratio": 0.5})
    picture = studies.draw(made)
    FigureCanvasAgg(picture).draw()
    panels = picture.axes[:3]
    titles = [panel._left_title for panel in panels]  # type: ignore[attr-defined]
    for row in (titles, panels[0].get_xticklabels()):
        boxes = [text.get_window_extent() for text in row]
        assert len(boxes) > 2
        assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


def test_a_figure_says_how_many_runs_it_leaves_out(study: Study) -> None:
    made = study.to_polars().row(0, named=True) | {"error": None}
    study.runs.add(made | {"seed": 11, "run_id": "without", "throughput_ratio": None})
    study.runs.flush()
    picture = studies.draw(study, x="peers", y="queue.limit", color="throughput_ratio")
    subject = picture.texts[1].get_text().replace("\n", " ")
    assert "; 1 run without this number left out" in subject
    assert "80 runs" in subject


def test_a_title_counts_where_the_lone_class_is_starved_and_where_favoured(tmp_path: Path) -> None:
    ratios = {2: 0.4, 4: 0.6, 8: 1.9, 12: 2.1}
    axes: dict[str, list[Any]] = {"peers": [*ratios]}
    made = made_up(tmp_path, axes, {}, lambda peers, _: {"throughput_ratio": ratios[peers]})
    assert studies.draw(made).texts[0].get_text().replace("\n", " ") == (
        "The lone class gets less than half of its peers' goodput at 1 of 4 points,"
        " and more than twice theirs at 1"
    )


def test_a_number_has_as_many_digits_as_its_cell_has_room_for(study: Study) -> None:
    view = viewed(study, "throughput_ratio", ["peers", "queue.limit"], "")
    axes = studies.draw(study, x="peers", y="queue.limit", color="throughput_ratio").axes[:1]
    width_pt = axes[0].get_position().width * WIDTH_IN * 72
    for characters, expected in (
        (5.2, ["0.547", "30.42", "100", ""]),
        (3.2, ["", "30", "100", ""]),
        (9.2, ["0.547", "30.422", "100.250", "1234.500"]),
    ):
        shown = in_cells(view, axes, width_pt / (characters * 4.4))
        assert [shown(value) for value in (0.5474, 30.4221, 100.25, 1234.5)] == expected


def test_an_equal_share_is_the_middle_of_the_colours(study: Study) -> None:
    from fairport.figures.studies import heat

    view = viewed(study, "throughput_ratio", ["peers", "queue.limit"], "")
    norm, colours = heat.scale(view)
    assert norm(1.0) == pytest.approx(0.5)
    assert min(colours(norm(1.0))[:3]) > 0.9
    red, _, blue = colours(norm(0.1))[:3]
    assert red > blue


def test_a_study_is_drawn_from_python(study: Study, fairport: Command) -> None:
    lines = fp.plot(fp.Study(study.place.name), x="peers", y="jain_index")
    title, subject = (text.get_text() for text in lines.texts[:2])
    assert title == "Jain index: 0.900 at 8 points"
    assert subject.startswith("Jain index by peers of the lone flow: ")
    with pytest.raises(InputError, match=r'^x: "pears" cannot be drawn there'):
        fp.plot(study, x="pears")
    refused = fairport("plot", study.place.name, "--x", "pears")
    assert refused.err.startswith('error: --x: "pears" cannot be drawn there')


def test_lines_go_through_the_medians_and_leave_bistable_points_out(study: Study) -> None:
    picture = studies.draw(
        study, x="peers", y="throughput_ratio", color="stack", where="\"queue.limit\" = '4 packets'"
    )
    (panel, *_) = picture.axes
    solid = [line for line in panel.lines if line.get_linestyle() == "-"]
    assert [len(line.get_xdata()) for line in solid] == [2, 1]  # type: ignore[arg-type]
    assert float(solid[0].get_ydata()[0]) == pytest.approx(0.25 * 1.0055)  # type: ignore[index]
    texts = [text.get_text() for text in picture.legends[0].get_texts()]
    assert texts == ["old", "new"]


@pytest.mark.parametrize(
    ("values", "places", "scale"),
    [
        ([1, 2, 8], [1, 2, 8], "linear"),
        (["1KiB", "4KiB", "64KiB"], [1024, 4096, 65536], "log"),
        ([0.0, 5.5, 20.0], [0, 5.5, 20], "linear"),
        ([True, False], [0, 1], "linear"),
    ],
)
def test_numbers_and_quantities_of_an_axis_lie_at_their_values(
    tmp_path: Path, values: list[Any], places: list[float], scale: str
) -> None:
    made = made_up(tmp_path, {"size": values}, {}, lambda *_: {"drops": 9.0})
    (panel,) = studies.draw(made, x="size", y="drops").axes
    assert panel.get_xscale() == scale
    marks = [line for line in panel.lines if line.get_marker() not in (None, "None")]
    assert [float(place) for line in marks for place in line.get_xdata()] == places  # type: ignore[union-attr]
    assert [float(tick) for tick in panel.get_xticks()] == places
    first, last = panel.get_xlim()
    assert first < places[0]
    assert last > places[-1]


def test_values_that_lie_close_together_are_not_all_labelled(tmp_path: Path) -> None:
    made = made_up(tmp_path, {"size": [*range(1000, 1100), 4000]}, {}, lambda *_: {"drops": 9.0})
    picture = studies.draw(made, x="size", y="drops")
    FigureCanvasAgg(picture).draw()
    labels = picture.axes[0].get_xticklabels()
    boxes = [label.get_window_extent() for label in labels]
    assert len(boxes) > 1
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


def test_names_have_marks_with_intervals_and_no_lines_between_them(study: Study) -> None:
    where = "\"queue.limit\" = '4 packets'"
    picture = studies.draw(study, x="stack", y="throughput_ratio", color="peers", where=where)
    (panel, *_) = picture.axes
    marks = [line for line in panel.lines if line.get_marker() not in (None, "None")]
    assert {line.get_linestyle() for line in marks} == {"None"}
    places = {round(float(x), 6) for line in marks for x in line.get_xdata()}  # type: ignore[union-attr]
    assert places == {-0.07, 0.07, 0.93, 1.07}, "side by side"
    assert panel.get_yscale() == "log"


def test_a_query_has_the_interval_that_lines_have(study: Study) -> None:
    drawn = point_statistics.per_point(study.to_polars(), list(study.axes), "throughput_ratio")
    ends = "low95(throughput_ratio) as low, high95(throughput_ratio) as high"
    asked = study.sql(f'select {ends} from runs group by peers, "queue.limit", stack')
    assert drawn.height == 8
    assert sorted(asked.rows()) == sorted(drawn.select("low", "high").rows())
    five = study.sql(f"select {ends} from runs where peers = 2 and stack = 'old' and seed < 3")
    assert five.rows() == [(None, None)], "four runs have no such interval"


def test_the_best_is_nearest_to_an_equal_share(study: Study) -> None:
    view = viewed(study, "throughput_ratio", ["peers", "queue.limit", "stack"], "")
    at = view.points.filter(peers=2, **{"queue.limit": "4 packets"})
    won = best.winner(at, "throughput_ratio")
    assert (won.best["stack"], won.as_good) == ("new", [])
    even = viewed(study, "jain_index", ["peers", "queue.limit", "stack"], "").points
    won = best.winner(even.filter(peers=2, **{"queue.limit": "4 packets"}), "jain_index")
    assert [one["stack"] for one in won.as_good] == ["new"]
    picture = studies.draw(study, x="peers", y="queue.limit", color="stack", by="throughput_ratio")
    title, subject, *_ = (text.get_text() for text in picture.texts)
    assert title == "stack new is best, or as good as the best, at 3 of 4 points"
    assert subject.startswith("The throughput ratio nearest to 1 is best: ")
    # the new stack is nearer to 1 at all points except that with two states, 0.1 and 2
    assert [text.get_text() for text in picture.legends[0].get_texts()] == ["new: 3", "old: 1"]


@pytest.mark.parametrize("width_in", [None, 3.4])
def test_the_legend_of_a_map_with_long_names_is_beside_it(
    tmp_path: Path, width_in: float | None
) -> None:
    names = ["none", "a-fix-whose-name-is-quite-long"]
    axes: dict[str, list[Any]] = {"peers": [2, 12], "load": [0.2, 0.4], "fix": names}
    study = made_up(tmp_path, axes, {}, lambda *at: {"jain_index": 0.5 + 0.01 * names.index(at[2])})
    with width.drawn_at(width_in):
        picture = studies.draw(study, x="peers", y="load", color="fix")
    canvas = FigureCanvasAgg(picture)
    canvas.draw()
    legend = picture.legends[0].get_window_extent(canvas.get_renderer())
    (panel,) = picture.axes
    assert legend.x0 >= panel.get_window_extent().x1
    assert legend.x1 <= picture.bbox.x1


def test_a_point_with_two_states_counts_by_the_worse_one() -> None:
    one = {"is_bimodal": False, "lower": None, "upper": None}
    steady = {"fix": "steady", "median": 0.7, "low": 0.68, "high": 0.72, **one}
    lucky = {"median": 0.98, "low": 0.4, "high": 0.99, "is_bimodal": True}
    lucky |= {"fix": "lucky", "lower": 0.4, "upper": 0.98}
    won = best.winner(pl.DataFrame([lucky, steady]), "jain_index")
    assert (won.best["fix"], won.as_good) == ("steady", [])
    won = best.winner(pl.DataFrame([lucky, steady]), "rtt_p99_s")
    assert won.best["fix"] == "steady"


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({}, ("peers", "queue.limit", "throughput_ratio", "throughput_ratio")),
        ({"color": "stack"}, ("peers", "queue.limit", "stack", "throughput_ratio")),
        ({"color": "stack", "by": "jain_index"}, ("peers", "queue.limit", "stack", "jain_index")),
        ({"y": "jain_index"}, ("peers", "jain_index", "queue.limit", "jain_index")),
        ({"y": "peers"}, ("queue.limit", "peers", "throughput_ratio", "throughput_ratio")),
        ({"x": "stack", "color": "peers"}, ("stack", "queue.limit", "peers", "throughput_ratio")),
    ],
)
def test_what_is_not_asked_for_is_chosen(
    study: Study, options: dict[str, str], shown: tuple[str, ...]
) -> None:
    chosen = studies.choose(study, **options)
    assert (chosen.x, chosen.y, chosen.color, chosen.number) == shown


@pytest.mark.parametrize("options", [{}, {"y": "jain_index"}, {"color": "stack"}])
def test_an_unknown_number_is_named_by_its_own_option(
    study: Study, options: dict[str, str]
) -> None:
    with pytest.raises(InputError) as error:
        studies.choose(study, **options, by="nope")
    assert (error.value.field, error.value.value) == ("by", "nope")


def test_of_a_study_of_fixes_the_best_is_the_first_look(study: Study) -> None:
    axes = {"peers": [2], "fix": ["none", "red"], "queue.limit": ["1KiB"]}
    definition = replace(study.definition, axes=axes, labels=axes)
    of_fixes = define(place(f"{study.place.name}-of-fixes"), definition, force=False)
    chosen = studies.choose(of_fixes)
    assert (chosen.x, chosen.y, chosen.color) == ("peers", "queue.limit", "fix")


def test_the_command_writes_what_was_asked_for(
    study: Study, fairport: Command, tmp_path: Path
) -> None:
    where = ("study", "--x", "peers", "--y", "queue.limit", "--color", "jain_index")
    assert fairport("plot", *where).out == "made-up.png\n"
    assert (tmp_path / "made-up.png").read_bytes().startswith(b"\x89PNG")
    assert fairport("plot", *where, "--out", "map.svg").status == 0
    svg = (tmp_path / "map.svg").read_text()
    assert "peers of the lone flow" in svg
    assert "80 runs, 10 seeds per point" in svg
    refused = fairport("plot", *where, "--out", "map.gif")
    assert refused.status == 2
    assert '--out: "map.gif" is neither PNG, SVG, PDF nor HTML' in refused.err


def test_a_pdf_has_the_fonts_that_publishers_take(
    study: Study, fairport: Command, tmp_path: Path
) -> None:
    fairport("plot", "study", "--x", "peers", "--y", "jain_index", "--out", "lines.pdf")
    fp.plot(study, x="peers", y="jain_index").savefig(tmp_path / "from-python.pdf")
    for name in ("lines.pdf", "from-python.pdf"):
        pdf = (tmp_path / name).read_bytes()
        assert pdf.startswith(b"%PDF")
        assert b"/FontFile2" in pdf  # TrueType
        assert b"/Type3" not in pdf


@pytest.mark.parametrize(
    ("options", "problem", "remedy"),
    [
        ({"x": "pears"}, 'x: "pears" cannot be drawn there', "did you mean `peers`"),
        ({"x": "peers", "y": "peers"}, 'y: "peers" is given twice', "another axis"),
        ({"y": "jain"}, 'y: "jain" cannot be drawn', "jain_index"),
        ({"y": "stack", "color": "drops"}, 'color: "drops" cannot be drawn', "throughput_ratio"),
        ({"where": "peers > 100"}, "has no run with", "wider"),
        ({"where": "pears > 1"}, "cannot be answered", "peers"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    study: Study, options: dict[str, str], problem: str, remedy: str
) -> None:
    with pytest.raises(InputError, match=problem) as refused:
        studies.draw(study, **options)
    assert remedy in refused.value.remedy


def test_a_map_says_what_a_cell_without_a_run_is(study: Study) -> None:
    def note(where: str) -> str:
        return studies.draw(study, x="peers", y="queue.limit", where=where).texts[2].get_text()

    assert "no run" not in note("")
    assert note("""peers = 2 or "queue.limit" = '4 packets'""").endswith("; grey: no run")


def test_few_seeds_have_a_range_and_no_interval(study: Study) -> None:
    def said(where: str) -> list[str]:
        lines = studies.draw(study, x="peers", y="throughput_ratio", color="stack", where=where)
        map_ = studies.draw(study, x="peers", y="queue.limit", color="stack", where=where)
        page = document(study, chosen(study, where))
        return [lines.texts[2].get_text(), map_.texts[2].get_text(), page["interval"]]

    assert all("95 % interval" in text for text in said("seed < 7"))
    assert all("range" in text and "95 %" not in text for text in said("seed < 6"))
    few = viewed(study, "throughput_ratio", ["peers"], "seed < 6").points.row(0, named=True)
    assert (few["low"], few["high"]) == pytest.approx((0.25 * 1.001, 0.25 * 1.005))


@pytest.mark.parametrize("kept", ["lower_bounds", "caveats"])
@pytest.mark.parametrize(("number", "runs"), [("fct_p99_s", 20), ("jain_index", 0)])
def test_a_figure_says_that_completion_times_may_be_lower_bounds(
    tmp_path: Path, kept: str, number: str, runs: int
) -> None:
    def numbers(load: float, seed: int) -> Numbers:
        unfinished: dict[str, Any] = {
            "lower_bounds": {"lower_bounds": float(load > 0.5)},
            "caveats": {"caveats": "short-run, unfinished-transfers" if load > 0.5 else ""},
        }
        return {"fct_p99_s": 0.01 * load, "jain_index": 0.9} | unfinished[kept]

    study = made_up(tmp_path, {"load": [0.2, 0.8, 0.9]}, {}, numbers)
    picture = studies.draw(study, x="load", y=number)
    said = f"values may be lower bounds: {runs} runs ended with unfinished transfers"
    assert (said in picture.texts[2].get_text()) == (runs > 0)


def test_lines_for_a_column_are_as_tall_as_wide_at_most(study: Study) -> None:
    with width.drawn_at(3.4):
        picture = studies.draw(study, x="peers", y="jain_index", where="stack = 'old'")
    assert picture.get_figheight() < 3.6


def test_the_number_is_the_first_that_some_run_has(study: Study) -> None:
    assert studies.choose(study).color == "throughput_ratio"
    without = study.to_polars().with_columns(throughput_ratio=pl.lit(None, pl.Float64))
    for name in study.place.names("runs"):
        study.place.remove(f"runs/{name}")
    for row in without.iter_rows(named=True):
        study.runs.add(row)
    study.runs.flush()
    assert studies.choose(study).color == "jain_index"
    assert studies.choose(study, color="stack").number == "jain_index"


def test_numbers_on_a_map_have_the_contrast_of_wcag() -> None:
    """WCAG 2.1, 1.4.3: letters have a contrast of 4.5 at least."""

    def luminance(colour: Any) -> float:
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    assert luminance(to_rgb("#777777")) == pytest.approx(0.1845, abs=1e-4)
    for colour in [
        to_rgb(one) for name in ("cividis", "gray") for one in colormaps[name](range(256))
    ]:
        pair = luminance(colour), luminance(to_rgb(style.ink_on(colour)))
        assert (max(pair) + 0.05) / (min(pair) + 0.05) >= 4.5, colour
