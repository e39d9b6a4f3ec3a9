"""Papers as data, and `fairport reproduce`: files that are refused, claims that are checked."""

from __future__ import annotations

import html
import json
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import fairport as fp
import polars as pl
import pytest
from fairport import published
from fairport.cli.reproduce_table import listing, print_list
from fairport.errors import ScenarioError
from fairport.figures.papers import sweep
from fairport.metrics.spread import Spread
from fairport.papers import catalogue
from fairport.papers.catalogue import PaperError
from fairport.papers.metrics import METRICS, Of
from fairport.papers.model import Claim, Drawing, Experiment
from fairport.published import experiment_names
from fairport.record import Record
from fairport.report.reproduce import page, sentence, words
from fairport.study import last_totals
from fairport.study.reproduce import Reproduced, reproduce, totals
from fairport.study.reproduce import _holds as holds_within
from fairport.study.runs.store import Store
from pydantic import ValidationError

CLAIM: dict[str, Any] = {
    "id": "one",
    "says": "it is so",
    "where": "Fig. 1",
    "read": "figure",
    "metric": "jain_index",
    "why": "because",
}


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> list[Reproduced]:
    """Two experiments of Prakash et al., run for a short time."""
    store = Store(tmp_path_factory.mktemp("store"))
    names = ["prakash2012/fifteen-to-one", "prakash2012/one-to-n"]
    return reproduce(catalogue.chosen(names), quick=True, store=store)


def test_every_experiment_can_be_read_and_every_scenario_of_it_run() -> None:
    for entry in catalogue.entries():
        for variant in entry.variants:
            if entry.experiment.model:
                continue
            for is_quick in (False, True):
                scenario = entry.scenario(variant, quick=is_quick)
                assert scenario.name == f"{entry.name.replace('/', '-')}-{variant.name}"


def test_the_outcast_of_the_paper_is_there_even_in_a_quick_run(quick: list[Reproduced]) -> None:
    states = {checked.id: checked.state for one in quick for checked in one.checked_claims}
    assert states["prakash2012/fifteen-to-one/lone-flow"] == "holds"
    assert states["prakash2012/fifteen-to-one/line-is-full"] == "holds"
    assert states["prakash2012/fifteen-to-one/rtt-6-hop"] == "not comparable"  # fitted


def test_the_page_says_what_experiments_ran_on_and_what_of_it_is_ours(
    quick: list[Reproduced],
) -> None:
    text = page(quick, {one.entry.name: [] for one in quick})
    platforms = quick[0].entry.paper.platform
    assert f"On {platforms['testbed'].title}" in text
    assert 'href="#prakash2012-fifteen-to-one"' in text
    assert 'href="#prakash2012-one-to-n"' in text
    assert all(part.parameter in text for part in platforms["testbed"].ours)
    assert "On ns-2" not in text, "none of these ran there"


def test_totals_count_every_claim_once(quick: list[Reproduced]) -> None:
    assert sum(totals(quick).values()) == sum(len(one.entry.claims) for one in quick)


def test_a_ratio_of_variants_is_taken_seed_by_seed(quick: list[Reproduced]) -> None:
    one_to_n = quick[1]
    of = Of("6-hop")
    pairs = [
        METRICS["rtt_mean_s"].value(many, of) / METRICS["rtt_mean_s"].value(few, of)  # type: ignore[operator]
        for many, few in zip(one_to_n.records["n12"], one_to_n.records["n6"], strict=True)
    ]
    order = {"metric": "rtt_mean_s", "hop_class": "6-hop", "over": ["n6", "n6"]}
    claim = Claim.model_validate(CLAIM | order | {"rising": ["n12", "n6"]})
    checked = replace(one_to_n, entry=replace(one_to_n.entry, claims=[claim])).checked_claims[0]
    assert checked.ours == [Spread.of(pairs), Spread(1, 1, 1)]
    steps = Spread.of([1 - pair for pair in pairs])
    assert checked.order is not None
    assert checked.order.steps == [checked.order.whole] == [steps]
    assert f"; from end to end {steps.median:.3g} (" in checked.ours_in_words


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, "does not say when it holds"),
        ({"below": 1.0, "above": 0.5}, "has below and above"),
        ({"within": 0.1}, "needs a published number"),
        ({"metric": "beauty", "below": 1.0}, "is not a metric"),
        ({"metric": "throughput_ratio", "below": 1.0}, "is of a hop class"),
        ({"rising": ["a", "b"], "over": ["a"]}, "are not as many as the order's"),
        ({"below": 1.0, "belwo": 1.0}, "is not a field of a claim"),
    ],
)
def test_a_claim_that_cannot_be_checked_is_refused(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Claim.model_validate(CLAIM | change)


@pytest.mark.parametrize(
    ("claim", "ours", "holds"),
    [
        ({"published": 200.0, "within": 0.1}, 219.9, True),
        ({"published": 200.0, "within": 0.1}, 220.1, False),
        ({"published": 200.0, "within": 0.1}, 179.9, False),
        ({"published": 0.5, "between": [0.4, 0.6]}, 0.6, True),
        ({"published": 0.5, "between": [0.4, 0.6]}, 0.61, False),
        ({"below": 0.9}, 0.9, False),
        ({"above": 0.9}, 0.9, False),
    ],
)
def test_a_tolerance_is_a_share_of_the_published_number(
    claim: dict[str, Any], ours: float, holds: bool
) -> None:
    assert holds_within(Claim.model_validate(CLAIM | claim), ours, None) is holds


def test_a_claim_without_a_field_names_file_field_and_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Path(str(published.papers_folder()))
    place = tmp_path / "prakash2012" / "fifteen-to-one"
    place.mkdir(parents=True)
    for name in ("paper.toml", "fifteen-to-one/experiment.toml"):
        text = (source / "prakash2012" / name).read_text(encoding="utf-8")
        (tmp_path / "prakash2012" / name).write_text(text, encoding="utf-8")
    claim = {key: value for key, value in CLAIM.items() if key != "where"} | {"below": 1.0}
    lines = [f"{key} = {json.dumps(value)}" for key, value in claim.items()]
    (place / "claims.toml").write_text("\n".join(["[[claim]]", *lines]), encoding="utf-8")
    monkeypatch.setattr(published, "papers_folder", lambda: tmp_path)
    catalogue.entry.cache_clear()
    try:
        with pytest.raises(PaperError) as refused:
            catalogue.entry("prakash2012/fifteen-to-one")
    finally:
        catalogue.entry.cache_clear()
    assert (
        str(refused.value) == "prakash2012/fifteen-to-one/claims.toml:1: claim.0.where: is missing"
    )
    assert refused.value.remedy == "add `where = ...`"


@pytest.mark.parametrize(
    ("change", "problem", "remedy"),
    [
        ({"platform": "ns3"}, 'platform: "ns3" is not a platform of the paper', "ns2"),
        ({}, "platform: is missing", "the paper has testbed, ns2"),
    ],
)
def test_an_experiment_is_on_one_of_its_papers_platforms(
    change: dict[str, str], problem: str, remedy: str
) -> None:
    trace = catalogue.entry("prakash2012/port-blackout-trace")
    document = trace.experiment.model_dump() | {"platform": ""} | change
    with pytest.raises(PaperError) as refused:
        catalogue.check_platform(Experiment.model_validate(document), trace.paper, "x.toml")
    assert str(refused.value) == f"x.toml: {problem}"
    assert remedy in refused.value.remedy


def test_experiments_of_a_paper_have_the_settings_of_their_platform() -> None:
    names = ("port-blackout-trace", "one-to-n")
    on_ns2, on_testbed = (catalogue.entry(f"prakash2012/{name}") for name in names)
    ns2 = on_ns2.scenario(on_ns2.variant("fixed"))
    testbed = on_testbed.scenario(on_testbed.variant("n12"))
    assert (str(ns2.link.mtu), ns2.tcp.stack) == ("1040B", "ns2")
    assert (str(testbed.link.mtu), testbed.tcp.stack) == ("1500B", "linux-2.6")


def test_a_paper_lists_every_folder_that_it_has() -> None:
    source = Path(str(published.papers_folder()))
    folders = {f"{file.parts[-3]}/{file.parts[-2]}" for file in source.glob("*/*/experiment.toml")}
    assert set(experiment_names()) == folders
    assert len(experiment_names()) == len(folders)


def test_two_variants_of_one_name_are_refused() -> None:
    entry = catalogue.entry("prakash2012/buffer-sizes")
    twice = entry.experiment.model_copy(update={"variant": [entry.variants[0]]})
    with pytest.raises(PaperError, match='"b8" is the name of another variant too'):
        catalogue.check_variants(replace(entry, experiment=twice), "x.toml")
    none = entry.experiment.model_copy(update={"axes": {}})
    with pytest.raises(PaperError, match="has no variant"):
        catalogue.check_variants(replace(entry, experiment=none), "x.toml")


def test_a_scheme_of_the_paper_and_an_exception_make_a_variant() -> None:
    # DCTCP marks above a fifth of the buffer
    entry = catalogue.entry("lee2017/schemes-and-buffers")
    by_name = {one.name: entry.scenario(one) for one in entry.variants}
    assert len(by_name) == 3 * 9
    thresholds = [by_name[f"q{n}-dctcp"].queue.model_dump()["mark_above"] for n in (20, 60, 100)]
    assert [str(one) for one in thresholds] == ["4 packets", "12 packets", "20 packets"]
    assert entry.variant("q60-ct200").title == "CT200, Qmax 60"


def test_an_unknown_experiment_gets_a_suggestion() -> None:
    with pytest.raises(PaperError, match="is not an experiment") as refused:
        catalogue.chosen(["prakash2012/pacingx"])
    assert any(name in refused.value.remedy for name in experiment_names())


def test_the_list_tells_what_the_last_run_gave_until_a_claim_changes(tmp_path: Path) -> None:
    store = Store(tmp_path)
    entry = catalogue.entry("lee2017/enqueue-probability")
    assert last_totals.last(entry, store) is None
    done = reproduce([entry], quick=True, store=store)
    found = last_totals.last(entry, store)
    assert found is not None
    assert found["quick"] is True
    assert found["totals"] == totals(done)
    assert last_totals.last(replace(entry, claims=entry.claims[1:]), store) is None


def test_figures_of_an_experiment_have_files_of_their_own() -> None:
    for entry in catalogue.entries():
        stems = [drawing.file_stem for drawing in entry.experiment.figure]
        assert len(set(stems)) == len(stems), entry.name


def test_a_drawing_of_a_measure_that_is_not_there_is_refused() -> None:
    for kind, measure in (("sweep", "queue_bytes"), ("over-time", "power")):
        with pytest.raises(ScenarioError, match="is not what such a figure can draw"):
            Drawing(kind=kind, title="x", measure=measure)


def test_a_sweep_draws_the_numbers_that_claims_hold_ours_against() -> None:
    # Table I, drop-tail, RED and RIO-PS at 1.25 Mbit/s: 40 973, 49 897 and 49 945 packets of short
    # flows in 500 s, 460 B of payload each
    entry = catalogue.entry("guo2001/short-and-long-flows")
    numbers = sweep.published(entry, entry.experiment.figure[0])
    packets = {name: round(bps * 500 / 8 / 460) for name, bps in numbers.items()}
    assert packets == {"dt": 40973, "red": 49897, "rio-ps": 49945}


def test_a_full_segment_of_tcprands_testbed_is_1448_bytes() -> None:
    # its rMin of 1448 B is plain TCP: with timestamps that is what 1500 B have room for
    entry = catalogue.entry("lee2017/testbed-one-to-m")
    scenario = entry.scenario(entry.variant("sack-m15-r1448")).patch({"duration": "20ms"})
    dropped = fp.run(scenario).drops["size_bytes"]
    assert dropped.max() == 14 + 20 + 20 + 12 + 1448 + 4


def test_a_limit_is_no_number_to_be_drawn() -> None:
    # "0.9 or more"
    entry = catalogue.entry("lee2017/testbed-three-senders")
    (drawing,) = [one for one in entry.experiment.figure if one.measure == "jain_index_of_senders"]
    assert sweep.published(entry, drawing) == {}


def test_every_published_measure_is_one_that_there_is() -> None:
    for entry in catalogue.entries():
        published = [one.published for one in entry.variants if one.published]
        assert {name for one in published for name in one.measures} <= set(METRICS), entry.name


def record_of(flows: pl.DataFrame, **summary: object) -> Record:
    """A record with these flows and nothing else."""
    nothing = {field.name: pl.DataFrame() for field in fields(Record)}
    known = {"measure": {"from_s": 10.0, "to_s": 100.0}, "simulated_s": 100.0} | summary
    return Record(**nothing | {"summary": known, "flows": flows})


def test_transfers_count_by_size_and_from_the_measurement_on() -> None:
    flows = pl.DataFrame(
        {
            "traffic": [0, 0, 0, 1],
            "size_bytes": [100, 100, 5000, 100],
            "start_s": [5.0, 20.0, 20.0, 20.0],
            "end_s": [14.0, 21.0, 27.0, 23.0],
            "fct_s": [9.0, 1.0, 7.0, 3.0],
            "ideal_fct_s": [1.0, 1.0, 1.0, 1.0],
        }
    )
    mean = METRICS["fct_mean_s"].value
    assert mean(record_of(flows), Of(sizes=[0, 100])) == 2.0
    assert mean(record_of(flows), Of(sizes=[0, 100], traffic=0)) == 1.0
    assert mean(record_of(flows), Of(sizes=[100, 5000])) == 7.0
    assert mean(record_of(flows), Of(sizes=[5000, 9000])) is None
    assert METRICS["fct_max_s"].value(record_of(flows), Of()) == 7.0


def test_a_transfer_under_way_is_not_left_out_of_the_mean() -> None:
    # of two transfers one takes 1 s, the other is under way at the age of 80 s
    columns = {"traffic": [0, 0], "size_bytes": [100, 100], "start_s": [20.0, 20.0]}
    columns |= {"end_s": [21.0, None], "fct_s": [1.0, None], "ideal_fct_s": [1.0, 1.0]}
    flows = pl.DataFrame(columns)
    assert METRICS["fct_mean_s"].value(record_of(flows), Of()) == pytest.approx(40.5)
    assert METRICS["fct_max_s"].value(record_of(flows), Of()) == 80.0


def test_the_index_of_launches_is_of_transfers_that_started_together() -> None:
    # second launch: 1 s and 3 s, so (1 + 3)^2 / (2 * (1 + 9)); the first is of before the
    # measurement; in the third, one starts late, because its last transfer took longer than the
    # period; the fourth is not complete
    flows = pl.DataFrame(
        {
            "src": ["h1", "h2"] * 4,
            "start_s": [0.0, 0.0, 20.0, 20.0, 22.0, 23.0, 24.0, 24.0],
            "fct_s": [1.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0, None],
        }
    )
    index = METRICS["jain_index_of_launches"].value(record_of(flows), Of())
    assert index == pytest.approx(16 / 20)


def test_an_index_over_senders_has_the_same_last_digit_each_time() -> None:
    # 200 senders of three flows each; the index was summed in any order of the senders
    count = 600
    flows = pl.DataFrame(
        {
            "src": [f"h{flow % 200}" for flow in range(count)],
            "goodput_bps": [1e6 / (1 + flow**1.7) for flow in range(count)],
            "start_s": [20.0 + flow // 200 for flow in range(count)],
            "fct_s": [1 / (1 + flow**0.7) for flow in range(count)],
        }
    )
    for name in ("jain_index_of_senders", "jain_index_of_launches"):
        indices = {METRICS[name].value(record_of(flows), Of()) for _ in range(50)}
        assert len(indices) == 1, name


def test_the_bottlenecks_drops_and_marks_are_of_what_came_to_it() -> None:
    # of 100 packets it refused 10; of the 90 that it accepted, it dropped 15 later and marked 15
    bottleneck = {"port": "s0:0", "drops": 25, "queue_mean_bytes": 1500.0}
    record = replace(
        record_of(pl.DataFrame(), bottleneck=bottleneck),
        ports=pl.DataFrame(
            {
                "port": ["s0:0", "s0:1"],
                "packets": [90, 9],
                "arrivals": [100, 9],
                "drops": [25, 0],
                "marks": [15, 0],
            }
        ),
    )
    assert METRICS["bottleneck_signal_share"].value(record, Of()) == 0.4
    assert METRICS["bottleneck_queue_bytes"].value(record, Of()) == 1500.0


def test_segments_count_for_what_is_delivered_resends_included() -> None:
    # 1000 full segments and 1000 of half a length, of which 100 were sent twice: 2100 for 2.172 MB
    flows = pl.DataFrame(
        {
            "traffic": [0, 1],
            "segments_sent": [1000, 1100],
            "delivered_bytes": [1_448_000, 724_000],
        }
    )
    segments = METRICS["segments_per_byte"].value
    assert segments(record_of(flows), Of()) == 2100 / 2_172_000
    assert segments(record_of(flows), Of(traffic=0)) == pytest.approx(1 / 1448)


def test_goodput_of_a_traffic_is_held_against_the_others() -> None:
    flows = pl.DataFrame(
        {
            "workload": ["bulk", "bulk", "bulk", "udp"],
            "traffic": [0, 1, 1, 2],
            "goodput_bps": [10.0, 30.0, 50.0, 1000.0],
        }
    )
    assert METRICS["goodput_ratio_of_traffic"].value(record_of(flows), Of(traffic=0)) == 0.25


def test_drop_runs_count_from_the_start_of_the_measurement_on() -> None:
    # the lone flow's 80 of one packet, 19 of two, 1 of three; its peers' 160, 30 and 10; the two
    # long ones fell into the start
    record = replace(
        record_of(pl.DataFrame({"flow": [0, 1, 2], "hops": [2, 6, 6]})),
        drop_runs=pl.DataFrame(
            {
                "flow": [0, 0, 0, 0, 1, 1, 2, 2],
                "length": [1, 2, 3, 9, 1, 2, 1, 3],
                "runs": [80, 19, 1, 2, 60, 30, 100, 10],
                "measured": [80, 19, 1, 0, 60, 30, 100, 10],
            }
        ),
    )
    lone = Of("2-hop", length=2)
    assert METRICS["drop_run_share"].value(record, lone) == 0.19
    assert METRICS["longer_drop_run_share"].value(record, lone) == 0.01
    assert METRICS["longer_drop_run_share"].value(record, Of("2-hop", length=3)) == 0.0
    # 80, 19 and 1 % against 80, 15 and 5 %
    assert METRICS["drop_runs_apart"].value(record, lone) == pytest.approx(0.04)
    assert METRICS["drop_runs_apart"].value(record, Of("4-hop")) is None


def test_the_length_of_blackouts_is_of_the_bottleneck() -> None:
    # three of two packets and one of six: (3 * 2 + 6) / 4
    record = replace(
        record_of(pl.DataFrame(), bottleneck={"port": "s0:0"}),
        blackouts=pl.DataFrame(
            {"port": ["s0:0", "s0:0", "s0:1"], "length": [2, 6, 9], "runs": [3, 1, 7]}
        ),
    )
    assert METRICS["blackout_length"].value(record, Of()) == 3.0
    nothing = replace(record, summary=record.summary | {"bottleneck": None})
    assert METRICS["blackout_length"].value(nothing, Of()) is None


def test_a_quick_page_explains_with_the_numbers_of_its_own_runs(quick: list[Reproduced]) -> None:
    text = html.unescape(page(quick, {one.entry.name: [] for one in quick}))
    differing = [one for each in quick for one in each.checked_claims if one.state == "differs"]
    assert differing
    for checked in differing:
        assert f"2 seeds of shorter runs gave {checked.ours_in_words}" in text
        assert not checked.claim.differs or checked.claim.differs not in text


def test_the_page_has_whole_sentences_and_no_dictionaries(quick: list[Reproduced]) -> None:
    text = page(quick, {one.entry.name: [] for one in quick})
    body = re.sub(r"<(script|style)>.*?</\1>", "", text, flags=re.DOTALL)
    assert "{" not in body
    for one in quick:
        for claim in one.entry.claims:
            assert html.escape(sentence(claim.says), quote=True).replace("&#x27;", "&#39;") in body
    assert words({"kind": "red", "limits": [1, 2], "ecn": True}) == "kind red, limits 1; 2, ecn yes"
    # a property that several parts share is printed once
    links = [{"ends": [f"h{n}", "s"], "rate": "1Gbps"} for n in range(9)]
    slow = {"ends": ["s", "r"], "rate": "1Mbps"}
    assert words([*links, slow]) == (
        "ends h0; s, rate 1Gbps; ..; ends h8; s, rate 1Gbps (9 of them); ends s; r, rate 1Mbps"
    )
    assert words([f"h{n}" for n in range(5)]) == "h0; ..; h4 (5 of them)"


def test_the_paper_that_it_is_about_comes_first_and_lists_fit_80_columns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    entries = catalogue.entries()
    assert entries[0].name == "prakash2012/fifteen-to-one"
    places = [one.paper.place for one in entries]
    assert places == sorted(places)
    print_list(listing(entries))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(any(line.startswith(one.name + " ") for line in lines) for one in entries)
