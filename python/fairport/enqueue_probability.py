"""How likely a packet finds room behind a drop, over TCPRand's rMin: an experiment without TCP.

Two back-to-back inputs meet at one output whose buffer is full; the last packet of one was taken,
that of the other dropped (Lee et al., Computer Networks 129, 2017, Fig. 5). What the model assumes
stands in `crates/sim/src/enqueue_probability.rs`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairport import _core

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EnqueueProbability:
    """Shares of the trials; one element for each rMin from 1 B to the MSS."""

    mss_bytes: int
    trials: int
    seed: int
    x2: Floats
    """The next packet of the input that lost one finds room."""
    y2: Floats
    """The next packet of the other input does."""
    both: Floats
    neither: Floats

    @property
    def r_min_bytes(self) -> NDArray[np.int64]:
        """The values of rMin."""
        return np.arange(1, self.mss_bytes + 1)

    def rows(self) -> list[dict[str, float | int]]:
        """A row for each rMin."""
        return [
            {
                "r_min_bytes": r_min + 1,
                "x2": float(self.x2[r_min]),
                "y2": float(self.y2[r_min]),
                "both": float(self.both[r_min]),
                "neither": float(self.neither[r_min]),
            }
            for r_min in range(self.mss_bytes)
        ]


def enqueue_probability(
    mss_bytes: int = 1448, trials: int = 1000, seed: int = 1
) -> EnqueueProbability:
    """The experiment at each rMin, `trials` times."""
    shares = _core.enqueue_probability(mss_bytes, trials, seed)
    return EnqueueProbability(mss_bytes, trials, seed, **shares)
