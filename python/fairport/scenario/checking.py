"""Checks a document with a model of pydantic. All its mistakes become one InputError.

`checked` is the way in. If pydantic refuses the document:

1. `_hidden` adds the mistakes that a wrong or missing `kind` hides.
2. `_mistake` says of each mistake where it is (file, line, field), the value and, with `words`, the
   problem and the remedy.
3. `input_error` puts them in the order of the file. The first is raised, and has the others.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from fairport.errors import InputError, nearest, not_one_of
from fairport.scenario.document import ABSENT, dotted, look_up
from fairport.scenario.source import Source, parts

E = TypeVar("E", bound=InputError)
M = TypeVar("M", bound=BaseModel)


def checked(
    check: Callable[[Any], M],
    document: dict[str, Any],
    source: Source,
    kind: type[E],
    own_fields: Collection[str] = (),
) -> M:
    """The document as the model that `check` makes of it, such as `Fix.model_validate`.

    Raises `kind`, with all mistakes in the document. `own_fields` are the fields that the file has
    above its first section. If one is written below, its hint says so.
    """
    try:
        return check(document)
    except ValidationError as error:
        raise input_error(error, check, document, source, kind, own_fields) from None


def input_error(
    error: ValidationError,
    check: Callable[[Any], Any],
    document: Any,
    source: Source,
    kind: type[E],
    own_fields: Collection[str] = (),
) -> E:
    """What `checked` raises, for an error that `check` raised."""
    details = error.errors(include_url=False)
    found: dict[str, E] = {}
    meant = set[str]()  # fields that seem to be missing but are misplaced or misspelt
    for detail in [*details, *_hidden(details, document, check)]:
        one = _mistake(detail, document, source, kind)
        if detail["type"] == "unknown_field":
            meant |= _explain_unknown(one, document, source, own_fields)
        if detail["type"] == "union_tag_not_found":
            found[one.field] = one  # the hidden error, which comes later, names the kinds
        found.setdefault(one.field, one)
    fields = sorted(
        (field for field, one in found.items() if one.has_value or field not in meant),
        key=source.line,
    )
    first, *others = [found[field] for field in fields]
    first.others = tuple(others)
    return first


def _mistake(detail: ErrorDetails, document: Any, source: Source, kind: type[E]) -> E:
    context: dict[str, Any] = detail.get("ctx", {})
    path = _path_of(detail, document)
    if context.get("field"):
        path += parts(context["field"])
    problem, remedy = words(detail, path)
    value = look_up(document, path)
    field = dotted(path)
    arguments: dict[str, Any] = {"remedy": remedy, "file": source.where(field), "field": field}
    if value is not ABSENT and context.get("show_value", True) and not isinstance(value, dict):
        arguments["value"] = value
    return kind(problem, **arguments)


def _explain_unknown(
    one: InputError, document: Any, source: Source, own_fields: Collection[str]
) -> set[str]:
    """Gives an unknown field the remedy that suits; returns the field that was meant, if any."""
    table, _, name = one.field.rpartition(".")
    is_at_top = isinstance(document, dict) and name in document
    if table and name in own_fields and not is_at_top:
        one.remedy = f"put `{name}` above the first [section]: it belongs to the whole file"
        return {name}
    if f"{table}.kind" in source.set_by and one.field not in source.set_by:
        one.remedy = (
            f"setting `{table}.kind` keeps the other fields; `{table}={{kind=..}}` replaces them"
            " all"
        )
    elif one.remedy.startswith("did you mean"):
        nearest_name = one.remedy.split("`")[1]
        return {f"{table}.{nearest_name}" if table else nearest_name}
    return set()


def _path_of(detail: ErrorDetails, document: Any) -> list[str | int]:
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


def _hidden(
    details: list[ErrorDetails], document: Any, check: Callable[[Any], Any]
) -> list[ErrorDetails]:
    """Further mistakes in the tables whose kind is wrong or missing.

    A table's fields depend on its kind. If the kind is wrong, pydantic checks none of them, and the
    user would find only one mistake per run. So the table is checked once more with the kind that
    was probably meant. If no kind is similar to the written one, only fields that every kind
    refuses are reported. For a missing kind the mistake is repeated here, with the list of kinds.
    """
    found: list[ErrorDetails] = []
    for detail in details:
        path = _path_of(detail, document)
        if detail["type"] == "union_tag_not_found" and path:
            # any wrong kind will do, because only the refusal of a wrong kind names the right ones
            refusals = _with_kind(document, path, "", check)
            of_any = next(one for one in refusals if one["type"] == "union_tag_invalid")
            found.append({**detail, "ctx": of_any["ctx"]})
            detail = of_any
        if detail["type"] == "union_tag_invalid":
            context = detail["ctx"]
            kinds = [part.strip("'") for part in context["expected_tags"].split(", ")]
            meant = nearest(str(context["tag"]), kinds)
            tries = [
                _with_kind(document, path, kind, check) for kind in ([meant] if meant else kinds)
            ]
            common = [one for one in tries[0] if all(_is_in(one, others) for others in tries)]
            found += common if meant else [_of_every_kind(one) for one in common]
    return found


def _of_every_kind(detail: ErrorDetails) -> ErrorDetails:
    """The error without the words of the first kind, which name that kind and its fields."""
    if detail["type"] != "unknown_field":
        return detail
    context = detail["ctx"] | {
        "problem": "is not a field of a scenario",
        "remedy": "leave it out: no kind of this table has such a field",
    }
    return {**detail, "ctx": context}


def _with_kind(
    document: Any, path: list[str | int], kind: str, check: Callable[[Any], Any]
) -> list[ErrorDetails]:
    """The errors in a table with this kind, except in the kind itself."""
    changed = copy.deepcopy(document)
    *table, name = path
    look_up(changed, table)[name] = kind
    try:
        check(changed)
    except ValidationError as error:
        details = error.errors(include_url=False)
        return [one for one in details if _path_of(one, changed)[: len(table)] == table]
    return []


def _is_in(wanted: ErrorDetails, details: list[ErrorDetails]) -> bool:
    """Whether the two are the same error in the same field."""

    def what(one: ErrorDetails) -> tuple[Any, ...]:
        # pydantic's location contains the kind that was tried, and ends at the table or at the
        # field
        context = one.get("ctx", {})
        place = context.get("field") or one["loc"][-1]
        return one["type"], place, str(one["input"])

    return any(what(wanted) == what(one) for one in details)


# problem and remedy of faults that are the same wherever they are
_SIMPLE = {
    "bool_type": ("is neither true nor false", "write true or false, without quotes"),
    "int_type": ("is not a whole number", "write digits without quotes or a decimal point"),
    "int_parsing": ("is not a whole number", "write digits"),
    "int_parsing_size": ("has too many digits", "give a smaller number"),
    "float_parsing": ("is not a number", "write digits"),
    "float_type": ("is not a number", "write digits without quotes"),
    "string_type": ("is not a text", "put it in quotes"),
}


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
        case "string_type" if isinstance(detail["input"], list):
            return "is a list", 'write one text, without brackets: ".."'
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
        case simple if simple in _SIMPLE:
            return _SIMPLE[simple]
        case _:
            message = detail["msg"]
            return message[:1].lower() + message[1:], "see `fairport scenario schema`"


def _heading(path: list[str | int]) -> str:
    """The heading of a table at that place in TOML: [host.processing], [[traffic]]."""
    names = ".".join(part for part in path if isinstance(part, str))
    return f"[[{names}]]" if isinstance(path[-1], int) else f"[{names}]"
