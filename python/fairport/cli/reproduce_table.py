"""What `fairport reproduce` prints: the list of experiments, or every claim and the totals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import fill, indent
from typing import TYPE_CHECKING, Any

from fairport.cli.console import out
from fairport.cli.output import new_table, print_text, styled
from fairport.storage.parts import REPORT
from fairport.study import last_totals
from fairport.study.reproduce import STATES, CheckedClaim, Reproduced, totals
from fairport.study.runs.store import Store

if TYPE_CHECKING:
    from rich.text import Text

    from fairport.papers.catalogue import Entry

_WIDTH = 80
_KEYS = {state: state.replace(" ", "_") for state in STATES}
_PLURALS = {"holds": "hold", "differs": "differ", "not comparable": "not comparable"}
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
            "linux": one.experiment.linux is not None,
            **_last_run(one, store),
        }
        for one in entries
    ]


def print_list(rows: Sequence[Mapping[str, Any]]) -> None:
    """Prints the list in 80 columns: ids unshortened, titles below them."""
    heading = f"{'id':<42}{'runs':>5}{'claims':>7}  {'last run':<9}{'hold':>5}{'differ':>7}"
    lines = [heading]
    for row in rows:
        counts = [row["holds"], row["differs"]]
        shown = "".join(
            f"{'' if count is None else count:>{width}}"
            for count, width in zip(counts, (5, 7), strict=True)
        )
        line = f"{row['id']:<42}{row['runs']:>5}{row['claims']:>7}  {row['last_run']:<9}{shown}"
        lines += [line.rstrip(), *indent(fill(row["title"], _WIDTH - 2), "  ").split("\n")]
    print_text("\n".join(lines) + "\n")


def _last_run(entry: Entry, store: Store) -> dict[str, Any]:
    found = last_totals.last(entry, store)
    if found is None:
        return {"last_run": "not run", **dict.fromkeys(_KEYS.values())}
    counts = {key: found["totals"][state] for state, key in _KEYS.items()}
    return {"last_run": "quick" if found["quick"] else "full", **counts}


def show(done: Sequence[Reproduced], folder: Path | None) -> None:
    """Prints the claims of each experiment, then how many are in each state."""
    console = out()
    for one in done:
        seeds = one.seeds
        console.print(styled((one.entry.name, "bold"), f": {one.entry.experiment.title}"))
        table = new_table()
        simulated = ("simulated", "Linux") if one.linux else ("ours",)
        for heading in ("claim", *simulated, "published", "holds when", *[""] * len(simulated)):
            table.add_column(heading, vertical="top")
        for checked in one.checked_claims:
            table.add_row(
                checked.claim.id,
                checked.ours_in_words,
                *_linux(one, checked, lambda linux: linux.ours_in_words),
                checked.published_in_words,
                checked.tolerance,
                _state(checked),
                *_linux(one, checked, _state),
            )
        console.print(table)
        if one.linux:
            runs = one.linux
            console.print(f"Linux: {runs.says}; {runs.invalid_runs} invalid runs", style="dim")
        what = "quick: fewer seeds, shorter runs; " if one.quick else ""
        console.print(f"{what}medians over seeds {seeds[0]} to {seeds[-1]}\n", style="dim")
    console.print(
        ", ".join(f"{count} {_PLURALS[state]}" for state, count in totals(done).items()),
        style="bold",
    )
    if folder is not None and (folder / REPORT).exists():
        console.print(str(folder / REPORT), soft_wrap=True)


def _state(checked: CheckedClaim) -> Text:
    return styled((checked.state, _STYLES[checked.state]))


def _linux(
    one: Reproduced, checked: CheckedClaim, shown: Callable[[CheckedClaim], str | Text]
) -> list[str | Text]:
    """The cell of the Linux backend, if there is such a column."""
    if one.linux is None:
        return []
    return ["not run" if checked.linux is None else shown(checked.linux)]
