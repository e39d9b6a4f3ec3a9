"""The JSON Schema of a scenario: for editors, and for reading."""

from __future__ import annotations

from typing import Any

from fairport.scenario.model import Scenario


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a scenario's TOML document."""
    schema = Scenario.model_json_schema(by_alias=True, mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
