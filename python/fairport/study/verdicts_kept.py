"""What the last run of an experiment gave, kept beside the records so that listing takes no time.

How many of its claims are in each state, in a file `VERSION/reproduced/EXPERIMENT.json` of the
store. It counts only as long as the experiment, its claims and its platform are what was
judged.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

from fairport.scenario import load as load_scenario
from fairport.study.store import Store

if TYPE_CHECKING:
    from fairport.papers.catalogue import Entry
    from fairport.study.reproduce import Reproduced

_FOLDER = "reproduced"


def keep(done: Reproduced, store: Store) -> None:
    """Writes down how many claims are in each state; a store that takes nothing is no error."""
    from fairport.study.reproduce import totals

    path = store.version_folder / _FOLDER / f"{done.entry.name.replace('/', '-')}.json"
    partial = path.with_suffix(f".{os.getpid()}.partial")
    found = {"of": _digest(done.entry), "quick": done.quick, "totals": totals([done])}
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(found), encoding="utf-8")
        partial.replace(path)


def last(entry: Entry, store: Store) -> dict[str, Any] | None:
    """The `totals` of the last run, and whether it was `quick`; None when there is none."""
    path = store.version_folder / _FOLDER / f"{entry.name.replace('/', '-')}.json"
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if found.get("of") == _digest(entry) else None


def _digest(entry: Entry) -> str:
    """Of everything that decides the claims' states, but for the engine."""
    parts = [entry.experiment, *entry.claims]
    document = [part.model_dump() for part in parts]
    if entry.platform:
        document += [entry.platform.model_dump(), load_scenario(entry.platform.base).document()]
    return hashlib.blake2b(json.dumps(document).encode(), digest_size=16).hexdigest()
