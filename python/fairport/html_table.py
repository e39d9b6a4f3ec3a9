"""What a notebook shows of a value: its name, a sentence about it, and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape


def html_table(name: str, sentence: str, rows: Sequence[Mapping[str, str]]) -> str:
    """The value as HTML: one column per key of the first row; the first column holds names.

    The last cell of a shorter row spans the columns that it lacks.
    """
    head = "".join(f"<th>{escape(key)}</th>" for key in (rows[0] if rows else ()))
    body = ""
    for row in rows:
        first, *cells = map(escape, row.values())
        *others, last = (f"<td>{cell}</td>" for cell in cells)
        if len(row) < len(rows[0]):
            last = last.replace("<td>", f"<td colspan='{len(rows[0]) - len(row) + 1}'>", 1)
        body += f"<tr><th>{first}</th>{''.join(others)}{last}</tr>"
    about = f"<p><b>{escape(name)}</b>: {escape(sentence)}</p>"
    return f"{about}<table><tr>{head}</tr>{body}</table>"
