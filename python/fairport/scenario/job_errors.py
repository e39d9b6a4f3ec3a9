"""Errors about the job, in the words of the scenario's file.

The engine refuses a field of the job, in base units; the author wrote a field of the scenario, with
units. `lower` records the origin of each flow and each stack of the job.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fairport.errors import ScenarioError, not_one_of
from fairport.scenario.document import ABSENT, dotted, look_up, texts
from fairport.scenario.lower import Job, Layer
from fairport.scenario.model import Scenario
from fairport.scenario.source import parts
from fairport.scenario.tcp import ENGINE_NAMES
from fairport.scenario.units import Duration, Rate, UnitError

_SCENARIO_NAMES = {engine: name for name, engine in ENGINE_NAMES.items()} | {"preset": "stack"}


def scenario_error(
    scenario: Scenario, job: Job | None, field: str, value: str, problem: str, remedy: str
) -> ScenarioError:
    """An error about this field and value of the job, as an error about the scenario."""
    document = scenario.resolved()
    here = scenario_field(job, field)
    if field == "link.rate":
        here = _field_with_rate(document, value) or here
    written = look_up(document, parts(here))
    if written is ABSENT or isinstance(written, dict):
        written = str(Duration.of(int(value))) if _is_time(field, value) else value
    choice = re.search(r"it cannot be read: `([^`]*)` is none of (.*)", problem)
    if choice:
        names = [name.strip() for name in re.split(r",| and ", choice[2])]
        problem, remedy = not_one_of(choice[1], names)
    return ScenarioError(
        _in_scenario_words(problem).removeprefix("it "),
        file=scenario.where(here),
        field=here,
        value=written,
        remedy=_in_scenario_words(remedy),
    )


def scenario_field(job: Job | None, job_field: str) -> str:
    """The scenario's field for a field of the job: "tcp.sack" for "stacks.0.overrides.sack"."""
    match job_field.split("."):
        case ["flows", index, *rest] if job and index.isdigit():
            source = job.flow_sources[int(index)]
            name = _without_unit(rest[0]) if rest else ""
            return f"{source}.{ {'src': 'from', 'dst': 'to'}.get(name, name) }".rstrip(".")
        case ["workloads", index, side, *_] if job and index.isdigit():
            source, (senders, receivers) = job.workload_sources[int(index)]
            name = _without_unit(side)
            return f"{source}.{ {'senders': senders, 'receivers': receivers}.get(name, name) }"
        case ["stacks", index, *rest] if job and index.isdigit():
            return _setting_field(job.stack_layers[int(index)], rest[-1] if rest else "")
        case ["losses", index, field]:
            return f"loss.{index}.{field}"
        case ["failed_links", *index]:
            return dotted(["fabric", "failed", *index])
        case ["probes", "measure_from_ps"]:
            return "measure.from"
        case ["probes", "measure_to_ps"]:
            return "measure.to"
        case path:
            return dotted([_without_unit(part) for part in path])


def _field_with_rate(document: Mapping[str, Any], value: str) -> str:
    """The field that gives links this rate: of [link], [fabric] or the topology; "" for none."""
    sections: dict[str, Any] = {name: document[name] for name in ("link", "fabric", "topology")}
    for path, one in texts(sections):
        with suppress(UnitError):
            if Rate(one) == Rate(value):
                return dotted(path)
    return ""


def _setting_field(layers: list[Layer], engine_name: str) -> str:
    """The most specific layer that gives the setting, and the setting's name there."""
    name = _SCENARIO_NAMES.get(engine_name)
    if name is None:
        return "tcp"
    places = (place for place, layer in reversed(layers) if getattr(layer, name) is not None)
    return f"{next(places, 'tcp')}.{name}"


def _in_scenario_words(text: str) -> str:
    """Settings by their names in scenarios, and their times with units."""
    text = re.sub(
        r"(\w+_ps) = (\d+)", lambda found: f"{found[1]} = {Duration.of(int(found[2]))}", text
    )
    return re.sub(r"\w+", lambda word: _SCENARIO_NAMES.get(word[0], word[0]), text)


def _is_time(field: str, value: str) -> bool:
    return field.endswith("_ps") and value.isdecimal()


def _without_unit(name: str) -> str:
    return re.sub(r"_(ps|bps|bytes|ppb|ppm|packets)$", "", name)
