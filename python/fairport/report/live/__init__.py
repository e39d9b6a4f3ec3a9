"""The interactive part of the report: data and scripts within the page.

`data.py` makes the document of one run. The page holds it compressed, one block per seed, and the
scripts unpack the block of the chosen seed. They are small files that make one script: `view.js`
(what is shown, and the page's address), `panels.js` (panels over time, drawn by uPlot), `marks.js`
(decisions of TCP on the window's line), `hover.js`, `tables.js` (sorting, filtering, the table of
flows), `blackout.js`, and `page.js`, which joins them. Without scripts the page shows the static
figures, and so does its print.
"""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from fairport.report.template import read

SCRIPTS = (
    "view.js",
    "panels.js",
    "marks.js",
    "hover.js",
    "tables.js",
    "blackout.js",
    "page.js",
)


def script() -> str:
    """The page's only script: the library, and our scripts."""
    ours = "\n".join(read(f"live/{name}") for name in SCRIPTS)
    return f'{read("live/vendor/uPlot.min.js")}\n(() => {{\n"use strict";\n{ours}\n}})();'


def style() -> str:
    """What the live part adds to the page's style."""
    return read("live/vendor/uPlot.min.css") + "\n" + read("live/live.css")


def block(document: dict[str, Any]) -> str:
    """A document for the page: compressed JSON, in characters that cannot end an element."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Without a timestamp, so that the same content gives the same bytes. More compression would
    # take three times as long, and save a twentieth of the size.
    return base64.b64encode(gzip.compress(text.encode(), 4, mtime=0)).decode("ascii")
