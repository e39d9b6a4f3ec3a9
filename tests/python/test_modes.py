"""Whether the values of several seeds fall into two groups."""

from fairport.modes import Mode, modes, sentence


def test_two_groups_are_two_modes():
    assert modes([0.25, 0.25, 0.375, 0.375, 1.0, 1.125]) == [Mode(0.3125, 4), Mode(1.0625, 2)]


def test_values_spread_evenly_are_one():
    assert modes([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]) == [Mode(0.35, 6)]


def test_a_lone_outlier_is_no_mode():
    assert len(modes([0.1, 0.11, 0.12, 0.13, 0.14, 0.9])) == 1


def test_equal_values_are_one_mode():
    assert modes([0.5] * 6) == [Mode(0.5, 6)]


def test_few_seeds_say_nothing_of_modes():
    assert modes([0.1, 0.9, 0.1, 0.9, 0.1]) == []
    assert sentence([{"verdict": {"ratio": 0.1}}]) == ""


def test_the_sentence_has_the_numbers():
    runs = [{"verdict": {"ratio": one}} for one in (0.1, 0.11, 0.12, 0.45, 0.46, 0.47)]
    assert "near 0.11 (3 seeds) and 0.46 (3 seeds)" in sentence(runs)
