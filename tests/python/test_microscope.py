"""The microscope: which moment it chooses, what it shows, and its page in a real browser."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import fairport as fp
import numpy as np
import polars as pl
import pytest
from browser import Page
from conftest import Command
from fairport.backends.protocol import BOTTLENECK, Observation
from fairport.errors import InputError, RunFolderError
from fairport.figures import hop_classes
from fairport.figures import microscope as figure
from fairport.metrics.drop_runs import blackouts, drop_runs
from fairport.microscope import Focus, Slide, focus, look
from fairport.report import microscope as report
from fairport.report.microscope.pack import pack
from fairport.result import Result

PORT = "edge0.0:0"


@pytest.fixture(scope="module")
def plain() -> Result:
    """A run without its packets."""
    return fp.run(fp.scenario("outcast").patch({"duration": "1s"}))


@pytest.fixture(scope="module")
def whole(plain: Result) -> Slide:
    """All packets of its bottleneck."""
    return look(plain, focus(plain), whole_run=True)


def test_worst_is_the_longest_blackout_of_the_starved_flow_after_the_start(plain: Result) -> None:
    found = focus(plain)
    assert (found.port, found.ingress_port) == (PORT, "edge0.0:1")
    assert found.dark_s is not None
    first, last = found.dark_s
    measure = plain.summary["measure"]
    assert first >= measure["from_s"] + 0.1 * (measure["to_s"] - measure["from_s"])
    assert found.from_s < first < last < found.to_s
    runs = blackouts(plain.drops).filter(port=PORT, ingress_port="edge0.0:1")
    short = runs.filter(pl.col("last_s") - pl.col("first_s") < last - first + 1e-12)
    later = short.filter(pl.col("first_s") >= first)
    shown = runs.filter(first_s=first)["length"][0]
    assert shown == later["length"].max()
    assert f"{shown} packets in a row: its 2-hop flow gets " in found.why
    # the table of the report has a longer one, which a timeout interrupts
    assert runs["length"].max() > shown
    assert " after the start and within 200 packets, " in found.why


def test_a_time_and_a_flow_can_be_asked_for(plain: Result) -> None:
    at = focus(plain, "0.5s", span="2ms")
    assert (at.from_s, at.to_s) == pytest.approx((0.499, 0.501))
    by_number, by_host = focus(plain, "3"), focus(plain, "h4")
    assert by_number == by_host
    assert by_number.flow == 3
    runs = drop_runs(plain.drops.filter(port=PORT, flow=3), "flow")
    assert f"{runs['length'].max()} packets in a row" in by_number.why


@pytest.mark.parametrize("around", ["worst", "3", "0.5s", "0.9999s"])
def test_a_view_is_as_wide_as_asked_for_and_within_the_run(plain: Result, around: str) -> None:
    whole = focus(plain, around, span="10s")
    assert (whole.from_s, whole.to_s) == (0, 1)
    # narrower than a blackout, too
    for span, wide in ("20us", 20e-6), ("300ms", 0.3):
        view = focus(plain, around, span=span)
        assert view.to_s - view.from_s == pytest.approx(wide)
        assert 0 <= view.from_s < view.to_s <= 1


@pytest.mark.parametrize(
    ("around", "port", "span", "said"),
    [
        ("h99", None, None, "neither `worst`, nor a time"),
        ("99", None, None, "neither `worst`, nor a time"),
        ("5 parsecs", None, None, "unit"),
        ("5s", None, None, "after the end of the run at 1 s"),
        ("worst", "edge9.0:0", None, "is not a port of this run"),
        ("worst", "edge3.1:1", None, "finds no blackout"),
        ("0.5s", None, "0s", "shows nothing"),
        ("3", "edge3.1:1", None, "lost no packet"),
    ],
)
def test_bad_input_is_one_clear_error(
    plain: Result, around: str, port: str | None, span: str | None, said: str
) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        focus(plain, around, port, span)


def _with_drops(result: Result, drops: pl.DataFrame) -> Result:
    return replace(result, tables={**result.tables, "drops": drops})


def test_a_sender_s_longest_drop_run_is_that_of_any_of_its_flows(plain: Result) -> None:
    two = fp.run(plain.scenario.patch({"duration": "200ms", "traffic.0.flows": 2}))
    flows = two.flows.filter(src="h4")["flow"].to_list()
    assert len(flows) == 2
    lengths = {}
    for flow in flows:
        runs = drop_runs(two.drops.filter(port=PORT, flow=flow), "flow")
        lengths[flow] = runs["length"].max()
    found = focus(two, "h4")
    assert lengths[found.flow] == max(lengths.values())
    # a flow without drops has none, whatever its sender's other flows lost
    shown = two.drops.filter(flow=flows[1])
    with pytest.raises(InputError, match='"h9" lost no packet'):
        focus(_with_drops(two, shown), "h9", PORT)
    found = focus(_with_drops(two, shown), "h4", PORT)
    assert found.flow == flows[1]


def test_without_a_blackout_the_first_drop_is_named(plain: Result) -> None:
    single = plain.drops.filter(port=PORT).head(1)
    lone = _with_drops(plain, single)
    with pytest.raises(InputError, match="finds no blackout") as raised:
        focus(lone, port=PORT)
    first_s = single["time_s"][0]
    assert f"--around {first_s:.9g}s" in raised.value.remedy
    assert focus(lone, f"{first_s:.9g}s", PORT).from_s < first_s


def test_a_run_again_has_the_packets_that_a_run_with_packets_has(plain: Result) -> None:
    observation = Observation(packets=(BOTTLENECK,))
    kept = fp.run(plain.scenario, observation=observation)
    assert kept.fingerprint == plain.fingerprint
    there, again = look(kept, focus(kept)), look(plain, focus(plain))
    assert there.packets.equals(again.packets)
    drops = plain.drops.filter(
        pl.col("time_s").is_between(again.focus.from_s, again.focus.to_s), port=PORT
    )
    dropped = again.packets.filter(fate="dropped")
    assert dropped["seq"].to_list() == drops["seq"].to_list()


def test_a_run_that_cannot_be_made_again_says_how_to_make_it(plain: Result) -> None:
    linux = replace(plain, manifest=plain.manifest | {"backend": "linux"})
    with pytest.raises(RunFolderError, match="has no packets") as refused:
        look(linux, focus(plain))
    assert "--packets edge0.0:0" in refused.value.remedy
    other = replace(plain, manifest=plain.manifest | {"fingerprint": "0" * 16})
    with pytest.raises(RunFolderError, match="gives other packets"):
        look(other, focus(plain))


def test_the_picture_shows_each_packet_with_its_fate(plain: Result) -> None:
    slide = look(plain, focus(plain))
    arrivals = figure.draw(slide).axes[0]
    shown = {line.get_marker(): 0 for line in arrivals.lines}
    for line in arrivals.lines:
        shown[line.get_marker()] += len(line.get_xdata())
    fates = slide.packets["fate"].value_counts()
    counts = dict(fates.iter_rows())
    assert (shown["|"], shown["x"]) == (counts["forwarded"], counts["dropped"])
    # as in the run's other figures, a port has the colour of its only class
    looks = hop_classes.ingress_looks(plain, ["edge0.0:1", "edge0.0:2"])
    accepted = [line.get_color() for line in arrivals.lines if line.get_marker() == "|"]
    assert accepted == [looks["edge0.0:1"].colour, looks["edge0.0:2"].colour]


def test_the_legend_leaves_out_hop_counts_that_captures_do_not_have(whole: Slide) -> None:
    def legend(slide: Slide) -> str:
        entries = figure.draw(slide).axes[2].get_legend()
        assert entries is not None
        return "\n".join(text.get_text() for text in entries.get_texts())

    assert "flow 0: h1 to h0, 2 hops" in legend(whole)
    flows = whole.result.flows.with_columns(hops=pl.lit(None, pl.UInt32))
    result = replace(whole.result, tables={**whole.result.tables, "flows": flows})
    unknown = replace(whole, result=result)
    assert "flow 0: h1 to h0\n" in legend(unknown)
    assert "hop" not in legend(unknown)


def test_a_flow_has_its_initial_window_before_the_first_sample() -> None:
    to_h0 = {"to": "h0", "start_jitter": "0s"}
    own = {"initial_window": 3, "mss": "1000B"}
    poisson = {"kind": "poisson", "from": "h3", "to": "h0", "sizes": "9kB", "load": 0.9}
    scenario = fp.scenario("two-switch").patch(
        {
            "duration": "20ms",
            "probes.series_interval": "10ms",
            "tcp.initial_window": 4,
            "traffic": [{"from": "h1", "tcp": own, **to_h0}, {"from": "h2", **to_h0}, poisson],
        }
    )
    kept = fp.run(scenario, observation=fp.Observation(packets=["s0:0"]))
    slide = look(kept, focus(kept, "1ms", port="s0:0", span="2ms"))
    first = slide.windows.sort("time_s").group_by("flow", maintain_order=True).first()
    assert first["bytes"].to_list() == [3000] + [4 * 1460] * (first.height - 1)
    started = kept.flows.filter(pl.col("flow").is_in(first["flow"].implode()))
    assert first["time_s"].to_list() == started["start_s"].to_list()
    assert first.height > 2
    assert first["time_s"].max() < 10e-3


def test_the_page_begins_with_the_windows_of_the_finer_steps(plain: Result) -> None:
    here = focus(plain)
    whole, near = look(plain, here, whole_run=True), look(plain, here)
    at_ns = here.from_s * 1e9
    shown = {
        one["flow"]: [
            size for time, size in zip(one["time"], one["bytes"], strict=True) if time <= at_ns
        ][-1]
        for one in report._windows(whole, near)
    }
    earlier = near.windows.filter(pl.col("time_s") <= here.from_s).sort("time_s")
    fine = dict(earlier.group_by("flow").last().select("flow", "bytes").iter_rows())
    assert fine
    assert {flow: shown[flow] for flow in fine} == fine


def test_blocks_and_levels_hold_every_packet(whole: Slide) -> None:
    packed = pack(whole.packets, whole.flows, 1.0)
    document = packed.document
    assert sum(block["count"] for block in document["blocks"]) == whole.packets.height
    for level in document["levels"]:
        bins, groups = level["bins"], len(document["groups"])
        words = np.frombuffer(gzip.decompress(packed.blocks[level["block"]]), "<u4")
        counts = words[: 3 * groups * bins].reshape(groups, 3, bins)
        dropped = whole.packets.filter(fate="dropped").height
        assert counts.sum() == whole.packets.height
        assert counts[:, 2].sum() == dropped
        assert words[-bins:].max() == whole.packets["queue_bytes"].max()
    bins = [level["bins"] for level in document["levels"]]
    # about 82,000 packets, 64 per bin, rounded up to a power of 2; then four times as wide
    assert bins == [2048, 512]


def test_more_than_256_ingress_ports_keep_their_packets(tab: Page, tmp_path: Path) -> None:
    ports, each = 300, 3
    names = [f"s0:{number}" for number in range(1, ports + 1)]
    rows = ports * each
    packets = pl.DataFrame(
        {
            "time_s": [row * 1e-6 for row in range(rows)],
            "ingress_port": [names[row % ports] for row in range(rows)],
            "flow": pl.Series([row % ports for row in range(rows)], dtype=pl.UInt32),
            "seq": pl.Series(range(rows), dtype=pl.UInt32),
            "size_bytes": pl.Series([1518] * rows, dtype=pl.UInt32),
            "fate": ["dropped" if row % 7 == 0 else "forwarded" for row in range(rows)],
            "reason": ["full" if row % 7 == 0 else None for row in range(rows)],
            "depart_s": [None if row % 7 == 0 else row * 1e-6 + 5e-6 for row in range(rows)],
            "queue_bytes": pl.Series(list(range(rows)), dtype=pl.UInt64),
        }
    )
    plain = fp.run(fp.scenario("outcast").patch({"duration": "20ms"}))
    flows = pl.DataFrame(
        {
            "flow": pl.Series(range(ports), dtype=pl.UInt32),
            "src": [f"h{number}" for number in range(1, ports + 1)],
            "dst": ["h0"] * ports,
            "hops": pl.Series([2] * ports, dtype=pl.UInt32),
        }
    )
    result = replace(plain, tables=plain.tables | {"flows": flows})
    last = names[-1]
    here = Focus("s0:0", 0.0, 1e-3, "a test", ingress_port=last)
    windows = plain.series.select("time_s", "flow", bytes="cwnd_bytes").clear()
    slide = Slide(result, here, packets, windows)
    path = tmp_path / "page.html"
    path.write_text(report.page(slide, slide), encoding="utf-8")
    opened(tab, path)
    tab.wait("microscope.drawn() === 'packets'")
    shown = tab.value("[...microscope.state.lanes]")
    lane = sorted(names).index(last)
    assert len(shown) == 13
    assert lane in shown
    place = tab.value("microscope.place()")
    x = place["left"] + 299e3 * place["scale"]
    y = (place["lanes"].index(lane) + 0.5) * place["lane"]
    found = tab.value(f"microscope.packet({x}, {y})")
    assert (found["seq"], found["ingress_port"], found["src"]) == (299, last, "h300")


def test_the_command_writes_picture_and_page(fairport: Command, tmp_path: Path) -> None:
    run = ["run", "outcast", "--duration", "300ms", "--no-figures", "--quiet", "--out", "run"]
    assert fairport(*run).status == 0
    done = fairport("microscope", "run", "--json")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert found["ingress_port"] == "edge0.0:1"
    for file in found["files"]:
        assert (tmp_path / file).stat().st_size > 10_000
    assert fairport("microscope", "run").status == 2  # it exists already
    again = ("--force", "--around", "0.1s", "--width", "3.4in", "--quiet")
    assert fairport("microscope", "run", *again).status == 0
    picture = Path("run-microscope", "blackout.svg").read_text(encoding="utf-8")
    assert 'width="244.8pt"' in picture
    assert fairport("microscope", str(tmp_path)).status == 2


@pytest.fixture(scope="module")
def written(plain: Result, whole: Slide, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("microscope") / "page.html"
    path.write_text(report.page(whole, look(plain, focus(plain))), encoding="utf-8")
    return path


def opened(tab: Page, path: Path, fragment: str = "", **how: Any) -> None:
    tab.open(path, fragment, **how)
    tab.wait("window.microscope !== undefined && microscope.drawn() !== 'wait'")


def test_the_page_opens_at_the_blackout_without_complaint(
    tab: Page, written: Path, plain: Result
) -> None:
    opened(tab, written)
    here = focus(plain)
    assert tab.value("microscope.drawn()") == "packets"
    shown = tab.value("[microscope.state.from, microscope.state.to]")
    assert shown == pytest.approx([here.from_s * 1e9, here.to_s * 1e9])


def test_every_packet_in_view_is_the_tables(
    tab: Page, written: Path, whole: Slide, plain: Result
) -> None:
    here = focus(plain)
    opened(tab, written)
    lanes = {lane: i for i, lane in enumerate(whole.packets["ingress_port"].unique().sort())}
    rows = whole.packets.with_row_index("row").filter(
        pl.col("time_s").is_between(here.from_s, here.to_s)
    )
    assert rows.height > 50
    expression = """((rows) => { const p = microscope.place(); const { from } = microscope.state;
        return rows.map(([time, lane]) =>
            microscope.packet(p.left + (time - from) * p.scale, (lane + 0.5) * p.lane)); })"""
    points = [
        [time * 1e9, lanes[lane]]
        for time, lane in rows.select("time_s", "ingress_port").iter_rows()
    ]
    found = tab.value(f"{expression}({json.dumps(points)})")
    for row, shown in zip(rows.iter_rows(named=True), found, strict=True):
        assert shown["row"] == row["row"]
        for name in ("flow", "seq", "size_bytes", "queue_bytes", "fate", "reason", "ingress_port"):
            assert shown[name] == row[name], name
        assert shown["time_ns"] == pytest.approx(row["time_s"] * 1e9, abs=0.6)
        if row["depart_s"] is None:
            assert shown["wait_ns"] is None
        else:
            wait = (row["depart_s"] - row["time_s"]) * 1e9
            assert shown["wait_ns"] == pytest.approx(wait, abs=0.6)


def test_the_wheel_zooms_and_the_pointer_reads(tab: Page, written: Path, plain: Result) -> None:
    opened(tab, written, "#from=0&to=1000000000")
    assert tab.value("microscope.drawn()") == "bins"
    box = tab.value(
        "(({x, y}) => ({x, y, ...microscope.place()}))"
        "(document.getElementById('view').getBoundingClientRect())"
    )
    here = focus(plain)
    assert here.dark_s is not None
    at = box["x"] + box["left"] + here.dark_s[0] * 1e9 * box["scale"]
    for _ in range(12):
        tab.mouse("mouseWheel", at, box["y"] + 20, deltaX=0, deltaY=-400)
        tab.value("new Promise((done) => requestAnimationFrame(done))")
    tab.wait("microscope.drawn() === 'packets'")
    low, high = tab.value("[microscope.state.from, microscope.state.to]")
    # a pixel of the first view was a millisecond
    assert low - 1e6 <= here.dark_s[0] * 1e9 <= high + 1e6
    assert high - low < 2e6
    tab.wait("location.hash.startsWith('#from=') && !location.hash.startsWith('#from=0&')")
    # the first packet of the blackout
    tab.value(f"microscope.show({here.dark_s[0] * 1e9 - 1e5}, {here.dark_s[0] * 1e9 + 1e5})")
    tab.wait("microscope.drawn() === 'packets'")
    tab.value("new Promise((done) => setTimeout(done, 100))")
    place = tab.value("microscope.place()")
    tab.mouse("mouseMoved", box["x"] + place["left"] + 1e5 * place["scale"], box["y"] + 28)
    tab.wait("!document.getElementById('tip').hidden")
    said = tab.value("document.getElementById('tip').textContent")
    (drop,) = plain.drops.filter(port=PORT, time_s=here.dark_s[0]).iter_rows(named=True)
    assert f"sequence number {drop['seq']}, {drop['size_bytes']} bytes" in said
    assert f"dropped: {drop['reason']}" in said


def test_a_link_holds_view_ports_and_flows(tab: Page, written: Path) -> None:
    opened(tab, written, "#from=500000000&to=501000000&ports=1&flows=3.4")
    state = "({from, to, lanes, flows}) => ({from, to, lanes: [...lanes], flows: [...flows]})"
    assert tab.value(f"({state})(microscope.state)") == {
        "from": 500_000_000,
        "to": 501_000_000,
        "lanes": [1],
        "flows": [3, 4],
    }
    assert tab.value("document.querySelectorAll('#flows input:checked').length") == 2
    opened(tab, written, "#from=nonsense&to=&ports=99&flows=-1.x")
    assert tab.value("microscope.state.lanes.size") == 0
    tab.value("document.querySelector('#ports input').click()")
    assert tab.value("microscope.state.lanes.size") == 1


def test_names_cannot_become_markup(tab: Page, plain: Result, whole: Slide, tmp_path: Path) -> None:
    evil = "</script><img src=x onerror=window.hit=1>"
    flows = plain.flows.with_columns(src=pl.lit(evil))
    result = replace(plain, tables=plain.tables | {"flows": flows})
    slide = replace(whole, result=result, focus=replace(whole.focus, why=evil, port=evil))
    path = tmp_path / "page.html"
    path.write_text(report.page(slide, slide), encoding="utf-8")
    opened(tab, path)
    assert tab.value("window.hit") is None
    assert tab.value("document.images.length") == 0
    assert evil in tab.value("document.getElementById('why').textContent")
    assert evil in tab.value("document.title")
    assert "default-src &#39;none&#39;" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [380, 1600])
def test_nothing_is_wider_than_the_window(tab: Page, written: Path, width: int) -> None:
    opened(tab, written, width=width)
    assert tab.value("document.documentElement.scrollWidth") <= width


def test_captures_are_looked_at_as_runs_are(fairport: Command, tab: Page, tmp_path: Path) -> None:
    run = ["run", "two-switch", "--duration", "150ms", "--no-figures", "--quiet", "--out", "run"]
    assert fairport(*run, "--pcap", "s0:0,s0:1,s0:2").status == 0
    files = sorted(str(file) for file in (tmp_path / "run" / "captures").iterdir())
    for name, more in (("bare", []), ("found", ["--packets"])):
        done = fairport("analyze", *files, *more, "--out", name, "--no-figures", "--quiet")
        assert done.status == 0, done.err
    refused = fairport("microscope", "bare")
    assert refused.status == 2
    assert "analyze the captures of both sides of the switch again, with --packets" in refused.err
    done = fairport("microscope", "found", "--json")
    assert done.status == 0, done.err
    shown = json.loads(done.out)
    table = pl.read_parquet(tmp_path / "found" / "tables" / "packets.parquet")
    assert shown["packets_whole_run"] == table.height
    dropped = table.filter(fate="dropped")
    assert dropped.height == pl.read_parquet("found/tables/drops.parquet").height > 0
    row = dropped.row(0, named=True)
    opened(tab, tmp_path / "found-microscope" / "microscope.html")
    time_ns = row["time_s"] * 1e9
    tab.value(f"microscope.show({time_ns - 1e4}, {time_ns + 1e4})")
    tab.wait("microscope.drawn() === 'packets'")
    place = tab.value("microscope.place()")
    lane = sorted(table["ingress_port"].unique()).index(row["ingress_port"])
    x = place["left"] + 1e4 * place["scale"]
    y = (place["lanes"].index(lane) + 0.5) * place["lane"]
    found = tab.value(f"microscope.packet({x}, {y})")
    names = ("flow", "seq", "size_bytes", "queue_bytes", "fate", "reason", "ingress_port")
    assert [found[name] for name in names] == [row[name] for name in names]
