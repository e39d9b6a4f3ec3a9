"""What a run's page says about the run itself: network, hosts, traffic, commands, files."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from fairport import figures, tables
from fairport.errors import InputError
from fairport.report.network import in_words
from fairport.scenario import load
from fairport.scenario.tcp import DEFAULT_STACK

if TYPE_CHECKING:
    from fairport.result import Result
    from fairport.scenario import Scenario


def facts(result: Result) -> list[tuple[str, str]]:
    """The run's scenario in a few lines."""
    scenario = result.scenario
    flows = result.flows
    stacks = flows["stack"].drop_nulls().unique().sort().to_list()
    controls = flows["congestion_control"].drop_nulls().unique().sort().to_list()
    if result.is_captured:
        return [("Network", "seen by captures of its packets; the scenario below is a guess")]
    found = [("Network", in_words(result)), ("Routing", str(scenario.routing.kind))]
    found.append(("Queue", _of_queue(scenario)))
    if not flows.filter(protocol="tcp").is_empty():
        found.append(("TCP stack", ", ".join(stacks) or scenario.tcp.stack or DEFAULT_STACK))
        found.append(("Congestion control", ", ".join(controls) or "not known"))
    several = len(scenario.traffic) > 1
    for index, one in enumerate(scenario.traffic):
        name = f"Traffic {index}" if several else "Traffic"
        found.append(
            (
                name,
                _of_traffic(
                    one.model_dump(mode="json", by_alias=True, exclude_defaults=True), one.kind
                ),
            )
        )
    return found


def _of_queue(scenario: Scenario) -> str:
    """The discipline and the fields that decide what it does, also those that are defaults."""
    fields = scenario.sized_queue().model_dump(mode="json", by_alias=True, exclude_none=True)
    named = " ".join(fields.pop(name) for name in ("kind", "name") if name in fields)
    # the phase parameters have the packet in service
    for elsewhere in ("implementation", "count_in_service"):
        fields.pop(elsewhere, None)
    fields |= fields.pop("parameters", {})
    return ", ".join([named, *(f"{name} {_words(value)}" for name, value in fields.items())])


def _words(value: Any) -> str:
    """A field's value without the signs of TOML."""
    if isinstance(value, list):
        return ", ".join(_words(one) for one in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {_words(one)}" for key, one in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_traffic(given: dict[str, Any], kind: str) -> str:
    ends = [f"{end} {_words(given[end])}" for end in ("from", "to") if end in given]
    others = [
        f"{key} {_words(value)}"
        for key, value in given.items()
        if key not in ("kind", "from", "to")
    ]
    return "; ".join([" ".join([kind, *ends]), *others])


def command(result: Result) -> str | None:
    """The command that makes the run, if the run is of an unchanged built-in scenario."""
    scenario, backend = result.scenario, result.summary["backend"]
    if result.is_captured:
        return None
    try:
        known = load(scenario.name)
    except InputError:
        return None
    if known.patch({"seed": scenario.seed, "duration": str(scenario.duration)}) != scenario:
        return None
    words = ["fairport", "run", scenario.name]
    if known.duration != scenario.duration:
        words += ["--duration", str(scenario.duration)]
    if known.seed != result.seed:
        words += ["--seed", str(result.seed)]
    if backend != "simulation":
        words += ["--backend", backend]
    return shlex.join(words)


def links(
    result: Result, run_folder: str, drawn: list[str]
) -> list[tuple[str, list[tuple[str, str]]]]:
    """The files beside the page by kind: name, and address relative to the page.

    `run_folder` is the folder of the run's tables, such as "seed-3/".
    """
    found = [
        ("Run", [(name, run_folder + name) for name in ("manifest.json", "summary.json")]),
        (
            "Tables",
            [
                (name, f"{run_folder}tables/{name}.parquet")
                for name in tables.SCHEMA
                if result.tables[name].height
            ],
        ),
    ]
    endings = ("png", "svg")
    return [
        *found,
        (
            "Figures",
            [
                (f"{name}.{ending}", f"figures/{name}.{ending}")
                for name in [*drawn, *figures.kinds(result)]
                for ending in endings
            ],
        ),
    ]
