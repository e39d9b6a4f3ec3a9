"""The stack presets: every setting as a scenario writes it, its meaning and its source."""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from typing import Any

from fairport import _core
from fairport.errors import require_known
from fairport.scenario.field_texts import field_texts
from fairport.scenario.tcp import ENGINE_NAMES, TcpSettings, scenario_value


@dataclass(frozen=True)
class Setting:
    """One setting of a stack."""

    name: str
    """Its name in scenarios."""
    value: Any
    """Its value as in scenarios: "200ms", true, 10."""
    meaning: str
    source: str
    """The source of the value: a file and function, an RFC, a paper; or `ours` with the reason."""


@dataclass(frozen=True)
class Stack:
    """A stack preset."""

    name: str
    about: str
    settings: list[Setting]

    def document(self) -> dict[str, Any]:
        """The stack as a dictionary, for JSON."""
        settings = [vars(setting) for setting in self.settings]
        return {"stack": self.name, "about": self.about, "settings": settings}

    def to_toml(self) -> str:
        """For people: a commented [tcp] section for a scenario."""
        parts = [f'# {self.about}\n[tcp]\nstack = "{self.name}"\n']
        for setting in self.settings:
            parts.append(f"\n{_comment(setting.meaning)}{_comment(f'Source: {setting.source}')}")
            parts.append(f"{setting.name} = {json.dumps(setting.value)}\n")
        return "".join(parts)


def stack_names() -> list[str]:
    """The presets' names."""
    return _core.presets()


def stack(name: str) -> Stack:
    """The preset of this name. Raises InputError."""
    require_known(name, stack_names(), "is not a stack preset")
    values = _core.preset(name)
    about, sources = _core.preset_sources(name)
    texts = field_texts(TcpSettings)
    settings = [
        Setting(
            field,
            scenario_value(engine_name, values[engine_name]),
            texts.get(field, ""),
            sources[engine_name],
        )
        for field, engine_name in ENGINE_NAMES.items()
    ]
    return Stack(name, about, settings)


def _comment(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="# ", subsequent_indent="# ") + "\n"
