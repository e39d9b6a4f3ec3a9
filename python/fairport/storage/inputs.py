"""Copies of the traces that a run read, in its folder, so that it needs nothing from outside."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fairport.scenario import Scenario
from fairport.scenario.traffic.trace import Trace

_FOLDER = "inputs"


def write(scenario: Scenario, folder: Path) -> None:
    """Copies the scenario's traces into the folder of its run.

    A file that is no longer there, or has changed since the run read it, is left out: the manifest
    has its digest.
    """
    for name, trace in _traces(scenario).items():
        try:
            content = Path(trace.file.path).read_bytes()
        except OSError:
            continue
        if hashlib.sha256(content).hexdigest() == trace.file.sha256:
            (folder / _FOLDER).mkdir(exist_ok=True)
            (folder / _FOLDER / name).write_bytes(content)


def in_place(scenario: Scenario, folder: Path) -> Scenario:
    """The scenario with the folder's copies in place of traces that are gone or have changed."""
    overrides = {}
    for name, trace in _traces(scenario).items():
        copy = folder.absolute() / _FOLDER / name
        if not trace.file.is_as_read and copy.is_file():
            at = name.partition(".")[0].replace("-", ".")
            overrides[f"{at}.file"] = {"path": str(copy), "sha256": trace.file.sha256}
    return scenario.patch(overrides, by=str(folder)) if overrides else scenario


def _traces(scenario: Scenario) -> dict[str, Trace]:
    """The traces by the names of their copies."""
    return {
        f"traffic-{index}{Path(one.file.path).suffix}": one
        for index, one in enumerate(scenario.traffic)
        if isinstance(one, Trace)
    }
