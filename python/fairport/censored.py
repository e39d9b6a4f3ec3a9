"""Quantiles of durations of which some were not over when the run ended (Kaplan & Meier 1958).

A transfer that is under way at the end took longer than its age. Leaving such transfers out makes a
network look better the more of them it delays. Counting them as finished does the same. The
product-limit estimator counts each transfer for as long as it was observed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

# A share of n values is a quotient; the estimator multiplies quotients.
_ROUNDING = 1e-9


def quantiles(durations: pl.Series, is_over: pl.Series, shares: Sequence[float]) -> list[float]:
    """The quantiles of `durations`, in the order of `shares`; without any value, an empty list.

    `durations` has no nulls; if one is not over, the value is its age. If all are over, these are
    the quantiles by the nearest rank: the smallest value such that at least that share of the
    values is not larger. If a share is not reached, its quantile is the largest value, which is
    then a lower bound.
    """
    if durations.is_empty():
        return []
    values, ended = durations.to_numpy(), is_over.to_numpy()
    # at equal times, a duration that ended comes before one that was cut off
    order = np.lexsort((~ended, values))
    values, ended = values[order], ended[order]
    at_risk = np.arange(len(values), 0, -1)
    still_going = np.cumprod(np.where(ended, 1 - 1 / at_risk, 1.0))
    reached = 1 - still_going
    found = []
    for share in shares:
        place = int(np.searchsorted(reached, share - _ROUNDING))
        found.append(float(values[min(place, len(values) - 1)]))
    return found
