"""Sweep and search files, queries and views by grammar, and the command lines that take them.

What is asked of sound files: the study, the result, the captures and the record that `damage.make`
has made. `validate` reaches the checks of the Linux backend and no further (see `__init__.py`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from fairport.metrics.run_numbers import NUMBERS
from fairport.scenario import builtin_names

from validation.attack import words

_FIELDS = (
    *("queue.limit", "link.rate", "topology.peers", "topology.k", "host.delay", "tcp.rto_min"),
    *("tcp.congestion_control", "traffic.0.size", "duration", "seed", "fix", "queue.kind", "name"),
    *("traffic.9.size", "queue", "tcp.none", "stack", "link.rate.x"),
)
_AXIS_VALUES: tuple[Any, ...] = (
    *(["16KiB", "32KiB"], ["8 packets", "16 packets"], [1, 2], ["bic", "cubic"], ["none", "red"]),
    *(["none", "dctcp", "codel"], [True, False], ["drop-tail", "red"], [0.1, 0.2], ["1ms", "2ms"]),
    {"from": 1, "to": 5, "steps": 2},
    {"from": "8KiB", "to": "64KiB", "steps": 3, "scale": "log"},
    {"from": "10Mbps", "to": "1Gbps", "steps": 2},
    {"from": 5, "to": 1, "steps": 1},
    {"from": 0, "to": 1, "steps": 2, "scale": "log"},
    [{"name": "cubic", "patch": {"tcp.congestion_control": "cubic"}}, {"name": "x", "patch": {}}],
)
_BOUNDS: tuple[Any, ...] = (
    *({"from": 2, "to": 4}, {"from": 0.01, "to": 0.5, "scale": "log"}, ["bic", "cubic"], [1, 1]),
    *({"from": "6KiB", "to": "256KiB", "scale": "log"}, {"from": "5us", "to": "200us"}, ["bic"]),
    *({"from": "1ms", "to": "1KiB"}, {"from": 1, "to": "2ms"}, {"from": 3, "to": 3}, [[1], [2]]),
)
# queries: complete ones with an expression and a condition, and random pieces
_QUERIES = (
    *("select {} from runs", "select {} from runs where {}", "select count(*) from runs where {}"),
    *(
        "select seed, {} from runs group by all having {}",
        "from runs select {} order by {} limit 1",
    ),
    *(
        "with x as (select {} as a from runs) select * from x where {}",
        "describe select {} from runs",
    ),
    "select {} from runs union all select {} from runs",
)
_SQL = (
    *("seed", "*", "jain_index", '"queue.limit"', "1/0", "null", "count(*)", "avg(seed)", "'x'"),
    *(
        "list(seed)",
        "{'a': seed}",
        "cast(seed as blob)",
        "now()",
        "interval 1 day",
        "9e999",
        "(seed)",
    ),
    *("seed = 1", "jain_index is null", "getenv('HOME')", "1; drop table runs", "-- x", "uuid()"),
    *("(select max(seed) from runs)", "read_csv('/etc/hostname')", "read_text('../*')", "seed % 0"),
    *("columns(*)", "range(3)", "unnest([1, 2])", "drop table runs", "attach 'x'", "a.b", "), ("),
    *(
        "copy runs to 'x.csv'",
        "install httpfs",
        "pragma version",
        "set threads=1",
        "repeat('x', 99)",
    ),
)
_WHERE = ('"queue.limit" < 5', "seed = 1", "seed > 99", "1", "", "nothing = 1", "seed = 'x'", "(")
_TIMES = ("0", "1", "0.001", "0.002", "2ms", "3ms", "1e-9", "1e300", "nan", "0s", "1ps", "-1")
_PORTS = ("bottleneck", "edge0.0:0", "edge0.0", "x:0", ":", "s0:0", "edge0.0:99")
_NAMES = (
    *("queue.limit", "link.delay", "jain_index", "timeouts") * 3,
    *_FIELDS,
    "seed",
    "throughput_ratio",
    "drops",
    "fingerprint",
    "x",
)
_SIDES = (
    "a.pcapng",
    "x=a.pcapng",
    "y=a.pcapng",
    "=a.pcapng",
    "x=",
    "none.pcap",
    "a=b=a.pcapng",
    "drawn.toml",
)


class Questions:
    """Draws files and the command lines that read them."""

    def __init__(self, draw: random.Random, hostility: float) -> None:
        self._draw = draw
        self._hostility = hostility

    def question(self) -> tuple[str, dict[str, Any] | None, Sequence[str]]:
        """Its kind, what `drawn-file.toml` has for it, and the command line."""
        draw = self._draw
        asked = {
            "sweep file": (self._sweep, self._sweep_line),
            "search file": (self._search, self._search_line),
            "query": (None, self._query_line),
            "plot": (None, self._plot_line),
            "analysis": (None, self._analyze_line),
            "microscope": (None, self._microscope_line),
            "validation": (None, self._validate_line),
        }
        kind = draw.choice(list(asked))
        document, line = asked[kind]
        words_of_line = [word.replace("\x00", "") for word in line()]
        return kind, document() if document else None, words_of_line

    def _sweep(self) -> dict[str, Any]:
        draw = self._draw
        fields = draw.sample(_FIELDS, draw.choice((0, 1, 1, 2, 3)))
        document: dict[str, Any] = {
            "scenario": self._some(_SCENARIOS),
            "seeds": self._some((1, 1, 2, [1], [3, 5], [1, 1], [], 0, -1)),
            "set": {"duration": "300us"},
            "axes": {field: self._some(_AXIS_VALUES) for field in fields},
        }
        self._perhaps(document, "where", _WHERE)
        self._perhaps(document, "zip", ([fields], [fields, fields], [["x"]], [[]], []))
        self._perhaps(document, "keep", (["jain_index"], ["none"], [], list(NUMBERS)[:3]))
        self._perhaps(document, "titles", ({"queue.limit": "<b>buffer</b> $x$"}, {"x": ""}))
        self._perhaps(document, "quick", ({"seeds": 1}, {"axes": {"seed": [1]}}, {"x": 1}, {}))
        self._perhaps(document, "name", ("a.b", "<script>", "..", "x" * 200))
        return document

    def _search(self) -> dict[str, Any]:
        draw = self._draw
        document: dict[str, Any] = {
            "scenario": self._some(_SCENARIOS),
            "seeds": self._some((1, 1, 1, 0, 2)),
            "set": {"duration": "300us"},
            "space": {
                field: self._some(_BOUNDS) for field in draw.sample(_FIELDS, draw.choice((0, 1, 2)))
            },
        }
        self._perhaps(document, "fix", ("red", "dctcp", "none", "x"))
        weights: tuple[dict[str, float], ...] = (
            {"jain_index": 1},
            {"x": 1},
            {"timeouts": 0},
            {"jain_index": float("inf")},
            {},
        )
        self._perhaps(document, "objective", weights)
        return document

    def _sweep_line(self) -> list[str]:
        line = ["sweep", "drawn-file.toml", "--out", "out", "--force", "--jobs", "1", "--yes"]
        self._options(line, {"--seeds": ("1", "0", "2", "-1"), "--backend": ("simulation", "x")})
        self._options(line, {"--until-precise": ("50%", "0.5", "0", "x"), "--most-seeds": ("2",)})
        return self._flags(line, ("--estimate", "--quick", "--json", "--quiet"))

    def _search_line(self) -> list[str]:
        line = [self._draw.choice(("tune", "hunt")), "drawn-file.toml", "--trials", "1"]
        return self._flags([*line, "--out", "out", "--force", "--jobs", "1"], ("--json", "--quiet"))

    def _query_line(self) -> list[str]:
        draw = self._draw
        sql = " ".join(draw.choices(_SQL, k=draw.randint(1, 4)))
        if draw.random() < 0.8:
            query = draw.choice(_QUERIES)
            sql = query.format(*draw.choices(_SQL, k=query.count("{}")))
        line = ["query", self._some(("study", "study", "kept", "none")), self._some((sql,))]
        return self._flags(line, ("--json", "--csv"))

    def _plot_line(self) -> list[str]:
        line = ["plot", self._some(("study", "study", "study", "kept"))]
        names = dict.fromkeys(("--x", "--y", "--color", "--by"), _NAMES)
        outs = ("p.png", "p.svg", "p.x", "kept", "none/p.png")
        return self._options(line, {**names, "--where": _WHERE, "--out": outs})

    def _analyze_line(self) -> list[str]:
        line = ["analyze", "--force"]
        if self._draw.random() < 0.8:
            line += self._draw.choices(("a.pcapng", "none.pcap"), (9, 1))
        self._options(line, {"--ingress": _SIDES, "--egress": _SIDES, "--map": ("map.csv",)})
        self._options(line, {"--from": _TIMES, "--to": _TIMES, "--window": _TIMES})
        self._options(line, {"--to-scenario": ("made.toml", "kept", "none/x.toml")})
        return self._flags(line, ("--tunnels", "--packets", "--json", "--csv", "--no-figures"))

    def _microscope_line(self) -> list[str]:
        line = ["microscope", self._some(("kept", "kept", "kept", "study", "none")), "--force"]
        around = ("worst", "0", "15", "h3", "h999", *_TIMES)
        self._options(line, {"--around": around, "--port": _PORTS, "--span": _TIMES})
        return self._flags(line, ("--json", "--quiet"))

    def _validate_line(self) -> list[str]:
        settings = ("queue.limit=16KiB", "link.rate=40Gbps", "topology.k=16", "x=1", "probes={}")
        line = ["validate", self._some(_SCENARIOS), "--duration", "2ms"]
        self._options(line, {"--set": settings, "--repeat": ("1", "0", "2"), "--seed": ("1", "-1")})
        return self._flags(line, ("--json", "--csv", "--no-output", "--no-figures"))

    def _some(self, good: Sequence[Any]) -> Any:
        """One of the good values, or a hostile one of the same kind."""
        if self._draw.random() < self._hostility:
            hostile = words.word if isinstance(good[0], str) else words.value
            return hostile(self._draw)
        return self._draw.choice(good)

    def _perhaps(self, document: dict[str, Any], name: str, good: Sequence[Any]) -> None:
        if self._draw.random() < 0.2:
            document[name] = self._some(good)

    def _options(self, line: list[str], options: dict[str, Sequence[str]]) -> list[str]:
        for option, good in options.items():
            if self._draw.random() < 0.3:
                line += [option, self._some(good)]
        return line

    def _flags(self, line: list[str], flags: Sequence[str]) -> list[str]:
        return line + [flag for flag in flags if self._draw.random() < 0.25]


_SCENARIOS = ("outcast", "two-switch", "two-switch", "drawn.toml", *builtin_names())
