"""The mistakes that a wrong or missing `kind` hides: the other ones in its table.

A table's fields depend on its kind. If the kind is wrong, pydantic checks none of them, and the
user would find only one mistake per run. So the table is checked once more with the kind that was
probably meant. If no kind is similar to the written one, only fields that every kind refuses are
reported.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from fairport.errors import nearest
from fairport.scenario.problems import look_up, path_of

Check = Callable[[Any], Any]
"""Validates a document; raises ValidationError."""

Path = list[str | int]


def hidden_errors(error: ValidationError, document: Any, check: Check) -> list[ErrorDetails]:
    """Further errors in the tables whose kind the error refuses.

    For a missing kind the error is repeated here, with the list of kinds.
    """
    found: list[ErrorDetails] = []
    for detail in error.errors(include_url=False):
        path = path_of(detail, document)
        if detail["type"] == "union_tag_not_found" and path:
            # any wrong kind will do, because only the refusal of a wrong kind names the right ones
            refusals = _with(document, path, "", check)
            of_any = next(one for one in refusals if one["type"] == "union_tag_invalid")
            found.append({**detail, "ctx": of_any["ctx"]})
            detail = of_any
        if detail["type"] == "union_tag_invalid":
            context = detail["ctx"]
            kinds = [part.strip("'") for part in context["expected_tags"].split(", ")]
            meant = nearest(str(context["tag"]), kinds)
            tries = [_with(document, path, kind, check) for kind in ([meant] if meant else kinds)]
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


def _with(document: Any, path: Path, kind: str, check: Check) -> list[ErrorDetails]:
    """The errors in a table with this kind, except in the kind itself."""
    changed = copy.deepcopy(document)
    *table, name = path
    look_up(changed, table)[name] = kind
    try:
        check(changed)
    except ValidationError as error:
        details = error.errors(include_url=False)
        return [one for one in details if path_of(one, changed)[: len(table)] == table]
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
