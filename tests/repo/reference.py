"""The reference of commands and of a scenario's fields, and the man page, from the program."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Any

import typer
from fairport.cli.app import app
from fairport.cli.examples import EXAMPLES
from fairport.scenario import builtin_names, builtin_use, json_schema, load
from fairport.study.fixes import available

LONGEST_LINE = 120
_HELP = ("--help", "--install-completion", "--show-completion")


def fields() -> str:
    """One section per table of a scenario, and one per kind of it."""
    schema = json_schema()
    parts = [_fields_of("The whole file", schema, schema["properties"], skip_tables=True)]
    for name, field in schema["properties"].items():
        kinds = list(_tables(field, schema))
        heading = f"[[{name}]]" if field.get("type") == "array" else f"[{name}]"
        for definition in kinds:
            kind = definition["properties"].get("kind", {}).get("const", "")
            title = f'{heading} kind = "{kind}"' if kind and len(kinds) > 1 else heading
            parts.append(_fields_of(f"`{title}`", definition, definition["properties"]))
            for inner, below in definition["properties"].items():
                for deeper in _tables(below, schema):
                    if deeper["title"] in _SHOWN_ALREADY or not deeper["properties"]:
                        continue
                    path = f"{name}.{inner}"
                    path = f"[[{path}]]" if below.get("type") == "array" else f"[{path}]"
                    kind = deeper["properties"].get("kind", {}).get("const", "")
                    shown = f'{path} kind = "{kind}"' if kind else path
                    parts.append(_fields_of(f"`{shown}`", deeper, deeper["properties"]))
    return "\n\n".join(dict.fromkeys(parts))


# tables that have a section of their own
_SHOWN_ALREADY = {"TcpSettings"}


def _fields_of(
    title: str, definition: dict[str, Any], properties: dict[str, Any], skip_tables: bool = False
) -> str:
    required = definition.get("required", [])
    rows = ["| field | default | values | |", "|---|---|---|---|"]
    for name, field in properties.items():
        is_value = field.get("type") in ("string", "integer") or name in ("routing", "paper")
        if skip_tables and not is_value:
            continue
        default = "required" if name in required else _default(field)
        rows.append(row([f"`{name}`", default, _values(field), field.get("description", "")]))
    about = definition.get("description", "").partition("\n")[0]
    return f"## {title}\n\n{wrapped(about)}\n\n" + "\n".join(rows)


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
    if isinstance(default, dict):
        return f"`{default['kind']}`" if "kind" in default else ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _values(field: dict[str, Any]) -> str:
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
    """One section per command: what it does, its arguments and options, examples."""
    parts = []
    for name, command in _every():
        usage = f"fairport {name} {_arguments(command)}".strip()
        rows = ["| option | |", "|---|---|"]
        rows += [row([f"`{shown}`", text]) for shown, text in _options(command)]
        table = "\n".join(rows) if len(rows) > 2 else ""
        text = re.sub(r"[\b]", "", (command.help or "").strip())
        examples = "\n".join(EXAMPLES.get(name, []))
        shown = f"```text\n{examples}\n```" if examples else ""
        parts.append(
            "\n\n".join(part for part in (f"## {name}", text, f"`{usage}`", table, shown) if part)
        )
    return "\n\n".join(parts)


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
        rows.append((", ".join(param.opts) + value, text))
    return rows


def _roff(text: str) -> str:
    escaped = re.sub(r"[\b]", "", text).strip().replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def row(cells: list[str]) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
