"""The JSON Schema of a scenario, for editors and readers."""

from __future__ import annotations

from typing import Any

from fairport.scenario.base import Section
from fairport.scenario.field_texts import field_texts
from fairport.scenario.model import Scenario
from fairport.scenario.units import Quantity


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a scenario's TOML document."""
    schema = Scenario.model_json_schema(by_alias=True, mode="validation")
    _describe(schema)
    schema = _on_one_line(schema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _describe(schema: dict[str, Any]) -> None:
    """Adds the meanings of the fields, and units where pydantic leaves them out: in lists.

    Definitions have the names of their models.
    """
    models = _models(Section)
    for name, definition in {Scenario.__name__: schema, **schema["$defs"]}.items():
        if name in models:
            texts = field_texts(models[name])
            for field, info in models[name].model_fields.items():
                shown = definition["properties"].get(info.alias or field)
                if shown is not None and field in texts:
                    shown["description"] = texts[field]
                given = info.default if isinstance(info.default, list) else []
                if shown is not None and any(isinstance(one, Quantity) for one in given):
                    shown["default"] = [str(one) for one in given]


def _models(base: type[Section]) -> dict[str, type[Section]]:
    """The models made from `base`, by their names."""
    found: dict[str, type[Section]] = {}
    for one in base.__subclasses__():
        found |= {one.__name__: one} | _models(one)
    return found


def _on_one_line(schema: Any) -> Any:
    """The schema with its descriptions as single lines, which are wrapped when they are shown."""
    if isinstance(schema, dict):
        return {
            key: " ".join(value.split())
            if key == "description" and isinstance(value, str)
            else _on_one_line(value)
            for key, value in schema.items()
        }
    return [_on_one_line(value) for value in schema] if isinstance(schema, list) else schema
