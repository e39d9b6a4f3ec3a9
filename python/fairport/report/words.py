"""The words that a report uses and links to, as the documentation's glossary explains them.

`words.json` is made from docs/reference/glossary.md (`make renew WHAT=docs`), so that a page
explains its words without a network.
"""

from __future__ import annotations

import json

from fairport.report.template import read

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
    found = json.loads(read("words.json"))
    return [(anchor, word[:1].upper() + word[1:], meaning) for anchor, word, meaning in found]
