"""What `fairport reproduce` prints: the list of experiments, or every claim and the totals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairport.cli.console import out
from fairport.cli.output import new_table
from fairport.storage.run import REPORT
from fairport.study import totals_kept
from fairport.study.reproduce import STATES, Reproduced, totals
from fairport.study.store import Store

if TYPE_CHECKING:
    from fairport.papers.catalogue import Entry

_KEYS = {state: state.replace(" ", "_") for state in STATES}
_STYLES = {"holds": "green", "differs": "bold red", "not comparable": "dim"}


def listing(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """One row per experiment, with the result of its last run."""
    store = Store()
    return [
        {
            "id": one.name,
            "title": one.experiment.title,
            "runs": len(one.variants) * one.experiment.seeds,
            "claims": len(one.claims),
            **_last_run(one, store),
        }
        for one in entries
    ]


def _last_run(entry: Entry, store: Store) -> dict[str, Any]:
    found = totals_kept.last(entry, store)
    if found is None:
        return {"last_run": "not run", **dict.fromkeys(_KEYS.values())}
    counts = {key: found["totals"][state] for state, key in _KEYS.items()}
    return {"last_run": "quick" if found["quick"] else "full", **counts}


def show(done: Sequence[Reproduced], folder: Path | None) -> None:
    """Prints the claims of each experiment, then how many are in each state."""
    console = out()
    for one in done:
        seeds = one.seeds
        console.print(f"[bold]{one.entry.name}[/bold]: {one.entry.experiment.title}")
        table = new_table()
        for heading in ("claim", "ours", "published", "holds when", ""):
            table.add_column(heading, vertical="top")
        for checked in one.checked_claims:
            table.add_row(
                checked.claim.id,
                checked.ours_in_words,
                checked.published_in_words,
                checked.tolerance,
                f"[{_STYLES[checked.state]}]{checked.state}[/]",
            )
        console.print(table)
        what = "quick: fewer seeds, shorter runs; " if one.quick else ""
        console.print(f"{what}medians over seeds {seeds[0]} to {seeds[-1]}\n", style="dim")
    console.print(
        ", ".join(f"{count} {state}" for state, count in totals(done).items()), style="bold"
    )
    if folder is not None:
        console.print(str(folder / REPORT), soft_wrap=True)
