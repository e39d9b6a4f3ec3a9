"""An experiment over real TCP: its variants on the Linux backend, one run at a time.

A run for which the machine was too slow is repeated; a seed without a valid run has no value. Two
runs of real hosts differ, so no run is kept for later.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from fairport.backends.progress import Done, Progress
from fairport.backends.run import run_many
from fairport.errors import InputError
from fairport.papers.catalogue import Entry
from fairport.papers.model import Variant
from fairport.record import Record

BACKEND = "linux"


@dataclass(frozen=True)
class LinuxRuns:
    """The results on the Linux backend."""

    says: str
    """The hosts on which it ran, and what was scaled."""
    records: dict[str, list[Record | None]]
    """Records by variant, in order of the seeds; None if no run of the seed was valid."""
    invalid_runs: int
    slowed: float = 1.0
    """Factor by which its rates were lower, and its times longer."""


def require(entries: Sequence[Entry]) -> None:
    """Raises InputError for an experiment that was not run on real hosts."""
    for entry in entries:
        if entry.experiment.linux is None:
            raise InputError(
                "was not run on real hosts, or on hosts that this backend cannot imitate",
                field="backend",
                value=entry.name,
                remedy='`fairport reproduce --json` says which are; or use `backend="simulation"`',
            )


def run(
    entries: Sequence[Entry], *, quick: bool, progress: Progress | None
) -> dict[str, LinuxRuns]:
    """Runs experiments, each variant with its seeds; returns results by the experiment's name.

    They were accepted by `require`.
    """
    plans = {entry.name: (_variants(entry), _seeds(entry, quick)) for entry in entries}
    total = sum(len(variants) * len(seeds) for variants, seeds in plans.values())
    done = 0
    found = {}
    for entry in entries:
        variants, seeds = plans[entry.name]
        records: dict[str, list[Record | None]] = {}
        invalid = 0
        for variant in variants:
            by_seed: dict[int, Record] = {}
            scenario = entry.scenario(variant, quick=quick, on_linux=True)
            runs = run_many(scenario, seeds, backend=BACKEND, retries=len(seeds))
            with closing(runs):
                for result in runs:
                    if result.summary["valid"]:
                        by_seed[result.seed] = Record.of(result)
                    else:
                        invalid += 1
                    if progress is not None:
                        progress(Done(min(done + len(by_seed), total), total, 0, 0))
            done += len(seeds)
            records[variant.name] = [by_seed.get(seed) for seed in seeds]
        there = entry.experiment.linux
        assert there is not None, "required above"
        found[entry.name] = LinuxRuns(there.says, records, invalid, there.slowed)
    return found


def _variants(entry: Entry) -> list[Variant]:
    wanted = entry.experiment.linux.variants if entry.experiment.linux else []
    return [one for one in entry.variants if not wanted or one.name in wanted]


def _seeds(entry: Entry, quick: bool) -> range:
    assert entry.experiment.linux is not None, "required before"
    count = entry.experiment.quick_seeds if quick else entry.experiment.linux.seeds
    return range(1, count + 1)
