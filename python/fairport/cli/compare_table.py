"""What `fairport compare` prints: the table, the ranking, the conclusion."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairport.cli.console import out
from fairport.cli.output import new_table
from fairport.quantities import QUANTITIES
from fairport.study.measures import MEASURES

if TYPE_CHECKING:
    from rich.table import Table

    from fairport.study.comparison import Comparison

# In a terminal narrower than this the later measures are left out, the last one first.
_WIDTH_OF_ALL = 110
_ALWAYS_SHOWN = 3
_WIDTH_OF_ONE = 11
_WIDTH_OF_NAMES = 30


def show(comparison: Comparison, folder: Path | None) -> None:
    """Prints the comparison."""
    from fairport.scenario.phase import phase_parameters

    console = out()
    measures = _that_fit(console.width)
    console.print(_table(comparison, measures))
    for candidate in comparison.candidates:
        if candidate.why_not is not None:
            console.print(f"{candidate.name}: not applicable: {candidate.why_not}", markup=False)
    seeds = comparison.seeds
    left_out = [QUANTITIES[key].title for key in MEASURES if key not in measures]
    parts = [
        f"medians over seeds {seeds[0]} to {seeds[-1]}, quartiles below"
        if len(seeds) > 1
        else f"seed {seeds[0]}",
        f"{comparison.scenario.duration} each",
        *([f"not shown in a terminal this narrow: {', '.join(left_out)}"] if left_out else []),
    ]
    console.print("; ".join(parts), style="dim")
    for part, text in phase_parameters(comparison.scenario).items():
        console.print(f"  {part:<7} {text}", style="dim")
    console.print()
    for one in comparison.ranking:
        console.print(f"{one.rank}. [bold]{one.fix}[/bold]: {one.verdict}: {one.sentence}")
    console.print(f"\n{comparison.conclusion}", style="bold")
    if folder is not None:
        for file in ("report.html", "tables"):
            if (folder / file).exists():
                console.print(str(folder / file), soft_wrap=True)


def _that_fit(width: int) -> list[str]:
    if width >= _WIDTH_OF_ALL:
        return list(MEASURES)
    return list(MEASURES)[: max(_ALWAYS_SHOWN, (width - _WIDTH_OF_NAMES) // _WIDTH_OF_ONE)]


def _table(comparison: Comparison, measures: list[str]) -> Table:
    table = new_table()
    table.add_column("fix")
    for key in measures:
        heading = f"{QUANTITIES[key].title} {QUANTITIES[key].unit}".strip().replace(" ", "\n")
        table.add_column(heading, justify="right", vertical="top")
    table.add_column("needs")
    for row in comparison.table.iter_rows(named=True):
        if row["not_applicable"] is not None:
            continue
        needs = ", ".join(row["needs"])
        table.add_row(row["fix"], *(_cell(row, key) for key in measures), needs)
    return table


def _cell(row: dict[str, Any], key: str) -> str:
    median, q1, q3 = (
        QUANTITIES[key].shown(row[f"{key}_{part}"], "over_seeds") for part in ("median", "q1", "q3")
    )
    return f"{median}\n[dim]{q1}..{q3}[/dim]" if median else ""
