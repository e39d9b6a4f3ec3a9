"""Kills runs, studies and analyses in the middle: earlier results are kept, none is half-written.

    make validate CASE=kills
    make validate CASE=kills ARGS="--kills 200 --seed 5"

Each command is first run to its end. Then commands are drawn by the seed and ended at a moment
between their start and their end: half of them by SIGKILL, the others by Ctrl-C (SIGINT) or
SIGTERM. After each

- earlier results and captures are as they were, byte for byte;
- the new result is absent, or whole: the files of the run to the end, with the same content; of a
  sweep, some of the runs, each once and with its numbers. A result that `--force` replaces is the
  old one or the new one;
- no process is left, and after Ctrl-C and SIGTERM no hidden file;
- the same command once more ends well, has the whole result, and leaves no hidden file of the one
  that was killed.

The status is 1 if anything did not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairport.files.partial import is_partial
from fairport.study.results import Study

from validation import DOCS
from validation.case import parser_of
from validation.markdown import between_markers, table

KILLS = 100
LONGEST_S = 120.0
# within this time every process that the killed one had started has ended
ENDS_WITHIN_S = 10.0
_MOST_LINES = 10
# SIGKILL as often as the other two together
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
RESULT = "results/new"
_ENTRY = [sys.executable, "-c", "from fairport.cli import main; main()"]
_SHORT = ("run", "two-switch", "--duration", "100ms")
_CAPTURES = tuple(f"results/captured/captures/s0-0.{side}.pcapng" for side in ("ingress", "egress"))
_SWEEP = """\
scenario = "two-switch"
seeds = 10
[set]
duration = "200ms"
[axes]
"queue.limit" = ["8KiB", "16KiB", "32KiB", "64KiB"]
"""
_COLUMNS = ("killed", "nothing left", "whole", "in part, goes on", "ended before", "violations")


@dataclass(frozen=True)
class Command:
    """A command line, and the folder that it makes."""

    name: str
    line: tuple[str, ...]
    result: str = RESULT


COMMANDS = (
    Command("run", (*_SHORT, "--out", RESULT)),
    Command("run --force", (*_SHORT, "--force", "--out", "results/old"), "results/old"),
    Command("run --repeat", (*_SHORT, "--repeat", "3", "--jobs", "2", "--out", RESULT)),
    Command("run --pcap", (*_SHORT, "--no-figures", "--pcap", "s0:0,s0:1", "--out", RESULT)),
    Command("analyze", ("analyze", *_CAPTURES, "--no-figures", "--out", RESULT)),
    Command(
        "compare",
        (
            *("compare", "outcast-1-to-12", "--fix", "red,codel", "--repeat", "2"),
            *("--duration", "50ms", "--out", RESULT),
        ),
    ),
    Command("microscope", ("microscope", "results/old", "--out", RESULT)),
    Command("sweep", ("sweep", "sweep.toml", "--jobs", "2"), "results/sweep"),
)


class Kills:
    """Kills commands, and counts what they left."""

    def __init__(self, folder: Path) -> None:
        self._before = folder / "before"
        self._work = folder / "work"
        self._ends: dict[str, tuple[Path, float]] = {}
        self.counts: Counter[tuple[str, str]] = Counter()
        self._before.mkdir()
        (self._before / "sweep.toml").write_text(_SWEEP, encoding="utf-8")
        # as long as the result that replaces it, and different
        old = ("run", "two-switch", "--duration", "90ms", "--out", "results/old")
        captured = (*_SHORT, "--no-figures", "--pcap", "s0:0", "--out", "results/captured")
        for line in (old, captured):
            self._to_the_end(self._before, line)

    def kill(self, command: Command, by: int, moment: float) -> None:
        """Ends a command after this share of its time, and checks what is left."""
        whole, takes_s = self._end_of(command)
        self._copy(self._before, self._work)
        process = _started(self._work, command.line)
        try:
            process.wait(moment * takes_s)
            outcome = "ended before"
        except subprocess.TimeoutExpired:
            outcome = "killed"
            process.send_signal(by)
        _, err = process.communicate(timeout=LONGEST_S)
        found = [*_living(process.pid)]
        if outcome == "killed" and process.returncode == 0:
            outcome = "ended before"  # the command had just ended by itself
        elif outcome == "killed":
            expected = {-by} if by == signal.SIGKILL else {128 + by, -by}
            if process.returncode not in expected:
                found.append(f"status {process.returncode}: {err[-2000:]}")
            if by != signal.SIGKILL:
                found += [f"{path} is left" for path in _hidden(self._work)]
        self.counts[command.name, outcome] += 1
        state, wrong = self._state(command, whole)
        if outcome == "killed":
            self.counts[command.name, state] += 1
        found += [*wrong, *self._changed(command)]
        done = _started(self._work, self._once_more(command))
        _, err = done.communicate(timeout=LONGEST_S)
        if done.returncode != 0:
            found.append(f"once more: status {done.returncode}: {err[-2000:]}")
        else:
            found += [f"once more: {path} is left" for path in _hidden(self._work)]
            found += [f"once more: {one}" for one in _differences(command, self._work, whole)]
        if found:
            self.counts[command.name, "violations"] += 1
            name = signal.Signals(by).name
            print(f"VIOLATION {command.name}, {name} after {moment:.3f} of {takes_s:.2f} s")
            print(*(f"  {one}" for one in found[:_MOST_LINES]), sep="\n", flush=True)

    def _end_of(self, command: Command) -> tuple[Path, float]:
        """What the command writes if it is not ended, and how long it takes."""
        if command.name not in self._ends:
            folder = self._work.with_name(f"whole-{len(self._ends)}")
            self._copy(self._before, folder)
            begun = time.monotonic()
            self._to_the_end(folder, command.line)
            self._ends[command.name] = folder, time.monotonic() - begun
        return self._ends[command.name]

    def _state(self, command: Command, whole: Path) -> tuple[str, list[str]]:
        """Which part of the result exists, and what is wrong with it."""
        there = self._work / command.result
        if not there.exists():
            return "nothing left", []
        before = self._before / command.result
        if before.exists() and _contents(there) == _contents(before):
            return "nothing left", []
        differences = _differences(command, self._work, whole)
        if not differences:
            return "whole", []
        if command.name == "sweep":
            return "in part, goes on", _wrong_runs(there, whole / command.result)
        return "whole", differences

    def _changed(self, command: Command) -> list[str]:
        """Earlier files that have changed, except the result that the command replaces."""
        before, now = (_contents(folder) for folder in (self._before, self._work))
        return [
            f"{name} has changed"
            for name, content in before.items()
            if now.get(name) != content and not name.startswith(f"{command.result}/")
        ]

    def _once_more(self, command: Command) -> tuple[str, ...]:
        """The same command; if its result now exists, it replaces that."""
        is_there = (self._work / command.result).exists() and command.name != "sweep"
        force = ("--force",) if is_there and "--force" not in command.line else ()
        return (*command.line, *force)

    def _to_the_end(self, folder: Path, line: Sequence[str]) -> None:
        process = _started(folder, line)
        _, err = process.communicate(timeout=LONGEST_S)
        if process.returncode != 0:
            raise RuntimeError(f"fairport {' '.join(line)}: {err}")

    def _copy(self, source: Path, target: Path) -> None:
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)

    def table(self) -> str:
        """Counts of the killed commands and of what they left."""
        names = [one.name for one in COMMANDS if any(self.counts[one.name, c] for c in _COLUMNS)]
        rows = [[name, *(str(self.counts[name, of]) for of in _COLUMNS)] for name in names]
        sums = [str(sum(self.counts[name, of] for name in names)) for of in _COLUMNS]
        return table(["command", *_COLUMNS], [*rows, ["all", *sums]])


def _started(folder: Path, line: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*_ENTRY, *line],
        cwd=folder,
        env=os.environ | {"FAIRPORT_STORE": str(folder / "store")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _living(session: int) -> list[str]:
    """Processes of the session that still exist after they had time to end."""
    until = time.monotonic() + ENDS_WITHIN_S
    while True:
        try:
            os.killpg(session, 0)
        except ProcessLookupError:
            return []
        if time.monotonic() > until:
            return ["a process is left"]
        time.sleep(0.02)


def _hidden(folder: Path) -> list[str]:
    """Hidden temporary files and folders."""
    return [str(path.relative_to(folder)) for path in folder.rglob(".*") if is_partial(path)]


def _contents(folder: Path) -> dict[str, bytes]:
    """Every file except the store of records, to which every command adds, and temporary files."""
    return {
        name: path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not (name := path.relative_to(folder).as_posix()).startswith("store/")
        and not any(map(is_partial, [path, *path.relative_to(folder).parents]))
    }


def _differences(command: Command, ours: Path, whole: Path) -> list[str]:
    """How a result differs from that of the same command run to its end."""
    if command.name == "sweep":
        found, wanted = (_runs(folder / command.result) for folder in (ours, whole))
        return [] if found == wanted else ["the study has other runs"]
    here, there = (_contents(folder / command.result) for folder in (ours, whole))
    if here.keys() != there.keys():
        return [f"{name} is not in both" for name in sorted(here.keys() ^ there.keys())]
    return [f"{name} is another" for name in here if not _is_same(name, here[name], there[name])]


def _is_same(name: str, here: bytes, there: bytes) -> bool:
    """Whether two files have the same content, apart from the run's duration in JSON and pages."""
    if name.endswith(".json"):
        return bool(json.loads(here).keys() == json.loads(there).keys())
    if name.endswith(".html"):
        return here.rstrip().endswith(b"</html>") and there.rstrip().endswith(b"</html>")
    return here == there


def _runs(study: Path) -> list[tuple[object, ...]]:
    """The runs of a study, without how long they took."""
    runs = Study(study).to_polars()
    return runs.select(name for name in runs.columns if name != "wall_s").sort("run_id").rows()


def _wrong_runs(there: Path, whole: Path) -> list[str]:
    """Runs of an unfinished study that are not in the finished one, or that are in it twice."""
    if not (there / "study.json").exists():
        return [f"{path} without its study" for path in _contents(there)]
    found, wanted = _runs(there), set(_runs(whole))
    if len(set(found)) < len(found):
        return ["a run is in the study twice"]
    return [f"the study has another run: {row}" for row in found if row not in wanted]


def main(arguments: Sequence[str]) -> int:
    """Kills this many commands; 1 if something did not hold."""
    given = _options(arguments)
    draw = random.Random(given.seed)
    with tempfile.TemporaryDirectory(prefix="fairport-kills-") as folder:
        kills = Kills(Path(folder))
        for _ in range(given.kills):
            kills.kill(draw.choice(COMMANDS), draw.choice(SIGNALS), draw.random())
    text = f"Seed {given.seed}.\n\n{kills.table()}"
    print(text)
    if given.publish:
        between_markers(DOCS / "validation/reliability.md", "kills", text)
    return 1 if any(of == "violations" for _, of in kills.counts) else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = parser_of("kills", __doc__)
    parser.add_argument("--kills", type=int, default=KILLS, help=f"so many ({KILLS})")
    parser.add_argument("--seed", type=int, default=1, help="of all kills (1)")
    parser.add_argument("--publish", action="store_true", help="renew the table in docs/")
    return parser.parse_args(arguments)
