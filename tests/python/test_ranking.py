"""The ranking: fair fixes first, then cheap ones, then those near an equal share, with reasons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fairport.metrics.spread import Spread, of_row
from fairport.study.comparison.metrics import OF_THE_RUN, Groups
from fairport.study.comparison.rank_by_share import ByShare, share
from fairport.study.comparison.ranking import Ranked, change, with_range

LONE = Groups("2-hop", "6-hop", [0], list(range(1, 13)), "edge0.0:0")
EQUALS = Groups("", "2-hop", [], list(range(13)), "s0:0")


def row(fix: str, q1: float, median: float, q3: float, **others: Any) -> dict[str, Any]:
    values: dict[str, Any] = {"fix": fix, "needs": ["switch"], "not_applicable": None}
    for measure in OF_THE_RUN:
        for part in ("q1", "median", "q3"):
            values[f"{measure}_{part}"] = 100.0
    values |= {f"jain_index_{part}": 0.96 for part in ("q1", "median", "q3")}
    ratio = {"q1": q1, "median": median, "q3": q3}
    return values | {f"throughput_ratio_{part}": one for part, one in ratio.items()} | others


NONE = row("none", 0.1, 0.2, 0.3)


def ranking(rows: list[dict[str, Any]], none: dict[str, Any], groups: Groups) -> ByShare:
    """The ranking, if the seeds of a fix are in another order than those without it."""
    return ByShare(
        rows, none, {one["fix"]: apart(one, none, share(groups)) for one in rows}, groups
    )


def ranked(rows: list[dict[str, Any]], none: dict[str, Any], groups: Groups) -> list[Ranked]:
    return ranking(rows, none, groups).ranked


def apart(one: dict[str, Any], none: dict[str, Any], key: str) -> Spread:
    ours, before = of_row(one, key), of_row(none, key)
    if ours[0] is None or before[0] is None:
        return Spread.of([])
    return Spread(ours[0] - before[0], ours[1] - before[2], ours[2] - before[1], 4)


def effect_of(one: dict[str, Any], none: dict[str, Any] = NONE) -> str:
    return ranked([one], none, LONE)[0].effect


def test_seed_by_seed_a_small_difference_is_clear() -> None:
    # the shares overlap, from 0.1 to 0.3 and from 0.15 to 0.35, but each seed gains 0.05
    gains = {"fix": Spread(0.05, 0.05, 0.05, 4)}
    (found,) = ByShare([row("fix", 0.15, 0.25, 0.35)], NONE, gains, LONE).ranked
    assert found.effect == "helps, but not enough"


def test_twice_is_as_far_from_an_equal_share_as_half() -> None:
    half, twice = row("half", 0.45, 0.5, 0.5), row("twice", 2, 2, 1 / 0.45)
    assert [one.fix for one in ranked([twice, half], NONE, LONE)] == ["twice", "half"]
    nearer = row("twice", 2, 2, 2)
    assert [one.fix for one in ranked([half, nearer], NONE, LONE)] == ["twice", "half"]


def test_what_works_with_some_seeds_only_comes_later() -> None:
    steady, lucky = row("steady", 0.85, 0.86, 0.87), row("lucky", 0.5, 1.0, 1.5)
    assert [one.fix for one in ranked([lucky, steady], NONE, LONE)] == ["steady", "lucky"]
    assert effect_of(steady) == "fair"
    assert effect_of(lucky) == "fair at the median"


def test_what_costs_goodput_comes_after_what_does_not() -> None:
    dear = row("dear", 1, 1, 1, goodput_bps_total_median=90.0)
    free = row("free", 0.82, 0.85, 0.9)
    unfair = row("unfair", 0.5, 0.5, 0.5)
    found = ranked([unfair, dear, free], NONE, LONE)
    assert [one.fix for one in found] == ["free", "dear", "unfair"]
    assert found[1].effect == "fair, at a cost"
    assert "total goodput 10 % lower" in found[1].sentence


def test_what_helps_the_lone_flow_and_starves_others_is_no_fair_fix() -> None:
    jain = {f"jain_index_{part}": 0.8 for part in ("q1", "median", "q3")}
    uneven, even = row("uneven", 1, 1, 1, **jain), row("even", 0.81, 0.85, 0.9)
    found = ranked([uneven, even], NONE, LONE)
    assert [one.fix for one in found] == ["even", "uneven"]
    assert found[1].effect == "fair to the lone class only"
    assert "Jain's index 0.96 to 0.80" in found[1].sentence
    assert ranking([uneven, even], NONE, LONE).conclusion.endswith("; even makes it fair.")


@pytest.mark.parametrize(
    ("ratios", "effect"),
    [
        ((0.5, 0.55, 0.6), "helps, but not enough"),
        ((1.9, 2.0, 2.1), "reversed"),
        ((0.01, 0.02, 0.03), "worse"),
        ((0.25, 0.35, 0.5), "no clear difference"),
        # quartiles that touch those without the fix, 0.1 to 0.3
        ((0.05, 0.08, 0.1), "no clear difference"),
        ((0.3, 0.35, 0.5), "no clear difference"),
        # an equal share, to 20 % less or 25 % more
        ((0.8, 1.0, 1.25), "fair"),
        ((0.79, 1.0, 1.0), "fair at the median"),
        ((1.0, 1.0, 1.26), "fair at the median"),
        ((0.7, 0.79, 0.9), "helps, but not enough"),
        ((1.1, 1.26, 1.3), "reversed"),
    ],
)
def test_effects(ratios: tuple[float, float, float], effect: str) -> None:
    assert effect_of(row("fix", *ratios)) == effect


def test_nothing_delivered_is_the_last() -> None:
    nothing = row("nothing", *(None,) * 3)  # type: ignore[arg-type]
    starved = row("starved", 0, 0, 0)
    found = ranked([nothing, starved, row("fair", 1, 1, 1)], NONE, LONE)
    assert [one.fix for one in found] == ["fair", "nothing", "starved"]
    assert [one.effect for one in found[1:]] == ["nothing to compare", "worse"]


def test_a_sentence_names_what_changes_and_what_it_needs() -> None:
    fix = row("fix", 0.9, 0.95, 1.0, timeouts_median=5.0, rtt_p99_s_median=50.0)
    sentence = ranked([fix], NONE, LONE)[0].sentence
    assert sentence == (
        "ratio 0.95 (0.90 to 1.00); RTT p99 50 % lower; timeouts 100 to 5. Needs: switch."
    )


def test_the_conclusion_names_the_fair_ones() -> None:
    found = ranking(
        [row("a", 0.9, 1, 1), row("b", 0.5, 0.9, 1), row("c", 0.4, 0.4, 0.4)], NONE, LONE
    )
    assert found.conclusion == (
        "Without a fix the ratio is 0.20 (0.10 to 0.30); "
        "a makes it fair, b makes it fair at the median."
    )
    three = ranking([row(name, 0.9, 1, 1) for name in "abc"], NONE, LONE)
    assert three.conclusion.endswith("; a, b and c make it fair.")
    assert replace(found, rows=[]).conclusion.endswith("none of these fixes makes it fair.")
    as_it_is = replace(found, none=row("none", 1, 1, 1))
    assert as_it_is.conclusion.endswith("there is nothing to fix.")


def test_without_a_lone_class_jains_index_is_compared() -> None:
    better = row("fix", 1, 1, 1, jain_index_q1=0.98, jain_index_median=0.99, jain_index_q3=0.99)
    none = row("none", 1, 1, 1, jain_index_q1=0.6, jain_index_median=0.7, jain_index_q3=0.8)
    of_equals = ranking([better], none, EQUALS)
    (found,) = of_equals.ranked
    assert found.effect == "fair"
    assert found.sentence.startswith("Jain's index 0.990 (0.980 to 0.990). ")
    assert found.sentence.count("Jain's index") == 1
    assert "Jain's index" in of_equals.criterion
    assert "lone" not in of_equals.criterion + of_equals.note
    assert "of Jain's index of 0.95 and more" in of_equals.note
    of_lone = ranking([], NONE, LONE)
    for text in (of_lone.criterion, of_lone.note):
        assert "the ratio of the 2-hop class's mean goodput to that of its 6-hop peers" in text


NOTHING: dict[str, Any] = {
    f"{key}_{part}": None
    for key in ("throughput_ratio", "jain_index")
    for part in ("q1", "median", "q3")
}


@pytest.mark.parametrize("groups", [LONE, EQUALS])
def test_where_nobody_delivered_anything_nothing_is_compared(groups: Groups) -> None:
    none, fix = (row(name, 1, 1, 1, **NOTHING) for name in ("none", "a"))
    nothing = ranking([fix], none, groups)
    (found,) = nothing.ranked
    assert found.effect == "nothing to compare"
    assert "no flow delivered data" in found.sentence
    assert "no flow delivered data" in nothing.conclusion


@pytest.mark.parametrize("groups", [LONE, EQUALS])
def test_a_fix_with_which_they_deliver_something_is_compared(groups: Groups) -> None:
    none = row("none", 1, 1, 1, **NOTHING)
    found = ranking([row("a", 1, 1, 1)], none, groups)
    assert found.ranked[0].effect == "fair"
    assert "a makes it fair" in found.conclusion


def test_flows_without_a_lone_class_share_fairly_from_an_index_of_0_95_on() -> None:
    none = row("none", 1, 1, 1, jain_index_q1=0.6, jain_index_median=0.7, jain_index_q3=0.8)

    def effect(jain: float) -> str:
        parts = {f"jain_index_{part}": jain for part in ("q1", "median", "q3")}
        return ranked([row("fix", 1, 1, 1, **parts)], none, EQUALS)[0].effect

    assert [effect(jain) for jain in (0.95, 0.94, 0.5)] == [
        "fair",
        "helps, but not enough",
        "worse",
    ]


def test_a_lone_flow_that_gets_nothing_is_no_help_where_nobody_got_anything() -> None:
    assert effect_of(row("starved", 0, 0, 0), row("none", 1, 1, 1, **NOTHING)) == "worse"


def test_the_places_are_counted_from_one_and_a_dear_fix_is_a_fair_one() -> None:
    dear, other = (row(name, 1, 1, 1, goodput_bps_total_median=90.0) for name in "ab")
    found = ranking([dear, other], NONE, LONE)
    assert [(one.rank, one.fix, one.effect) for one in found.ranked] == [
        (1, "a", "fair, at a cost"),
        (2, "b", "fair, at a cost"),
    ]
    assert found.conclusion.endswith("; a and b make it fair.")


@pytest.mark.parametrize(
    ("key", "without_words", "words"),
    [
        ("goodput_bps_total_median", 100.9, ("total goodput 2 % higher", 102.0)),
        ("goodput_bps_total_median", 99.1, ("total goodput 2 % lower", 98.0)),
        ("rtt_p99_s_median", 109.0, ("RTT p99 11 % higher", 111.0)),
        ("rtt_p99_s_median", 91.0, ("RTT p99 11 % lower", 89.0)),
        ("timeouts_median", 110.0, ("timeouts 100 to 111", 111.0)),
        ("timeouts_median", 90.0, ("timeouts 100 to 89", 89.0)),
        ("drop_runs_ge2_median", 110.0, ("drop runs ≥ 2: 100 to 111", 111.0)),
        ("jain_index_median", 0.97, ("Jain's index 0.96 to 0.99", 0.99)),
        ("jain_index_median", 0.945, ("Jain's index 0.96 to 0.93", 0.93)),
    ],
)
def test_what_hardly_changes_is_not_named(
    key: str, without_words: float, words: tuple[str, float]
) -> None:
    def sentence(value: float) -> str:
        return ranked([row("fix", 1, 1, 1, **{key: value})], NONE, LONE)[0].sentence

    assert sentence(without_words) == "ratio 1.00. Needs: switch."
    assert sentence(words[1]) == f"ratio 1.00; {words[0]}. Needs: switch."


def test_a_change_is_named_from_the_least_on() -> None:
    assert change("it", 0.25, 0.25) == "it 25 % higher"
    assert change("it", -0.25, 0.25) == "it 25 % lower"
    assert change("it", 0.6, 0.25) == "it 60 % higher"
    assert change("it", 0.24, 0.25) == change("it", None, 0.25) == ""


def test_an_index_that_changes_by_exactly_the_least_is_as_even() -> None:
    # one flow of fifty has it all, then two of them share it
    before, now = NONE | {"jain_index_median": 0.02}, row("fix", 1, 1, 1, jain_index_median=0.04)
    assert "Jain" not in ranked([now], before, LONE)[0].sentence


def test_the_note_says_the_limits_of_the_ranking() -> None:
    for words in (" from 0.8 to 1.25.", " by at most 0.02)", " less than 5 % of the goodput"):
        assert words in ranking([], NONE, LONE).note


def test_a_fair_median_that_differs_by_chance_only_is_not_the_fixs_merit() -> None:
    none = row("none", 0.5, 0.75, 1.0)
    lucky, helps = row("lucky", 0.6, 0.85, 1.1), row("helps", 1.3, 1.3, 1.4)
    found = ranking([helps, lucky], none, LONE)
    assert {one.fix: one.effect for one in found.ranked} == {
        "lucky": "no clear difference",
        "helps": "reversed",
    }
    assert found.conclusion.endswith("; none of these fixes makes it fair.")


def test_a_fair_median_does_not_hide_seeds_that_are_not() -> None:
    none = row("none", 0.1, 0.9, 3.0)
    found = ranking([row("a", 0.9, 1.0, 1.1)], none, LONE)
    assert found.conclusion == ("Without a fix the ratio is 0.90 (0.10 to 3.00); a makes it fair.")


def test_one_seed_has_no_range() -> None:
    none = row("none", 0.2, 0.2, 0.2)
    found = ranking([row("a", 1, 1, 1)], none, LONE)
    assert found.ranked[0].sentence == "ratio 1.00. Needs: switch."
    assert found.conclusion == ("Without a fix the ratio is 0.20; a makes it fair.")


def test_a_range_across_a_power_of_ten_is_shown() -> None:
    # as texts, 9 is after 10
    assert with_range("9.5", "9", "10") == "9.5 (9 to 10)"
    assert with_range("9", "9", "9") == "9"
