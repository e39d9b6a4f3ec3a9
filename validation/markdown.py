"""Tables for documents, and the places in documents that a program fills."""

from __future__ import annotations

import re
import statistics
import textwrap
from collections.abc import Sequence
from pathlib import Path

_WIDTH = 120


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def spread(values: Sequence[float], form: str) -> str:
    """The median, and the range of several."""
    median = format(statistics.median(values), form)
    if len(values) == 1:
        return median
    return f"{median} ({min(values):{form}} to {max(values):{form}})"


def part(text: str, name: str) -> str:
    """What a page's text has between the markers of that name."""
    return text.partition(f"<!-- {name}: begin -->\n")[2].partition(f"<!-- {name}: end -->")[0]


def cells(text: str) -> list[list[str]]:
    """The cells of every row of the tables in a text."""
    rows = [line[1:-1].split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows]


def between_markers(file: Path, name: str, content: str) -> None:
    """Replaces what is between `<!-- name: begin -->` and `<!-- name: end -->`; wraps its prose."""
    text = file.read_text(encoding="utf-8")
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"{file.name} has no place for `{name}`")
    file.write_text(
        pattern.sub(lambda _: f"{begin}{_wrapped(content)}\n{end}", text), encoding="utf-8"
    )


def _wrapped(content: str) -> str:
    """Long lines as several ones, except in tables and lists of code; items are indented."""
    wrapper = textwrap.TextWrapper(_WIDTH, break_long_words=False, break_on_hyphens=False)
    lines: list[str] = []
    for line in content.splitlines():
        if len(line) <= _WIDTH or line.startswith(("|", "<", "!", "- `")):
            lines.append(line)
            continue
        item = re.match(r"(?:[-*]|\d+\.) ", line)
        wrapper.subsequent_indent = " " * len(item[0]) if item else ""
        lines += wrapper.wrap(line)
    return "\n".join(lines)
