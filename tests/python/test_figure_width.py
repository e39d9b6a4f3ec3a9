"""Pictures drawn for the width of a journal's column: all their letters can be read there."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import fairport as fp
import pytest
import synthetic
from conftest import Command
from fairport import figures, layout, run_and_save
from fairport.errors import InputError
from fairport.figures import compare, compared, microscope, paths, seeds, validate
from fairport.figures import papers as of_papers
from fairport.figures.drawing import style, width
from fairport.figures.drawing.picture import Picture
from fairport.microscope import focus, look
from fairport.papers import catalogue
from fairport.record import Record
from fairport.scenario import host_profile
from fairport.study import validation
from fairport.study.comparison.metrics import Groups, RunTables
from fairport.study.reproduce import Reproduced
from made_up_studies import Numbers, made_up
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

COLUMN_IN = 3.4
RUNS: dict[str, dict[str, Any]] = {
    "fifteen to one": {"duration_s": 0.5},
    "113 flows": {"classes": {2: 3, 4: 12, 6: 98}, "duration_s": 0.5},
    "one flow": {"classes": {6: 1}, "duration_s": 0.5},
}


def must_be_readable(picture: Any, wide_in: float = COLUMN_IN) -> None:
    """Every letter is large enough, and no text or legend leaves the picture."""
    assert isinstance(picture, Picture)
    assert picture.get_figwidth() == pytest.approx(wide_in)
    with width.drawn_at(wide_in), style.applied():
        FigureCanvasAgg(picture).draw()
    # labels of ticks beyond an axis's ends are there, and are not drawn
    ticks = {
        label
        for axes in picture.axes
        for axis in (axes.xaxis, axes.yaxis)
        for label in axis.get_ticklabels(which="both")
    }
    for text in picture.findobj(Text):
        assert isinstance(text, Text)
        if text.get_visible() and text.get_text().strip():
            assert text.get_fontsize() >= width.READABLE_PT, text.get_text()
            box = text.get_window_extent()
            is_inside = -1 <= box.x0 < box.x1 <= picture.bbox.width + 1  # pixels are rounded
            assert text in ticks or is_inside, text.get_text()


@pytest.mark.parametrize("run", RUNS)
def test_figures_of_a_run(run: str) -> None:
    result = synthetic.run(**RUNS[run])
    for kind in figures.kinds(result):
        must_be_readable(fp.plot(result, kind, width_in=COLUMN_IN))


def test_figures_of_a_study_of_a_comparison_and_of_seeds(tmp_path: Path) -> None:
    axes: dict[str, list[Any]] = {
        "peers": [2, 12],
        "queue.limit": ["4 packets", "16 packets"],
        "stack": ["one of long ago", "the one of today"],
    }

    def numbers(peers: int, limit: str, stack: str, seed: int) -> Numbers:
        return {"throughput_ratio": 0.1 * peers + seed / 100, "jain_index": 0.9}

    study = made_up(tmp_path, axes, {}, numbers)
    for how in ({}, {"y": "jain_index"}, {"color": "stack"}):
        must_be_readable(fp.plot(study, width_in=COLUMN_IN, x="peers", **how))

    line = compared.Line([29_400.0], 25_000.0, 29_400.0, 29_400.0)
    panel = compared.Panel("total goodput of all of them (Mbit/s)", "", "zero", {0: line})
    chart = compared.Chart("What the fixes do", "of a run", ["none"], [panel] * 5, "range")
    two = fp.scenario("two-switch").patch({"duration": "20ms", "topology.peers": 2})
    over = run_and_save.run(two, [1, 2], folder=None, figures=False)
    with width.drawn_at(COLUMN_IN):
        must_be_readable(compare.draw(chart))
        must_be_readable(seeds.draw(over))


@pytest.mark.parametrize("name", ["outcast", "outcast-fabric", "outcast-1-to-12"])
def test_figures_of_paths(name: str) -> None:
    network = layout.network(fp.scenario(name))
    for wide_in in (COLUMN_IN, 7.0):
        with width.drawn_at(wide_in):
            must_be_readable(paths.draw(network), wide_in)


def test_figures_of_single_packets_and_of_a_validation() -> None:
    two = fp.scenario("two-switch").patch({"duration": "100ms"})
    result = fp.run(two)
    slide = look(result, focus(result))
    record = Record.of(result)
    groups, found = Groups.of(record), RunTables("side")
    for side in validation.SIDES:
        found.add(side, record, groups)
    measured = host_profile.find("linux-6-vm")
    both = validation.Validation(two, two, measured, [1], [], groups, found.runs, found.drop_runs)
    for wide_in in (COLUMN_IN, 5.0, 7.2):
        with width.drawn_at(wide_in):
            must_be_readable(microscope.draw(slide), wide_in)
            must_be_readable(validate.draw(both), wide_in)


@pytest.mark.parametrize(
    "name", ["chopra2012/fat-tree-proportions", "lee2017/tcprand-parameters", "prakash2012/sfq"]
)
def test_figures_of_papers(name: str) -> None:
    (entry,) = catalogue.chosen([name])
    record = Record.of(synthetic.run(classes={2: 1, 6: 12}, duration_s=0.5))
    records = {one.name: [record, record] for one in entry.variants}
    done = Reproduced(entry, range(1, 3), True, records)
    with width.drawn_at(COLUMN_IN):
        for drawing in entry.experiment.figure:
            picture = of_papers.draw(done, drawing)
            must_be_readable(picture)
            for axes in picture.axes:
                names = axes.get_xticklabels()
                in_two_rows = any(one.get_text().startswith("\n") for one in names)
                for row in (names[::2], names[1::2]) if in_two_rows else (names,):
                    boxes = [one.get_window_extent() for one in row]
                    assert not any(box.overlaps(beside) for box, beside in pairwise(boxes))


def test_a_width_holds_for_one_picture_and_for_its_files(tmp_path: Path) -> None:
    result = synthetic.run(duration_s=0.5)
    picture = fp.plot(result, "rtt", width_in=7.0)
    must_be_readable(picture, 7.0)
    picture.savefig(tmp_path / "rtt.svg")
    assert 'width="504pt"' in (tmp_path / "rtt.svg").read_text(encoding="utf-8")
    assert fp.plot(result, "rtt").get_figwidth() == style.WIDTH_IN
    not_a_number: Any = "3.4"
    for width_in in (1.0, not_a_number):
        with pytest.raises(InputError, match="is not between 3 and 10 inches"):
            fp.plot(result, "rtt", width_in=width_in)


def test_the_command_draws_runs_and_seeds_for_print(fairport: Command) -> None:
    run = ("run", "two-switch", "--duration", "20ms", "--no-figures", "--quiet")
    assert fairport(*run, "--out", "one").status == 0
    assert fairport(*run, "--out", "two", "--repeat", "2").status == 0
    assert fairport("plot", "one").out == "goodput.png\n"
    done = fairport("plot", "one", "--kind", "cwnd", "--width", "86.36mm", "--out", "cwnd.pdf")
    assert (done.status, done.out) == (0, "cwnd.pdf\n")
    assert b"/MediaBox [ 0 0 244.8 " in Path("cwnd.pdf").read_bytes()
    assert fairport("plot", "two", "--width", "3.4in").out == "seeds.png\n"
    for wrong, why in (
        (("two", "--kind", "rtt"), "such as two/seed-1"),
        (("one", "--kind", "bar"), "did you mean `bars`"),
        (("one", "--width", "3.4"), "such as 3.4in or 86mm"),
        (("one", "--out", "page.html"), "is neither PNG, SVG nor PDF"),
        (("one", "--by", "jain_index"), "and this is none"),
        (("one",), '--out: "goodput.png" exists'),
    ):
        refused = fairport("plot", *wrong)
        assert refused.status == 2
        assert why in refused.err
    shown = fairport("plot", "--help").out
    for kind in figures.KINDS:
        assert kind in shown
