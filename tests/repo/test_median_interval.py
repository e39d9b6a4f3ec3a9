"""The confidence interval of a median, in the table that compares simulation and Linux."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("count", "ranks"),
    # from tables of the sign test, 95 % two-sided
    [(5, None), (6, (1, 6)), (10, (2, 9)), (15, (4, 12)), (20, (6, 15)), (40, (14, 27))],
)
def test_the_interval_of_a_median_is_that_of_the_sign_test(
    count: int, ranks: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from validation.linux import median_interval

    assert median_interval(range(count, 0, -1)) == ranks
