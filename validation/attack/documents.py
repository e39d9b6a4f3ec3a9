"""Scenarios by grammar: drawn from the JSON Schema, and built-in scenarios with fields changed.

A field gets what the schema asks for, or with a small probability something hostile. Fields that
must fit each other often do not; so most of what is drawn from the schema alone is refused, and
more of what is changed in a built-in scenario runs.
"""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Iterator, Sequence
from typing import Any

from fairport.scenario import builtin_names, json_schema, source_text
from fairport.toml.parser import loads

from validation.attack import words

_DEEPEST = 6
# the quantity of each pattern of the schema; the first match decides
_UNITS = (
    ("packets?", ("1 packet", "3 packets", "20 packets", "100 packets")),
    ("ppm", ("0ppm", "50ppm", "100ppm", "100000ppm")),
    ("Gbps", ("37Mbps", "100Mbps", "1Gbps", "10Gbps", "2kbps")),
    ("KiB", ("1B", "200B", "1460B", "1518B", "9000B", "16KB", "128KiB", "1MiB")),
    ("ms", ("0s", "1us", "10us", "500us", "1ms", "3ms", "200ms", "1s")),
)
_HOSTS = ("all", "h0", "h1", "h2", "h3", "h1..h3", "h4..h7")
_ENDS = {
    "to": ("h0", "h0", "h1"),
    "servers": ("h0", "h0", "h1"),
    "from": ("all", "h2", "h2..h3", ["h2", "h3"]),
    "clients": ("all", "h2", "h2..h3", ["h2", "h3"]),
}


# to make it takes longer than many an attempt
_schema = functools.cache(json_schema)


class Grammar:
    """Documents that the schema of scenarios describes, more or less."""

    def __init__(self, draw: random.Random, hostility: float) -> None:
        self._draw = draw
        self._hostility = hostility
        self._schema = _schema()
        self._definitions = self._schema.get("$defs", {})

    def scenario(self) -> dict[str, Any]:
        """A whole scenario."""
        return self._short(self._object(self._schema, 0))

    def changed_builtin(self) -> dict[str, Any]:
        """A built-in scenario, of which some sections are drawn anew."""
        draw = self._draw
        document: dict[str, Any] = loads(source_text(draw.choice(list(builtin_names()))))
        document = copy.deepcopy(document)
        sections = [*self._schema["properties"]]
        self.change(document, sections, draw.randint(1, 4))
        if draw.random() < self._hostility * 4:
            here, key = draw.choice(list(places(document)))
            here[key] = words.value(draw)
        return self._short(document)

    def change(self, document: dict[str, Any], sections: Sequence[str], count: int) -> None:
        """Draws some of these sections anew."""
        for name in self._draw.sample(sorted(sections), count):
            if name not in ("name", "description", "paper"):
                document[name] = self._made(self._schema["properties"][name], 0)

    def _short(self, document: dict[str, Any]) -> dict[str, Any]:
        """Makes its run short, unless a hostile value makes it longer."""
        if self._draw.random() > self._hostility:
            document["duration"] = self._draw.choice(("1us", "300us", "2ms", "10ms"))
            document["name"] = self._draw.choice(("drawn", "a.b-c_d", "9"))
        return document

    def _made(self, schema: Any, depth: int) -> Any:
        draw = self._draw
        if draw.random() < self._hostility:
            return words.value(draw)
        if "$ref" in schema:
            return self._made(self._definitions[schema["$ref"].rsplit("/", 1)[1]], depth)
        for several in ("anyOf", "oneOf", "allOf"):
            if several in schema:
                return self._made(draw.choice(schema[several]), depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return draw.choice(schema["enum"])
        match schema.get("type"):
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "string":
                return self._string(schema)
            case "integer" | "number" as kind:
                return self._number(schema, whole=kind == "integer")
            case "boolean":
                return draw.random() < 0.5
        # what is drawn is changed later
        return copy.deepcopy(schema.get("default"))

    def _object(self, schema: Any, depth: int) -> dict[str, Any]:
        wanted = set(schema.get("required", ()))
        share = 0.2 if depth < 1 else 0.08
        if depth < _DEEPEST:
            wanted |= {name for name in schema.get("properties", {}) if self._draw.random() < share}
        found = {
            name: self._named(name, schema["properties"][name], depth) for name in sorted(wanted)
        }
        return {name: one for name, one in found.items() if one is not None}

    def _named(self, name: str, schema: Any, depth: int) -> Any:
        """Senders and receivers that usually fit each other."""
        if name in _ENDS and self._draw.random() > self._hostility:
            return self._draw.choice(_ENDS[name])
        return self._made(schema, depth + 1)

    def _array(self, schema: Any, depth: int) -> list[Any]:
        least = schema.get("minItems", 0)
        most = min(schema.get("maxItems", 4), max(least, 4))
        if "prefixItems" in schema:
            return [self._made(item, depth + 1) for item in schema["prefixItems"]]
        count = self._draw.choice((least, least, self._draw.randint(least, most)))
        return [
            self._made(schema.get("items", {"type": "string"}), depth + 1) for _ in range(count)
        ]

    def _string(self, schema: Any) -> str:
        for unit, quantities in _UNITS:
            if unit in schema.get("pattern", ""):
                return self._draw.choice(quantities)
        examples: list[str] = schema.get("examples", [])
        return self._draw.choice(examples if examples and self._draw.random() < 0.2 else _HOSTS)

    def _number(self, schema: Any, *, whole: bool) -> float:
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        high = schema.get("maximum", schema.get("exclusiveMaximum", 8))
        some = [low, high, low + 1, self._draw.uniform(low, min(high, low + 8))]
        drawn = self._draw.choice(some)
        return int(drawn) if whole else float(drawn)


def places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every table or list of the document, with each of its keys."""
    keys = document if isinstance(document, dict) else range(len(document))
    for key in list(keys):
        yield document, key
        if isinstance(document[key], dict | list):
            yield from places(document[key])
