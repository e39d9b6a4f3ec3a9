"""What `fairport compare` prints: the table, the ranking, the conclusion."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairport.cli.console import out
from fairport.cli.output import new_table, styled
from fairport.metrics.repeats import seeds_in_words
from fairport.metrics.spread import shown_of_row
from fairport.quantities import QUANTITIES

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from fairport.study.comparison.parts import ComparedPart
    from fairport.study.comparison.result import Column, Comparison

# Columns of the whole run that a narrow terminal has no room for are left out, the last one first.
_ALWAYS_SHOWN = 3
_WIDTH_OF_ONE = 11
_WIDTH_OF_NAMES = 30


def show(comparison: Comparison, folder: Path | None) -> None:
    """Prints the comparison: a table per part of the traffic, one of the whole run, the ranking."""
    from fairport.scenario.phase import phase_parameters

    console = out()
    for caveat in comparison.caveats:
        console.print(caveat, style="bold")
    for part in comparison.parts:
        columns = [column for column in comparison.columns if column.part == part.label]
        if columns and not part.is_long_lived:
            console.print(styled("\n", (part.label, "bold"), _ranks(part)))
            console.print(_table(comparison, columns))
    # of the whole run, and of the long-lived flows, which share the line
    long_lived = [part.label for part in comparison.parts if part.is_long_lived]
    of_the_run = [one for one in comparison.columns if one.part in ("", *long_lived)]
    that_fit = (console.width - _WIDTH_OF_NAMES) // _WIDTH_OF_ONE
    shown = of_the_run[: max(_ALWAYS_SHOWN, that_fit)]
    if len(comparison.parts) > 1 or not comparison.parts[0].is_long_lived:
        console.print("\nthe whole run", style="bold")
    console.print(_table(comparison, shown, needs=True))
    for candidate in comparison.candidates:
        if candidate.why_not is not None:
            console.print(f"{candidate.name}: not applicable: {candidate.why_not}")
    if comparison.host_queue_drops:
        console.print(comparison.host_queue_drops, style="bold")
    console.print("; ".join(_circumstances(comparison, of_the_run[len(shown) :])), style="dim")
    for section, text in phase_parameters(comparison.scenario).items():
        console.print(f"  {section:<7} {text}", style="dim")
    console.print(f"\n{comparison.ranked_by}")
    for one in comparison.ranking:
        console.print(styled(f"{one.rank}. ", (one.fix, "bold"), f": {one.effect}: {one.sentence}"))
    console.print(f"\n{comparison.conclusion}", style="bold")
    if folder is not None:
        for file in ("report.html", "tables"):
            if (folder / file).exists():
                console.print(str(folder / file), soft_wrap=True)


def _ranks(part: ComparedPart) -> str:
    if part.metric is None:
        return ", which the ranking leaves out"
    return f", ranked by {QUANTITIES[part.metric].title}"


def _circumstances(comparison: Comparison, left_out: Sequence[Column]) -> list[str]:
    seeds = comparison.seeds
    over = f"medians over {seeds_in_words(seeds)}, {comparison.spread_name} below"
    parts = [
        over if len(seeds) > 1 else f"seed {seeds[0]} only, so the spread is not known",
        f"{comparison.scenario.duration} each",
    ]
    if left_out:
        titles = ", ".join(column.quantity.title for column in left_out)
        parts.append(f"not shown in a terminal this narrow: {titles}")
    return parts


def _table(comparison: Comparison, columns: Sequence[Column], *, needs: bool = False) -> Table:
    table = new_table()
    table.add_column("fix")
    for column in columns:
        quantity = column.quantity
        heading = f"{quantity.title} {quantity.unit}".strip().replace(" ", "\n")
        table.add_column(heading, justify="right", vertical="top")
    if needs:
        table.add_column("needs")
    several = len(comparison.seeds) > 1
    for row in comparison.table.iter_rows(named=True):
        if row["not_applicable"] is None:
            cells = [_cell(row, column, spread=several) for column in columns]
            table.add_row(row["fix"], *cells, *([", ".join(row["needs"])] if needs else []))
    return table


def _cell(row: dict[str, Any], column: Column, *, spread: bool) -> Text:
    median, q1, q3 = shown_of_row(row, column.key, column.quantity)
    return styled(f"{median}\n", (f"{q1}..{q3}", "dim")) if median and spread else styled(median)
