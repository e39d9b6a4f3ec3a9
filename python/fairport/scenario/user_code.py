"""Queue disciplines and congestion controls of a user's own, as Python classes.

A scenario names them (`queue = { kind = "custom", name = "mine" }`, `congestion_control =
"custom:mine"`); the classes travel with the `Scenario` object. A file of a scenario cannot hold
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Factory = Callable[..., Any]
"""A class, or a function that makes an object: of a port and the parameters of the scenario, or of
a connection."""


@dataclass(frozen=True)
class UserCode:
    """Classes by the names that scenarios call them."""

    disciplines: Mapping[str, Factory] = field(default_factory=dict)
    """Queue disciplines: one object per switch port."""
    congestion_controls: Mapping[str, Factory] = field(default_factory=dict)
    """Congestion controls: one object per connection."""

    def __bool__(self) -> bool:
        return bool(self.disciplines or self.congestion_controls)

    def __or__(self, other: UserCode) -> UserCode:
        """Both; what `other` has takes the place of what is here."""
        return UserCode(
            {**self.disciplines, **other.disciplines},
            {**self.congestion_controls, **other.congestion_controls},
        )

    def described(self) -> dict[str, dict[str, str]]:
        """The classes by name, as text."""
        return {
            "disciplines": {name: _named(one) for name, one in self.disciplines.items()},
            "congestion_controls": {
                name: _named(one) for name, one in self.congestion_controls.items()
            },
        }


def _named(factory: Factory) -> str:
    module = getattr(factory, "__module__", "")
    return f"{module}.{getattr(factory, '__qualname__', repr(factory))}"
