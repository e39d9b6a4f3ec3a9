"""Files that Fairport writes and reads, made once and damaged again and again.

Results, studies, records, captures, scripts, imports, distributions, traces, sweep files. Each
comes with the commands that read it.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairport.scenario import source_text

from validation import ROOT
from validation.attack import words
from validation.attack.attempt import run

_SWEEP = """\
scenario = "outcast"
seeds = 1
[set]
duration = "1ms"
[axes]
"queue.limit" = ["16KiB", "32KiB"]
"link.delay" = ["1us", "2us"]
"""
_TRACE = "start_s,src,dst,size_bytes\n0.0,h1,h0,10000\n0.0001,h2,h0,5000\n"
_CDF = "100 0\n1000 0.5\n10000 1\n"
_WITH = 'name = "drawn"\nduration = "1ms"\n[topology]\nkind = "fat-tree"\nk = 4\n'
_FILES = {
    "sweep.toml": _SWEEP,
    "trace.csv": _TRACE,
    "map.csv": "address,name,hops\n10.0.0.1,h1,2\n10.0.0.0/24,others,4\n",
    "sizes.cdf": _CDF,
    "with-trace.toml": _WITH + '[[traffic]]\nkind = "trace"\nfile = "trace.csv"\n',
    "with-cdf.toml": _WITH + '[[traffic]]\nkind = "poisson"\nload = 0.3\nsizes = "sizes.cdf"\n',
    "with-file.toml": (
        'name = "drawn"\nduration = "1ms"\n[topology]\nkind = "file"\npath = "net.graphml"\n'
        '[[traffic]]\nfrom = "all"\nto = "h0"\n'
    ),
}


@dataclass(frozen=True)
class Target:
    """A file that is damaged, and the commands that read it."""

    kind: str
    pattern: str
    """Files, below the working directory."""
    readers: tuple[tuple[str, ...], ...]


_RUN = ("run", "--no-output", "--quiet")
TARGETS = (
    Target(
        "result",
        "kept/**/*",
        (("report", "kept"), ("rerun", "kept", "--force"), ("microscope", "kept", "--force")),
    ),
    Target(
        "study",
        "study/**/*",
        (
            ("query", "study", "select * from runs"),
            ("plot", "study"),
            ("sweep", "sweep.toml", "--out", "study"),
        ),
    ),
    Target(
        "record",
        "store/**/*",
        (
            (
                "compare",
                "outcast",
                "--fix",
                "red",
                "--duration",
                "1ms",
                "--repeat",
                "1",
                "--no-output",
            ),
            ("store",),
        ),
    ),
    Target(
        "capture",
        "a.pcapng",
        (("analyze", "a.pcapng", "--no-figures", "--force"), ("analyze", "a.pcapng", "--json")),
    ),
    Target("host map", "map.csv", (("analyze", "a.pcapng", "--map", "map.csv", "--json"),)),
    Target(
        "script", "a.pkt", (("script", "a.pkt"), ("script", "--json", "--stack", "ns2", "a.pkt"))
    ),
    Target("import", "net.graphml", ((*_RUN, "with-file.toml"), ("paths", "with-file.toml"))),
    Target("import", "net.json", ((*_RUN, "with-file.toml", "--set", "topology.path=net.json"),)),
    Target("distribution", "sizes.cdf", ((*_RUN, "with-cdf.toml"),)),
    Target("trace", "trace.csv", ((*_RUN, "with-trace.toml"),)),
    Target(
        "sweep",
        "sweep.toml",
        (("sweep", "sweep.toml", "--out", "out", "--force"), ("sweep", "sweep.toml", "--estimate")),
    ),
    Target(
        "search", "tune.toml", (("tune", "tune.toml", "--trials", "1", "--out", "out", "--force"),)
    ),
    Target(
        "scenario",
        "drawn.toml",
        ((*_RUN, "drawn.toml"), ("paths", "drawn.toml"), ("topology", "export", "drawn.toml")),
    ),
)


class MakingError(Exception):
    """The files to be damaged could not be made."""


def make(folder: Path) -> None:
    """Fills the working directory with sound files."""
    for name, text in _FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "drawn.toml").write_text(source_text("two-switch"), encoding="utf-8")
    searches = ROOT / "python/fairport/study/builtin/searches"
    shutil.copy(min(searches.glob("*.toml")), folder / "tune.toml")
    shutil.copy(min((ROOT / "crates/drill/scripts").rglob("*.pkt")), folder / "a.pkt")
    for line in (
        ("run", "outcast", "--duration", "5ms", "--out", "kept", "--pcap", "bottleneck"),
        ("sweep", "sweep.toml", "--out", "study", "--quiet"),
        ("topology", "export", "two-switch", "--format", "graphml", "--out", "net.graphml"),
        ("topology", "export", "two-switch", "--format", "json", "--out", "net.json"),
    ):
        outcome = run(line, folder, patient=True)
        if outcome.status != 0 or outcome.violation:
            raise MakingError(f"{' '.join(line)}: {outcome.violation or outcome.err}")
    captures = sorted((folder / "kept").rglob("*.pcapng"))
    shutil.copy(captures[0], folder / "a.pcapng")


class Damage:
    """Damages one of the sound files, and returns a command that reads it."""

    def __init__(self, draw: random.Random, sound: Path) -> None:
        self._draw = draw
        self._sound = sound

    def copy(self, folder: Path) -> None:
        """Makes `folder` anew, without damage."""
        os.chdir(folder.parent)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._sound, folder)

    def into(self, folder: Path) -> tuple[str, Sequence[str]]:
        """Makes `folder` anew, with something damaged; returns what, and the command line."""
        draw = self._draw
        self.copy(folder)
        target = draw.choice(TARGETS)
        files = sorted(path for path in folder.glob(target.pattern) if path.is_file())
        text = [path for path in files if path.suffix in (".json", ".toml", ".csv")]
        path = draw.choice(text if text and draw.random() < 0.5 else files)
        name = path.relative_to(folder)
        match draw.randrange(12):
            case 0:
                path.unlink()
                return f"{target.kind}: {name} removed", draw.choice(target.readers)
            case 1:
                path.unlink()
                path.mkdir()
                return f"{target.kind}: {name} is a folder", draw.choice(target.readers)
        path.write_bytes(words.damaged(path.read_bytes(), draw))
        return f"{target.kind}: {name} damaged", draw.choice(target.readers)
