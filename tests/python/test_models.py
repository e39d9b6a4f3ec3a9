"""The probability that a packet is accepted after a drop (Lee et al. 2017, Fig. 5)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from fairport.papers.models.enqueue_probability import enqueue_probability


def test_packets_of_one_length_shut_the_loser_out_for_good() -> None:
    found = enqueue_probability(seed=1, r_min_bytes=1448)
    assert found == {"x2": 0, "y2": 1, "both": 0, "neither": 0}


def test_the_published_probabilities_come_out_at_one_byte() -> None:
    found = enqueue_probability(seed=1, r_min_bytes=1, trials=50_000)
    published = {"x2": 0.63, "y2": 0.58, "both": 0.32, "neither": 0.11}
    for name, share in published.items():
        assert found[name] == pytest.approx(share, abs=0.01), name


def test_a_smaller_minimum_helps_the_loser_less_and_less() -> None:
    shares = [
        enqueue_probability(seed=1, r_min_bytes=r_min, trials=50_000)["x2"]
        for r_min in (1448, 1086, 724, 362, 1)
    ]
    gains = [after - before for before, after in pairwise(shares)]
    assert all(gain > 0 for gain in gains)
    assert all(after < before for before, after in pairwise(gains))


def test_the_same_seed_draws_the_same() -> None:
    first = enqueue_probability(seed=7, r_min_bytes=200)
    assert first == enqueue_probability(seed=7, r_min_bytes=200)
    assert first != enqueue_probability(seed=8, r_min_bytes=200)


@pytest.mark.parametrize(
    "arguments", [{"r_min_bytes": 0}, {"r_min_bytes": 1449}, {"r_min_bytes": 9, "mss_bytes": 20}]
)
def test_arguments_without_a_meaning_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"must be|never be dropped"):
        enqueue_probability(seed=1, **arguments)
