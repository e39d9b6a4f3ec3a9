"""The round-trip times that the switch measured, as columns of tables and as a histogram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from fairport.backends.linux.observing import Sample

# the bins are those of `RttHistogram` in crates/record/src/rtt.rs
_BINS_PER_OCTAVE = 128
_PS = 1e-12


class RoundTrips:
    """The samples of a run (`time_s`, `flow`, `rtt_s`), and the span of the measurement."""

    def __init__(self, samples: Mapping[str, np.ndarray], from_s: float, to_s: float) -> None:
        self._all = pl.DataFrame(dict(samples))
        self._measured = self._all.filter(pl.col("time_s").is_between(from_s, to_s))

    def of_flows(self, count: int) -> dict[str, np.ndarray]:
        """Columns of the table of flows: over the measurement."""
        return _summaries(pl.DataFrame({"flow": np.arange(count, dtype=np.uint32)}), self._measured)

    def of_series(self, rows: Sequence[Sample]) -> dict[str, np.ndarray]:
        """Columns of the series: over the interval that each row ends."""
        keys = pl.DataFrame(
            {
                "time_s": np.array([row.time_s for row in rows], dtype=float),
                "flow": np.array([row.flow for row in rows], dtype=np.uint32),
            }
        )
        ends = keys["time_s"].unique().sort().to_numpy()
        interval = np.searchsorted(ends, self._all["time_s"].to_numpy())
        is_within = interval < len(ends)
        ended = self._all.filter(is_within).with_columns(time_s=ends[interval[is_within]])
        return _summaries(keys, ended)

    def histogram(self, watched_flows: int) -> dict[str, np.ndarray]:
        """The table `rtt`: over the measurement, of the flows with the lowest numbers."""
        ours = self._measured.filter(pl.col("flow") < watched_flows)
        share, octave = np.frexp(ours["rtt_s"].to_numpy() / _PS)
        in_octave = 2 * _BINS_PER_OCTAVE  # the share begins at a half
        middle = np.ldexp((np.floor(share * in_octave) + 0.5) / in_octave, octave) * _PS
        bins = ours.with_columns(rtt_s=middle).group_by("flow", "rtt_s").len("samples")
        counted = bins.sort("flow", "rtt_s").cast({"samples": pl.UInt64})
        return {name: counted[name].to_numpy() for name in counted.columns}


def _summaries(keys: pl.DataFrame, samples: pl.DataFrame) -> dict[str, np.ndarray]:
    """Smallest, mean and largest sample of each key; NaN without a sample."""
    rtt = pl.col("rtt_s")
    summaries = {"rtt_min_s": rtt.min(), "rtt_mean_s": rtt.mean(), "rtt_max_s": rtt.max()}
    each = samples.group_by(keys.columns).agg(**summaries)
    found = keys.join(each, on=keys.columns, how="left", maintain_order="left")
    return {name: found[name].fill_null(np.nan).to_numpy() for name in summaries}
