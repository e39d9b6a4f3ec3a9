"""The title of a figure is what it shows: one sentence, in the verdict's words, of every run."""

import itertools
from dataclasses import replace

import fairport as fp
import numpy as np
import polars as pl
import pytest
import synthetic
from fairport import figures
from fairport.figures import findings
from fairport.figures.drawing import heading, style
from fairport.figures.drawing.saving import Saver
from fairport.metrics.drop_runs import drop_runs
from fairport.metrics.verdict import headline, ratio_in_words
from fairport.quantities import time_at_size

RUNS = {
    "fifteen to one": {"duration_s": 2.0},
    "113 flows": {"classes": {2: 3, 4: 12, 6: 98}, "duration_s": 1.0},
    "two of a kind": {"classes": {6: 2}, "duration_s": 0.5},
    "one of each": {"classes": {2: 1, 6: 1}, "duration_s": 0.5},
    "one flow": {"classes": {6: 1}, "duration_s": 0.5},
    "no drops": {"lossless": True, "duration_s": 0.5},
}
SIZED = [{"from": "h1..h3", "to": "h0", "size": "100kB"}]
TREE = {"topology": {"kind": "fat-tree", "k": 4}, "queue": {"limit": "16KiB"}}


@pytest.fixture(scope="module")
def result():
    return synthetic.run(duration_s=2.0)


def titles(result):
    return {kind: figures.draw(result, kind).title for kind in figures.kinds(result)}


@pytest.mark.parametrize("run", RUNS)
def test_the_title_of_goodput_begins_the_verdict_or_is_part_of_it(run):
    result = synthetic.run(**RUNS[run])
    title = figures.draw(result, "goodput").title
    said = result.summary["verdict"]["sentence"].lower()
    words = title.lower().replace("flows gets", "gets")  # "the slowest of the 2"
    assert words in said or "is alone" in words


@pytest.mark.parametrize("run", RUNS)
def test_every_title_is_a_sentence_without_a_full_stop(run):
    for kind, title in titles(synthetic.run(**RUNS[run])).items():
        assert title[0].isupper() or title[0].isdigit(), kind
        assert not title.endswith("."), kind
        assert any(letter.isdigit() for letter in title) or title.startswith(("No ", "The bott"))


def test_the_numbers_are_those_of_the_tables(result):
    found = titles(result)
    classes = result.summary["classes"]
    assert f"{classes['2-hop']['throughput_ratio']:.2f} of its 6-hop" in found["bars"]
    assert f"{1e3 * classes['2-hop']['rtt_mean_s']:.3g} ms" in found["rtt"]
    drops = result.drops.filter(port=result.summary["bottleneck"]["port"])
    mine = drop_runs(drops, "flow").filter(flow=0)["length"]
    share = 100 * mine.filter(mine >= 3).sum() / mine.sum()
    assert found["drop_runs"].startswith(f"{share:.0f} % of the 2-hop flow's drops")


def test_a_blackouts_packets_are_counted(result):
    packets = result.trace.filter(blackout_of="edge0.0:1").sort("time_s")
    title = figures.draw(result, "queue", blackout_of="edge0.0:1").title
    (dropped,) = (int(word) for word in title.split() if word.isdigit())
    fates = packets.filter(ingress_port="edge0.0:1")["fate"].to_list()
    runs = [len(list(run)) for fate, run in itertools.groupby(fates) if fate == "dropped"]
    assert dropped == max(runs)
    assert findings.blackout("s0:1", 8, 35) == (
        "8 packets in a row from s0:1 are dropped, and 35 from other ports accepted"
    )


def test_a_run_measured_in_part_says_which_part_and_what_the_bars_show(result):
    summary = result.summary | {"measure": {"from_s": 1.0, "to_s": 2.0}}
    picture = figures.draw(replace(result, summary=summary), "bars")
    assert picture.title.endswith(" it in the whole run")
    assert picture.texts[1].get_text().endswith("outcast, seed 1; measured from 1 to 2 s")


def test_transfers_are_not_compared_and_what_is_under_way_is_a_bound():
    result = fp.run({"name": "sized", "duration": "50ms", **TREE, "traffic": SIZED})
    found = titles(result)
    assert found["goodput"].startswith("All TCP flows together get ")
    assert not any("peers" in title for title in found.values())
    done = result.summary["fct"]["all"]["completed"]
    assert 0 < done < 3
    assert "and at least" in found["fct"]
    whole = fp.run({"name": "sized", "duration": "5s", **TREE, "traffic": SIZED})
    assert whole.summary["fct"]["all"]["completed"] == 3
    assert "at least" not in figures.draw(whole, "fct").title


@pytest.mark.parametrize("duration", ["20us", "1ms"])
def test_a_run_too_short_for_a_sample_says_so(duration):
    result = fp.run(fp.scenario("outcast").patch({"duration": duration}), seed=1)
    found = titles(result)
    assert found["cwnd"] == found["rtt"] == findings.NO_SAMPLES
    assert "established before the end of the run" in found["bars"]
    assert "drop_runs" not in found
    assert figures.draw(result, "drop_runs").title == "No packet was dropped"
    bars = figures.draw(result, "bars")
    said = [text.get_text() for panel in bars.axes for text in panel.texts]
    assert said == ["no samples"] * 3, "and no bars of zero"


def test_a_request_under_way_is_a_bound_too():
    asks = {"kind": "request-response", "servers": "h1", "clients": "h0", "response": "10MB"}
    ten = asks | {"connections": 10}
    result = fp.run({"name": "asked", "duration": "1s", **TREE, "traffic": [ten]})
    found = result.summary["requests"]
    assert 0 < found["answered"] < 0.99 * found["requests"]
    title = figures.draw(result, "requests").title
    assert title.endswith("at the 99th percentile")
    assert " and at least " in title
    assert result.summary["verdict"]["sentence"] == f"{title}."


def test_a_span_without_samples_has_no_bars():
    result = fp.run(fp.scenario("outcast").patch({"duration": "20ms"}), seed=1)
    first, _, whole = figures.draw(result, "bars").axes
    assert (len(first.patches), len(whole.patches)) == (0, 15)


def test_windows_of_one_class_are_not_those_of_a_mean_that_no_flow_has():
    mixed = fp.scenario("dctcp-against-cubic").patch({"duration": "100ms"})
    result = fp.run(mixed, seed=1)
    means = result.series.group_by("flow", maintain_order=True).agg(
        kb=pl.col("cwnd_bytes").mean() / 1e3
    )["kb"]
    wanted = f"The flows' mean congestion windows are {means.min():.3g} kB to {means.max():.3g} kB"
    assert figures.draw(result, "cwnd").title == wanted


def test_nothing_to_compare_is_said_in_the_verdicts_words():
    assert headline({}, {}) == "There are no TCP flows to compare"
    classes = {"2-hop": {"flows": 1, "goodput_bps_max": 0.0}}
    assert headline(classes, {"2-hop": 0}) == "No flow was established before the end of the run"
    assert headline(classes, {"2-hop": 1}) == "No flow delivered anything within the measurement"


def test_a_flow_without_others_is_alone_in_the_headline():
    alone = {"2-hop": {"flows": 1, "goodput_bps_max": 94e6, "goodput_bps_mean": 94e6}}
    assert headline(alone, {"2-hop": 1}) == "The 2-hop flow is alone: it gets 94.0 Mbit/s"


def test_a_long_title_is_broken_between_words_but_not_before_a_unit():
    text = "The 2-hop flow's mean congestion window is 2.65 kB, that of its 6-hop peers is 7.58 kB"
    for wide in (3.0, 3.5, 4.0, 4.5, 5.0):
        found = heading.heading(text, "Windows", "outcast", wide)
        assert " ".join(found.lines).replace("\u00a0", " ") == text
        assert not any(line.startswith("kB") for line in found.lines)
        widths = [style.width_in(line, found.points, "bold") for line in found.lines]
        assert max(widths) <= wide - 0.25
    assert len(heading.heading(text * 4, "", "", 5.0).lines) == 3


def test_a_long_name_leaves_its_subject_and_both_its_ends():
    name = "a-name-by-which-its-user-knows-a-scenario-among-all-of-his-other-ones" * 2
    found = heading.heading("t", "Drop runs", f"{name}, seed 1", style.WIDTH_IN)
    (below,) = found.below
    assert below.startswith("Drop runs: a-name-by")
    assert "…" in below
    assert below.endswith("other-ones, seed 1")
    assert style.width_in(below, 8) < style.WIDTH_IN - 0.2


def test_a_long_subject_goes_on_in_a_second_line_and_loses_no_word():
    of = "outcast-map-quick, 2,688 runs, 8 seeds per point; panels by stack"
    what = "Throughput ratio by peers of the lone flow and buffer (packets)"
    found = heading.heading("t", what, of, style.WIDTH_IN)
    assert len(found.below) == 2
    assert " ".join(found.below) == f"{what}: {of}"
    assert found.tall_in > heading.heading("t", what, "", style.WIDTH_IN).tall_in


@pytest.mark.parametrize(
    ("most_s", "shown"), [(1000.0, "1,000 s"), (0.02, "20 ms"), (2e-5, "20 µs"), (0.0, "0 s")]
)
def test_times_are_in_a_unit_of_their_size(most_s, shown):
    assert time_at_size(most_s).with_unit(most_s) == shown


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("watched", [0, 1, 3])
def test_flows_without_samples_are_not_flows_that_deliver_nothing(watched, tmp_path):
    scenario = fp.scenario("two-switch").patch(
        {"duration": "300ms", "probes": {"flows": watched, "series_interval": "1ms"}}
    )
    result = fp.run(scenario)
    figures.draw_all(result, tmp_path, Saver(None))
    title = figures.draw(result, "bars").title
    verdict = result.summary["verdict"]["sentence"].split(" (")[0]
    if watched < 3:
        assert title == verdict, "of the peers there is no sample"
        return
    sampled = result.series.filter(pl.col("time_s") < 0.0605).group_by("flow").last()
    lone, *peers = sampled.sort("flow")["delivered_bytes"].to_list()
    before = lone / np.mean(peers)
    assert title.startswith(f"{verdict}, {ratio_in_words(before)} it in the first 60 ms")
