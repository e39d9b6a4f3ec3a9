"""Makes a host profile from the answers that the switch saw.

Waits that TCP itself imposes are left out: the timer of delayed ACKs, duplicate ACKs that the
kernel holds back to send several as one, and data that a timer sent. The profile says how many ACKs
these are.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fairport.errors import BackendError
from fairport.scenario.host_profile import (
    AnswerTimes,
    HostProfile,
    LoadTimes,
    Machine,
    Provenance,
)
from fairport.scenario.units import Duration, Rate

LEVELS = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
"""The quantiles that a profile has. Above the last level are stalls of the machine."""
LOADS = (0.0, 20e-6, 60e-6, 200e-6, 1e-3, 10e-3)
"""Loads are classes of the time since the last packet to the host, in seconds; these are their
bounds."""
# a load with fewer answers is merged with its neighbour: the level 0.999 needs a thousand
_FEWEST = 1000
# an answer this long after its cause was sent by a timer: delayed ACKs, RTOs, probes are no earlier
_TIMER_S = 1e-3
_PS_PER_S = 10**12
_ROUNDED_TO_PS = 10_000


def profile(
    answers: pl.DataFrame,
    healths: Sequence[Mapping[str, float]],
    load: str,
    description: str = "",
    *,
    rate_max: Rate,
    is_paced: bool = False,
) -> HostProfile:
    """The profile of this machine, from the answers and the switches' reports of all valid runs.

    `rate_max` is the rate of the fastest link. `is_paced` says that data waited for the pacer, so
    that its times are not the host's. Raises BackendError if there are too few answers.
    """
    acks = answers.filter(pl.col("answer") == "ack")
    waited = _waited_for_timer(acks)
    delayed, at_once = acks.filter(waited), acks.filter(~waited)
    duplicates = answers.filter(pl.col("answer").str.ends_with("duplicate-ack"))
    later = duplicates.filter(pl.col("answer") == "later-duplicate-ack")
    prompt = duplicates.filter(pl.col("answer") == "duplicate-ack")
    if prompt.height < _FEWEST:
        # hardly any packet was lost: duplicate ACKs, if there are any, take as long as other ACKs
        prompt = at_once
    data = answers.filter((pl.col("answer") == "data") & (pl.col("delay_s") < _TIMER_S))
    lags = [[health[name] for health in healths] for name in ("lag_p50_s", "lag_p99_s")]
    return HostProfile(
        format=1,
        description=description,
        machine=_machine(),
        measurement=Provenance(
            load=load,
            rate_max=rate_max,
            runs=len(healths),
            switch_lag_p50=_duration(float(np.median(lags[0]))),
            switch_lag_p99=_duration(float(np.median(lags[1]))),
            delayed_ack_share=_share(delayed.height, acks.height),
            compressed_ack_share=_share(later.height, duplicates.height),
        ),
        levels=list(LEVELS),
        ack=_times(at_once, "ACKs"),
        duplicate_ack=_times(prompt, "duplicate ACKs"),
        # the kernel sends data and duplicate ACKs alike: while it receives, without a program
        data=_times(prompt if is_paced else data, "data"),
    )


def _waited_for_timer(acks: pl.DataFrame) -> pl.Expr:
    """ACKs as late as a timer's, and ACKs of one segment later than nearly all ACKs of two.

    Few ACKs of two segments wait for a timer: those for which the receiving program has not read
    yet.
    """
    is_late = pl.col("delay_s") >= _TIMER_S
    of_two = acks.filter((pl.col("frames") >= 2) & ~is_late)["delay_s"]
    latest = of_two.quantile(0.99) if of_two.len() else None
    if latest is None:
        return is_late
    return is_late | ((pl.col("frames") == 1) & (pl.col("delay_s") > latest))


def _times(answers: pl.DataFrame, what: str) -> AnswerTimes:
    if answers.height < _FEWEST:
        raise BackendError(
            f"has {answers.height} answers of hosts with {what}, too few for a profile",
            file="host profile",
            remedy=f"measure for longer: {_FEWEST} are needed",
        )
    answers = answers.sort("host", "time_s", maintain_order=True)
    idle = answers["idle_s"].fill_null(np.inf).to_numpy()
    gaps = _gaps(idle)
    number = np.searchsorted(gaps, idle, side="right") - 1
    delay = answers["delay_s"].to_numpy()
    rank = np.empty(len(delay))
    loads = []
    for index, gap in enumerate(gaps):
        here = delay[number == index]
        rank[number == index] = (here.argsort().argsort() + 0.5) / len(here)
        loads.append(
            LoadTimes(
                gap_min=_duration(gap),
                samples=len(here),
                times=[_duration(float(one)) for one in np.quantile(here, LEVELS)],
            )
        )
    return AnswerTimes(correlation=_correlation(rank, answers["host"]), loads=loads)


def _gaps(idle: np.ndarray) -> list[float]:
    """The lower bound of each load: those of `LOADS` that leave enough answers on both sides."""
    gaps = [0.0]
    for gap in LOADS[1:]:
        if np.count_nonzero(idle >= gap) < _FEWEST:
            break
        if np.count_nonzero((idle >= gaps[-1]) & (idle < gap)) >= _FEWEST:
            gaps.append(gap)
    return gaps


def _correlation(rank: np.ndarray, hosts: pl.Series) -> float:
    """Correlation of each answer's rank within its load with that of the host's next answer."""
    same = (hosts == hosts.shift(-1)).fill_null(False).to_numpy()
    one, following = rank[same], rank[1:][same[:-1]]
    if len(one) < 2:
        return 0.0
    return round(min(1.0, max(0.0, float(np.corrcoef(one, following)[0, 1]))), 3)


def _machine() -> Machine:
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    name = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    flags = re.search(r"^flags\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return Machine(
        cpu=name[1].strip() if name else platform.machine(),
        processors=os.cpu_count() or 1,
        virtual=flags is not None and "hypervisor" in flags[1].split(),
        kernel=os.uname().release,
        hz=hz(),
    )


def hz() -> int | None:
    """The kernel's HZ, if its configuration can be read."""
    import gzip

    places: list[Any] = [Path(f"/boot/config-{os.uname().release}"), Path("/proc/config.gz")]
    for place in places:
        try:
            raw = place.read_bytes()
        except OSError:
            continue
        text = (gzip.decompress(raw) if place.suffix == ".gz" else raw).decode()
        found = re.search(r"^CONFIG_HZ=(\d+)$", text, re.MULTILINE)
        if found:
            return int(found[1])
    return None


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _duration(seconds: float) -> Duration:
    """A duration rounded to 10 ns, which is finer than the measurement."""
    rounded = round(seconds * _PS_PER_S / _ROUNDED_TO_PS) * _ROUNDED_TO_PS
    return Duration.of(rounded) if rounded else Duration("0s")
