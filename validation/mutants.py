"""Mutation testing: does a test fail when a line of the code is changed?

    make mutants
    make mutants ARGS="--python 40 --rust 5/60 --seed 2"

cargo-mutants changes `crates/net`, `tcp`, `sim` and `record`, cosmic-ray the Python files that
decide results; each change (a mutant) is tested with the tests of its crate or of its file. All
mutants take hours, so a sample is drawn: of the crates every n-th, k/n, in the order of the
files; of each Python file some by a seed. What is not installed is skipped with its reason. The
work is done in a copy of the last commit. A mutant that no test can notice is named with its
reason: for Rust in `.cargo/mutants.toml`, for Python in ACCEPTED.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from validation.case import DOCS
from validation.markdown import between_markers, table

ROOT = Path(__file__).parents[1]
CRATES = ("net", "tcp", "sim", "record")
# the files that decide results, and the tests that state what they do
FILES = {
    "drop_runs.py": ("test_metrics.py", "test_blackouts.py", "test_run_numbers.py"),
    "metrics.py": ("test_metrics.py", "test_metrics_verdict.py", "test_blackouts.py"),
    "verdict.py": ("test_metrics_verdict.py", "test_metrics.py"),
    "study/gains.py": ("test_gains.py",),
    "study/ranking.py": ("test_ranking.py",),
    "study/precision.py": ("test_precision.py",),
    "papers/model.py": ("test_models.py", "test_reproduce.py"),
}
# file, line as written, and why no test can notice
ACCEPTED: dict[tuple[str, str], str] = {}
SAMPLE = 20
SHARD = "37/120"
SECONDS = 600


def main(arguments: Sequence[str]) -> int:
    """Draws the samples, tests them and prints what survived; that some did is no failure."""
    given = _options(arguments)
    rows: list[list[str]] = []
    survivors: list[str] = []
    with tempfile.TemporaryDirectory(prefix="fairport-mutants-") as folder:
        copy = Path(folder)
        subprocess.run(f"git archive HEAD | tar -x -C {copy}", shell=True, cwd=ROOT, check=True)
        for library in (ROOT / "python/fairport").glob("_core*.so"):
            shutil.copy(library, copy / "python/fairport")
        for row, lived in (*_python(copy, given), *_rust(copy, given)):
            rows.append(row)
            survivors += lived
            print(" ".join(row), flush=True)
    text = table(["file or crate", "mutants", "tested", "killed"], rows)
    text += "\n\nSurvivors:\n\n" + ("\n".join(f"- {one}" for one in survivors) or "none")
    print(text)
    if given.publish:
        between_markers(DOCS / "validation/reliability.md", "mutants", text)
    return 0


def _python(copy: Path, given: argparse.Namespace) -> Iterator[tuple[list[str], list[str]]]:
    program = shutil.which("cosmic-ray")
    if program is None or not given.python:
        print("skipped: mutants of Python (pip install cosmic-ray)", file=sys.stderr)
        return
    for name, tests in FILES.items():
        session, config = copy / "session.sqlite", copy / "session.toml"
        session.unlink(missing_ok=True)
        paths = " ".join(f"tests/python/{test}" for test in tests)
        config.write_text(
            f"[cosmic-ray]\nmodule-path = 'python/fairport/{name}'\ntimeout = {SECONDS}.0\n"
            f"excluded-modules = []\ntest-command = 'env PYTHONPATH={copy}/python"
            f" PYTHONDONTWRITEBYTECODE=1 {sys.executable} -m pytest -q -x {paths}'\n"
            "[cosmic-ray.distributor]\nname = 'local'\n",
            encoding="utf-8",
        )
        # what fails without a change would count as a test that noticed it
        subprocess.run([program, "baseline", str(config)], cwd=copy, check=True)
        subprocess.run([program, "init", str(config), str(session)], cwd=copy, check=True)
        found = _sampled(session, copy / "python/fairport" / name, given)
        subprocess.run([program, "exec", str(config), str(session)], cwd=copy, check=True)
        outcomes, lived = _outcomes(session, name)
        tested = outcomes.total() - outcomes["INCOMPETENT"]
        yield [name, str(found), str(tested), str(tested - len(lived))], lived


def _sampled(session: Path, source: Path, given: argparse.Namespace) -> int:
    """Leaves a sample in the session; returns how many there were. Annotations do nothing."""
    ignored = _annotations(source)
    with sqlite3.connect(session) as base:
        rows = base.execute("select job_id, start_pos_row, start_pos_col from mutation_specs")
        jobs = sorted(
            (line, column, job) for job, line, column in rows if (line, column) not in ignored
        )
        draw = random.Random(f"{given.seed}/{source.name}")
        chosen = {job for _, _, job in draw.sample(jobs, min(given.python, len(jobs)))}
        every = [row[0] for row in base.execute("select job_id from work_items")]
        for of in ("work_items", "mutation_specs"):
            statement = f"delete from {of} where job_id = ?"
            base.executemany(statement, [(job,) for job in every if job not in chosen])
    return len(jobs)


def _annotations(source: Path) -> set[tuple[int, int]]:
    """Every position in an annotation, which is never evaluated."""
    found: set[tuple[int, int]] = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        annotations = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        for annotation in filter(None, annotations):
            for below in ast.walk(annotation):
                line = getattr(below, "lineno", 0)
                end = getattr(below, "end_col_offset", 0)
                found |= {(line, at) for at in range(getattr(below, "col_offset", 0), end)}
    return found


def _outcomes(session: Path, name: str) -> tuple[Counter[str], list[str]]:
    with sqlite3.connect(session) as base:
        rows = base.execute(
            "select test_outcome, diff, start_pos_row from work_results"
            " join mutation_specs using (job_id) order by start_pos_row"
        ).fetchall()
    lived = []
    for outcome, diff, line in rows:
        changed = [text for text in diff.splitlines() if text[:1] in "+-" and text[1:2] not in "+-"]
        before = next((text[1:].strip() for text in changed if text[0] == "-"), "")
        after = next((text[1:].strip() for text in changed if text[0] == "+"), "")
        if outcome == "SURVIVED" and (name, before) not in ACCEPTED:
            lived.append(f"{name}:{line}: `{before}` as `{after}`")
    return Counter(outcome for outcome, _, _ in rows), lived


def _rust(copy: Path, given: argparse.Namespace) -> Iterator[tuple[list[str], list[str]]]:
    program = shutil.which("cargo-mutants")
    if program is None or not given.rust:
        print("skipped: mutants of Rust (cargo install --locked cargo-mutants)", file=sys.stderr)
        return
    for crate in CRATES:
        listed = [program, "mutants", "--list", "--package", f"fairport-{crate}"]
        every = subprocess.run(listed, cwd=copy, capture_output=True, text=True, check=True)
        line = [program, "mutants", "--in-place", "--package", f"fairport-{crate}"]
        line += ["--shard", given.rust, "--sharding", "round-robin", "--timeout", str(SECONDS)]
        line += ["--build-timeout", "1800", "--no-times", "--output", str(copy / crate)]
        subprocess.run(line, cwd=copy, check=False)
        folder = copy / crate / "mutants.out"
        outcomes = json.loads((folder / "outcomes.json").read_text(encoding="utf-8"))
        missed = (folder / "missed.txt").read_text(encoding="utf-8").splitlines()
        killed = outcomes["caught"] + outcomes["timeout"]
        tested = killed + outcomes["missed"]
        of_crate = f"crates/{crate}"
        yield [of_crate, str(len(every.stdout.splitlines())), str(tested), str(killed)], missed


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m validation mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--python", type=int, default=SAMPLE, help=f"per file ({SAMPLE}); 0: none")
    parser.add_argument("--rust", default=SHARD, help=f"every n-th mutant, k/n ({SHARD}); '': none")
    parser.add_argument("--seed", type=int, default=1, help="of the sample of Python (1)")
    parser.add_argument("--publish", action="store_true", help="renew the table in docs/")
    return parser.parse_args(arguments)
