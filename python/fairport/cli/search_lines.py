"""What `fairport tune` and `fairport hunt` print."""

from __future__ import annotations

from fairport.cli import output
from fairport.cli.console import out
from fairport.quantities import counted, of_number
from fairport.scenario.patch import assignment
from fairport.study.points import in_column
from fairport.study.ranking import with_range
from fairport.study.search import Searched

_SHOWN = 5


def show(done: Searched) -> None:
    """The best points in a table, and how to run the first."""
    if not done.found:
        output.print_text(f"{done.study.place.name}: no point of {done.trials} has a result\n")
        return
    paths, numbers = list(done.found[0].values), list(done.weights)
    table = output.new_table()
    for name in [*paths, *(of_number(name).label for name in numbers), "gain"]:
        table.add_column(name)
    for one in done.found[:_SHOWN]:
        table.add_row(
            *(str(in_column(one.values[path])) for path in paths),
            *(of_number(name).shown(one.numbers[name]) for name in numbers),
            with_range(*(f"{gain:.3g}" for gain in (one.gain, *one.gain_range))),
        )
    before = [of_number(name).shown(done.before[name]) for name in numbers]
    table.add_row("as it is", *[""] * (len(paths) - 1), *before, "1")
    out().print(table)
    best = " ".join(f"--set {assignment(*one)}" for one in done.found[0].values.items())
    word = "Best" if done.goal == "tune" else "Worst"
    seeds = counted(len(done.study.definition.seeds), "seed")
    output.print_text(
        f"{word} of {done.trials} points, {seeds} each:\n  {best}\n"
        f"{done.conclusion}\n"
        f"The points are the study {done.study.place.name}.\n"
    )
