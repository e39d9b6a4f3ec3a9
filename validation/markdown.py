"""Tables for documents, and the places in documents that a program fills."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def between_markers(file: Path, name: str, content: str) -> None:
    """Replaces what is between `<!-- name: begin -->` and `<!-- name: end -->`."""
    text = file.read_text(encoding="utf-8")
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"{file.name} has no place for `{name}`")
    file.write_text(pattern.sub(lambda _: f"{begin}{content}\n{end}", text), encoding="utf-8")
