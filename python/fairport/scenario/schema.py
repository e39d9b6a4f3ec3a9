"""The JSON Schema of a scenario: for editors, and for reading."""

from __future__ import annotations

from typing import Any

from fairport.scenario.model import Scenario


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a scenario's TOML document."""
    schema = _on_one_line(Scenario.model_json_schema(by_alias=True, mode="validation"))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _on_one_line(schema: Any) -> Any:
    """The schema with its descriptions as single lines: they are wrapped where they are shown."""
    if isinstance(schema, dict):
        return {
            key: " ".join(value.split())
            if key == "description" and isinstance(value, str)
            else _on_one_line(value)
            for key, value in schema.items()
        }
    return [_on_one_line(value) for value in schema] if isinstance(schema, list) else schema
