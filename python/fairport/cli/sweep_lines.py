"""What `fairport sweep` prints, and how it reads its options."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any

from fairport.cli.progress import duration
from fairport.errors import InputError
from fairport.figures.studies import choose
from fairport.quantities import counted
from fairport.study.caveats_of_runs import caveats_of_runs
from fairport.study.making import Estimate, Status
from fairport.study.points import count
from fairport.study.precision import Precision
from fairport.study.results import WHY_FAILED, Study
from fairport.study.runs.execution import Executor
from fairport.study.sweep_file import SweepFile


def precision(text: str, file: SweepFile, most_seeds: int | None) -> Precision | None:
    """Reads `10%` or `0.1`: the precision of the first kept number."""
    if not text:
        if most_seeds is not None:
            raise InputError(
                "has no effect without --until-precise",
                file="--most-seeds",
                value=most_seeds,
                remedy="add --until-precise 10%, or say how many with --seeds",
            )
        return None
    number, percent = text.removesuffix("%"), text.endswith("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise InputError(
            "is not a share between 0 and 1",
            file="--until-precise",
            value=text,
            remedy="give a share such as 10%",
        )
    metric = file.keep[0] if file.keep else "throughput_ratio"
    return Precision(metric, share, *([] if most_seeds is None else [most_seeds]))


def executor(cluster: str) -> AbstractContextManager[Executor] | None:
    """The cluster that makes the runs; None: this machine. Raises InputError for its address."""
    if not cluster:
        return None
    from fairport.study.runs.cluster import connected

    return connected(cluster)


def size_of(file: SweepFile, left: int) -> str:
    """Numbers of points and runs, of which `left` points remain with the condition."""
    every = count(file.axes, file.zip, file.file)
    out = f" ({every - left:,} left out)" if left < every else ""
    seeds = len(file.seed_numbers)
    each = f"{counted(seeds, 'seed')} each" if left != 1 else counted(seeds, "seed")
    return f"{counted(left, 'point')}{out} with {each}: {counted(left * seeds, 'run')}"


def estimate(found: Estimate) -> str:
    """The estimate in one line."""
    reused = f", {found.reused:,} already made" if found.reused else ""
    said = f"{counted(found.runs, 'run')} at {counted(found.points, 'point')}{reused}"
    if found.wall_s is None:
        return said
    return (
        f"{said}; about {duration(found.wall_s)}, {found.jobs} at a time;"
        f" {found.size_bytes / 1e6:.1f} MB"
    )


def done(study: Study, status: Status) -> str:
    """The lines for people at the end."""
    failed = f", {status.failed:,} of them failed{study.first_error()}" if status.failed else ""
    reused = f", {status.reused:,} made before" if status.reused else ""
    name = study.place.name
    lines = [f"{name}: {counted(status.done, 'run')} made{reused}{failed}"]
    if status.failed:
        lines.append(f"  fairport query {name} '{WHY_FAILED}'")
    lines += [one.sentence for one in caveats_of_runs(study)]
    axes, number = list(study.axes), study.first_number()
    lines.append(
        f"  fairport query {name} 'select \"{axes[0]}\", median({number}) from runs group by 1'"
    )
    first = choose(study)
    color = f" --color {first.color}" if first.color else ""
    lines.append(f"  fairport plot {name} --x {first.x} --y {first.y}{color}")
    return "\n".join(lines) + "\n"


def document(study: Study, status: Status) -> dict[str, Any]:
    """The outcome for programs."""
    return {
        "study": study.definition.name,
        "place": study.place.name,
        "axes": dict(study.axes),
        "runs": status.of,
        "made": status.done,
        "reused": status.reused,
        "failed": status.failed,
        "caveats": [asdict(one) for one in caveats_of_runs(study)],
    }
