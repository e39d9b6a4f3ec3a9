"""The reference of commands and of a scenario's fields, and the man page, from the program."""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer
from fairport.cli.app import app
from fairport.cli.examples import EXAMPLES
from fairport.scenario import builtin_names, builtin_use, json_schema, load
from fairport.scenario.stacks import stack, stack_names
from fairport.study.fixes import available

LONGEST_LINE = 120
SETTINGS = {setting.name for setting in stack(stack_names()[0]).settings}
"""The settings of TCP, which have a page of their own."""
_HELP = ("--help", "--install-completion", "--show-completion")


@dataclass
class _Section:
    """A table of a scenario, or one kind of it."""

    titles: list[str]
    """Of several places that hold the same."""
    about: str
    rows: list[str]
    """A row of the page's table for each field."""


def fields() -> str:
    """One section per table of a scenario, and one per kind of it; nothing is said twice."""
    schema = json_schema()
    sections = [_section("The whole file", schema, skip_tables=True)]
    for name, field in schema["properties"].items():
        heading = f"[[{name}]]" if field.get("type") == "array" else f"[{name}]"
        for definition in _tables(field, schema):
            sections.append(_section(heading, definition))
            for inner, below in definition["properties"].items():
                for deeper in _tables(below, schema):
                    if deeper["title"] in _SHOWN_ALREADY or not deeper["properties"]:
                        continue
                    path = f"{name}.{inner}"
                    path = f"[[{path}]]" if below.get("type") == "array" else f"[{path}]"
                    sections.append(_section(path, deeper))
    return "\n\n".join(_shown(_shared(_joined(sections))))


# tables that have a section of their own
_SHOWN_ALREADY = {"TcpSettings"}


def _section(title: str, definition: dict[str, Any], skip_tables: bool = False) -> _Section:
    required = definition.get("required", [])
    about = definition.get("description", "").partition("\n")[0]
    properties = definition["properties"]
    kind = properties.get("kind", {}).get("const", "")
    if kind:
        title += f' kind = "{kind}"'
        about += "" if "kind" in required else " This is the default kind."
    elsewhere = SETTINGS if properties.keys() >= SETTINGS else set()
    if elsewhere:
        about += " All other settings are on the page of [TCP stacks](stacks.md#settings)."
    rows = []
    for name, field in properties.items():
        is_value = field.get("type") in ("string", "integer") or name in ("routing", "paper")
        if (skip_tables and not is_value) or name == "kind" or name in elsewhere:
            continue
        default = "required" if name in required else _default(field)
        rows.append(row([f"`{name}`", default, values(field), field.get("description", "")]))
    return _Section([title if skip_tables else f"`{title}`"], about, rows)


def _joined(sections: list[_Section]) -> list[_Section]:
    """Sections that say the same become one with several titles."""
    found: dict[tuple[str, ...], _Section] = {}
    for one in sections:
        said = found.setdefault((one.about, *one.rows), one)
        said.titles = list(dict.fromkeys([*said.titles, *one.titles]))
    return list(found.values())


def _shared(sections: list[_Section]) -> list[_Section]:
    """What all kinds of a table have becomes a section before the first kind."""
    kinds: dict[str, list[_Section]] = {}
    for one in sections:
        table, is_kind, _ = one.titles[0].partition(" kind = ")
        if is_kind:
            kinds.setdefault(table, []).append(one)
    found = list(sections)
    for table, those in kinds.items():
        rows = [line for line in those[0].rows if all(line in one.rows for one in those)]
        if len(those) * len(rows) < _WORTH_A_SECTION:
            continue
        about = "The fields of every kind."
        found.insert(found.index(those[0]), _Section([f"{table}`"], about, rows))
        for one in those:
            one.rows = [line for line in one.rows if line not in rows]
    return found


# as many rows are left out elsewhere
_WORTH_A_SECTION = 10


def _shown(sections: list[_Section]) -> Iterator[str]:
    """A section's own fields; if it has all those of an earlier one, it names that one."""
    for at, one in enumerate(sections):
        if not one.rows:  # such a kind is described on the page of its table
            continue
        held = [two for two in sections[:at] if two.rows and {*two.rows} <= {*one.rows}]
        base = max(held, key=lambda two: len(two.rows), default=None)
        about, rows = one.about, one.rows
        if base:
            about += f" It has the fields of {base.titles[0]}, and these:"
            rows = [line for line in rows if line not in base.rows]
        table = ["| field | default | values | |", "|---|---|---|---|", *rows]
        yield "\n\n".join(["## " + ", ".join(one.titles), wrapped(about), "\n".join(table)])


def wrapped(text: str) -> str:
    """A paragraph in lines of the length that pages have."""
    return textwrap.fill(text, LONGEST_LINE, break_long_words=False, break_on_hyphens=False)


def _tables(field: dict[str, Any], schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The tables that a field may hold."""
    inner = field.get("items", field) if field.get("type") == "array" else field
    for one in inner.get("oneOf") or inner.get("anyOf") or [inner]:
        reference = one.get("$ref") if isinstance(one, dict) else None
        if reference:
            definition = schema["$defs"][reference.rpartition("/")[2]]
            if definition.get("type") == "object":
                yield definition
        elif one is not field and isinstance(one, dict) and (one.get("oneOf") or one.get("items")):
            yield from _tables(one, schema)


def _default(field: dict[str, Any]) -> str:
    default = field.get("default")
    if default is None or default in ("", []):
        return ""
    if isinstance(default, dict) and "kind" in default:
        return f"`{default['kind']}`"
    if isinstance(default, (dict, list)):
        return f"`{_as_toml(default)}`"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _as_toml(value: Any) -> str:
    """Tables and lists as a scenario's file has them."""
    if isinstance(value, dict):
        inner = ", ".join(f"{key} = {_as_toml(one)}" for key, one in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_as_toml, value))}]"
    return json.dumps(value)


def values(field: dict[str, Any]) -> str:
    """What a field may have."""
    forms = field.get("anyOf") or field.get("oneOf") or []
    one = next((part for part in forms if part.get("type") != "null"), field)
    if "enum" in one:
        return ", ".join(f"`{value}`" for value in one["enum"])
    if "const" in one:
        return f"`{one['const']}`"
    if one.get("examples"):
        return f'such as `"{one["examples"][0]}"`'
    words = {
        "string": "text", "integer": "whole number", "number": "number", "boolean": "true or false",
        "array": "list", "object": "table",
    }  # fmt: skip
    if "oneOf" in one or "$ref" in one or one.get("type") == "object":
        return "table"
    bounds = [
        f"{word} {one[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in one
    ]
    return " ".join([words.get(str(one.get("type")), ""), *bounds]).strip()


def scenarios() -> str:
    """The built-in scenarios, each with when one would use it."""
    rows = ["| scenario | what it is | when |", "|---|---|---|"]
    rows += [
        row([f"`{name}`", load(name).description, builtin_use(name)]) for name in builtin_names()
    ]
    return "\n".join(rows)


def fixes() -> str:
    """The fixes of `fairport compare`, each with when one would use it."""
    rows = ["| fix | what it is | when | needs |", "|---|---|---|---|"]
    for name, fix in available().items():
        rows.append(row([f"`{name}`", fix.title, fix.when, ", ".join(fix.needs)]))
    return "\n".join(rows)


def commands() -> str:
    """One section per command: what it does, its arguments and options, examples.

    What many commands have is in one table, and they name it.
    """
    every = [(name, command, _options(command)) for name, command in _every()]
    counts = Counter(option for _, _, options in every for option in options)
    shared = [option for option, count in counts.items() if count >= _SHARED]
    parts = [f"## Shared options\n\n{_option_table(shared)}"]
    for name, command, options in every:
        usage = f"`fairport {name} {_arguments(command)}".strip() + "`"
        named = [f"`{option[0].split()[0].rstrip(',')}`" for option in shared if option in options]
        if named:
            usage = wrapped(f"{usage}; [shared options](#shared-options): {', '.join(named)}")
        own = [option for option in options if option not in shared]
        table = _option_table(own) if own else ""
        text = re.sub(r"[\b]", "", (command.help or "").strip())
        examples = "\n".join(EXAMPLES.get(name, []))
        shown = f"```text\n{examples}\n```" if examples else ""
        parts.append(
            "\n\n".join(part for part in (f"## {name}", text, usage, table, shown) if part)
        )
    return "\n\n".join(parts)


# An option of so many commands is shown once.
_SHARED = 4


def _option_table(options: list[tuple[str, str]]) -> str:
    rows = (row([f"`{shown}`", text]) for shown, text in options)
    return "\n".join(["| option | |", "|---|---|", *rows])


def man() -> str:
    """The man page, fairport(1), in roff."""
    lines = [
        '.TH FAIRPORT 1 "" "Fairport" "User commands"',
        ".SH NAME",
        "fairport \\- a laboratory for TCP fairness in data\\-centre networks",
        ".SH SYNOPSIS",
        ".B fairport",
        "COMMAND [OPTIONS] [ARGUMENTS]",
        ".SH DESCRIPTION",
        "Shows who is starved when many senders share one bottleneck, why at the switch port, and",
        "which fix works. Data go to standard output, messages to standard error.",
        ".SH COMMANDS",
    ]
    for name, command in _every():
        lines += [".SS", _roff(f"fairport {name} {_arguments(command)}".strip())]
        lines += [_roff(line) for line in (command.help or "").split("\n") if line.strip()]
        for shown, text in _options(command):
            lines += [".TP", f".B {_roff(shown)}", _roff(text)]
        for example in EXAMPLES.get(name, []):
            lines += [".PP", ".RS", f".B {_roff(example)}", ".RE"]
    lines += [
        ".SH EXIT STATUS",
        "0: done. 1: a check did not hold. 2: bad input. 3: no run was valid. 130: interrupted.",
        ".SH ENVIRONMENT",
        ".TP", ".B FAIRPORT_STORE", "The folder of finished runs.",
        ".TP", ".B FAIRPORT_MEMORY", "How much memory runs may use, such as 64GB.",
        ".TP", ".B NO_COLOR", "Set to anything: no colours.",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _every() -> Iterator[tuple[str, Any]]:
    def walk(prefix: str, command: Any) -> Iterator[tuple[str, Any]]:
        for name, one in getattr(command, "commands", {}).items():
            if getattr(one, "commands", None):
                yield from walk(f"{prefix}{name} ", one)
            else:
                yield f"{prefix}{name}", one

    yield from walk("", typer.main.get_command(app))


def _arguments(command: Any) -> str:
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    shown = [
        (param.metavar or param.name.upper()) + (".." if param.nargs != 1 else "")
        for param in arguments
    ]
    return " ".join(
        name if param.required else f"[{name}]"
        for name, param in zip(shown, arguments, strict=True)
    )


def _options(command: Any) -> list[tuple[str, str]]:
    rows = []
    for param in command.params:
        if param.param_type_name == "argument" or param.opts[0] in _HELP:
            continue
        value = "" if param.is_flag else f" {param.metavar or param.type.name.upper()}"
        text = " ".join((param.help or "").split())
        if not param.is_flag and param.default not in (None, "") and "[default:" not in text:
            text += f" [default: {param.default}]"
        rows.append((", ".join(param.opts) + value, text))
    return rows


def _roff(text: str) -> str:
    escaped = re.sub(r"[\b]", "", text).strip().replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def row(cells: list[str]) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
