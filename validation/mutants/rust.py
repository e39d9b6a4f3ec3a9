"""Mutants of the crates that decide results, as cargo-mutants lists them: a sample, or all.

`one-program` writes the mutants into a copy of the sources at once, so that all need one build. A
mutant that cannot be chosen at run time (in a constant, for instance) is built apart, if there are
few such. A change is tested with the tests of its own crate; what these do not notice, with those
of the crates that run on it. These tests state facts. What they do not notice the guarded runs may:
the suite fails if a fingerprint of tests/repo/fingerprints.json moves, but it does not say why. So
these are counted apart. `.cargo/mutants.toml` lists the files that are left out, and the survivors
that are accepted, each with its reason. Patterns that fit no mutant are reported, because their
code has changed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from fairport.toml.parser import loads

from validation.mutants.programs import Program, Tree

# each crate, and the crates above it whose tests also run its code
CRATES = {
    "record": ("sim",),
    "net": ("sim",),
    "tcp": ("sim", "drill"),
    "plan": ("sim",),
    "sim": (),
    "wire": ("trace",),
    "trace": (),
}
# if more mutants of a crate than this cannot be chosen at run time, they are not tested
MOST_APART = 20
Mutant = dict[str, Any]


def tested(folder: Path, given: argparse.Namespace) -> Iterator[tuple[list[str], list[str]]]:
    """A row of the table, and the survivors of the tests that state facts, per crate."""
    if given.rust == 0:
        return
    if shutil.which("cargo-mutants") is None:
        print("skipped: mutants of Rust (cargo install --locked cargo-mutants)", file=sys.stderr)
        return
    source, copy = folder / "source", folder / "one-program"
    every_name = {name for crate in CRATES for name in _listed(source, crate, (), "--no-config")}
    for pattern in unused((source / ".cargo/mutants.toml").read_text("utf-8"), every_name):
        print(f".cargo/mutants.toml: fits no mutant: {pattern}", file=sys.stderr)
    shutil.copytree(source, copy, dirs_exist_ok=True, copy_function=shutil.copy)
    trees = Tree(copy, folder / "target"), Tree(source, folder / "target-apart")
    for crate in given.crates or CRATES:
        every = _listed(source, crate, given.file)
        names = sorted(every)
        if given.rust is not None:
            draw = random.Random(f"{given.seed}/{crate}")
            names = sorted(draw.sample(names, min(given.rust, len(names))))
        outcome = _Crate(crate, given, *trees).outcome([every[name] for name in names])
        lived = sorted(mutant["name"] for mutant in outcome.lived)
        killed = outcome.tested - len(lived)
        guarded = "" if given.own_tests else str(killed + outcome.guarded)
        yield [f"crates/{crate}", str(len(every)), str(outcome.tested), str(killed), guarded], lived


def unused(config: str, names: Collection[str]) -> list[str]:
    """The patterns of accepted survivors that fit no mutant: their code has changed."""
    patterns = loads(config)["exclude_re"]
    return [one for one in patterns if not any(re.search(one, name) for name in names)]


def _listed(source: Path, crate: str, files: Sequence[str], *options: str) -> dict[str, Mutant]:
    """Every mutant of the crate by its name, with its number."""
    line = ["cargo", "mutants", "--list", "--json", "--diff", *options]
    line += ["--package", f"fairport-{crate}"]
    line += [word for file in files for word in ("--file", file)]
    found = subprocess.run(line, cwd=source, stdout=subprocess.PIPE, text=True, check=True)
    mutants = enumerate(json.loads(found.stdout), 1)
    return {mutant["name"]: {**mutant, "number": number} for number, mutant in mutants}


@dataclass
class _Outcome:
    """The outcome for some mutants, without those that do not compile."""

    tested: int = 0
    lived: Sequence[Mutant] = ()
    guarded: int = 0
    """How many of the survivors the guarded runs notice."""


@dataclass(frozen=True)
class _Crate:
    name: str
    given: argparse.Namespace
    together: Tree
    """The copy with many mutants in it."""
    apart: Tree

    def outcome(self, chosen: Sequence[Mutant]) -> _Outcome:
        """Tests these mutants."""
        compiling, apart = self._instrument(chosen)
        outcome = self._outcome(compiling) if compiling else _Outcome()
        if len(apart) > MOST_APART:
            print(f"crates/{self.name}: not tested, to be built apart: {len(apart)}", flush=True)
            apart = []
        for mutant in apart:
            alone = self._outcome_apart(mutant)
            outcome.tested += alone.tested
            outcome.lived = [*outcome.lived, *alone.lived]
            outcome.guarded += alone.guarded
        return outcome

    def _instrument(self, chosen: Sequence[Mutant]) -> tuple[list[Mutant], list[Mutant]]:
        """Writes the mutants into the copy: those that compile, and those to be built apart."""
        manifest = str(Path(__file__).parent / "one-program/Cargo.toml")
        line = ["cargo", "run", "--quiet", "--release", "--locked", "--manifest-path", manifest]
        line += ["--target-dir", str(self.together.target / "one-program"), "--"]
        sources = Path("crates", self.name, "src")
        document = self.together.sources / "mutants.json"
        left = list(chosen)
        apart: list[Mutant] = []
        bad = {0}
        while bad:
            # removes what an earlier turn wrote into files that now have no mutants
            shutil.copytree(
                self.apart.sources / sources,
                self.together.sources / sources,
                dirs_exist_ok=True,
                copy_function=shutil.copy,
            )
            document.write_text(json.dumps(left), encoding="utf-8")
            words = [*line, *map(str, (document, self.apart.sources, self.together.sources))]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
            numbers = set(map(int, done.stdout.split()))
            apart += [mutant for mutant in left if mutant["number"] in numbers]
            bad = self.together.not_compiling(self.name)
            left = [mutant for mutant in left if mutant["number"] not in bad | numbers]
        return left, apart

    def _outcome(self, mutants: Sequence[Mutant]) -> _Outcome:
        """Tests the mutants that are in the copy."""
        lived = list(mutants)
        for crates in self._tests():
            if lived:
                lived = self._survivors(crates, lived)
        if not lived or self.given.own_tests:
            return _Outcome(len(mutants), lived)
        guard = self._guard(self.together)
        # a run that differs without a change would count as noticed
        if guard(0):
            raise RuntimeError("the guarded runs have other fingerprints without any change")
        return _Outcome(len(mutants), lived, sum(guard(one["number"]) for one in lived))

    def _survivors(self, crates: Sequence[str], mutants: Sequence[Mutant]) -> list[Mutant]:
        """The mutants that the tests of these crates do not notice."""
        programs = [one.timed() for one in self.together.test_programs(crates) or ()]
        programs.sort(key=lambda one: one.seconds)  # most mutants are noticed by several
        if not programs:
            raise RuntimeError(f"the tests of {' and '.join(crates)} do not build")
        lived = []
        with ThreadPoolExecutor(self.given.jobs) as pool:
            noticed = pool.map(lambda one: _notices(programs, one["number"]), mutants)
            for mutant, is_noticed in zip(mutants, noticed, strict=True):
                if not is_noticed:
                    print(f"not noticed by {' and '.join(crates)}: {mutant['name']}", flush=True)
                    lived.append(mutant)
        return lived

    def _outcome_apart(self, mutant: Mutant) -> _Outcome:
        """Builds a mutant by itself, and tests it."""
        file = self.apart.sources / mutant["file"]
        before = file.read_text("utf-8")
        subprocess.run(["patch", "--silent", file], input=mutant["diff"], text=True, check=True)
        try:
            for crates in self._tests():
                programs = self.apart.test_programs(crates)
                if programs is None:
                    return _Outcome()
                if _notices(programs, 0):
                    return _Outcome(1)
            return _Outcome(1, [mutant], not self.given.own_tests and self._guard(self.apart)(0))
        finally:
            file.write_text(before, "utf-8")

    def _tests(self) -> list[tuple[str, ...]]:
        """The crates whose tests are tried, one group after the other."""
        others = () if self.given.own_tests else CRATES[self.name]
        return [crates for crates in ((self.name,), others) if crates]

    def _guard(self, tree: Tree) -> Callable[[int], bool]:
        """Whether a mutant moves a guarded fingerprint, or ends its run or makes it endless."""
        program = tree.job_program()
        if program is None:
            return lambda _: True  # a crate that runs on the mutant does not compile
        jobs = {
            Program((program, str(job)), tree.sources): fingerprint
            for job, fingerprint in _guarded_jobs(tree.target).items()
        }
        return lambda number: any(
            (job.output(number) or " ").split()[-1:] != [fingerprint]
            for job, fingerprint in jobs.items()
        )


def _notices(programs: Sequence[Program], number: int) -> bool:
    return any(program.output(number) is None for program in programs)


def _guarded_jobs(folder: Path) -> dict[Path, str]:
    """The guarded runs as jobs for the engine, each with its fingerprint."""
    import fairport as fp
    from fairport.backends.jobs import job_of

    sys.path.insert(0, str(Path(__file__).parents[2] / "tests/repo"))
    guard = import_module("fingerprints")
    (folder / "jobs").mkdir(exist_ok=True)
    found = {}
    for number, (name, (scenario, overrides)) in enumerate(guard.CASES.items()):
        file = folder / "jobs" / f"{number}.json"
        file.write_text(json.dumps(job_of(fp.scenario(scenario).patch(overrides)).document))
        found[file] = guard.expected()[name]["fingerprint"]
    return found
