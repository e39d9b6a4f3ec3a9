"""The user's own queue disciplines and congestion controls, as Python classes.

A scenario names them (`queue = { kind = "custom", name = "mine" }`, `congestion_control =
"custom:mine"`); the `Scenario` object carries the classes. A scenario file cannot contain them.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import linecache
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from fairport.errors import InputError

Factory = Callable[..., Any]
"""A class, or a function that makes an object, from a port and the scenario's parameters or from a
connection."""


_ARGUMENTS_SHOWN = 200
"""Characters; of longer arguments of a `partial`, only the digest is kept."""


@dataclass(frozen=True)
class UserCode:
    """Classes by their names in scenarios."""

    disciplines: Mapping[str, Factory] = field(default_factory=dict)
    """Queue disciplines: one object per switch port."""
    congestion_controls: Mapping[str, Factory] = field(default_factory=dict)
    """Congestion controls: one object per connection."""

    def __post_init__(self) -> None:
        for argument in fields(self):
            given = getattr(self, argument.name)
            remedy = 'give {"NAME": Class} with the name that the scenario has'
            if not isinstance(given, Mapping):
                raise InputError(
                    "is not a dictionary of names and classes",
                    field=argument.name,
                    value=given,
                    remedy=remedy,
                )
            for name, one in given.items():
                if not isinstance(name, str) or not callable(one):
                    raise InputError(
                        "is not the name of a class, or of a function that makes an object",
                        field=argument.name,
                        value=name,
                        remedy=remedy,
                    )

    def __bool__(self) -> bool:
        return bool(self.disciplines or self.congestion_controls)

    def __or__(self, other: UserCode) -> UserCode:
        """Both together; the classes of `other` replace those with the same name."""
        return UserCode(
            {**self.disciplines, **other.disciplines},
            {**self.congestion_controls, **other.congestion_controls},
        )

    def described(self) -> dict[str, dict[str, dict[str, str | None]]]:
        """The classes by name: where each is, and the digest of its source."""
        return {
            "disciplines": {name: _described(one) for name, one in self.disciplines.items()},
            "congestion_controls": {
                name: _described(one) for name, one in self.congestion_controls.items()
            },
        }

    @property
    def has_sources(self) -> bool:
        """Whether the sources of all classes can be read."""
        every = (one for group in self.described().values() for one in group.values())
        return all(one["source_sha256"] for one in every)


def _source(factory: Factory) -> str:
    """The lines of a class or function; of a class in a notebook, its whole cell; "" if unknown."""
    try:
        return inspect.getsource(factory)
    except (OSError, TypeError):
        # a cell is no file, but IPython keeps its lines under the name that the methods' code has
        methods = filter(inspect.isfunction, getattr(factory, "__dict__", {}).values())
        cells = sorted({method.__code__.co_filename for method in methods})
        return "".join(line for cell in cells for line in linecache.getlines(cell))


def _described(factory: Factory) -> dict[str, str | None]:
    """The name of a class with its module, and the digest of its source, without what it uses.

    Of a `partial` also its arguments. One that is shown by its address has no lasting name, so the
    whole counts as a source that cannot be read.
    """
    if isinstance(factory, functools.partial):
        named = [f"{name}={value!r}" for name, value in factory.keywords.items()]
        arguments = ", ".join([*map(repr, factory.args), *named])
        nameless = {"source_sha256": None} if " at 0x" in arguments else {}
        if len(arguments) > _ARGUMENTS_SHOWN:
            arguments = f"SHA-256 {hashlib.sha256(arguments.encode()).hexdigest()}"
        return {**_described(factory.func), "arguments": arguments, **nameless}
    name = getattr(factory, "__qualname__", type(factory).__name__)
    source = _source(factory)
    digest = hashlib.sha256(source.encode()).hexdigest() if source else None
    return {"class": f"{getattr(factory, '__module__', '')}.{name}", "source_sha256": digest}
