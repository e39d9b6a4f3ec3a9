"""The figures of a run, one file per kind: `SUBJECT`, `CAPTION` and `draw(result) -> Figure`.

`findings` makes their titles.

Heavy modules are imported only when a figure is drawn, and pyplot never is: figures are objects, so
that drawing needs no display and leaves no state behind.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from fairport.errors import InputError, not_one_of
from fairport.figures.drawing import settings_folder
from fairport.files import atomic_file, require_writable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairport.figures.drawing.saving import Saver
    from fairport.result import Result
    from fairport.study.comparison.result import Comparison
    from fairport.study.results import Study

# In the order of the report; each is a module of this package.
KINDS = ("goodput", "bars", "drop_runs", "queue", "cwnd", "rtt")
# Only for runs whose summary has an entry of the same name.
_OF_SOME = ("fct", "requests")

ENDINGS = (".png", ".svg", ".pdf")

# before any module of this package imports matplotlib, which reads its settings then
settings_folder.provide()


class Kind(Protocol):
    """The contents of a module of this package."""

    SUBJECT: str
    """What is drawn; what it shows is the title of the drawn figure."""
    CAPTION: str

    def draw(self, result: Result, **options: Any) -> Figure:
        """The figure of one run."""


def kind(name: str) -> Kind:
    """The kind of figure with that name. Raises InputError."""
    if name not in KINDS + _OF_SOME:
        problem, remedy = not_one_of(name, KINDS + _OF_SOME)
        raise InputError(problem, field="kind", value=name, remedy=remedy)
    return cast(Kind, importlib.import_module(f"fairport.figures.{name}"))


def kinds(result: Result) -> tuple[str, ...]:
    """The kinds of figure that the run has."""
    from fairport.metrics import fairness

    # captures show no windows, and without ACKs no round-trip times
    needed = {"cwnd": "cwnd_bytes", "rtt": "rtt_mean_s"}
    series = result.series
    absent = {kind for kind, name in needed.items() if len(series) and series[name].is_null().all()}
    compared = fairness.compared(result.flows)
    # of UDP alone, nothing is compared
    if compared.is_empty():
        absent |= {"goodput", "bars", "rtt"}
    # the goodput of a transfer is its size's as much as the network's: `fct` shows it instead
    if not fairness.is_endless(compared):
        absent.add("bars")
    # there are none, or they are inferred from one capture, which shows neither order nor queue
    if result.drops.is_empty():
        absent.add("drop_runs")
    if result.summary["bottleneck"] is None:
        absent.add("queue")
    return tuple(name for name in KINDS if name not in absent) + tuple(
        name for name in _OF_SOME if result.summary.get(name)
    )


def plot(
    found: Result | Comparison | Study,
    kind: str | None = None,
    *,
    width_in: float | None = None,
    **options: Any,
) -> Figure:
    """A figure of a run, of a comparison or of a study, as a matplotlib Figure.

        fp.plot(fp.run("two-switch"), "bars", width_in=3.4).savefig("bars.pdf")

    `kind` is one of `KINDS`, by default goodput over time; a comparison has one figure only.
    `width_in` is the width in which it is printed, such as 3.4 for a journal's column: then no
    letter is smaller than 7 pt. `options` are those of the kind's `draw`: `plot(result, "queue",
    blackout_of="edge0.0:1")`. For a study they are those of `fairport plot`: `plot(study,
    x="topology.peers", y="jain_index")`.

    Raises InputError for a kind that does not exist, and for a run that has no data for it.
    """
    from fairport.figures import compare, compared, studies
    from fairport.figures.drawing import width
    from fairport.result import Result
    from fairport.study.comparison.result import Comparison
    from fairport.study.results import Study

    with width.drawn_at(width_in):
        if isinstance(found, Comparison):
            return compare.draw(compared.chart(found))
        if isinstance(found, Study):
            return studies.draw(found, **options)
        if isinstance(found, Result):
            return draw(found, kind, **options)
    raise InputError(
        "is neither a result nor a comparison nor a study",
        value=found,
        remedy="give one result of `fp.run`, or what `fp.compare` or `fp.sweep` returns",
    )


def draw(result: Result, name: str | None = None, **options: Any) -> Figure:
    """One figure of the run: of kind `name`, by default goodput over time."""
    from fairport.figures.drawing import style

    with style.applied():
        return kind(name or KINDS[0]).draw(result, **options)


def draw_all(result: Result, out_dir: Path, saver: Saver) -> list[Path]:
    """Draws the run's figures into `out_dir`, each as PNG and as SVG; returns their paths."""
    return [
        path for name in kinds(result) for path in saver.save(draw(result, name), out_dir / name)
    ]


def require_file(path: Path, option: str, endings: Sequence[str] = ENDINGS, *, force: bool) -> None:
    """Refuses, before a figure is drawn, a file that an option names and `save_as` could not write.

    Raises InputError if it has none of the endings, and OutputError.
    """
    if path.suffix not in endings:
        *others, last = (ending[1:].upper() for ending in endings)
        raise InputError(
            f"is neither {', '.join(others)} nor {last}",
            field=option,
            value=str(path),
            remedy=f"name a file that ends in {', '.join(endings[:-1])} or {endings[-1]}",
        )
    require_writable(path, option, force=force)


def save_as(picture: Figure, path: Path, option: str, *, force: bool) -> None:
    """Writes the file that an option names, completely or not at all. Raises OutputError."""
    from fairport.figures.drawing import style

    with atomic_file(path, option, force=force) as partial:
        style.save(picture, partial)
