"""What is known about the spread over seeds, for a reader who has run one seed.

The verdict of one seed says little about a network that is sensitive to phase. The built-in
scenarios were run with many seeds; `builtin/spreads.json` has the results by the key of the run
(`Prepared.key`), so a scenario that was changed in any way is not mistaken for one of them.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

FILE = "builtin/spreads.json"


def sentence(key: str) -> str:
    """A sentence for a run of one seed: the spread of the throughput ratio, if it is known."""
    known = _known().get(key)
    if known is None:
        return (
            "This is one seed. The spread over seeds is not known here; runs with ten of them would"
            " show it."
        )
    least, median, most = (f"{known[part]:.2f}" for part in ("least", "median", "most"))
    return (
        f"This is one seed: {known['seeds']} seeds of this scenario gave ratios from {least} to"
        f" {most}, {median} at the median."
    )


@cache
def _known() -> dict[str, Any]:
    text = (resources.files("fairport.scenario") / FILE).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
