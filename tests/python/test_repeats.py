"""The summary over several runs of a scenario: medians, totals, and the sentence."""

from __future__ import annotations

from typing import Any

import pytest
from fairport.metrics.repeats import summarise


def one(seed: int, ratio: float | None, goodput: float, outcast: bool | None) -> dict[str, Any]:
    return {
        "scenario": "x",
        "seeds": [seed],
        "fingerprint": f"{seed:016x}",
        "valid": True,
        "simulated_s": 10.0,
        "wall_s": 2.0,
        "packet_hops": 10,
        "packet_hops_per_s": 5.0,
        "classes": {"2-hop": {"goodput_bps_mean": goodput, "rtt_mean_s": None}},
        "verdict": {"outcast": outcast, "ratio": ratio, "sentence": f"seed {seed}"},
        "files": ["summary.json"],
    }


RUNS = [one(1, 0.1, 10.0, True), one(2, 0.9, 50.0, False), one(3, 0.2, 20.0, True)]


def test_numbers_are_medians_and_costs_are_totals() -> None:
    whole = summarise(RUNS)
    assert whole["classes"]["2-hop"]["goodput_bps_mean"] == 20
    assert whole["verdict"]["ratio"] == 0.2
    assert (whole["wall_s"], whole["packet_hops"], whole["packet_hops_per_s"]) == (6, 30, 5)


def test_every_run_keeps_its_own_summary_and_fingerprint() -> None:
    whole = summarise(RUNS)
    assert whole["seeds"] == [1, 2, 3]
    assert whole["fingerprint"] is None
    assert whole["runs"] == RUNS


def test_most_runs_decide_whether_there_is_an_outcast() -> None:
    assert summarise(RUNS)["verdict"]["outcast"] is True
    assert summarise(RUNS[:2])["verdict"]["outcast"] is False


def test_runs_without_an_answer_do_not_decide_but_are_counted() -> None:
    two_of_three = [*RUNS, one(4, None, 0.0, None)]
    verdict = summarise(two_of_three)["verdict"]
    assert verdict["outcast"] is True
    assert verdict["sentence"].startswith("2 of 4 runs show an outcast. The median throughput rat")


def test_a_list_is_kept_if_all_runs_have_it() -> None:
    for second, kept in ((["queue.hash"], ["queue.hash"]), (["host.jitter"], None)):
        ignored = [{"ignored_settings": one} for one in (["queue.hash"], second)]
        runs = [run | one for run, one in zip(RUNS[:2], ignored, strict=True)]
        assert summarise(runs)["ignored_settings"] == kept


@pytest.mark.parametrize(
    ("runs", "is_bound"),
    [
        (["1", "2", "3"], False),
        (["≥1", "≥2", "≥3"], True),
        # the median is 2, whatever the third is
        (["1", "2", "≥3"], False),
        (["1", "≥2", "3"], True),
        # the first may be above the others, and then the median is 3
        (["≥1", "2", "3"], True),
        # one of two equal values is known
        (["1", "≥2", "2"], False),
        # of two runs the median is the mean
        (["1", "≥2"], True),
        (["1", "2", "3", "≥4"], False),
        (["1", "2", "≥3", "4"], True),
    ],
)
def test_a_median_is_a_lower_bound_if_it_could_be_greater(runs: list[str], is_bound: bool) -> None:
    summaries = []
    for seed, shown in enumerate(runs, 1):
        times: dict[str, Any] = {"fct_median_s": 0.5, "fct_p99_s": float(shown.removeprefix("≥"))}
        if shown.startswith("≥"):
            times["bounds"] = ["fct_p99_s"]
        summaries.append(one(seed, 0.1, 10.0, True) | {"fct": {"all": times}})
    whole = summarise(summaries)["fct"]["all"]
    assert whole.get("bounds") == (["fct_p99_s"] if is_bound else None)


def test_the_sentence_tells_how_often_and_how_widely() -> None:
    assert summarise(RUNS)["verdict"]["sentence"] == (
        "2 of 3 runs show an outcast. The median throughput ratio is 0.20; it ranges from 0.10 to"
        " 0.90."
    )
    # then it is the peers who are starved
    favoured = summarise([one(seed, 500.0 + seed, 10.0, False) for seed in (1, 2)])
    assert favoured["verdict"]["sentence"] == (
        "0 of 2 runs show an outcast. The median throughput ratio is 501.50 (the lone class is"
        " favoured); it ranges from 501.00 to 502.00."
    )


def test_four_runs_have_quartiles_and_fewer_have_none() -> None:
    ratios = [0.1, 0.2, 0.3, 0.6]
    runs = [one(seed, ratio, 10.0, True) for seed, ratio in enumerate(ratios)]
    # by linear interpolation: 0.175 and 0.375
    assert ", the middle half 0.18 to 0.38;" in summarise(runs)["verdict"]["sentence"]
    assert "middle half" not in summarise(runs[:3])["verdict"]["sentence"]


def test_loads_are_merged_one_by_one() -> None:
    incast = {"index": 0, "kind": "incast", "transfers": 9, "before_measurement": 0}
    runs = [
        one(seed, None, 0.0, False) | {"traffic": [incast | {"unfinished": left}]}
        for seed, left in enumerate((0, 3, 4))
    ]
    whole = summarise(runs)
    assert whole["traffic"] == [incast | {"unfinished": 3}]
    assert whole["caveats"] == [
        "Not all transfers were complete when the run ended:"
        " 3 of 9 of traffic 0 (incast) were not. They count with their ages, so"
        " percentiles of such traffic may be lower bounds."
    ]
    assert " 1.5 of 9 of traffic 0 (incast) were not" in summarise(runs[:2])["caveats"][0]


def test_without_an_outcast_to_look_for_the_median_run_speaks() -> None:
    runs = [
        one(seed, None, 0.0, None) | {"goodput_bps_total": goodput}
        for seed, goodput in ((1, 5.0), (2, 9.0), (3, 6.0))
    ]
    verdict = summarise(runs)["verdict"]
    assert verdict["outcast"] is None
    assert verdict["sentence"] == (
        "Of 3 runs, seed 3 is nearest to the median total goodput: seed 3"
    )


def test_what_no_run_knows_stays_unknown() -> None:
    whole = summarise([one(1, None, 0.0, False), one(2, None, 0.0, False)])
    assert whole["classes"]["2-hop"]["rtt_mean_s"] is None
    assert whole["verdict"]["ratio"] is None
    assert whole["verdict"]["sentence"] == "0 of 2 runs show an outcast."


def test_a_single_run_is_its_own_summary() -> None:
    assert summarise(RUNS[:1]) == RUNS[0]
