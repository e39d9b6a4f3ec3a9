from __future__ import annotations

from typing import Any

from fairport.repeats import summarise


def one(seed: int, ratio: float | None, goodput: float, outcast: bool) -> dict[str, Any]:
    return {
        "scenario": "x",
        "seeds": [seed],
        "fingerprint": f"{seed:016x}",
        "valid": True,
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


def test_the_sentence_tells_how_often_and_how_widely() -> None:
    assert summarise(RUNS)["verdict"]["sentence"] == (
        "2 of 3 runs show an outcast; the throughput ratio is 0.20 in the median, 0.10 to 0.90."
    )


def test_what_no_run_knows_stays_unknown() -> None:
    whole = summarise([one(1, None, 0.0, False), one(2, None, 0.0, False)])
    assert whole["classes"]["2-hop"]["rtt_mean_s"] is None
    assert whole["verdict"]["ratio"] is None
    assert whole["verdict"]["sentence"] == "0 of 2 runs show an outcast."


def test_a_single_run_is_its_own_summary() -> None:
    assert summarise(RUNS[:1]) == RUNS[0]
