"""`fairport compare`: one table for all fixes, the same seeds for each."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import fairport as fp
import polars as pl
import pytest
from conftest import ENTRY, Command
from fairport.figures.compare import draw
from fairport.figures.compared import Chart, Line, Panel
from fairport.quantities import QUANTITIES
from fairport.scenario import Scenario, load
from fairport.study.comparison.caveats import without_number
from fairport.study.comparison.compare import compare
from fairport.study.comparison.metrics import OF_THE_RUN
from fairport.study.comparison.parts import ComparedPart
from fairport.study.comparison.result import Comparison
from fairport.study.fixes import FixError, available
from fairport.study.runs.store import Store

SHORT = ["compare", "outcast-1-to-12", "--duration", "50ms", "--repeat", "2"]
PINNED = {
    "fix", "throughput_ratio_median", "throughput_ratio_iqr", "jain_median",
    "goodput_bps_total_median", "timeouts_median", "drop_runs_ge2_median", "rtt_p99_s_median",
    "needs",
}  # fmt: skip
OWN = """
name = "own"
title = "t"
needs = ["switch"]
source = "s"
[patch]
"""


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    scenario = fp.scenario("outcast-1-to-12").patch({"duration": "50ms"})
    store = Store(tmp_path_factory.mktemp("kept"))
    return compare(scenario, ["pacing", "tcprand"], repeat=3, store=store)


def own_fix(folder: Path, patch: str) -> Path:
    path = folder / "own.toml"
    path.write_text(OWN + patch, encoding="utf-8")
    return path


def test_json_has_the_pinned_keys(fairport: Command, tmp_path: Path) -> None:
    outcome = fairport(*SHORT, "--fix", "pacing,tcprand", "--json", "--no-output")
    assert outcome.status == 0
    assert outcome.err == ""
    document = json.loads(outcome.out)
    assert {"scenario", "repeat", "fixes"} <= set(document)
    assert document["scenario"] == "outcast-1-to-12"
    assert document["repeat"] == 2
    assert [one["fix"] for one in document["fixes"]] == ["none", "pacing", "tcprand"]
    for one in document["fixes"]:
        assert set(one) >= PINNED
    assert [one["needs"] for one in document["fixes"]] == [[], ["host"], ["host"]]
    assert list(tmp_path.iterdir()) == []


def test_the_numbers_are_those_of_the_runs(compared: Comparison) -> None:
    scenario = compared.scenario
    ratios = [fp.run(scenario, seed).summary["verdict"]["ratio"] for seed in (1, 2, 3)]
    row = compared.table.row(0, named=True)
    assert row["fix"] == "none"
    assert row["throughput_ratio_median"] == pytest.approx(sorted(ratios)[1])
    # three seeds have no quartiles, so the least and the greatest value replace them
    assert row["throughput_ratio_q1"] == pytest.approx(min(ratios))
    assert row["throughput_ratio_q3"] == pytest.approx(max(ratios))
    paced = fp.run(scenario.patch({"tcp.pacing": "window"}), 2)
    run = compared.runs.filter(fix="pacing", seed=2).row(0, named=True)
    assert run["fingerprint"] == paced.fingerprint
    assert run["timeouts"] == paced.flows["timeouts"].sum()
    assert run["drops"] == paced.drops.height


def test_drop_runs_by_flow_add_up_to_the_drops(compared: Comparison) -> None:
    packets = (
        compared.drop_runs.with_columns(packets=pl.col("length") * pl.col("runs"))
        .group_by("fix", "seed")
        .agg(pl.col("packets").sum())
        .join(compared.runs, on=["fix", "seed"])
    )
    assert packets.height == 9
    assert (packets["packets"] == packets["drops"]).all()


def test_every_measure_has_a_median_between_its_quartiles(compared: Comparison) -> None:
    for row in compared.table.iter_rows(named=True):
        for measure in OF_THE_RUN:
            q1, median, q3 = (row[f"{measure}_{part}"] for part in ("q1", "median", "q3"))
            assert q1 <= median <= q3, measure


def test_ranks_are_given_once_each(compared: Comparison) -> None:
    assert [one.rank for one in compared.ranking] == [1, 2]
    assert {one.fix for one in compared.ranking} == {"pacing", "tcprand"}
    for one in compared.ranking:
        assert one.sentence.startswith("ratio ")
    assert "the 2-hop class's mean goodput" in compared.ranked_by


def test_a_fix_that_does_not_fit_is_a_row_that_says_why(fairport: Command, tmp_path: Path) -> None:
    own = own_fix(tmp_path, '"traffic.0.to" = "h77"')
    outcome = fairport(*SHORT, "--fix", f"pacing,{own}", "--json", "--no-output")
    assert outcome.status == 0
    row = json.loads(outcome.out)["fixes"][2]
    assert row["fix"] == "own"
    assert row["not_applicable"].startswith("traffic.0.to: ")
    assert row["throughput_ratio_median"] is None
    shown = fairport(*SHORT, "--fix", f"pacing,{own}", "--no-output")
    assert "\nown: not applicable: traffic.0.to: " in shown.out


def test_a_fix_that_changes_nothing_is_said_to(short: Scenario, tmp_path: Path) -> None:
    fixes = ["pacing", own_fix(tmp_path, '"queue.limit" = "16384B"')]
    found = compare(short, fixes, repeat=1)
    assert found.table["not_applicable"].to_list() == [None, None, "changes nothing there"]
    assert found.runs["fix"].unique(maintain_order=True).to_list() == ["none", "pacing"]


def test_a_single_fix_needs_no_list_and_a_folder_may_be_text(
    short: Scenario, tmp_path: Path
) -> None:
    mine = available()["pacing"].text.replace('"pacing"', '"mine"')
    (tmp_path / "mine.toml").write_text(mine)
    found = compare(short, "mine", repeat=1, folder=str(tmp_path), store=Store(tmp_path / "store"))
    assert [one.fix for one in found.ranking] == ["mine"]


def test_no_fix_that_fits_is_bad_input(fairport: Command, tmp_path: Path) -> None:
    own = own_fix(tmp_path, '"traffic.0.to" = "h77"')
    outcome = fairport(*SHORT, "--fix", str(own))
    assert outcome.status == 2
    assert 'error: --fix: "own" does not fit outcast-1-to-12: ' in outcome.err
    assert "h77" in outcome.err
    assert not (tmp_path / "results").exists()


def test_tables_without_a_folder_are_refused(fairport: Command) -> None:
    outcome = fairport(*SHORT, "--csv", "--no-output")
    assert outcome.status == 2
    assert "--csv: needs a folder for the tables" in outcome.err


def test_an_unknown_fix_lists_those_there_are(fairport: Command) -> None:
    outcome = fairport(*SHORT, "--fix", "pasing")
    assert outcome.status == 2
    assert outcome.err.startswith('error: "pasing" is not one of ')
    assert "tcprand" in outcome.err
    assert "hint: did you mean `pacing`?" in outcome.err


def test_datagrams_alone_are_compared_by_their_loss(fairport: Command, tmp_path: Path) -> None:
    (tmp_path / "udp.toml").write_text(
        """
        name = "udp"
        duration = "5ms"
        [topology]
        kind = "star"
        hosts = 4
        [[traffic]]
        kind = "udp"
        from = "all"
        to = "h0"
        rate = "500Mbps"
        """,
        encoding="utf-8",
    )
    outcome = fairport("compare", "udp.toml", "--fix", "red", "--repeat", "1", "--json")
    assert outcome.status == 0
    found = json.loads(outcome.out)
    assert found["traffic"] == [{"index": 0, "kind": "udp", "metric": "loss_share"}]
    # three senders at 500 Mbit/s share a line of 1 Gbit/s with any queue
    assert 0.15 < found["fixes"][0]["traffic"][0]["median"] < 1 / 3


def test_an_incast_may_be_ranked_by_the_goodput_of_its_rounds() -> None:
    incast = {"kind": "incast", "from": "all", "to": "h0", "block": "20kB"}
    star = {"name": "blocks", "duration": "4ms", "topology": {"kind": "star", "hosts": 4}}
    scenario = fp.scenario(star | {"traffic": [incast]})
    found = compare(scenario, ["drr"], repeat=1, metric="round_goodput_bps")
    assert found.runs["traffic_0_round_goodput_bps"].min() > 1e8  # type: ignore[operator]
    assert "Ranked by goodput of rounds of traffic 0 (incast)." in found.conclusion


def test_where_nothing_is_delivered_the_comparison_says_so(fairport: Command) -> None:
    short = ["outcast-1-to-12", "--fix", "red", "--repeat", "1", "--duration", "3ms"]
    outcome = fairport("compare", *short)
    assert outcome.status == 0, outcome.err
    assert "no flow delivered data" in outcome.out
    assert "This is one seed; another may rank the fixes differently" in " ".join(
        outcome.out.split()
    )
    assert Path("results", "outcast-1-to-12-compare", "report.html").exists()


def test_the_flows_compared_are_those_of_the_scenario_as_it_is(compared: Comparison) -> None:
    assert compared.groups.lone_flows == [0]
    assert compared.groups.peer_flows == list(range(1, 13))
    assert compared.groups.port == "edge0.0:0"


def test_the_folder_holds_tables_figure_and_report(fairport: Command, tmp_path: Path) -> None:
    outcome = fairport(*SHORT, "--fix", "pacing", "--csv")
    assert outcome.status == 0
    folder = tmp_path / "results" / "outcast-1-to-12-compare"
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert written == {
        "manifest.json", "summary.json", "report.html", "figures/compare.png",
        "figures/compare.svg", "tables/table.parquet", "tables/table.csv", "tables/runs.parquet",
        "tables/runs.csv", "tables/drop_runs.parquet", "tables/drop_runs.csv", ".fairport.json",
    }  # fmt: skip
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert {*summary["files"], ".fairport.json"} == written
    # CSV has no lists
    assert pl.read_csv(folder / "tables" / "table.csv")["needs"].to_list() == ["", "host"]
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in manifest["fixes"]] == ["none", "pacing"]
    assert len(manifest["fixes"][1]["fingerprints"]) == 2
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "tcp.pacing" in page
    assert page.count("<html") == 1


def test_a_folder_is_drawn_again_as_it_was(fairport: Command, tmp_path: Path) -> None:
    # one of the fixes does not apply, and the traffic has two parts
    file = tmp_path / "mine.toml"
    flows = fp.scenario("two-switch").document()["traffic"]
    web = {"kind": "poisson", "from": "h1", "to": "h0", "load": 0.1, "sizes": "web-search"}
    two = fp.scenario("two-switch").patch({"duration": "50ms", "traffic": [*flows, web]})
    file.write_text(two.to_toml(), encoding="utf-8")
    made = fairport("compare", "mine.toml", "--fix", "red,equal-length", "--repeat", "2")
    assert made.status == 0, made.err
    assert "equal-length: not applicable" in made.out
    (folder,) = (tmp_path / "results").iterdir()
    drawn = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    shutil.rmtree(folder / "figures")
    (folder / "report.html").unlink()
    again = fairport("report", str(folder))
    assert (again.status, again.out) == (0, f"{folder / 'report.html'}\n")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == drawn
    assert fairport("plot", str(folder), "--out", "again.svg").status == 0
    svg = (folder / "figures" / "compare.svg").read_bytes()
    assert (tmp_path / "again.svg").read_bytes() == svg
    assert fairport("plot", str(folder), "--width", "3.4in").out == "compare.png\n"
    (folder / "tables" / "runs.parquet").write_bytes(b"")
    assert "is damaged: tables/runs.parquet" in fairport("plot", str(folder)).err


def test_the_table_has_the_order_of_the_ranking(fairport: Command, tmp_path: Path) -> None:
    assert fairport(*SHORT, "--fix", "codel,pacing,red").status == 0
    page = (tmp_path / "results/outcast-1-to-12-compare/report.html").read_text(encoding="utf-8")
    ranked = re.findall(r"<li><b>(\S+)</b>", page)
    assert sorted(ranked) == ["codel", "pacing", "red"]
    assert re.findall(r'<tr><th scope="row">(\S+)</th>', page) == ["none", *ranked]


def test_the_page_of_one_seed_has_no_ranges(fairport: Command, tmp_path: Path) -> None:
    one = [*SHORT[:2], "--repeat", "1", "--duration", "50ms", "--fix", "pacing"]
    assert fairport(*one, "--set", "link.rate=10Gbps").status == 0
    page = (tmp_path / "results/outcast-1-to-12-compare/report.html").read_text(encoding="utf-8")
    assert "Seed 1 only, so the spread is not known" in page
    assert "outcast-1-to-12, seed 1<" in page
    assert "Ten seeds say more." in page
    assert "a run with <code>host.profile = &#34;none&#34;</code> shows" in page
    assert not re.search(r"<small>\S+ to \S+</small>", page)


def test_an_existing_folder_is_kept_unless_forced(fairport: Command, tmp_path: Path) -> None:
    assert fairport(*SHORT, "--fix", "pacing", "--no-figures").status == 0
    again = fairport(*SHORT, "--fix", "pacing", "--no-figures")
    assert again.status == 2
    assert "exists" in again.err
    of_a_run = fairport("rerun", "results/outcast-1-to-12-compare")
    assert "is not a run: it is a comparison" in of_a_run.err
    assert fairport(*SHORT, "--fix", "pacing", "--no-figures", "--force").status == 0
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["outcast-1-to-12-compare"]


def test_what_is_printed_goes_into_a_pipe_without_colour(fairport_process: Command) -> None:
    outcome = fairport_process(*SHORT, "--fix", "pacing", "--no-output")
    assert outcome.status == 0
    assert "\x1b" not in outcome.out
    assert outcome.err == ""
    for measure in OF_THE_RUN:
        assert QUANTITIES[measure].title.split()[0] in outcome.out
    assert "1. pacing: " in outcome.out


def _read(terminal: int) -> str:
    """All that a program writes to its terminal, which holds little that nobody has read."""
    written = b""
    # reading a terminal whose program has ended raises an error (Linux) or returns nothing (macOS)
    with suppress(OSError):
        while part := os.read(terminal, 4096):
            written += part
    os.close(terminal)
    return written.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="terminals as POSIX has them")
@pytest.mark.parametrize(("columns", "last"), [("80", "total"), ("60", "goodput")])
def test_a_narrow_terminal_gets_the_measures_that_fit(
    tmp_path: Path, columns: str, last: str
) -> None:
    ours, theirs = os.openpty()
    environment = os.environ | {"COLUMNS": columns, "TERM": "xterm"}
    command = [*ENTRY, *SHORT, "--fix", "pacing", "--no-output"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=theirs, stderr=subprocess.DEVNULL
    )
    os.close(theirs)
    written = _read(ours)
    assert process.wait(60) == 0
    shown = re.sub(r"\x1b\[[0-9;]*m|\r", "", written)
    table = shown.partition("medians over")[0]
    assert last in table
    assert "queue" not in table
    assert "not shown in a terminal this narrow" in " ".join(shown.split())
    assert max(len(line) for line in shown.splitlines()) <= int(columns)


@pytest.mark.skipif(sys.platform == "win32", reason="terminals as POSIX has them")
def test_progress_is_shown_in_a_terminal(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    command = [*ENTRY, *SHORT, "--fix", "pacing", "--no-output"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = _read(ours)
    assert process.wait(60) == 0
    assert "of 4 runs" in shown
    assert "Traceback" not in shown


def test_a_notebook_shows_a_table(compared: Comparison) -> None:
    shown = compared._repr_html_()
    assert shown.count("<tr>") == 4
    assert compared.conclusion in shown
    # in a copy of the table, the median is a cell of its own, without its quartiles
    plain = re.sub(r"<[^>]+>", "", shown)
    row = compared.table.row(0, named=True)
    total, low, high = (
        QUANTITIES["goodput_bps_total"].shown(row[f"goodput_bps_total_{part}"])
        for part in ("median", "q1", "q3")
    )
    assert f"{total} ({low} to {high})" in plain
    assert repr(compared).startswith("<fairport.Comparison outcast-1-to-12: ")


def test_the_figure_has_a_panel_a_measure(compared: Comparison) -> None:
    panels = fp.plot(compared).axes
    assert [panel.get_title(loc="left").split(" (")[0] for panel in panels] == [
        column.quantity.title for column in compared.columns
    ]
    assert set(OF_THE_RUN) <= {column.key for column in compared.columns}
    assert [text.get_text() for text in panels[0].get_yticklabels()] == [
        "none", *(one.fix for one in compared.ranking)
    ]  # fmt: skip
    rows = [panel.get_position().y0 for panel in panels]
    assert [rows.count(row) for row in dict.fromkeys(rows)] == [3, 3, 3]


def test_the_figure_says_what_is_zero_and_what_has_no_values() -> None:
    starved, fair = Line([0, 0], 0, 0, 0), Line([0.5, 2], 0.8, 1, 1.2)
    panels = [
        Panel("throughput ratio", "", "ratio", {0: starved, 1: fair}),
        Panel("timeouts", "", "zero", {0: starved, 1: starved}),
        Panel("FCT", "", "zero", {}),
    ]
    ratio, timeouts, fct = draw(Chart("found", "of", ["none", "red"], panels, "range")).axes
    # a logarithmic axis has no place for 0
    assert ratio.get_xscale() == "log"
    assert [(text.get_text(), text.xy[1]) for text in ratio.texts] == [("0", 0)]  # type: ignore[attr-defined]
    assert [list(panel.get_xticks()) for panel in (timeouts, fct)] == [[0], []]
    assert [text.get_text() for text in fct.texts] == ["no values"]


def test_bad_fix_file_is_one_error(short: Scenario, tmp_path: Path) -> None:
    path = own_fix(tmp_path, "")
    with pytest.raises(FixError, match="patch"):
        compare(short, [path], repeat=1)


def test_equal_flows_have_no_column_for_a_lone_one(tmp_path: Path) -> None:
    traffic = [{"kind": "bulk", "from": "h4..h5", "to": "h0"}]
    scenario = load("outcast").patch({"duration": "20ms", "traffic": traffic})
    found = compare(scenario, ["drr"], repeat=1, store=Store(tmp_path))
    shown = [column.key for column in found.columns]
    assert "jain_index" in shown
    assert "throughput_ratio" not in shown
    assert found.ranked_by.startswith("Ranked by Jain's index: ")


def test_a_fix_that_some_flows_replace_by_settings_of_their_own_says_so(tmp_path: Path) -> None:
    own = {"congestion_control": "bbr"}
    traffic = [{"from": "h4", "to": "h0", "tcp": own}, {"from": "h5..h6", "to": "h0"}]
    host = {"hosts": "h6", "initial_window": 4, **own}
    scenario = load("outcast").patch(
        {"duration": "20ms", "traffic": traffic, "host_tcp": [host], "tcp.sack": True}
    )
    found = compare(scenario, ["dctcp", "drr"], repeat=1, store=Store(tmp_path))
    said = [text for text in found.caveats if "dctcp" in text or "drr" in text]
    assert said == [
        f"The fix dctcp does not reach all flows: {place} has a congestion_control of its own."
        for place in ("host_tcp.0", "traffic.0.tcp")
    ]


def test_runs_whose_ranking_number_is_a_lower_bound_are_counted(tmp_path: Path) -> None:
    # the line carries two or three of six equal transfers
    sized = {"from": "h1..h6", "to": "h0", "size": "2200kB", "start_jitter": "0s"}
    change = {"duration": "100ms", "traffic": [sized], "topology.peers": 6, "queue.limit": "64KiB"}
    scenario = load("two-switch").patch(change | {"tcp.stack": "linux-6", "tcp.rto_min": "10ms"})
    for duration, said in (("100ms", "none 2 of 2, drr 2 of 2."), ("1s", "")):
        ran = scenario.patch({"duration": duration})
        found = compare(ran, ["drr"], repeat=2, metric="fct_p99_s", store=Store(tmp_path))
        ours = [text for text in found.caveats if "is a lower bound" in text]
        assert [text.partition("by the end: ")[2] for text in ours] == ([said] if said else [])
        assert all(text.startswith("In some runs the FCT p99 is a lower bound") for text in ours)


def test_runs_without_the_number_that_ranks_are_counted() -> None:
    part = ComparedPart((0,), "bulk", "throughput_ratio", ("throughput_ratio",))
    runs = pl.DataFrame(
        {"fix": ["none", "none", "drr", "drr"], "throughput_ratio": [1, 2, 3, None]}
    )
    said = "Some runs have no throughput ratio, and no median counts them: drr 1 of 2."
    assert without_number(runs, [part]) == [said]
    assert without_number(runs.filter(fix="none"), [part]) == []
