"""Pages made from the program: every table's columns, every stack's settings, the layers.

`make renew WHAT=docs` renews what is between the pages' markers; a test compares the two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import reference
from fairport import summary, tables
from fairport.report.words import WORDS as WORDS_OF_A_REPORT
from fairport.scenario import json_schema
from fairport.scenario.field_texts import attribute_texts
from fairport.scenario.stacks import stack, stack_names
from reference import row
from test_layers import CRATES, PYTHON
from typing_extensions import is_typeddict

ROOT = Path(__file__).parents[2]
_DTYPES: Mapping[type[pl.DataType], str] = {
    pl.String: "text",
    pl.UInt32: "u32",
    pl.UInt64: "u64",
    pl.Float64: "f64",
    pl.Boolean: "bool",
}


def columns() -> str:
    """One section per table: its columns with type, unit, meaning, and when a value is null."""
    return "\n\n".join(_table(name) for name in tables.SCHEMA)


def _table(name: str) -> str:
    rows = [row(["column", "type", "unit", "", "null"]), "|---|---|---|---|---|"]
    for column in tables.SCHEMA[name]:
        dtype = _DTYPES[column.dtype]
        rows.append(row([f"`{column.name}`", dtype, column.unit, column.text, column.null]))
    about = reference.wrapped(tables.ABOUT[name])
    return f"## {name}\n\n{about}\n\n" + "\n".join(rows)


def summary_keys() -> str:
    """One section per object of the summary: its keys with type and meaning."""
    objects = [one for one in vars(summary).values() if is_typeddict(one)]
    return "\n\n".join(_keys(one, objects) for one in reversed(objects))


def _keys(one: type, objects: list[type]) -> str:
    rows = [row(["key", "type", ""]), "|---|---|---|"]
    texts = attribute_texts(one)
    for key, declared in one.__annotations__.items():
        kind = declared.__forward_arg__
        always = kind.removeprefix("NotRequired[")
        is_absent = always != kind
        named = (always.removesuffix("]") if is_absent else always).replace("None", "null")
        for other in objects:
            link = f"[{other.__name__}](#{other.__name__.lower()})"
            named = re.sub(rf"\b{other.__name__}\b", link, named)
        said = [texts.get(key, "").rstrip("."), "may be absent" if is_absent else ""]
        rows.append(row([f"`{key}`", named, "; ".join(filter(None, said))]))
    about = reference.wrapped(" ".join((one.__doc__ or "").split()))
    return f"## {one.__name__}\n\n{about}\n\n" + "\n".join(rows)


def settings() -> str:
    """One row per setting of TCP: its meaning, what it may be, and its value in each stack."""
    stacks = [stack(name) for name in stack_names()]
    fields = json_schema()["$defs"]["TcpSettings"]["properties"]
    rows = [row(["setting", *(one.name for one in stacks), "values", "meaning"])]
    rows.append("|---" * (len(stacks) + 3) + "|")
    for at, setting in enumerate(stacks[0].settings):
        values = [_value(one.settings[at].value) for one in stacks]
        possible = reference.values(fields[setting.name])
        rows.append(row([f"`{setting.name}`", *values, possible, setting.meaning]))
    return "\n".join(rows)


def layers() -> str:
    """The layers of Python and of the crates, the top first."""
    parts = []
    for title, lists in (("Crates", CRATES), ("Python", PYTHON)):
        lines = [", ".join(f"`{name}`" for name in sorted(names)) for names in reversed(lists)]
        numbered = (f"| {len(lines) - at} | {line} |" for at, line in enumerate(lines))
        parts.append("\n".join([f"| {title} | |", "|---|---|", *numbered]))
    return "\n\n".join(parts)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {one}" for key, one in value.items())
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


# page -> marker -> the function that makes its content
PAGES: dict[Path, dict[str, Callable[[], str]]] = {
    ROOT / "docs" / "architecture.md": {"layers": layers},
    ROOT / "docs" / "reference" / "built-in.md": {
        "scenarios": reference.scenarios,
        "fixes": reference.fixes,
    },
    ROOT / "docs" / "reference" / "commands.md": {"commands": reference.commands},
    ROOT / "docs" / "reference" / "scenario.md": {"fields": reference.fields},
    ROOT / "docs" / "reference" / "summary.md": {"keys": summary_keys},
    ROOT / "docs" / "reference" / "tables.md": {"columns": columns},
    ROOT / "docs" / "reference" / "stacks.md": {"settings": settings},
}

WORDS = ROOT / "python" / "fairport" / "report" / "words.json"
MAN_PAGE = (
    ROOT / "crates" / "python" / "fairport.data" / "data" / "share" / "man" / "man1" / "fairport.1"
)
"""The wheel installs it in share/man."""


def renewed(page: Path) -> str:
    """The page's text with its generated parts made anew."""
    text = page.read_text(encoding="utf-8")
    for marker, make in PAGES[page].items():
        begin, end = f"<!-- {marker}: begin -->\n", f"<!-- {marker}: end -->"
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"{page.name} has no place for `{marker}`")
        text = f"{before}{begin}{make()}\n{end}{after}"
    return text


def words() -> str:
    """The part of the glossary that reports use, as JSON: anchor, word and meaning."""
    page = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r'^\| <a id="([^"]+)"></a>(.+?) \| (.+?) \|', page, flags=re.MULTILINE)
    known = {anchor: (word, re.sub(r"[`]|\]\([^)]*\)|\[", "", text)) for anchor, word, text in rows}
    found = [[anchor, *known[anchor]] for anchor in WORDS_OF_A_REPORT]
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"
