"""Host selectors: "h1", "h4..h15", "all", or a list of these."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from fairport.errors import InputError, did_you_mean
from fairport.scenario.base import refuse

_EXAMPLE = 'give a host ("h1"), a range ("h4..h15"), "all", or a list of these'


def _check(value: Any) -> Any:
    parts = value if isinstance(value, list) else [value]
    if not parts:
        raise refuse("selects no host", _EXAMPLE)
    if not all(isinstance(part, str) and part for part in parts):
        raise refuse("is not a host selector", _EXAMPLE)
    twice = next((part for part in parts if parts.count(part) > 1), None)
    if twice:
        raise refuse(f"names `{twice}` twice", "name each host once")
    return value


_ONE_HOST = {"type": "string", "minLength": 1}
Selector = Annotated[
    Any,
    BeforeValidator(_check),
    WithJsonSchema(
        {
            "anyOf": [
                _ONE_HOST,
                {"type": "array", "items": _ONE_HOST, "minItems": 1, "uniqueItems": True},
            ],
            "examples": ["h4..h15"],
        }
    ),
]


class SelectorError(InputError):
    """A selector that selects no host, or names one which the topology does not have."""


def select(selector: str | list[str], hosts: Sequence[str], *, but: str | None = None) -> list[str]:
    """The selected hosts, each once, in the order of selection; "all" leaves out `but`.

    Raises SelectorError.
    """
    chosen: dict[str, None] = {}
    for part in [selector] if isinstance(selector, str) else selector:
        if part == "all" and "all" not in hosts:
            chosen.update((host, None) for host in hosts if host != but)
        elif ".." in part and part not in hosts:
            first, _, last = part.partition("..")
            start, end = position(first, hosts), position(last, hosts)
            if start > end:
                raise SelectorError(
                    f"is a range that ends before it begins: {part}",
                    remedy=f'write "{last}..{first}"',
                )
            chosen.update((host, None) for host in hosts[start : end + 1])
        else:
            chosen[hosts[position(part, hosts)]] = None
    if not chosen:
        raise SelectorError("selects no host", remedy=f"the only host is the receiver, `{but}`")
    return list(chosen)


def position(host: str, hosts: Sequence[str]) -> int:
    """The host's index among all hosts. Raises SelectorError."""
    if host not in hosts:
        problem = f"names `{host}`, which is not a host of the topology"
        raise SelectorError(problem, remedy=meant(host, hosts))
    return hosts.index(host)


def meant(host: str, hosts: Sequence[str]) -> str:
    """What was probably meant by a name that no host has."""
    several = [part for part in re.split(r"[-,;\s\[\]]+", host) if part]
    if len(several) > 1 and all(part in hosts for part in several):
        if "-" in host and len(several) == 2:
            return f'write a range as "{several[0]}..{several[1]}"'
        return f"write several hosts as a list: {json.dumps(several, ensure_ascii=False)}"
    if len(hosts) <= 8:
        return did_you_mean(host, hosts)
    return f"the topology's hosts are {hosts[0]} .. {hosts[-1]}"
