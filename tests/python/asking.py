"""Scenarios of a small fat-tree with any traffic, and their jobs."""

from __future__ import annotations

from typing import Any

from fairport import _core, scenario
from fairport.scenario.lower import Job, lower

HOSTS = [f"h{index}" for index in range(16)]
PRESETS = {name: _core.preset(name) for name in _core.presets()}


def asked(*traffic: dict[str, Any], **more: Any) -> Any:
    return scenario(
        {
            "name": "workload",
            "duration": "300ms",
            "topology": {"kind": "fat-tree", "k": 4},
            "traffic": list(traffic),
            **more,
        }
    )


def lowered(*traffic: dict[str, Any], **more: Any) -> Job:
    return lower(asked(*traffic, **more), HOSTS, PRESETS)
