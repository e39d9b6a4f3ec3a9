"""Mutants of the Python files that decide results, by cosmic-ray: a sample of each file.

A change is tested with the tests of its file. Annotations are never evaluated, so changes of them
are left out.
"""

from __future__ import annotations

import argparse
import ast
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# the files that decide results, and the tests that state what they do
FILES = {
    "metrics/drop_runs.py": ("test_metrics.py", "test_blackouts.py", "test_run_numbers.py"),
    "metrics/fairness.py": (
        "test_small_run.py",
        "test_metrics.py",
        "test_metrics_verdict.py",
        "test_blackouts.py",
        "test_traffic_parts.py",
    ),
    "metrics/verdict.py": ("test_metrics_verdict.py", "test_metrics.py"),
    "metrics/spread.py": ("test_spread.py",),
    "metrics/censored.py": ("test_censored.py",),
    "study/comparison/rank_by_gain.py": ("test_gains.py",),
    "study/comparison/rank_by_share.py": ("test_ranking.py",),
    "study/comparison/ranking.py": ("test_ranking.py",),
    "study/point_statistics.py": ("test_precision.py",),
    "study/precision.py": ("test_precision.py",),
    "papers/model.py": ("test_paper_files.py", "test_models.py", "test_reproduce.py"),
}
# a part of a line before and after the change, without spaces, and why no test can notice
ACCEPTED = {
    ("slots=True", "slots=False"): "slots save memory; they change no result",
    ("frozen=True", "frozen=False"): "guards against a mistake that nobody makes",
    ('=="', 'is"'): "Python keeps one copy of each literal",
    ("name!=lone", "nameisnotlone"): "both are keys of one dictionary",
    (
        'pl.col("protocol")=="tcp"',
        'pl.col("protocol")<="tcp"',
    ): "the protocols are tcp and udp, in this order",
    (
        'key=="throughput_ratio"',
        'key>="throughput_ratio"',
    ): "the keys are jain_index and throughput_ratio, in this order",
    (
        'key=="throughput_ratio"andmedian>1',
        'key<="throughput_ratio"andmedian>1',
    ): "no Jain's index is above 1",
    ('"andmedian>1', '"andmedian>=1'): "a ratio of 1 is fair, which comes before",
    ("flows==1:", "flows<=1:"): "a class has a flow, or is none",
    ("len(classes)==1:", "len(classes)<=1:"): "without classes there is an earlier answer",
    ("len(self.over)!=len(order)", "len(self.over)isnotlen(order)"): "small numbers exist once",
    ('pl.col("drops")>0', 'pl.col("drops")!=0'): "no count is negative",
    (".otherwise(0)", ".otherwise(-1)"): "a port without drops is after the others either way",
    ("*,", "/,"): "every call names these arguments",
    ("missing<=0", "missing<0"): "where none is missing none is added either way",
    ("missing<=0", "missing==0"): "where none is missing none is added either way",
    ("missing<=0", "missing<=-1"): "where none is missing none is added either way",
    ("wider=0if", "wider=-1if"): "what is narrow comes here only if more than none are missing",
    ("wider=0if", "wider=1if"): "what is narrow comes here only if more than none are missing",
    ("key[1:]==key[:-1]", "key[1:]<=key[:-1]"): "the keys are sorted",
    ("runs.lengths>1,", "runs.lengths!=1,"): "no run is empty",
    ("runs.lengths>1,", "runs.lengths>=1,"): "counted or not, a single drop hits one flow",
    ("runs.lengths>1,", "runs.lengths>0,"): "counted or not, a single drop hits one flow",
    ("pairs[1:]!=pairs[:-1]", "pairs[1:]>pairs[:-1]"): "the pairs are sorted",
    ("initial=np.uint64(0)", "initial=np.uint64(1)"): "a larger factor keeps members apart, too",
    ('by=="flow"', 'by<="flow"'): "flow, ingress and port are in this order",
    ('by=="flow"', 'by<"flow"'): "counted or not, a run of one flow hits one flow",
    ("key[:-1])&(", "key[:-1])*("): "both are truth values",
    ("group[:-1])&(", "group[:-1])*("): "both are truth values",
    ("group[:-1])&(count", "group[:-1])**(count"): "what is in order may be sorted",
    ("count[1:]<count[:-1]", "count[1:]<=count[:-1]"): "what is in order may be sorted",
    ("@cache", ""): "what is known is only computed again",
    ("return-found.direction", "return~found.direction"): "both fall as the direction rises",
    ("arrival[1:]==arrival[:-1]", "arrival[1:]<=arrival[:-1]"): "arrivals are counted upwards",
    (
        'pl.col("workload")=="bulk"',
        'pl.col("workload")<="bulk"',
    ): "bulk is the first of the kinds in their order",
    ("value<99.5", "value<98.5"): "99 is written alike in both ways",
    ("count<counts[peers]", "count!=counts[peers]"): "no class has more flows than the largest",
    ('["goodput_bps_max"]<=0', '["goodput_bps_max"]==0'): "no rate is negative",
    ("in_all>0", "in_all!=0"): "no time is negative",
    ("squares>0", "squares!=0"): "no square is negative",
    ("reference>0", "reference!=0"): "no rate is negative",
    ("window.n_unique()>1", "window.n_unique()!=1"): "nothing correlates with nothing",
    ("fill_null(0)>_LONGEST", "fill_null(1)>_LONGEST"): "one drop is as harmless as none",
    ("fill_null(0)>_LONGEST", "fill_null(-1)>_LONGEST"): "no drop is harmless",
    (").row(0)", ").row(-1)"): "there is one row",
    ("ratio>=1.005", "ratio>1.005"): "the next number with two decimals begins there",
    ("ratio<999.5", "ratio<998.5"): "999 is written alike in both ways",
    ("orratio==0", "orratio<=0"): "no ratio is negative",
    ("value<10", "value<11"): "10 to 99 are written alike in both ways",
    ("value<10", "value<=10"): "10 to 99 are written alike in both ways",
    ("value<1e4", "value<=1e4"): "no exponential is exactly 10,000",
    (")<_NOTICEABLE", ")<=_NOTICEABLE"): "no difference of logarithms is exactly that of 1.02",
    ("float(1-q1)", "float(0-q1)"): "distances are compared with each other alone",
    ("100*COSTLY", "101*COSTLY"): "both are 5 % when rounded",
    ("100*COSTLY", "99*COSTLY"): "both are 5 % when rounded",
    ("<-COSTLY", "<=-COSTLY"): "no difference of 1 and a double is exactly -0.05",
    ("len(names)>1", "len(names)!=1"): "what is listed is not empty",
    ("len(self.parts)>1", "len(self.parts)!=1"): "something is ranked",
    ("relative>0else", "relative>=0else"): "no change of 0 is as large as the least",
    ("elsenames[0]", "elsenames[-1]"): "of one name the first is the last",
    (
        "zip(*by_part,strict=True)",
        "zip(*by_part,strict=False)",
    ): "each part of the traffic has a gain per seed: a missing seed is refused one line above",
}
SECONDS = 600


def tested(copy: Path, given: argparse.Namespace) -> Iterator[tuple[list[str], list[str]]]:
    """A row of the table, and the survivors, per file."""
    if not given.python:
        return
    program = shutil.which("cosmic-ray")
    if program is None:
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
        # a test that fails without a change would count as one that noticed it
        subprocess.run([program, "baseline", str(config)], cwd=copy, check=True)
        subprocess.run([program, "init", str(config), str(session)], cwd=copy, check=True)
        found = _sampled(session, copy / "python/fairport" / name, given)
        subprocess.run([program, "exec", str(config), str(session)], cwd=copy, check=True)
        noticed, lived = _outcomes(session, name)
        yield [name, str(found), str(noticed + len(lived)), str(noticed), ""], lived


def _sampled(session: Path, source: Path, given: argparse.Namespace) -> int:
    """Keeps a sample in the session; returns how many changes there were, except in annotations."""
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


def _outcomes(session: Path, name: str) -> tuple[int, list[str]]:
    """How many changes were noticed, and which were not."""
    with sqlite3.connect(session) as base:
        rows = base.execute(
            "select test_outcome, diff, start_pos_row from work_results"
            " join mutation_specs using (job_id) order by start_pos_row"
        ).fetchall()
    noticed, lived = 0, []
    for outcome, diff, line in rows:
        changed = [text for text in diff.splitlines() if text[:1] in "+-" and text[1:2] not in "+-"]
        before = next((text[1:].strip() for text in changed if text[0] == "-"), "")
        after = next((text[1:].strip() for text in changed if text[0] == "+"), "")
        if outcome != "SURVIVED":
            noticed += outcome != "INCOMPETENT"
        elif not _is_accepted(before, after):
            lived.append(f"{name}:{line}: {before} -> {after}")
    return noticed, lived


def _is_accepted(before: str, after: str) -> bool:
    """Whether this is a change that no test can notice, alone in its line."""
    before, after = before.replace(" ", ""), after.replace(" ", "")
    return any(old in before and before.replace(old, new) == after for old, new in ACCEPTED)
