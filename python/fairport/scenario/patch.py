"""Overrides by dotted paths, as in `--set queue.limit=16KiB`; there is no other way."""

from __future__ import annotations

import copy
import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from fairport.errors import InputError, ScenarioError
from fairport.scenario.source import parts
from fairport.toml.parser import TOMLDecodeError, loads

T = TypeVar("T")


def overridden(
    document: Mapping[str, Any],
    overrides: Mapping[str, Any],
    by: str,
    read: Callable[[dict[str, Any]], T],
) -> T:
    """What `read` makes of a copy of the document with values set by dotted paths.

    `by` is the source of the values in messages. Raises ScenarioError, with all mistakes: paths
    that do not exist, and what `read` refuses of the others.
    """
    if not isinstance(overrides, Mapping) or not all(isinstance(path, str) for path in overrides):
        raise ScenarioError(
            "is not a dictionary of dotted paths and their values",
            file=by,
            value=overrides,
            remedy='give one such as {"queue.limit": "16KiB"}',
        )
    result = copy.deepcopy(dict(document))
    mistakes: list[InputError] = []
    for path, value in overrides.items():
        try:
            # a copy, because a later path may change this value, which belongs to the caller
            _set(result, path, copy.deepcopy(value), by)
        except ScenarioError as error:
            mistakes.append(error)
    try:
        read_in = read(result)
    except ScenarioError as error:
        mistakes += [error, *error.others]
        error.others = ()
    if mistakes:
        first, *others = mistakes
        first.others = tuple(others)
        raise first
    return read_in


def read_assignments(assignments: Iterable[str]) -> dict[str, Any]:
    """`["queue.limit=16KiB", "tcp.sack=false"]` as overrides.

    A value is read as TOML (numbers, true, false, lists, inline tables); otherwise it is a text.
    """
    overrides = {}
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals or not all(part.strip() for part in path.split(".")):
            raise ScenarioError(
                "is not PATH=VALUE",
                file="--set",
                value=assignment,
                remedy="for example --set queue.limit=16KiB",
            )
        overrides[path.strip()] = _value(text.strip())
    return overrides


def assignment(path: str, value: Any) -> str:
    """What `read_assignments` reads as this value, quoted for a shell."""
    is_plain = isinstance(value, str) and _value(value.strip()) == value
    return shlex.quote(f"{path}={value if is_plain else in_toml(value)}")


def in_toml(value: Any) -> str:
    """A value in one line."""
    if isinstance(value, dict):
        entries = (f"{json.dumps(name)} = {in_toml(one)}" for name, one in value.items())
        return f"{{ {', '.join(entries)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(in_toml, value))}]"
    if isinstance(value, str | bool):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _value(text: str) -> Any:
    try:
        return loads(f"value = {text}")["value"]
    except TOMLDecodeError:
        return text


def _set(document: dict[str, Any], path: str, value: Any, by: str) -> None:
    """Puts the value into the document; missing tables are made, list entries must exist."""
    here: Any = document
    *way, last = path.split(".")
    for depth, part in enumerate(way):
        if isinstance(here, dict):
            here = here.setdefault(part, {})
        else:
            here = here[_index(here, part, path, by)]
        if not isinstance(here, dict | list):
            walked = ".".join([*way[: depth + 1]])
            raise ScenarioError(
                f"does not exist: `{walked}` is a value, not a table",
                file=by,
                field=path,
                remedy=f"set `{walked}` itself",
            )
    if isinstance(here, dict):
        here[last] = value
    else:
        here[_index(here, last, path, by)] = value


def _index(entries: list[Any], part: str, path: str, by: str) -> int:
    (index,) = parts(part)
    if isinstance(index, int) and index < len(entries):
        return index
    if not entries:
        remedy = "the list is empty"
    elif isinstance(index, str):
        remedy = f"put an index before it: `0.{part}`"
    else:
        remedy = f"use {'0' if len(entries) == 1 else f'0 to {len(entries) - 1}'}"
    raise ScenarioError(
        f"does not exist: `{part}` is not an index of a list of {len(entries)}",
        file=by,
        field=path,
        remedy=remedy,
    )
