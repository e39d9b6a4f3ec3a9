"""Figures say what they show, for every kind of run."""

import itertools
import re
import subprocess
import sys
import warnings

import fairport as fp
import numpy as np
import polars as pl
import pytest
import synthetic
from fairport import figures
from fairport.errors import InputError
from fairport.figures import compare, compared, distribution, hop_classes, over_time
from fairport.figures.drawing import style
from fairport.figures.drawing.saving import Saver
from fairport.quantities import QUANTITIES, three_digits
from fairport.report import inline
from fairport.result import Result
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

RUNS = {
    "fifteen to one": {},
    "113 flows": {"classes": {2: 3, 4: 12, 6: 98}, "duration_s": 1.0},
    "one flow": {"classes": {6: 1}, "duration_s": 0.5},
    "no drops": {"lossless": True, "duration_s": 0.5},
    "one interval": {"duration_s": 0.01},
    "a tenth of a second": {"duration_s": 0.1},
}


@pytest.fixture(scope="module")
def result():
    return synthetic.run(duration_s=2.0)


def words(picture, tmp_path):
    path = tmp_path / "figure.svg"
    style.save(picture, path)
    return path.read_text(encoding="utf-8")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("run", RUNS)
def test_every_kind_can_be_drawn_of_every_run(run, tmp_path):
    written = figures.draw_all(synthetic.run(**RUNS[run]), tmp_path, Saver(None))
    kinds = [kind for kind in figures.KINDS if (run, kind) != ("no drops", "drop_runs")]
    expected = {f"{kind}.{ending}" for kind in kinds for ending in ("png", "svg")}
    assert {path.name for path in written} == expected
    assert all(path.stat().st_size > 1000 for path in written)


@pytest.mark.parametrize("kind", figures.KINDS)
def test_the_same_run_gives_the_same_bytes(kind, result, tmp_path):
    assert words(figures.draw(result, kind), tmp_path) == words(
        figures.draw(result, kind), tmp_path
    )


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("goodput", ["goodput (Mbit/s)", "time (s)", "2-hop (1 flow)", "6-hop (12 flows)"]),
        (
            "bars",
            ["goodput (Mbit/s)", "first 20 % (0.4 s)", "first 40 % (0.8 s)", "whole run (2 s)"],
        ),
        ("drop_runs", ["runs per flow", "dropped in a row (packets)", "edge0.0:2 (14 flows)"]),
        ("queue", ["queue (kB)", "wait (µs)", "edge0.0:0", "from edge0.0:1: 1 flow"]),
        ("cwnd", ["cwnd (kB)", "time (s)", "4-hop (2 flows)"]),
        ("rtt", ["RTT (ms)", "time (s)", "least to greatest sample"]),
    ],
)
def test_axes_have_units_and_legends_say_who(kind, said, result, tmp_path):
    text = words(figures.draw(result, kind), tmp_path)
    assert [one for one in said if one not in text] == []


def test_an_svg_holds_text_as_text_and_stands_alone(result, tmp_path):
    svg = words(figures.draw(result, "goodput"), tmp_path)
    assert "<text" in svg
    assert 'xlink:href="http' not in svg


def test_a_kind_that_is_not_there_is_named_with_those_that_are(result):
    with pytest.raises(InputError, match='kind: "pie" is not one of goodput, bars'):
        figures.draw(result, "pie")


def test_bars_are_what_was_delivered_in_the_span(result):
    axes = figures.draw(result, "bars").axes[0]
    sent = result.series.filter(pl.col("time_s") <= 0.4 + 1e-9).group_by(
        "flow", maintain_order=True
    )
    expected = sent.agg(pl.col("delivered_bytes").max())["delivered_bytes"] * 8 / 0.4 / 1e6
    assert [bar.get_height() for bar in axes.patches] == pytest.approx(expected.to_list())


def test_thinning_out_keeps_the_extremes(result):
    times, low = over_time.grid(result, [3, 4], "rtt_min_s", "min", most_points=7)
    _, high = over_time.grid(result, [3, 4], "rtt_max_s", "max", most_points=7)
    assert len(times) <= 7
    mine = result.series.filter(pl.col("flow").is_in([3, 4]))
    assert np.nanmin(low) == mine["rtt_min_s"].min()
    assert np.nanmax(high) == mine["rtt_max_s"].max()


def test_thinning_out_keeps_the_mean(result):
    _, coarse = over_time.grid(result, [0, 5], "goodput_bps", most_points=50)
    _, fine = over_time.grid(result, [0, 5], "goodput_bps", most_points=10**6)
    assert coarse.mean(axis=0) == pytest.approx(fine.mean(axis=0))


def test_hop_classes_keep_their_look_in_every_run():
    few = hop_classes.of(synthetic.run(classes={2: 1, 6: 3}, duration_s=0.1).flows)
    many = hop_classes.of(synthetic.run(duration_s=0.1).flows)
    assert [one.label for one in few] == ["2-hop (1 flow)", "6-hop (3 flows)"]
    assert {one.hops: one.look for one in few}.items() <= {
        one.hops: one.look for one in many
    }.items()


def test_ingress_ports_of_one_class_are_filled_differently(result):
    of_one_class = result.flows.filter(hops=6)["flow"]
    port = "uplink" + (pl.col("flow") % 4).cast(pl.String)
    tables = {
        name: result.tables[name]
        .filter(pl.col("flow").is_in(of_one_class.to_list()))
        .with_columns(ingress_port=port)
        for name in ("drops", "trace")
    }
    ports = Result(
        scenario=result.scenario,
        seed=1,
        tables={**result.tables, **tables},
        summary=result.summary,
        manifest=result.manifest,
    )
    bars = figures.draw(ports, "drop_runs").axes[1].containers
    assert len({group[0].get_facecolor() for group in bars}) == 1
    assert len({group[0].get_hatch() for group in bars}) == len(bars) == 4


def test_matplotlib_is_imported_when_something_is_drawn_and_pyplot_never():
    code = """
import sys, synthetic
from fairport import figures
assert "matplotlib" not in sys.modules
figures.draw(synthetic.run(duration_s=0.1))
assert "matplotlib" in sys.modules and "matplotlib.pyplot" not in sys.modules
"""
    folder = synthetic.__file__.rpartition("/")[0]
    package = figures.__file__.rpartition("/fairport/")[0]
    path = f"import sys; sys.path[:0] = [{folder!r}, {package!r}]"
    subprocess.run([sys.executable, "-c", path + code], check=True)


def test_a_notebook_shows_a_figure(result):
    assert figures.draw(result)._repr_png_().startswith(b"\x89PNG")


UDP = {"kind": "udp", "from": "h1", "to": "h0", "rate": "200Mbps"}


@pytest.mark.parametrize("traffic", [[UDP], [UDP, {"from": "h4", "to": "h0"}]])
def test_a_hop_class_of_datagrams_alone_is_no_class_of_the_figures(traffic, tmp_path):
    network = {"topology": {"kind": "fat-tree", "k": 4}, "queue": {"limit": "16KiB"}}
    result = fp.run({"name": "udp", "duration": "30ms", **network, "traffic": traffic})
    figures.draw_all(result, tmp_path, Saver(None))
    compared = "6-hop (1 flow)" if len(traffic) == 2 else "no TCP flows to compare"
    for kind in ("goodput", "bars", "cwnd", "rtt"):
        drawn = words(figures.draw(result, kind), tmp_path)
        assert compared in drawn
        assert "2-hop" not in drawn


def test_of_many_flows_bars_become_distributions_that_are_soon_drawn(tmp_path):
    many = synthetic.run(duration_s=0.2, classes={2: 50, 4: 450})
    picture = figures.draw(many, "bars")
    assert [len(axes.patches) for axes in picture.axes] == [0, 0, 0]
    rates = np.sort(many.flows.filter(hops=2)["delivered_bytes"].to_numpy() * 8 / 0.2)
    curve = picture.axes[2].lines[0]
    assert curve.get_ydata()[-1] == 1
    assert len(curve.get_xdata()) == 51, "the first step rises from zero"
    assert curve.get_xdata()[-1] * 1e6 == pytest.approx(rates[-1], rel=1e-6)
    for kind in ("bars", "drop_runs"):
        style.save(figures.draw(many, kind), tmp_path / f"{kind}.svg")
        assert (tmp_path / f"{kind}.svg").stat().st_size < inline.SVG_LIMIT_BYTES


def test_the_fair_share_of_a_distribution_is_that_of_the_flows_that_it_shows():
    datagrams = {"kind": "udp", "from": "h2..h30", "to": "h0", "rate": "1Mbps"}
    run = {"duration": "50ms", "topology.peers": 50}
    load = [{"from": "h1..h50", "to": "h0"}, datagrams]
    result = fp.run(fp.scenario("two-switch").patch(run | {"traffic": load}))
    bulk = result.flows.filter(protocol="tcp")["delivered_bytes"].to_numpy() * 8 / 0.05
    fair = figures.draw(result, "bars").axes[2].lines[-1].get_xdata()[0]
    assert fair * 1e6 == pytest.approx(bulk.mean(), rel=1e-3)


def test_a_lone_flow_among_many_is_a_line_and_not_an_invisible_point():
    panel = figures.draw(synthetic.run(duration_s=0.2, classes={2: 1, 4: 60}), "bars").axes[2]
    lone, _ = panel.lines[:2]
    x, y = lone.get_xdata(), lone.get_ydata()
    assert (len(set(x)), min(y), max(y)) == (1, 0, 1)


def test_transfers_have_completion_times_and_no_share_of_a_line():
    load = [{"from": "h1", "to": "h0", "size": "100kB"}, {"from": "h4", "to": "h0", "size": "1MB"}]
    network = {"topology": {"kind": "fat-tree", "k": 4}, "queue": {"limit": "16KiB"}}
    result = fp.run({"name": "sized", "duration": "100ms", **network, "traffic": load})
    there = figures.kinds(result)
    assert "fct" in there
    assert "bars" not in there
    drawn = figures.draw(result, "goodput")
    assert "fair share" not in [text.get_text() for axes in drawn.axes for text in axes.texts]


def test_a_flow_that_is_over_has_no_window():
    load = [{"from": "h1", "to": "h0", "size": "30kB"}]
    network = {"topology": {"kind": "fat-tree", "k": 4}, "queue": {"limit": "16KiB"}}
    result = fp.run({"name": "short", "duration": "50ms", **network, "traffic": load})
    assert result.series["goodput_bps"].sum() > 0
    assert result.series["cwnd_bytes"].to_list() == [None]
    assert "cwnd" not in figures.kinds(result)


@pytest.mark.parametrize("panels", [3, 4])
def test_numbers_below_neighbouring_panels_of_a_comparison_are_apart(panels):
    line = compared.Line([29_400.0], 25_000.0, 29_400.0, 29_400.0)
    panel = compared.Panel("drop runs", "", "zero", {0: line})
    picture = compare.draw(compared.Chart("a", "b", ["none"], [panel] * panels, "range"))
    canvas = FigureCanvasAgg(picture)
    canvas.draw()
    ends = []
    for axes in picture.axes:
        least, most = axes.get_xlim()
        ticks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
        within = [label for at, label in ticks if least <= at <= most]
        assert [label.get_text() for label in within] == ["0", "15,000", "30,000"]
        ends.append([label.get_window_extent() for label in within])
    letter = ends[0][0].width
    assert all(right[0].x0 - left[-1].x1 > letter for left, right in itertools.pairwise(ends))


def test_texts_stay_in_the_picture_with_the_long_name_of_a_port():
    name = "rack12-top-of-rack-switch:48"
    with style.applied():
        picture, [[panel]] = style.panels("What it shows", "Queue", "run", [1.0])
        picture.set_dpi(style.PNG_DPI)
        what = "band: min to max, dotted: fullest (15.3 kB), dashed: limit"
        style.panel_title(panel, name, detail=what)
        style.note(picture, f"longest blackout of {name} after the start, 6 packets in a row: " * 2)
        texts = [*panel.texts, *picture.texts]
        boxes = [text.get_window_extent() for text in texts]
    assert all(0 <= box.x0 < box.x1 <= picture.bbox.width for box in boxes)
    assert all(text.get_fontsize() >= 5 for text in texts)


def test_ports_with_long_names_are_told_apart_in_every_picture():
    node = "top-of-rack-switch-of-the-first-row-of-the-second-building-of-all"
    graph = {
        "kind": "graph",
        "hosts": ["h0", "h1", "h2"],
        "switches": [node],
        "links": [{"ends": [host, node]} for host in ("h0", "h1", "h2")],
    }
    load = [{"from": "all", "to": "h0"}]
    run = {"name": "long", "duration": "100ms", "topology": graph, "traffic": load}
    result = fp.run(run | {"queue": {"limit": "16KiB"}})
    for kind in ("queue", "drop_runs"):
        picture = figures.draw(result, kind)
        picture.set_dpi(style.PNG_DPI)
        legends = [axes.get_legend() for axes in picture.axes if axes.get_legend()]
        shown = [one.get_text() for legend in legends for one in legend.get_texts()]
        shown += [text.get_text() for axes in picture.axes for text in axes.texts]
        for number in (1, 2):
            assert any(re.search(rf"t.*…\S*:{number}\b", text) for text in shown), kind
        inside = [text.get_window_extent() for axes in picture.axes for text in axes.texts]
        inside += [legend.get_window_extent() for legend in legends]
        assert all(0 <= box.x0 < box.x1 <= picture.bbox.width for box in inside), kind


def test_no_spike_of_a_lone_flow_is_cut_off(result):
    picture = figures.draw(result, "goodput")
    panel = picture.axes[0]
    drawn = max(np.nanmax(line.get_ydata()) for line in panel.lines)
    assert panel.get_ylim()[1] >= drawn


def test_the_buffers_limit_is_drawn(result):
    held = figures.queue.buffer_limit(result)
    assert held.bytes == 16384, "outcast has buffers of 16 KiB"
    heights = [line.get_ydata()[0] for line in figures.draw(result, "queue").axes[0].lines]
    assert 16.384 in heights


def test_a_band_is_the_middle_90_percent_of_those_that_are_known():
    values = np.array([np.r_[np.arange(1.0, 101), [np.nan] * 20], [np.nan] * 120])
    low, high = over_time.middle_90(values)
    assert (low[0], high[0]) == (5, 95)
    assert np.isnan([low[1], high[1]]).all()


def test_values_are_shown_in_a_unit_of_their_size():
    rate = QUANTITIES["goodput_bps"]
    assert rate.at_size(1.9e9) == rate
    large = rate.at_size(7.5e9)
    assert (large.unit, large.shown(7.5e9)) == ("Gbit/s", "7.5")
    assert three_digits(999.99) == "1,000"
    assert three_digits(0.00001234) == "0.0000123"
    assert QUANTITIES["fct_s"].shown(0.00001234) == "0.0000123"
    small = rate.at_size(2.4e3)
    assert (small.unit, small.shown(2.4e3)) == ("kbit/s", "2.4")


def test_a_note_with_long_names_is_not_cut_off():
    for length in (20, 200):
        picture = style.Picture(figsize=(style.WIDTH_IN, 2))
        style.note(picture, "m" * length)
        (shown,) = picture.texts
        assert shown.get_window_extent().x0 >= 0
        assert (shown.get_fontsize() == 7) == (length == 20)


def test_classes_whose_flows_start_after_the_end_have_panels() -> None:
    short = {"duration": "100us", "probes.series_interval": "1us"}
    goodput = fp.plot(fp.run(fp.scenario("outcast").patch(short)), "goodput").axes
    assert [axes.texts[0].get_text() for axes in goodput][:2] == ["no samples", "no samples"]


def test_a_queue_that_is_always_empty_has_an_axis() -> None:
    result = fp.run(fp.scenario("rtt-unfairness").patch({"duration": "1ms"}))
    assert result.queue["bytes"].max() == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as matplotlib warns of an axis without height
        fp.plot(result, "queue")


def test_a_run_shorter_than_the_interval_of_samples_says_why_there_are_none() -> None:
    short = fp.scenario("outcast").patch({"duration": "1ms", "probes.series_interval": "10ms"})
    (panel,) = fp.plot(fp.run(short), "goodput").axes
    said = "no samples: the run is shorter than\n`probes.series_interval`"
    assert panel.texts[0].get_text() == said


@pytest.mark.parametrize(("wide_in", "covers"), [(3.4, True), (None, False)])
def test_lines_of_a_narrow_distribution_do_not_cross_its_legend(
    wide_in: float | None, covers: bool
) -> None:
    sized = {"traffic.0.size": "20kB", "duration": "20ms"}
    (axes,) = fp.plot(fp.run(fp.scenario("outcast").patch(sized)), "fct", width_in=wide_in).axes
    legend = axes.get_legend()
    assert legend is not None
    assert legend.get_frame_on() == covers


def test_a_group_of_which_nothing_finished_is_in_the_legend() -> None:
    # one host sends 20 kB, the others 1 MB each, which they cannot within 20 ms
    both = [
        {"from": "h1", "to": "h0", "size": "20kB"},
        {"from": "h2..h15", "to": "h0", "size": "1MB"},
    ]
    result = fp.run(fp.scenario("outcast").patch({"traffic": both, "duration": "20ms"}))
    (axes,) = fp.plot(result, "fct").axes
    legend = axes.get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["≤ 100 kB: 1", "100 kB to 10 MB: 0 (and 14 unfinished)"]
    assert len([line for line in axes.get_lines() if len(line.get_xdata()) > 1]) == 1


@pytest.mark.parametrize(("most", "labels"), [(40, "2 5 10 20"), (4000, "10 100 1000")])
def test_a_logarithmic_axis_has_plain_numbers_and_enough_of_them(most: float, labels: str) -> None:
    axes = Figure().subplots()
    axes.plot([1.6, most], [0, 1], label="line")
    distribution.frame(axes, "slowdown")
    low, high = axes.get_xlim()
    ticks = [
        (place, text.get_text())
        for is_minor in (False, True)
        for place, text in zip(
            axes.get_xticks(minor=is_minor), axes.get_xticklabels(minor=is_minor), strict=True
        )
    ]
    shown = [text for place, text in sorted(ticks) if low <= place <= high and text]
    assert " ".join(shown) == labels
