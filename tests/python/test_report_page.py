"""The page of a run in a real browser: hover, zoom, classes, tables, seeds, address, access."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import fairport as fp
import polars as pl
import pytest
import synthetic
from conftest import slowness
from fairport.report.page import write
from fairport.storage.run import load_run

MOST_BYTES = 3_000_000


@pytest.fixture(scope="module")
def result():
    return synthetic.run(duration_s=2.0)


@pytest.fixture(scope="module")
def page(result, tmp_path_factory):
    return write(result, tmp_path_factory.mktemp("page"))


def opened(tab: Any, file: Path, fragment: str = "", **how: Any) -> None:
    tab.open(file, fragment, **how)
    tab.wait("window.report?.ready === true")


def hover(tab: Any, panel: str, time_s: float, value: float) -> str:
    """The page's text about a point of a panel; `value` is in the panel's unit."""
    where = tab.value(
        f"""(() => {{
            const {{ plot }} = report.panel({json.dumps(panel)});
            plot.root.scrollIntoView({{ block: "center" }});
            const over = plot.over.getBoundingClientRect();
            const [x, y] = [plot.valToPos({time_s}, "x"), plot.valToPos({value}, "y")];
            return [over.left + x, over.top + y];
        }})()"""
    )
    tab.mouse("mouseMoved", *where)
    tab.wait("!document.getElementById('tip').hidden")
    return "|".join(tab.texts("#tip > *"))


def test_the_hover_says_host_flow_value_and_seed_as_the_table_has_them(tab, page, result):
    opened(tab, page)
    lone = result.flows.filter(hops=2)["flow"][0]
    peak = result.series.filter(flow=lone).sort("goodput_bps", descending=True).row(0, named=True)
    interval = result.scenario.probes.series_interval.seconds
    tab.value("report.view.set({ hidden: new Set(['4-hop', '6-hop']) })")
    words = hover(tab, "goodput", peak["time_s"] - interval / 2, peak["goodput_bps"] * 1e-6)
    src = result.flows.filter(flow=lone)["src"][0]
    assert words.startswith(f"flow {lone}, {src} to h0|2-hop|")
    said = float(words.split("goodput ")[1].split(" ")[0].replace(",", ""))
    unit = words.split("goodput ")[1].split(" ")[1].split("|")[0]
    factor = {"Mbit/s": 1e-6, "Gbit/s": 1e-9}[unit]
    assert said == pytest.approx(peak["goodput_bps"] * factor, rel=1e-3)
    assert words.endswith(f"seed {result.seed}")


def test_a_span_chosen_in_one_panel_is_shown_in_all_and_in_the_address(tab, page):
    opened(tab, page)
    box = tab.value(
        "(() => { const { plot } = report.panel('rtt');"
        " plot.root.scrollIntoView({ block: 'center' });"
        " const { left, top, width, height } = plot.over.getBoundingClientRect();"
        " return { left, top: top + height / 2, width }; })()"
    )
    tab.mouse("mouseMoved", box["left"] + box["width"] / 4, box["top"])
    tab.mouse(
        "mousePressed", box["left"] + box["width"] / 4, box["top"], button="left", clickCount=1
    )
    tab.mouse("mouseMoved", box["left"] + box["width"] / 2, box["top"], button="left")
    tab.mouse(
        "mouseReleased", box["left"] + box["width"] / 2, box["top"], button="left", clickCount=1
    )
    tab.wait("report.view.from !== null")
    spans = tab.value(
        "['goodput', 'cwnd', 'rtt', 'queue'].map((id) => report.panel(id).plot.scales.x)"
        ".map(({ min, max }) => [min, max])"
    )
    for low, high in spans:
        assert (low, high) == (pytest.approx(0.5, abs=0.01), pytest.approx(1.0, abs=0.01))
    tab.wait("location.hash.includes('from=')")
    address = tab.value("location.hash")
    opened(tab, page, address)
    assert tab.value("report.view.from") == pytest.approx(0.5, abs=0.01)
    tab.value("document.getElementById('whole').click()")
    assert tab.value("report.panel('cwnd').plot.scales.x.max") == 2.0


def test_the_legend_switches_a_class_on_the_whole_page(tab, page):
    opened(tab, page)
    before = tab.value("document.querySelectorAll('#flow-table tbody tr').length")
    tab.value(
        "[...document.querySelectorAll('#legend button')]"
        ".find((one) => one.textContent.startsWith('6-hop')).click()"
    )
    after = tab.value("document.querySelectorAll('#flow-table tbody tr').length")
    assert (before, after) == (15, 3)
    assert tab.value("document.querySelector('#classes-rows tr[data-class=\"6-hop\"]').hidden")
    drawn = tab.value(
        "report.panel('goodput').lines.filter((line) => report.panel('goodput').shows(line)).length"
    )
    assert drawn == 3
    hidden = """["#bars", "#drop_runs"]
        .flatMap((one) => [...document.querySelectorAll(`${one} [id*='-class-6hop-']`)])
        .map((one) => getComputedStyle(one).display)"""
    assert len(tab.value(hidden)) > 12
    assert set(tab.value(hidden)) == {"none"}


def test_flows_are_sorted_filtered_and_chosen(tab, page, result):
    opened(tab, page, "#sort=-goodput_bps&filter=6-hop")
    first = tab.value("document.querySelector('#flow-table tbody th').textContent")
    least = result.flows.filter(hops=6).sort("goodput_bps")["flow"][0]
    assert int(first) == least
    assert tab.value("document.querySelectorAll('#flow-table tbody tr').length") == 12
    tab.value("document.querySelector('#flow-table tbody button').click()")
    assert tab.value("report.view.flow") == least
    goodput = result.flows.filter(flow=least)["goodput_bps"][0]
    cells = tab.texts("#flow-table tbody tr:first-child td")
    assert f"{goodput * 1e-6:,.3f}" in cells


def test_windows_are_in_bytes_or_in_segments(tab, page):
    opened(tab, page)
    kilobytes = tab.value("Math.max(...report.panel('cwnd').plot.data.slice(1).flat())")
    tab.value("document.getElementById('unit').click()")
    segments = tab.value("Math.max(...report.panel('cwnd').plot.data.slice(1).flat())")
    assert segments == pytest.approx(kilobytes * 1000 / tab.value("report.doc().mss"))
    assert tab.value("document.getElementById('cwnd-unit').textContent") == "segments"


def test_another_blackout_can_be_chosen(tab, tmp_path):
    result = fp.run(fp.scenario("outcast").patch({"duration": "300ms"}))
    opened(tab, write(result, tmp_path))
    recorded = result.trace["blackout_of"].unique().to_list()
    assert len(recorded) > 1
    for name in recorded:
        tab.value(f"report.view.set({{ blackout: {json.dumps(name)} }})")
        rows = result.trace.filter(blackout_of=name)
        assert tab.value("document.querySelectorAll('#trace-rows tr').length") == rows.height
        lost = rows.filter(fate="dropped").height
        assert tab.value("document.querySelectorAll('#trace-rows tr.dropped').length") == lost
        assert tab.value("document.querySelectorAll('#blackout-view .lost').length") == lost


def test_keys_read_values_and_zoom(tab, page):
    opened(tab, page)
    tab.value("document.getElementById('goodput-panel').focus()")
    for key in ("ArrowRight", "ArrowRight", "+"):
        tab.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key if key == "+" else "")
    assert "goodput" in tab.value("document.getElementById('said').textContent")
    assert tab.value("report.view.to - report.view.from") == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(tab, page, dark):
    opened(tab, page, dark=dark)
    assert tab.violations() == []


@pytest.mark.parametrize("width", [390, 820, 1440])
def test_it_fits_every_width(tab, page, width):
    opened(tab, page, width=width)
    assert tab.value("document.documentElement.scrollWidth") <= width


def test_a_class_of_many_flows_is_a_band_whose_flows_can_be_looked_at(tab, tmp_path):
    many = synthetic.run(duration_s=1.2, classes={2: 3, 4: 12, 6: 98})
    opened(tab, write(many, tmp_path))
    shown = """(() => {
        const panel = report.panel("goodput");
        return panel.lines.filter((line) => panel.shows(line)).map((line) => line.name);
    })()"""
    names = tab.value(shown)
    assert [name for name in names if name.startswith("flow")] == [
        f"flow {flow}, h{flow + 1} to h0" for flow in range(3)
    ], "the smallest class needs no band"
    assert [name.split(":")[0] for name in names[:4]] == ["4-hop", "4-hop", "6-hop", "6-hop"]
    assert names[4:6] == ["4-hop: mean", "6-hop: mean"], "no band covers a mean"
    tab.value("report.view.set({ flow: 7 })")
    assert sum(name.startswith("flow 7,") for name in tab.value(shown)) == 1
    tab.value("report.view.set({ flow: null, from: 0.2, to: 1.0 })")
    close = tab.value(shown)
    assert sum(name.startswith("flow") for name in close) == 15, "over a short span"
    assert [name for name in close if name.endswith("mean")] == ["6-hop: mean"], "98 are too many"


def test_text_of_a_scenario_runs_nothing(tab, result, tmp_path):
    evil = "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"
    scenario = result.scenario.model_copy(update={"description": evil})
    flows = result.flows.with_columns(src=pl.lit(evil), congestion_control=pl.lit(evil))
    changed = replace(result, scenario=scenario, tables=result.tables | {"flows": flows})
    opened(tab, write(changed, tmp_path))
    assert tab.value("window.pwned") is None
    assert evil in tab.value("document.querySelector('#flow-table tbody').textContent")
    assert tab.value("document.querySelector('.description').textContent") == evil


def test_a_page_of_several_seeds_shows_each_of_them_and_is_drawn_again(tab, fairport):
    assert (
        fairport("run", "outcast", "--duration", "300ms", "--repeat", "3", "--out", "three").status
        == 0
    )
    first = Path("three/report.html").read_bytes()
    Path("three/report.html").unlink()
    assert fairport("report", "three").status == 0
    assert Path("three/report.html").read_bytes() == first
    opened(tab, Path("three/report.html"))
    assert tab.value("document.getElementById('seed').options.length") == 3
    run = load_run("three/seed-3")
    tab.value("report.chooseSeed(3)")
    tab.wait("report.view.seed === 3 && report.doc().seed === 3")
    goodputs = [pytest.approx(one, rel=1e-5) for one in run.flows["goodput_bps"]]
    assert tab.value("report.doc().flows.goodput_bps") == goodputs
    sentence = run.summary["verdict"]["sentence"]
    assert tab.value("document.getElementById('verdict-said').textContent") == sentence
    tab.wait("location.hash.includes('seed=3')")


def test_without_scripts_and_on_paper_the_figures_are_there(tab, page, tmp_path):
    # a browser without scripts cannot be tested, so the scripts are removed from this page
    still = tmp_path / "still.html"
    still.write_text(re.sub(r"<script>.*?</script>", "", page.read_text(), flags=re.DOTALL))
    tab.open(still)
    shown = """[...document.querySelectorAll("figure")]
        .every((one) => one.getBoundingClientRect().height > 50)"""
    assert tab.value(shown)
    assert tab.value("getComputedStyle(document.querySelector('.bar')).display") == "none"
    opened(tab, page)
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert tab.value(shown)
    assert tab.value("getComputedStyle(document.querySelector('.panel')).display") == "none"


@pytest.mark.alone
def test_it_is_light_and_soon_open(tab, fairport):
    fairport("run", "outcast", "-q", "--out", "made")
    file = Path("made/report.html")
    assert file.stat().st_size < MOST_BYTES
    slow = slowness()
    opened(tab, file)
    # from the navigation to the last panel drawn
    assert tab.value("performance.getEntriesByName('report-ready')[0].startTime") < 3000 * slow


def test_of_datagrams_it_shows_their_goodput_and_delay_and_nothing_of_tcp(tab, tmp_path):
    star = {"name": "datagrams", "duration": "50ms", "topology": {"kind": "star", "hosts": 3}}
    udp = {"kind": "udp", "from": "all", "to": "h0", "rate": "100Mbps"}
    file = write(fp.run(star | {"traffic": [udp]}), tmp_path)
    opened(tab, file)
    assert "mbit/s" in tab.texts("#goodput-live h3")[0].lower()
    assert tab.texts("#rtt-live h3")[0].startswith("One-way delay")
    seen = "document.querySelector('main').innerText"
    for word in ("timeout", "Windows in", "Timeouts", "Control", "RTT", "Kaplan"):
        assert word not in tab.value(seen).split("The words of this page")[0], word
    still = "[...document.querySelectorAll('figure')].map(({ id }) => id)"
    assert tab.value(still) == ["queue"]


def test_where_all_flows_are_of_one_hop_class_each_traffic_has_its_colour(tab, tmp_path):
    bulk = {"kind": "bulk", "from": "h1", "to": "h0", "flows": 2}
    loads = [bulk | {"tcp": {"congestion_control": one}} for one in ("cubic", "bic")]
    star = {"name": "two", "duration": "50ms", "topology": {"kind": "star", "hosts": 2}}
    opened(tab, write(fp.run(star | {"traffic": loads}), tmp_path))
    assert tab.texts("#legend button") == [
        "0: bulk with cubic (2 flows)",
        "1: bulk with bic (2 flows)",
    ]
    colours = "(selector) => [...document.querySelectorAll(selector + ' rect')]"
    colours += ".map((one) => one.getAttribute('fill'))"
    first, second = tab.value(f"({colours})('#legend')")
    assert first != second
    assert tab.value(f"({colours})('#traffic-rows')") == [first, second]
    assert tab.value(f"({colours})('#flow-table tbody')") == [first, first, second, second]
    tab.value("document.querySelector('#legend button').click()")
    tab.wait("location.hash.includes('hidden=')")
    fragment = tab.value("location.hash")
    opened(tab, tmp_path / "report.html", fragment)
    assert tab.value("document.querySelectorAll('#flow-table tbody tr').length") == 2


def test_names_of_ports_do_not_cover_the_packets_of_a_blackout(tab, tmp_path):
    rack = "the-switch-at-the-top-of-rack-{}".format
    names = [f"a-server-with-a-long-name-{number}" for number in range(4)]
    links = [[names[0], rack(1)], *([name, rack(2)] for name in names[2:]), [names[1], rack(1)]]
    graph = {
        "kind": "graph",
        "hosts": names,
        "switches": [rack(1), rack(2)],
        "links": [{"ends": ends} for ends in [*links, [rack(1), rack(2)]]],
    }
    bulk = {"kind": "bulk", "from": names[1:], "to": names[0]}
    scenario = {"name": "long", "duration": "100ms", "topology": graph, "traffic": [bulk]}
    queue = {"queue": {"limit": "16KiB"}, "tcp": {"rto_min": "2ms"}}
    file = write(fp.run(scenario | queue), tmp_path)
    opened(tab, file, width=390)
    # nor do marks disappear above a panel: a window may be larger between two samples
    placed = "report.panel('cwnd').marks.placed"
    assert tab.value(f"{placed}.length") > 10
    assert tab.value(f"{placed}.filter(({{ y }}) => y < 4).length") == 0
    boxes = """(selector) => [...document.querySelectorAll(`#blackout-view ${selector}`)]
        .map((one) => one.getBoundingClientRect())
        .map(({ left, right, top, bottom }) => [left, right, top, bottom])"""
    labels, marks = tab.value(f"({boxes})('text')"), tab.value(f"({boxes})('path, circle')")
    assert len(labels) > 3
    assert len(marks) > 3
    for left, right, top, bottom in labels:
        assert right <= 390
        assert not any(
            one[0] < right and left < one[1] and one[2] < bottom and top < one[3] for one in marks
        )


def test_beside_endless_flows_only_their_own_decisions_are_marked(tab, tmp_path):
    # transfers have no line on which a mark could be
    links = ("a b", "b c", "a c", "a h0", "b h1", "c h2")
    graph = {
        "kind": "graph",
        "hosts": ["h0", "h1", "h2"],
        "switches": ["a", "b", "c"],
        "links": [{"ends": link.split()} for link in links],
    }
    scenario = {
        "name": "triangle",
        "duration": "50ms",
        "topology": graph,
        "queue": {"limit": "16KiB"},
        "traffic": [
            {"kind": "bulk", "from": "h1", "to": "h0"},
            {"kind": "bulk", "from": "h2", "to": "h0", "size": "100kB", "flows": 5},
        ],
    }
    result = fp.run(scenario)
    assert result.decisions["flow"].max() > 0
    file = write(result, tmp_path)
    opened(tab, file)
    assert tab.value(
        "report.panel('cwnd').marks.placed.every(({ at }) => report.doc().decisions.flow[at] === 0)"
    )
    text = file.read_text()
    assert "graph (3 hosts, 3 switches)" in text
    # the link from a to c passes b in an arc
    assert len(re.findall(r"M\d+ \d+Q", text)) == 1
