"""An attack on the command line: bad input by grammar, damaged files, random scenarios.

    make attack
    make attack ARGS="--seconds 600 --seed 5"
    make attack ARGS="--seed 5 --attempt 1234"
    make attack ARGS="--seconds 600 --seed 5 --linux"

Every attempt is drawn from the seed and its own number, so each can be made again alone. Half of
them are scenarios, drawn from the JSON Schema or from a changed built-in one, and laws hold of the
result of each that runs; the rest are command lines, and damaged results, studies, records,
captures, scripts, imports, distributions, traces and sweep files. A few are real runs on the Linux
backend, as root and where namespaces can be made; else they are skipped with the reason. First
comes the corpus: inputs that broke an earlier version. What must hold of every attempt is in
`attempt.py`, of real runs in `linux_runs.py`. The status is 1 if anything did not.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from validation import DOCS
from validation.attack import laws
from validation.attack.attempt import Outcome, run
from validation.attack.commandlines import CommandLines
from validation.attack.damage import Damage, make
from validation.attack.documents import Grammar
from validation.attack.linux_runs import LinuxRun, lack
from validation.attack.questions import Questions
from validation.case import parser_of
from validation.markdown import between_markers, table

CORPUS = Path(__file__).parent / "corpus"
SECONDS = 240.0
HOSTILITY = 0.04
# a run whose estimate is larger than this is refused, and the process may not grow beyond the other
AVAILABLE_BYTES = 1 << 30
ADDRESS_SPACE_BYTES = 12 << 30
_OUTCOMES = {0: "done", 1: "done", 2: "refused", 3: "done"}
# a real run takes some seconds
_LINUX = {"none": 0.0, "some": 0.05, "only": 1.0}
_COLUMNS = ("attempts", "done", "refused", "interrupted", "violations")


class Attack:
    """Makes attempts and counts their outcomes."""

    def __init__(self, seed: int, folder: Path, *, verbose: bool, of_linux: str) -> None:
        self._verbose = verbose
        self._of_linux = of_linux
        self._seed = seed
        self._sound = folder / "sound"
        self._folder = folder / "work"
        self.counts: Counter[tuple[str, str]] = Counter()
        self.violations: list[str] = []

    def prepare(self) -> None:
        """Makes the files that are damaged later."""
        self._sound.mkdir()
        self._enter(self._sound)
        make(self._sound)

    def corpus(self) -> None:
        """Everything that broke an earlier version."""
        for path in sorted(CORPUS.iterdir()):
            self._fresh()
            shutil.copy(path, self._folder)
            self._one("corpus", path.name, ["run", path.name, "--no-output", "--json"])

    def attempt(self, number: int) -> None:
        """The attempt of this number."""
        draw = random.Random(f"{self._seed}/{number}")
        kinds: list[tuple[float, Callable[[random.Random, str], None]]] = [
            (0.25, self._drawn_scenario),
            (0.25, self._changed_scenario),
            (0.12, self._command_line),
            (0.13, self._question),
            (0.25, self._damage),
            (_LINUX[self._of_linux], self._linux_run),
        ]
        if self._of_linux == "only":
            kinds = kinds[-1:]
        weights = [weight for weight, _ in kinds]
        draw.choices([make_it for _, make_it in kinds], weights)[0](draw, f"attempt {number}")

    def _drawn_scenario(self, draw: random.Random, name: str) -> None:
        self._scenario(draw, name, "scenario", Grammar(draw, HOSTILITY).scenario())

    def _changed_scenario(self, draw: random.Random, name: str) -> None:
        self._scenario(draw, name, "changed scenario", Grammar(draw, HOSTILITY).changed_builtin())

    def _scenario(self, draw: random.Random, name: str, kind: str, document: Any) -> None:
        self._fresh()
        try:
            text = tomli_w.dumps(document)
        except (TypeError, ValueError):
            return  # TOML has no such value
        Path("drawn.toml").write_text(text, encoding="utf-8", errors="replace")
        line = ["run", "drawn.toml", "--no-output", "--json"]
        outcome = self._one(kind, name, line)
        if outcome.status != 0:
            return
        if draw.random() < 0.3:
            self._same_with_other_probes(kind, name, line, outcome.out)
        if draw.random() < 0.3:
            self._linux_front(name)

    def _same_with_other_probes(self, kind: str, name: str, line: list[str], before: str) -> None:
        probes = ["--set", "probes.queue_interval=77us", "--set", "probes.series_interval=1ms"]
        outcome = self._one(kind, name, line + probes)
        if outcome.status == 0:
            prints = {json.loads(text)["fingerprint"] for text in (before, outcome.out)}
            if len(prints) > 1:
                self._found(kind, name, "probes changed the fingerprint")

    def _linux_front(self, name: str) -> None:
        """The Linux backend's checks of a scenario; nothing is run."""
        from fairport import backends
        from fairport.errors import InputError
        from fairport.scenario import load

        self.counts["Linux front", "attempts"] += 1
        try:
            backends.get("linux").prepare(load("drawn.toml"), 1)
            self.counts["Linux front", "done"] += 1
        except InputError:
            self.counts["Linux front", "refused"] += 1
        except Exception as error:
            self._found("Linux front", name, repr(error))

    def _command_line(self, draw: random.Random, name: str) -> None:
        Damage(draw, self._sound).copy(self._folder)
        self._enter(self._folder)
        self._one("command line", name, CommandLines(draw, HOSTILITY * 2).line())

    def _question(self, draw: random.Random, name: str) -> None:
        Damage(draw, self._sound).copy(self._folder)
        self._enter(self._folder)
        kind, document, line = Questions(draw, HOSTILITY).question()
        try:
            text = tomli_w.dumps(document or {})
        except (TypeError, ValueError):
            return  # TOML has no such value
        Path("drawn-file.toml").write_text(text, encoding="utf-8", errors="replace")
        self._one(kind, name, line)

    def _damage(self, draw: random.Random, name: str) -> None:
        os.chdir(self._folder.parent)
        what, line = Damage(draw, self._sound).into(self._folder)
        self._enter(self._folder)
        self._one(f"damaged {what.split(':')[0]}", f"{name}, {what}", line)

    def _linux_run(self, draw: random.Random, name: str) -> None:
        self._fresh()
        if self._verbose:
            print(name, file=sys.stderr, flush=True)
        what, status, found = LinuxRun(draw, HOSTILITY, self._folder).attempt()
        self.counts["Linux run", "attempts"] += 1
        if found:
            self._found("Linux run", f"{name}, {what}", "\n".join(found))
        else:
            self.counts["Linux run", _OUTCOMES.get(status, "interrupted")] += 1

    def _one(self, kind: str, name: str, line: Sequence[str]) -> Outcome:
        if self._verbose:
            print(f"{name}: {' '.join(line)[:300]!r}", file=sys.stderr, flush=True)
        outcome = run(line, self._folder)
        violation = outcome.violation
        if not violation and outcome.status == 0 and line[0] == "run" and "--json" in line:
            violation = laws.broken(outcome.out)
        self.counts[kind, "attempts"] += 1
        if violation:
            self._found(kind, f"{name}: {' '.join(line)[:500]!r}", violation)
        else:
            self.counts[kind, _OUTCOMES.get(outcome.status, "interrupted")] += 1
        return outcome

    def _found(self, kind: str, name: str, violation: str) -> None:
        self.counts[kind, "violations"] += 1
        self.violations.append(f"{kind}, {name}\n{violation}")
        print(f"VIOLATION {self.violations[-1]}\n", flush=True)

    def _fresh(self) -> None:
        os.chdir(self._folder.parent)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        self._enter(self._folder)

    def _enter(self, folder: Path) -> None:
        os.chdir(folder)
        os.environ["FAIRPORT_STORE"] = str(folder / "store")

    def table(self) -> str:
        """Counts of attempts and of their outcomes."""
        sums: Counter[tuple[str, str]] = Counter()
        for (kind, of), count in self.counts.items():
            sums["damaged files" if kind.startswith("damaged ") else kind, of] += count
            sums["all", of] += count
        kinds = [*sorted({kind for kind, _ in sums} - {"all"}), "all"]
        rows = [[kind, *(str(sums[kind, of]) for of in _COLUMNS)] for kind in kinds]
        return table(["input", *_COLUMNS], rows)


def main(arguments: Sequence[str]) -> int:
    """Attacks for a while; 1 if something did not hold."""
    given = _options(arguments)
    lacking = lack()
    if lacking:
        print(f"skipped: runs on the Linux backend: {lacking}", file=sys.stderr)
        if given.linux:
            return 0
    of_linux = "none" if lacking else "only" if given.linux else "some"
    with tempfile.TemporaryDirectory(prefix="fairport-attack-") as folder:
        _limit_memory()
        _touch_no_machine()
        attack = Attack(given.seed, Path(folder), verbose=given.verbose, of_linux=of_linux)
        begun = time.monotonic()
        if not given.linux:
            attack.prepare()
        if given.attempt is not None:
            attack.attempt(given.attempt)
        else:
            if not given.linux:
                attack.corpus()
            number = 0
            while time.monotonic() - begun < given.seconds and number < given.attempts:
                attack.attempt(number)
                number += 1
        os.chdir("/")
    spent = time.monotonic() - begun
    text = f"Seed {given.seed}, {spent:.0f} s.\n\n{attack.table()}"
    print(text)
    if given.publish:
        between_markers(DOCS / "validation/reliability.md", "attack", text)
    return 1 if attack.violations else 0


def _limit_memory() -> None:
    """A run that needs more than its estimate says fails, instead of filling the machine."""
    from fairport.backends import memory

    memory.available_bytes = lambda: AVAILABLE_BYTES
    try:
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, hard))
    except (ImportError, ValueError, OSError):
        pass  # not on this system


def _touch_no_machine() -> None:
    """In this process the Linux backend stops just before it would make namespaces."""
    from fairport.backends.linux import doctor
    from fairport.errors import BackendError

    def refuse() -> None:
        raise BackendError("is not run by the attack")

    doctor.require_root = refuse


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = parser_of("attack", __doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"how long ({SECONDS:g})")
    parser.add_argument("--attempts", type=float, default=math.inf, help="at most so many")
    parser.add_argument("--seed", type=int, default=1, help="of all attempts (1)")
    parser.add_argument("--attempt", type=int, help="only the attempt of this number")
    parser.add_argument("--linux", action="store_true", help="runs on the Linux backend only")
    parser.add_argument("--verbose", action="store_true", help="print each command line first")
    parser.add_argument("--publish", action="store_true", help="renew the table in docs/")
    return parser.parse_args(arguments)
