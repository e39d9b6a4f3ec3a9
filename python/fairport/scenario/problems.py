"""Turns pydantic's errors into one clear InputError: field, value, problem, remedy."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from fairport.errors import InputError, not_one_of
from fairport.scenario.source import Source, parts

E = TypeVar("E", bound=InputError)
M = TypeVar("M", bound=BaseModel)

ABSENT = object()
"""The value that `look_up` returns if there is none."""


def checked(model: type[M], document: dict[str, Any], source: Source, kind: type[E]) -> M:
    """The document as a model. Raises `kind`, with all errors of the document."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise refused(error, document, source, kind) from None


def refused(
    error: ValidationError,
    document: Any,
    source: Source,
    kind: type[E],
    own_fields: Collection[str] = (),
    hidden: Iterable[ErrorDetails] = (),
) -> E:
    """All of pydantic's errors in the words of the file: the first one, which holds the others.

    `own_fields` are the fields that the file has above its first section. If one is written below,
    its hint says so. `hidden` are errors that pydantic did not raise, or that say more than its
    own.
    """
    found: dict[str, E] = {}
    written_otherwise = set()  # fields that seem to be missing but are misplaced or misspelt
    for detail in [*error.errors(include_url=False), *hidden]:
        one = _refused(detail, document, source, kind)
        table, _, name = one.field.rpartition(".")
        if detail["type"] == "unknown_field":
            if (
                table
                and name in own_fields
                and not (isinstance(document, dict) and name in document)
            ):
                one.remedy = f"put `{name}` above the first [section]: it belongs to the whole file"
                written_otherwise.add(name)
            elif f"{table}.kind" in source.set_by and one.field not in source.set_by:
                one.remedy = (
                    f"setting `{table}.kind` keeps the other fields; `{table}={{kind=..}}` replaces"
                    " them all"
                )
            elif one.remedy.startswith("did you mean"):
                meant = one.remedy.split("`")[1]
                written_otherwise.add(f"{table}.{meant}" if table else meant)
        if detail["type"] == "union_tag_not_found":
            found[one.field] = one  # the hidden error, which comes later, names the kinds
        found.setdefault(one.field, one)
    fields = sorted(
        (field for field, one in found.items() if one.has_value or field not in written_otherwise),
        key=source.line,
    )
    first, *others = [found[field] for field in fields]
    first.others = tuple(others)
    return first


def _refused(detail: ErrorDetails, document: Any, source: Source, kind: type[E]) -> E:
    context: dict[str, Any] = detail.get("ctx", {})
    path = path_of(detail, document)
    if context.get("field"):
        path += parts(context["field"])
    problem, remedy = words(detail, path)
    value = look_up(document, path)
    field = dotted(path)
    arguments: dict[str, Any] = {"remedy": remedy, "file": source.where(field), "field": field}
    if value is not ABSENT and context.get("show_value", True) and not isinstance(value, dict):
        arguments["value"] = value
    return kind(problem, **arguments)


def dotted(path: list[str | int]) -> str:
    """`["traffic", 0, "from"]` as "traffic.0.from"."""
    return ".".join(str(part) for part in path)


def look_up(document: Any, path: list[str | int]) -> Any:
    """The value at a path of a document, or ABSENT."""
    for part in path:
        try:
            document = document[part]
        except (KeyError, IndexError, TypeError):
            return ABSENT
    return document


def is_unicode(text: str) -> bool:
    """Whether a file in UTF-8 can have the text."""
    return text.isascii() or not re.search("[\ud800-\udfff]", text)


def texts(document: Any, path: Sequence[str | int] = ()) -> Iterator[tuple[list[str | int], str]]:
    """Every text in a document, with its path."""
    if isinstance(document, str):
        yield list(path), document
    elif isinstance(document, dict):
        for name, one in document.items():
            yield from texts(one, [*path, name])
    elif isinstance(document, list):
        for number, one in enumerate(document):
            yield from texts(one, [*path, number])


def path_of(detail: ErrorDetails, document: Any) -> list[str | int]:
    """Pydantic's location without the tags of the alternatives that it tried."""
    path: list[str | int] = []
    for part in detail["loc"]:
        below = look_up(document, path)
        is_key = isinstance(below, dict) and part in below
        is_index = isinstance(below, list) and isinstance(part, int)
        is_missing = detail["type"] == "missing" and part == detail["loc"][-1]
        if is_key or is_index or is_missing:
            path.append(part)
    if detail["type"].startswith("union_tag") and isinstance(look_up(document, path), dict):
        path.append("kind")
    return path


def words(detail: ErrorDetails, path: list[str | int]) -> tuple[str, str]:
    """Problem and remedy for what pydantic found wrong at this path."""
    context: dict[str, Any] = detail.get("ctx", {})
    name = path[-1] if path else ""
    match detail["type"]:
        case "quantity" | "refused" | "unknown_field":
            return context["problem"], context["remedy"]
        case "missing" if path in (["topology"], ["traffic"]):
            heading = "[topology]" if name == "topology" else "[[traffic]]"
            return "is missing", f"add a section {heading}, as in `fairport scenario show outcast`"
        case "union_tag_not_found" if "expected_tags" in context:
            known = context["expected_tags"].replace("'", "")
            return "is missing", f"add `kind = ...`: one of {known}"
        case "missing" if isinstance(name, int):
            return "is missing", f"give {name + 1} values"
        case "missing" | "union_tag_not_found":
            return "is missing", f"add `{name} = ...`"
        case "literal_error":
            known = [
                part.strip("'") for part in context["expected"].replace(" or ", ", ").split(", ")
            ]
            return not_one_of(str(detail["input"]), known)
        case "union_tag_invalid":
            known = [part.strip("'") for part in context["expected_tags"].split(", ")]
            return not_one_of(str(context["tag"]), known)
        case "bool_type":
            return "is neither true nor false", "write true or false, without quotes"
        case "int_type":
            return "is not a whole number", "write digits without quotes or a decimal point"
        case "int_parsing":
            return "is not a whole number", "write digits"
        case "int_parsing_size":
            return "has too many digits", "give a smaller number"
        case "float_parsing":
            return "is not a number", "write digits"
        case "float_type":
            return "is not a number", "write digits without quotes"
        case "string_type" if isinstance(detail["input"], list):
            return "is a list", 'write one text, without brackets: ".."'
        case "string_type":
            return "is not a text", "put it in quotes"
        case "model_attributes_type" | "dict_type":
            return "is not a table", f"write {_heading(path)} and its fields below it"
        case "list_type" | "tuple_type":
            table = name in ("traffic", "host_tcp", "links", "loss")
            return (
                "is not a list",
                f"write [[{name}]]" if table else 'write it in brackets: ["..", ".."]',
            )
        case "greater_than_equal":
            return "is too small", f"give {context['ge']} or more"
        case "less_than_equal":
            return "is too large", f"give {context['le']} or less"
        case "less_than":
            return "is too large", f"give less than {context['lt']}"
        case "too_short":
            return f"holds {context['actual_length']}", f"give at least {context['min_length']}"
        case "too_long":
            return f"holds {context['actual_length']}", f"give at most {context['max_length']}"
        case "string_pattern_mismatch":
            return (
                "is not a name",
                "use letters, digits, `.`, `_` and `-`, beginning with a letter or digit",
            )
        case "string_too_long":
            return "is too long", f"use at most {context['max_length']} characters"
        case _:
            message = detail["msg"]
            return message[:1].lower() + message[1:], "see `fairport scenario schema`"


def _heading(path: list[str | int]) -> str:
    """The heading of a table at that place in TOML: [host.processing], [[traffic]]."""
    names = ".".join(part for part in path if isinstance(part, str))
    return f"[[{names}]]" if isinstance(path[-1], int) else f"[{names}]"
