"""How many claims of an experiment held in its last run, for a fast list of experiments.

The number of claims in each state is a note of the store. It is valid only as long as the
experiment, its claims and its platform are the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairport.scenario import load as load_scenario
from fairport.study.runs.store import Store

if TYPE_CHECKING:
    from fairport.papers.catalogue import Entry


def keep(entry: Entry, totals: Mapping[Any, int], store: Store, *, quick: bool) -> None:
    """Writes the number of claims in each state; a store that cannot be written is no error."""
    found = {"of": _digest(entry), "quick": quick, "totals": totals}
    with contextlib.suppress(OSError):
        store.note(_name(entry), json.dumps(found).encode())


def last(entry: Entry, store: Store) -> dict[str, Any] | None:
    """The `totals` of the last run, and whether it was `quick`; None if there is none."""
    try:
        text = store.note_path(_name(entry)).read_text(encoding="utf-8")
        found: dict[str, Any] = json.loads(text)
    except (OSError, ValueError):
        return None
    return found if found.get("of") == _digest(entry) else None


def _name(entry: Entry) -> str:
    return entry.name.replace("/", "-")


def _digest(entry: Entry) -> str:
    """Hash of everything that decides the claims' states, except the engine."""
    parts = [entry.experiment, *entry.claims]
    document = [part.model_dump() for part in parts]
    if entry.platform:
        document += [entry.platform.model_dump(), load_scenario(entry.platform.base).document()]
    return hashlib.blake2b(json.dumps(document).encode(), digest_size=16).hexdigest()
