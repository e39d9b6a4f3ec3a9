"""Command lines by grammar: every command with its options, some of them with hostile words.

Left out is what would touch the machine: the commands of the Linux backend, and programs of a
user. Paths stay below the working directory.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import typer

from validation.attack import words

# these commands make network namespaces, or remove those of others
_NEVER = {("linux", "cleanup"), ("doctor",)}
_NEVER_OPTIONS = {"--cluster", "--measure-hosts", "--fixes"}
_LONG = {"--all"}
_SCENARIOS = ("outcast", "two-switch", "outcast-1-to-12", "drawn.toml", "none.toml", "kept")
_GOOD = {
    "--backend": ("simulation", "captures"),
    "--duration": ("1ms", "5ms"),
    "--repeat": ("1", "2"),
    "--set": ("queue.limit=32KiB", "duration=1ms", "traffic.0.size=10kB", "topology.k=4"),
    "--out": ("out", "out/deeper", "kept", "drawn.toml"),
    "--fix": ("red", "sfq", "tcprand", "red,sfq"),
    "--metric": ("jain_index", "throughput_ratio"),
    "--jobs": ("1", "2"),
    "--seed": ("1", "7"),
    "--trials": ("1", "2"),
    "--format": ("graphml", "json", "dot", "mininet"),
    "--figure": ("paths.svg", "paths.png"),
    "--pcap": ("bottleneck", "edge0.0:0"),
    "--packets": ("bottleneck",),
    "--stack": ("linux-6", "ns2"),
}
_ARGUMENTS = {
    "scenario": _SCENARIOS,
    "name": ("outcast", "linux-6", "red"),
    "file": ("sweep.toml", "drawn.toml", "fixes-map"),
    "run": ("kept", "none"),
    "study": ("study", "kept", "none"),
    "sql": ("select * from runs", "select count(*) from runs", "select", "select * from nothing"),
    "paths": ("a.pkt", "none.pkt", "scripts"),
    "captures": ("a.pcapng", "none.pcap"),
    "experiments": ("prakash2012/none", "none"),
}


def _commands(command: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "commands"):
        return [(path, command)]
    found = []
    for name, below in command.commands.items():
        found += _commands(below, (*path, name))
    return found


class CommandLines:
    """Draws command lines."""

    def __init__(self, draw: random.Random, hostility: float) -> None:
        from fairport.cli.app import app

        self._draw = draw
        self._hostility = hostility
        every = _commands(typer.main.get_command(app))
        self._commands = [(path, one) for path, one in every if path not in _NEVER]

    def line(self) -> Sequence[str]:
        """One command line."""
        draw = self._draw
        path, command = draw.choice(self._commands)
        line = list(path)
        for parameter in command.params:
            name = parameter.opts[0]
            if not name.startswith("-"):
                count = draw.randint(0, 2) if parameter.nargs < 0 else 1
                line += [self._word(_ARGUMENTS.get(name, ("x",))) for _ in range(count)]
            elif name not in _NEVER_OPTIONS and name not in _LONG and draw.random() < 0.25:
                line.append(name)
                if not getattr(parameter, "is_flag", False):
                    line.append(self._word(_GOOD.get(name, ("1", "x", "out"))))
        if path[0] in ("run", "compare", "validate"):
            # commands that would run long without such an option
            line += ["--duration", "2ms"]
        if draw.random() < self._hostility:
            line.insert(draw.randint(0, len(line)), self._safe(words.word(draw)))
        return line

    def _word(self, good: Sequence[str]) -> str:
        if self._draw.random() < self._hostility:
            return self._safe(words.word(self._draw))
        return self._draw.choice(good)

    def _safe(self, word: str) -> str:
        # an argument of a program cannot contain these
        return word.replace("\x00", "")
