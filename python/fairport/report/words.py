"""The words that a report uses and links to, as the documentation's glossary explains them.

`words.json` is made from docs/reference/glossary.md (`make renew WHAT=docs`), so that a page
explains its words without a network.
"""

from __future__ import annotations

import json
from importlib import resources

WORDS = (
    "hop-class",
    "bottleneck",
    "ingress-port",
    "goodput",
    "fair-share",
    "throughput-ratio",
    "jain-index",
    "drop-run",
    "blackout",
    "outcast",
    "timeout-rto",
    "timeout-period",
    "a-timeout-follows-a-drop-run",
    "fct-slowdown",
    "phase",
    "fingerprint",
)
"""The glossary's anchors, in the order of the page."""


def words() -> list[tuple[str, str, str]]:
    """Anchor, word and meaning of each word."""
    file = resources.files(__package__) / "words.json"
    found = json.loads(file.read_text(encoding="utf-8"))
    return [(anchor, word[:1].upper() + word[1:], meaning) for anchor, word, meaning in found]
