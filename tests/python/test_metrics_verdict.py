"""The verdict is computed from the run: one test per case."""

import pytest
from fairport.metrics.verdict import Waiting, ratio_in_words, verdict


def verdict_on(
    classes, share=None, connected=None, waited_s=8.8, of_s=10, waited_without_times_s=0
):
    """Verdict on classes given as {name: (flows, mean goodput in Mbit/s)}."""
    most = max(classes, key=lambda name: (classes[name][0], name))
    reference = classes[most][1]
    summary = {
        name: {
            "flows": flows,
            "goodput_bps_mean": mean * 1e6,
            "goodput_bps_min": mean * 0.8e6,
            "goodput_bps_max": mean * 1.2e6,
            "throughput_ratio": mean / reference if reference else None,
        }
        for name, (flows, mean) in classes.items()
    }
    established = {name: flows for name, (flows, _) in classes.items()} | (connected or {})
    mean_s = waited_without_times_s if share is None else waited_s
    waiting = Waiting(mean_s=mean_s, of_s=of_s, after_drop_runs=share)
    return verdict(summary, dict.fromkeys(classes, waiting), established)


def test_the_papers_fifteen_to_one_is_an_outcast():
    found = verdict_on({"2-hop": (1, 12.3), "4-hop": (2, 37.0), "6-hop": (12, 71.3)}, share=0.83)
    assert found["outcast"] is True
    assert found["ratio"] == pytest.approx(0.1725, abs=1e-3)
    assert found["sentence"] == (
        "The 2-hop flow gets 0.17 of its 6-hop peers' goodput (outcast). It spent 8.8 of 10 s "
        "waiting for timeouts; 83 % of that time followed three or more consecutive drops at "
        "its ingress port."
    )


def test_timeouts_of_which_nobody_knows_when_they_were_are_not_denied():
    """Of the kernel's own disciplines, the table `timeouts` has no rows."""
    classes = {"2-hop": (1, 12.3), "6-hop": (12, 71.3)}
    assert "None of its retransmission timers" in verdict_on(classes)["sentence"]
    found = verdict_on(classes, waited_without_times_s=0.14)
    assert found["sentence"].endswith("(outcast). It spent 0.14 of 10 s waiting for timeouts.")


@pytest.mark.parametrize(
    ("lone", "outcast", "words"),
    [
        (0.0, True, "gets 0.00 of its 6-hop peers' goodput (outcast)"),
        (0.2, True, "gets 0.002 of"),
        (49.0, True, "(outcast)."),
        (50.0, False, "at a disadvantage, but no outcast"),
        (51.0, False, "at a disadvantage, but no outcast"),
        (79.9, False, "at a disadvantage, but no outcast"),
        (80.0, False, "parity, no outcast"),
        (95.0, False, "parity, no outcast"),
        (120.0, False, "parity, no outcast"),
        (124.9, False, "parity, no outcast"),
        (125.0, False, "it is favoured"),
        (99_940.0, False, "gets 999 times"),
        (99_960.0, False, "gets 1,000 times"),
        (210.0, False, "gets 2.1 times its 6-hop peers' goodput (no outcast: it is favoured)"),
    ],
)
def test_from_starved_to_favoured(lone, outcast, words):
    found = verdict_on({"2-hop": (1, lone), "6-hop": (12, 100.0)}, share=0.5)
    assert found["outcast"] is outcast
    assert words in found["sentence"]


def test_an_outcast_that_never_timed_out():
    found = verdict_on({"2-hop": (1, 10.0), "6-hop": (12, 70.0)})
    assert found["sentence"].endswith(
        "(outcast). None of its retransmission timers expired within the measurement."
    )


@pytest.mark.parametrize(
    ("waited_s", "of_s", "words"),
    [
        (0.0123, 0.5, "0.012 of 0.5 s"),
        (0.00002, 0.00005, "0.00002 of 0.00005 s"),
        (99.4, 200, "99 of 200 s"),
        (99.5, 200, "100 of 200 s"),
        (99.6, 200, "100 of 200 s"),
        (100.4, 4000, "100 of 4000 s"),
    ],
)
def test_times_have_two_digits_or_all_of_their_seconds(waited_s, of_s, words):
    classes = {"2-hop": (1, 10.0), "6-hop": (12, 70.0)}
    found = verdict_on(classes, share=0.5, waited_s=waited_s, of_s=of_s)
    assert f"It spent {words} waiting" in found["sentence"]


def test_several_outcast_flows_take_the_plural():
    sentence = verdict_on({"2-hop": (2, 10.0), "6-hop": (24, 35.0)}, share=1.0)["sentence"]
    assert sentence.startswith(
        "The two 2-hop flows get 0.29 of their 6-hop peers' goodput (outcast)"
    )
    assert ". On average each spent 8.8 of 10 s waiting for timeouts" in sentence


def test_another_class_that_starves_is_named_too():
    sentence = verdict_on({"2-hop": (3, 20.0), "4-hop": (12, 3.0), "6-hop": (112, 10.0)})[
        "sentence"
    ]
    assert sentence == (
        "The three 2-hop flows get 2 times their 6-hop peers' goodput"
        " (no outcast: they are favoured). The 4-hop flows get 0.30 of the 6-hop goodput."
    )


@pytest.mark.parametrize(("other", "named"), [(49.0, True), (50.0, False)])
def test_another_class_starves_below_half_wherever_it_comes_in_the_order(other, named):
    sentence = verdict_on({"2-hop": (2, other), "4-hop": (1, 90.0), "6-hop": (12, 100.0)})[
        "sentence"
    ]
    assert sentence.startswith("The 4-hop flow gets 0.90 of its 6-hop peers' goodput (parity")
    assert ("The 2-hop flows get 0.49 of the 6-hop goodput." in sentence) is named


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (0.0, "0.00 of"),
        (0.00312, "0.0031 of"),
        (0.0000312, "0.000031 of"),
        (0.0139, "0.014 of"),
        (0.0996, "0.10 of"),
        (0.164, "0.16 of"),
        (1.004, "1.00 of"),
        (1.006, "1.01 times"),
        (2.4, "2.4 times"),
        (999.4, "999 times"),
        (999.5, "1,000 times"),
        (12_345.0, "12,345 times"),
    ],
)
def test_a_ratio_in_words(ratio, words):
    assert ratio_in_words(ratio) == words


def test_a_single_flow_that_starves_beside_the_lone_one_is_no_flows():
    found = verdict_on({"2-hop": (1, 20.0), "4-hop": (1, 10.0), "6-hop": (12, 100.0)})
    assert found["sentence"].startswith("The 4-hop flow gets 0.10 of its 6-hop peers' goodput")
    assert found["sentence"].endswith(" The 2-hop flow gets 0.20 of the 6-hop goodput.")


def test_one_class_has_no_outcast_by_its_place():
    found = verdict_on({"6-hop": (12, 70.0)})
    assert (found["outcast"], found["ratio"]) == (None, None)
    assert found["sentence"].startswith(
        "All flows are 6-hop, so there is no lone class; the slowest of the 12 gets 0.67"
    )


@pytest.mark.parametrize("counts", [("3", "3"), ("1000", "1000")])
def test_equally_large_classes_have_no_lone_one(counts):
    two, six = map(int, counts)
    found = verdict_on({"2-hop": (two, 10.0), "6-hop": (six, 70.0)})
    assert found["outcast"] is None
    assert found["sentence"].startswith("There are equally many 2-hop and 6-hop flows")


def test_a_flow_alone_is_compared_with_nobody():
    assert verdict_on({"6-hop": (1, 940.0)})["sentence"].startswith("The 6-hop flow is alone")


def test_handshakes_that_are_lost():
    classes = {"2-hop": (1, 0.0), "6-hop": (12, 70.0)}
    # it may have lost its SYN, and may have begun too late
    assert verdict_on(classes, connected={"2-hop": 0})["sentence"] == (
        "The 2-hop flow was not established before the end of the run (outcast)."
    )
    nobody = verdict_on({"2-hop": (1, 0.0), "6-hop": (12, 0.0)}, connected={"2-hop": 0, "6-hop": 0})
    assert nobody["sentence"] == "No flow was established before the end of the run."
    assert nobody["outcast"] is None


def test_peers_that_deliver_nothing():
    found = verdict_on({"2-hop": (1, 300.0), "6-hop": (12, 0.0)})
    assert found["outcast"] is False
    assert "the 6-hop flows deliver nothing" in found["sentence"]
    assert "delivered anything" in verdict_on({"6-hop": (12, 0.0)})["sentence"]
    # one bit per second is not nothing
    assert "no lone class" in verdict_on({"6-hop": (12, 1e-6 / 1.2)})["sentence"]
    assert verdict_on_nothing()["sentence"] == "There are no TCP flows to compare."


def verdict_on_nothing():
    return verdict({}, {}, {})


def test_without_goodput_on_either_side_there_is_no_answer():
    found = verdict_on({"2-hop": (1, 0.0), "4-hop": (2, 400.0), "6-hop": (12, 0.0)})
    assert found["outcast"] is None
    assert found["sentence"] == (
        "The 6-hop flows deliver nothing, and the 2-hop flow does not deliver anything either."
    )


def test_a_line_that_a_third_class_shares_is_not_the_lone_flows_alone():
    found = verdict_on({"2-hop": (1, 300.0), "4-hop": (2, 300.0), "6-hop": (12, 0.0)})
    assert found["outcast"] is False
    assert found["sentence"] == (
        "The 6-hop flows deliver nothing, so there is no ratio; the 2-hop and 4-hop flows share"
        " the line."
    )


def test_a_lone_flow_beside_silent_peers_is_no_outcast_though_it_never_connected():
    classes = {"2-hop": (1, 0.0), "4-hop": (2, 400.0), "6-hop": (12, 0.0)}
    found = verdict_on(classes, connected={"2-hop": 0})
    assert found["outcast"] is None
    assert found["sentence"].endswith("was not established before the end of the run.")


def test_parity_of_the_means_does_not_hide_a_starved_peer():
    peers = {"goodput_bps_min": 0.0, "goodput_bps_max": 200e6, "throughput_ratio": 1.0}
    lone = {"goodput_bps_min": 70e6, "goodput_bps_max": 70e6, "throughput_ratio": 1.0}
    classes = {
        "2-hop": {"flows": 1, "goodput_bps_mean": 70e6} | lone,
        "6-hop": {"flows": 12, "goodput_bps_mean": 70e6} | peers,
    }
    waiting = dict.fromkeys(classes, Waiting(0.0, 10.0, None))
    found = verdict(classes, waiting, {"2-hop": 1, "6-hop": 12})
    assert found["sentence"] == (
        "The 2-hop flow gets 1.00 of its 6-hop peers' goodput (parity, no outcast)."
        " At least one of the twelve 6-hop flows delivered nothing."
    )
