"""Quantiles of durations of which some were not over when the run ended (Kaplan & Meier 1958).

A transfer that is under way at the end took longer than its age. Leaving such transfers out makes a
network look better the more of them it delays. Counting them as finished does the same. The
product-limit estimator counts each transfer for as long as it was observed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

# A share of n values is a quotient; the estimator multiplies quotients.
_ROUNDING = 1e-9


def distribution(
    durations: pl.Series, is_over: pl.Series
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The durations that are over, in order, and the share of all that is over by each of them.

    `durations` has no nulls; if one is not over, the value is its age. The last share is below 1 if
    the longest of all is not over.
    """
    values, ended = durations.to_numpy(), is_over.to_numpy()
    # at equal times, a duration that ended comes before one that was cut off
    order = np.lexsort((~ended, values))
    values, ended = values[order], ended[order]
    at_risk = np.arange(len(values), 0, -1)
    still_going = np.cumprod(np.where(ended, 1 - 1 / at_risk, 1.0))
    return values[ended], 1 - still_going[ended]


def mean(durations: pl.Series, is_over: pl.Series) -> float | None:
    """The mean of `durations`; None without any.

    If the longest is not over, it counts as if it had ended at its age, so the mean is a lower
    bound. The arguments are those of `distribution`.
    """
    if durations.is_empty():
        return None
    over, reached = distribution(durations, is_over)
    rest = 1 - reached[-1] if len(reached) else 1.0
    weights = np.diff(reached, prepend=0.0)
    return float((over * weights).sum() + rest * durations.to_numpy().max())


def place_of(share: float, reached: NDArray[np.float64]) -> int | None:
    """The index of the first of the shares `reached` that is at least `share`; None: none is."""
    place = int(np.searchsorted(reached, share - _ROUNDING))
    return place if place < len(reached) else None


def quantiles(durations: pl.Series, is_over: pl.Series, shares: Sequence[float]) -> list[float]:
    """The quantiles of `durations`, in the order of `shares`; without any value, an empty list.

    The first two arguments are those of `distribution`. If all are over, these are the quantiles by
    the nearest rank: the smallest value such that at least that share of the values is not larger.
    If a share is not reached, its quantile is the largest value, which is then a lower bound.
    """
    if durations.is_empty():
        return []
    over, reached = distribution(durations, is_over)
    longest = float(durations.to_numpy().max())
    places = [place_of(share, reached) for share in shares]
    return [longest if place is None else float(over[place]) for place in places]


def bounds(durations: pl.Series, is_over: pl.Series, shares: Mapping[str, float]) -> list[str]:
    """The names of the quantiles that are lower bounds, because their shares are not reached."""
    _, reached = distribution(durations, is_over)
    return [name for name, share in shares.items() if place_of(share, reached) is None]
