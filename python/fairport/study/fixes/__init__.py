"""Fixes: named patches on a scenario, one TOML file each.

    name = "red"
    title = "random early detection at every switch port"
    needs = ["switch"]
    source = "Floyd & Jacobson 1993"

    [patch]
    "queue.kind" = "red"
    "queue.min" = "1/6 of queue.limit"

`patch` sets fields by the dotted paths of `--set`. A threshold can be a share of the scenario's own
buffer, as papers give theirs. It is in the buffer's unit. For a discipline with one unit only,
write the unit: "1 of queue.limit in packets" counts full frames.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, PrivateAttr

from fairport.errors import InputError, not_one_of
from fairport.scenario import Scenario
from fairport.scenario.base import Name, Section
from fairport.scenario.checking import checked
from fairport.scenario.source import Source
from fairport.scenario.units import Limit
from fairport.toml.files import parse, read_text

BASELINE = "none"
"""A comparison's name for the scenario without a fix; no fix has this name."""

_BUILTIN = Path(__file__).parent
_SHARE = re.compile(r"(\d+(?:\.\d+)?|\d+/[1-9]\d*) of queue\.limit(?: in (packets|bytes))?")
_KEPT = {"count_in_service"}
_START = "`fairport fixes pacing > my.toml` makes a file to start from"


class FixError(InputError):
    """A fix that does not exist, or a file that is not a fix."""


class Fix(Section):
    """A named patch on a scenario."""

    of: ClassVar[str] = "a fix"

    name: Name
    """Short name."""
    title: str
    """What it is, in a few words."""
    needs: list[Literal["switch", "host", "ecn", "full-bisection"]]
    """What it needs from a network: a change of the switches or of the hosts, ECN along the whole
    path, full bisection bandwidth."""
    when: str = ""
    """When to use it, and what to consider, in two sentences."""
    source: str
    """The source of the fix and of its parameters."""
    patch: dict[str, Any] = Field(min_length=1)
    """Values by dotted paths."""

    _text: str = PrivateAttr(default="")

    @property
    def text(self) -> str:
        """The file, with its author's comments."""
        return self._text

    def applied(self, scenario: Scenario) -> Scenario:
        """The scenario with the fix. Raises ScenarioError if it does not fit.

        A new queue discipline keeps the buffer's size and nothing else of the present queue. If the
        ports of a switch share a memory already, a fix that has them share one keeps its size. A
        new congestion control keeps no parameters of the present one.
        """
        overrides: dict[str, Any] = {}
        if "tcp.congestion_control" in self.patch:
            overrides |= _without_parameters(scenario)
        queue = scenario.sized_queue()
        is_new = self.patch.get("queue.kind", queue.kind) != queue.kind
        limit = queue.port_limit if is_new else queue.limit
        keeps_memory = self.patch.get("queue.kind") == queue.kind == "shared-buffer"
        if "queue.kind" in self.patch:
            given = scenario.document().get("queue", {})
            overrides["queue"] = {name: given[name] for name in _KEPT & given.keys()}
            if queue is scenario.queue:  # not sized by its shaper
                # other disciplines have other defaults
                overrides["queue"]["limit"] = limit.text
        for path, value in self.patch.items():
            is_kept = keeps_memory and path == "queue.limit" and _share(value)
            overrides[path] = limit.text if is_kept else _value(value, scenario, limit)
        return scenario.patch(overrides, by=f"fix {self.name}")

    def caveats(self, scenario: Scenario) -> list[str]:
        """Which of its settings some hosts or flows of the scenario replace by their own."""
        return [
            f"The fix {self.name} does not reach all flows: {place} has a {setting} of its own."
            for place, layer in scenario.tcp_layers().items()
            if place != "tcp"
            for path in self.patch
            for section, _, setting in [path.partition(".")]
            if section == "tcp" and setting in layer.model_fields_set
        ]


def load(names: Iterable[str | Path | Fix], folder: Path | None = None) -> list[Fix]:
    """Fixes by name, built in or in the user's `folder`, or by the path of a file.

    Raises FixError for a fix that does not exist or is named twice.
    """
    known = available(folder)
    fixes: list[Fix] = []
    for name in names if isinstance(names, Iterable) else [names]:
        if not isinstance(name, str | Path | Fix):
            remedy = 'give names, files or `fp.Fix` objects, such as ["red", "dctcp"]'
            raise FixError("is not a fix", field="fixes", value=name, remedy=remedy)
        fix = name if isinstance(name, Fix) else _find(name, known)
        if fix.name in (BASELINE, *(other.name for other in fixes)):
            raise FixError("is named twice", field="fixes", value=fix.name, remedy="name it once")
        fixes.append(fix)
    return fixes


def available(folder: Path | None = None) -> dict[str, Fix]:
    """Every fix by name: the built-in ones, and those in the user's `folder`, which win.

    Raises FixError if `folder` is not a folder of fixes, or if a file in it is not a fix.
    """
    found = list(_builtin())
    if folder is not None:
        if not folder.is_dir():
            raise FixError(
                "is not a folder", file=str(folder), remedy="name a folder of TOML files"
            )
        files = sorted(folder.glob("*.toml"))
        if not files:
            raise FixError("holds no fix", file=str(folder), remedy=_START)
        found += map(read, files)
    return dict(sorted({fix.name: fix for fix in found}.items()))


@cache
def _builtin() -> list[Fix]:
    # a sweep over fixes asks for them at each of its points, and reading them takes 8 ms
    return [read(path) for path in sorted(_BUILTIN.glob("*.toml"))]


def read(path: Path) -> Fix:
    """The fix in a file. Raises FixError."""
    shown = path.name if path.parent == _BUILTIN else str(path)
    text = read_text(path, shown, FixError, _START)
    fix = checked(
        Fix.model_validate, parse(text, shown, FixError, _START), Source(shown, text), FixError
    )
    fix._text = text
    return fix


def _find(name: str | Path, known: dict[str, Fix]) -> Fix:
    if isinstance(name, Path) or name.endswith(".toml"):
        return read(Path(name))
    if name not in known:
        problem, remedy = not_one_of(name, known)
        raise FixError(problem, value=name, remedy=f"{remedy} A file of your own ends in .toml.")
    return known[name]


def _without_parameters(scenario: Scenario) -> dict[str, Any]:
    """Removes the parameters of the control of [tcp], unless some hosts have one of their own."""
    layers = scenario.tcp_layers()
    if any(layer.is_own_control for place, layer in layers.items() if place != "tcp"):
        return {}
    return {f"{place}.parameters": {} for place, layer in layers.items() if layer.parameters}


def _share(value: Any) -> re.Match[str] | None:
    return _SHARE.fullmatch(value) if isinstance(value, str) else None


def _value(value: Any, scenario: Scenario, limit: Limit) -> Any:
    """The value, or the threshold for a share of this buffer."""
    share = _share(value)
    if share is None:
        return value
    own_unit = "packets" if limit.in_packets else "bytes"
    unit = share[2] or own_unit
    threshold = Fraction(share[1]) * int(limit)
    if unit != own_unit:
        frame = int(scenario.link.mtu) + scenario.link.buffered_overhead
        # a buffer of 10.8 full frames holds 10
        threshold = threshold * frame if unit == "bytes" else Fraction(threshold // frame)
    whole = max(1, round(threshold))
    return f"{whole} packets" if unit == "packets" else f"{whole}B"
